/* Each keyword is a function that says whether the value is valid.
 *
 * "Cannot be decided" (a schema that recurses without end, a pattern that takes too long) is
 * not "invalid": `not` would invert it. So it is remembered in the check itself, everything
 * fails from then on, and the answer is refused with that reason. */
#include "schema/json_schema.h"

#include "base/json.h"
#include "base/error.h"
#include "base/json_match.h"
#include "schema/keywords.h"
#include "schema/duplicates.h"
#include "schema/regex.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <yyjson.h>

enum {
    MAX_DEPTH = 128,       /* nested schemas that are being checked */
    MAX_VALUE_DEPTH = 256, /* of the value, and of constants in the schema */
    NAMES_PER_STEP = 64,   /* a step compares so many names, */
    BYTES_PER_STEP = 1024, /* or counts so many bytes */
    PATTERN_WORK = 10 * 1000 * 1000,
};

struct check {
    yyjson_val *root; /* of the schema */
    struct json_schema_problem *problem;
    size_t n_values; /* number of values in the schema */
    int depth;
    size_t steps;         /* limits the work: a schema can branch without end */
    int64_t pattern_work; /* remaining work; see regex_search */
    bool undecided;       /* `problem` says why */
    char path[100];       /* the position in the value: .a[3].b */
    size_t path_n;
};

static bool fits(struct check *c, yyjson_val *schema, yyjson_val *value);

static bool no(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool no(struct check *c, const char *format, ...)
{
    char what[120];
    va_list args;

    if (c->undecided)
        return false;
    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args); /* cutting is fine */
    va_end(args);
    (void)snprintf(c->problem->text, sizeof(c->problem->text), "%s%.*s %s",
                   c->path_n > 0 ? "" : "it", (int)c->path_n, c->path, what);
    return false;
}

static bool undecided(struct check *c, const char *why)
{
    (void)no(c, "cannot be checked: %s", why);
    c->undecided = true;
    return false;
}

static bool no_memory(struct check *c)
{
    c->problem->no_memory = true;
    return undecided(c, "out of memory");
}

/* Called before something whose cost grows with the schema or the value. */
static bool take_steps(struct check *c, size_t n)
{
    c->steps += n < JSON_SCHEMA_STEPS ? n : JSON_SCHEMA_STEPS;
    return c->steps <= JSON_SCHEMA_STEPS || undecided(c, "it takes too long");
}

/* Absent when @v is not a string: yyjson gives lists and objects a length too. */
static struct str text_of(yyjson_val *v)
{
    return yyjson_is_str(v) ? str_make(yyjson_get_str(v), yyjson_get_len(v)) : STR_NONE;
}

/* --- subschemas of members and items ----------------------------------------- */

static bool fits_at(struct check *c,
                    const char *name,
                    size_t index,
                    yyjson_val *schema,
                    yyjson_val *value)
{
    size_t before = c->path_n;
    size_t room = sizeof(c->path) - before;
    int n = name != NULL
                ? snprintf(c->path + before, room, "%s%.40s", before > 0 ? "." : "", name)
                : snprintf(c->path + before, room, "[%zu]", index);

    c->path_n = n > 0 && (size_t)n < room ? before + (size_t)n : before;
    bool ok = fits(c, schema, value);
    c->path_n = before;
    return ok;
}

/* --- types ------------------------------------------------------------------- */

/* Above 2^53 every double is an integer. */
static bool is_whole(yyjson_val *value)
{
    return yyjson_is_int(value) || yyjson_get_num(value) == round(yyjson_get_num(value));
}

static bool has_type(yyjson_val *value, const char *type)
{
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL:
        return strcmp(type, "null") == 0;
    case YYJSON_TYPE_BOOL:
        return strcmp(type, "boolean") == 0;
    case YYJSON_TYPE_NUM:
        return strcmp(type, "number") == 0 || (strcmp(type, "integer") == 0 && is_whole(value));
    case YYJSON_TYPE_STR:
        return strcmp(type, "string") == 0;
    case YYJSON_TYPE_ARR:
        return strcmp(type, "array") == 0;
    case YYJSON_TYPE_OBJ:
        return strcmp(type, "object") == 0;
    default:
        return false;
    }
}

static bool check_type(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *type = yyjson_obj_get(schema, "type");

    if (yyjson_is_str(type))
        return has_type(value, yyjson_get_str(type)) ||
               no(c, "must be of type %s", yyjson_get_str(type));
    if (!yyjson_is_arr(type))
        return true;
    json_each(item, type)
        if (yyjson_is_str(item) && has_type(value, yyjson_get_str(item)))
            return true;
    return no(c, "is of none of the types that are allowed");
}

/* --- values --------------------------------------------------------------------- */

static bool check_values(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *list = yyjson_obj_get(schema, "enum");
    yyjson_val *one = yyjson_obj_get(schema, "const");

    if (!take_steps(c, yyjson_arr_size(list) / NAMES_PER_STEP +
                           (yyjson_is_ctn(value) && (list != NULL || one != NULL)
                                ? c->n_values / NAMES_PER_STEP
                                : 0)))
        return false;
    if (one != NULL && !json_same(one, value))
        return no(c, "is not the one value that is allowed");
    if (!yyjson_is_arr(list))
        return true;
    json_each(item, list)
        if (json_same(item, value))
            return true;
    return no(c, "is none of the values that are allowed");
}

/* --- numbers and texts ------------------------------------------------------- */

/* Compares the value with the limit of keyword @word: the sign, or 0 when there is no limit. */
static int against(yyjson_val *schema,
                   const char *word,
                   yyjson_val *value,
                   yyjson_val **ret_limit)
{
    *ret_limit = yyjson_obj_get(schema, word);
    return yyjson_is_num(*ret_limit) ? json_compare_numbers(value, *ret_limit) : 0;
}

/* Allows for rounding: 0.3 is a multiple of 0.1, though doubles are not exact. */
static bool is_multiple(yyjson_val *value, yyjson_val *of)
{
    if (yyjson_is_uint(value) && yyjson_is_uint(of))
        return yyjson_get_uint(value) % yyjson_get_uint(of) == 0;
    double times = yyjson_get_num(value) / yyjson_get_num(of);
    return isfinite(times) && fabs(times - round(times)) <= 1e-9;
}

static bool check_number(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *is;

    if (!yyjson_is_num(value))
        return true;
    if (against(schema, "minimum", value, &is) < 0)
        return no(c, "must be at least %g", yyjson_get_num(is));
    if (against(schema, "maximum", value, &is) > 0)
        return no(c, "must be at most %g", yyjson_get_num(is));
    if (against(schema, "exclusiveMinimum", value, &is) <= 0 && yyjson_is_num(is))
        return no(c, "must be more than %g", yyjson_get_num(is));
    if (against(schema, "exclusiveMaximum", value, &is) >= 0 && yyjson_is_num(is))
        return no(c, "must be less than %g", yyjson_get_num(is));
    is = yyjson_obj_get(schema, "multipleOf");
    if (yyjson_is_num(is) && yyjson_get_num(is) > 0 && !is_multiple(value, is))
        return no(c, "must be a multiple of %g", yyjson_get_num(is));
    return true;
}

static bool limit(yyjson_val *schema, const char *word, double *ret)
{
    yyjson_val *v = yyjson_obj_get(schema, word);

    if (!yyjson_is_num(v))
        return false;
    *ret = yyjson_get_num(v);
    return true;
}

static bool check_count(struct check *c,
                        yyjson_val *schema,
                        const char *least,
                        const char *most,
                        size_t n,
                        const char *what)
{
    double is;

    if (limit(schema, least, &is) && (double)n < is)
        return no(c, "must have at least %g %s", is, what);
    if (limit(schema, most, &is) && (double)n > is)
        return no(c, "must have at most %g %s", is, what);
    return true;
}

static size_t count_points(yyjson_val *text)
{
    const char *p = yyjson_get_str(text);
    size_t n = 0;

    for (size_t i = 0; i < yyjson_get_len(text); i++)
        n += ((unsigned char)p[i] & 0xC0) != 0x80;
    return n;
}

/* Does @pattern match anywhere in @text? */
static bool has_match(struct check *c, struct str pattern, struct str text)
{
    enum regex_result found = regex_search(pattern, text, &c->pattern_work);

    if (found == REGEX_NO_MEMORY)
        return no_memory(c);
    if (found == REGEX_TOO_SLOW)
        return undecided(c, "a pattern takes too long");
    return found == REGEX_YES;
}

static bool check_text(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *pattern = yyjson_obj_get(schema, "pattern");

    if (!yyjson_is_str(value))
        return true;
    if (!take_steps(c, yyjson_get_len(value) / BYTES_PER_STEP) ||
        !check_count(c, schema, "minLength", "maxLength", count_points(value), "characters"))
        return false;
    return !yyjson_is_str(pattern) || has_match(c, text_of(pattern), text_of(value)) ||
           no(c, "must match the pattern %.60s", yyjson_get_str(pattern));
}

/* --- lists ---------------------------------------------------------------------- */

static bool check_contained(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *wanted = yyjson_obj_get(schema, "contains"), *item;
    double least = 1, most = 0;
    size_t i, max, n = 0;

    if (wanted == NULL)
        return true;
    (void)limit(schema, "minContains", &least);
    yyjson_arr_foreach(value, i, max, item) n += fits_at(c, NULL, i, wanted, item);
    if ((double)n < least)
        return no(c, "must contain at least %g items of the kind that is asked for", least);
    if (limit(schema, "maxContains", &most) && (double)n > most)
        return no(c, "must contain at most %g items of the kind that is asked for", most);
    return true;
}

static bool check_unique(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    if (!yyjson_is_true(yyjson_obj_get(schema, "uniqueItems")))
        return true;
    if (!take_steps(c, yyjson_arr_size(value) / 4))
        return false;
    int twins = json_has_duplicates(value);
    if (twins < 0)
        return no_memory(c);
    return twins == 0 || no(c, "must not have the same item twice");
}

static bool check_items(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *first = yyjson_obj_get(schema, "prefixItems"), *item;
    yyjson_val *rest = yyjson_obj_get(schema, "items");
    size_t i, max;

    if (!yyjson_is_arr(value))
        return true;
    if (!check_count(c, schema, "minItems", "maxItems", yyjson_arr_size(value), "items"))
        return false;
    yyjson_arr_foreach(value, i, max, item)
    {
        yyjson_val *of = i < yyjson_arr_size(first) ? yyjson_arr_get(first, i) : rest;

        if (of != NULL && !fits_at(c, NULL, i, of, item))
            return false;
    }
    return check_contained(c, schema, value) && check_unique(c, schema, value);
}

/* --- objects -------------------------------------------------------------------- */

static yyjson_val *member_of(yyjson_val *object, yyjson_val *name)
{
    return yyjson_obj_getn(object, yyjson_get_str(name), yyjson_get_len(name));
}

static bool has_all(struct check *c, yyjson_val *names, yyjson_val *value)
{
    if (names == NULL)
        return true;
    if (!take_steps(c, yyjson_arr_size(names) * yyjson_obj_size(value) / NAMES_PER_STEP))
        return false;
    json_each(name, names)
        if (yyjson_is_str(name) && member_of(value, name) == NULL)
            return no(c, "must have \"%.60s\"", yyjson_get_str(name));
    return true;
}

/* dependentRequired and dependentSchemas: if a member is present, the object must have other
 * members, or match a schema. */
static bool check_dependent(struct check *c,
                            yyjson_val *by_name,
                            yyjson_val *value,
                            bool (*holds)(struct check *, yyjson_val *, yyjson_val *))
{
    if (by_name == NULL)
        return true;
    json_each_member(name, is, by_name)
        if (member_of(value, name) != NULL && !holds(c, is, value))
            return false;
    return true;
}

static bool check_by_pattern(struct check *c,
                             yyjson_val *patterns,
                             yyjson_val *name,
                             yyjson_val *member,
                             bool *known)
{
    if (patterns == NULL)
        return true;
    json_each_member(pattern, of, patterns) {
        bool found = has_match(c, text_of(pattern), text_of(name));

        if (c->undecided || (found && !fits_at(c, yyjson_get_str(name), 0, of, member)))
            return false;
        *known = *known || found;
    }
    return true;
}

static bool check_member(struct check *c,
                         yyjson_val *schema,
                         yyjson_val *name,
                         yyjson_val *member)
{
    yyjson_val *of = member_of(yyjson_obj_get(schema, "properties"), name);
    yyjson_val *others = yyjson_obj_get(schema, "additionalProperties");
    yyjson_val *names = yyjson_obj_get(schema, "propertyNames");
    bool known = of != NULL;

    if (names != NULL && !fits_at(c, yyjson_get_str(name), 0, names, name))
        return false;
    if (of != NULL && !fits_at(c, yyjson_get_str(name), 0, of, member))
        return false;
    if (!check_by_pattern(c, yyjson_obj_get(schema, "patternProperties"), name, member, &known))
        return false;
    if (known || others == NULL)
        return true;
    return yyjson_is_false(others) ? no(c, "must not have \"%.60s\"", yyjson_get_str(name))
                                   : fits_at(c, yyjson_get_str(name), 0, others, member);
}

/* The cost: each member is searched among the properties, and each dependent name among the
 * members. */
static size_t members_steps(yyjson_val *schema, yyjson_val *value)
{
    size_t n = yyjson_obj_size(yyjson_obj_get(schema, "properties")) + yyjson_obj_size(schema) +
               yyjson_obj_size(yyjson_obj_get(schema, "dependentRequired")) +
               yyjson_obj_size(yyjson_obj_get(schema, "dependentSchemas"));

    return n * yyjson_obj_size(value) / NAMES_PER_STEP;
}

static bool check_members(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    if (!yyjson_is_obj(value))
        return true;
    if (!take_steps(c, members_steps(schema, value)) ||
        !has_all(c, yyjson_obj_get(schema, "required"), value) ||
        !check_count(c, schema, "minProperties", "maxProperties", yyjson_obj_size(value),
                     "members") ||
        !check_dependent(c, yyjson_obj_get(schema, "dependentRequired"), value, has_all) ||
        !check_dependent(c, yyjson_obj_get(schema, "dependentSchemas"), value, fits))
        return false;
    json_each_member(name, member, value)
        if (!check_member(c, schema, name, member))
            return false;
    return true;
}

/* --- combined schemas -------------------------------------------------------- */

static size_t count_fitting(struct check *c, yyjson_val *list, yyjson_val *value)
{
    size_t n = 0;

    json_each(schema, list)
        n += fits(c, schema, value);
    return n;
}

static bool check_combined(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *all = yyjson_obj_get(schema, "allOf"), *any = yyjson_obj_get(schema, "anyOf");
    yyjson_val *one = yyjson_obj_get(schema, "oneOf"), *not = yyjson_obj_get(schema, "not");

    if (yyjson_is_arr(all) && count_fitting(c, all, value) < yyjson_arr_size(all))
        return false; /* the failed subschema has set the reason */
    if (yyjson_is_arr(any) && count_fitting(c, any, value) == 0)
        return no(c, "fits none of what is allowed");
    if (yyjson_is_arr(one) && count_fitting(c, one, value) != 1)
        return no(c, "must fit exactly one of what is allowed");
    if (not != NULL && fits(c, not, value))
        return no(c, "is what is not allowed");
    return !c->undecided;
}

static bool check_branches(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *condition = yyjson_obj_get(schema, "if"), *branch;

    if (condition == NULL)
        return true;
    branch = yyjson_obj_get(schema, fits(c, condition, value) ? "then" : "else");
    return branch == NULL || fits(c, branch, value);
}

static bool check_reference(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *ref = yyjson_obj_get(schema, "$ref");

    if (!yyjson_is_str(ref))
        return true;
    if (!take_steps(c, json_schema_resolve_steps(text_of(ref), c->n_values)))
        return false;
    yyjson_val *target = json_schema_resolve(c->root, text_of(ref));
    return target != NULL ? fits(c, target, value)
                          : undecided(c, "a $ref leads to nothing in the schema");
}

static bool fits(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    if (yyjson_is_bool(schema))
        return yyjson_is_true(schema) || no(c, "must not be there");
    if (c->depth == MAX_DEPTH)
        return undecided(c, "the schema goes too deep");
    if (c->undecided || !take_steps(c, 1 + yyjson_obj_size(schema) / 8))
        return false;
    c->depth++;
    bool ok = check_type(c, schema, value) && check_values(c, schema, value) &&
              check_number(c, schema, value) && check_text(c, schema, value) &&
              check_items(c, schema, value) && check_members(c, schema, value) &&
              check_combined(c, schema, value) && check_branches(c, schema, value) &&
              check_reference(c, schema, value);
    c->depth--;
    return ok && !c->undecided;
}

/* Limits the depth, because comparing values recurses. */
static bool is_deeper(yyjson_val *v, int than)
{
    bool deeper = false;

    if (than == 0)
        return true;
    if (yyjson_is_arr(v)) {
        json_each(item, v)
            deeper = deeper || is_deeper(item, than - 1);
    } else if (yyjson_is_obj(v)) {
        json_each_member(name, item, v)
            deeper = deeper || is_deeper(item, than - 1);
    }
    return deeper;
}

static bool check_all(struct check *c, yyjson_val *value)
{
    if (is_deeper(c->root, MAX_VALUE_DEPTH) || is_deeper(value, MAX_VALUE_DEPTH))
        return undecided(c, "it is nested too deep");
    return fits(c, c->root, value);
}

bool json_schema_check(struct str schema, struct str value, struct json_schema_problem *ret)
{
    yyjson_doc *of = json_schema_parse(schema, ret);
    yyjson_doc *doc = of != NULL ? json_schema_parse(value, ret) : NULL;
    struct check c = { .root = yyjson_doc_get_root(of),
                       .n_values = yyjson_doc_get_val_count(of),
                       .problem = ret,
                       .pattern_work = PATTERN_WORK };
    bool ok = doc != NULL      ? check_all(&c, yyjson_doc_get_root(doc))
              : ret->no_memory ? no_memory(&c)
                               : no(&c, "cannot be read as JSON");

    yyjson_doc_free(of);
    yyjson_doc_free(doc);
    return ok;
}
