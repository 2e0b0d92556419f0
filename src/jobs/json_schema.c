#include "jobs/json_schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <yyjson.h>

enum {
    MAX_DEPTH = 64,   /* of the schema and the value together */
    MAX_STEPS = 10000 /* a schema can branch without end */
};

struct check {
    yyjson_val *root; /* of the schema */
    struct json_schema_problem *problem;
    int depth;
    int steps;
    char path[100]; /* in the value: .a[3].b */
    size_t path_n;
};

static bool fits(struct check *c, yyjson_val *schema, yyjson_val *value);

static bool no(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool no(struct check *c, const char *format, ...)
{
    char what[120];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args); /* cutting is fine */
    va_end(args);
    (void)snprintf(c->problem->text, sizeof(c->problem->text), "%s%.*s %s",
                   c->path_n > 0 ? "" : "it", (int)c->path_n, c->path, what);
    return false;
}

/* --- places ------------------------------------------------------------------ */

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

/* Past 2^53 every double is a whole number. */
static double distance_to_whole(double d)
{
    if (d > 9e15 || d < -9e15)
        return 0;
    double rest = d - (double)(int64_t)(d < 0 ? d - 0.5 : d + 0.5);
    return rest < 0 ? -rest : rest;
}

static bool is_whole(yyjson_val *value)
{
    return yyjson_is_int(value) || distance_to_whole(yyjson_get_num(value)) <= 0;
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
    yyjson_val *type = yyjson_obj_get(schema, "type"), *item;
    size_t i, max;

    if (yyjson_is_str(type))
        return has_type(value, yyjson_get_str(type)) ||
               no(c, "must be of type %s", yyjson_get_str(type));
    if (!yyjson_is_arr(type))
        return true;
    yyjson_arr_foreach(type, i, max, item)
    {
        if (yyjson_is_str(item) && has_type(value, yyjson_get_str(item)))
            return true;
    }
    return no(c, "is of none of the types that are allowed");
}

/* --- equality: 1 is 1.0 ------------------------------------------------------ */

static bool equal(yyjson_val *a, yyjson_val *b)
{
    if (yyjson_is_num(a) && yyjson_is_num(b))
        return yyjson_get_num(a) <= yyjson_get_num(b) && yyjson_get_num(a) >= yyjson_get_num(b);
    return yyjson_equals(a, b);
}

static bool check_values(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *list = yyjson_obj_get(schema, "enum"), *item;
    yyjson_val *one = yyjson_obj_get(schema, "const");
    size_t i, max;

    if (one != NULL && !equal(one, value))
        return no(c, "is not the one value that is allowed");
    if (!yyjson_is_arr(list))
        return true;
    yyjson_arr_foreach(list, i, max, item)
    {
        if (equal(item, value))
            return true;
    }
    return no(c, "is none of the values that are allowed");
}

/* --- numbers and texts ------------------------------------------------------- */

static bool limit(yyjson_val *schema, const char *word, double *ret)
{
    yyjson_val *v = yyjson_obj_get(schema, word);

    if (!yyjson_is_num(v))
        return false;
    *ret = yyjson_get_num(v);
    return true;
}

static bool check_number(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    double n = yyjson_get_num(value), is;

    if (!yyjson_is_num(value))
        return true;
    if (limit(schema, "minimum", &is) && n < is)
        return no(c, "must be at least %g", is);
    if (limit(schema, "maximum", &is) && n > is)
        return no(c, "must be at most %g", is);
    if (limit(schema, "exclusiveMinimum", &is) && n <= is)
        return no(c, "must be more than %g", is);
    if (limit(schema, "exclusiveMaximum", &is) && n >= is)
        return no(c, "must be less than %g", is);
    if (limit(schema, "multipleOf", &is) && is > 0 && distance_to_whole(n / is) > 1e-9)
        return no(c, "must be a multiple of %g", is);
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

/* --- lists and objects ------------------------------------------------------- */

static bool check_unique(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    size_t n = yyjson_arr_size(value);

    if (!yyjson_is_true(yyjson_obj_get(schema, "uniqueItems")))
        return true;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (c->steps++ > MAX_STEPS ||
                equal(yyjson_arr_get(value, i), yyjson_arr_get(value, k)))
                return no(c, "must not have the same item twice");
    return true;
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
    return check_unique(c, schema, value);
}

static bool check_required(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *list = yyjson_obj_get(schema, "required"), *name;
    size_t i, max;

    yyjson_arr_foreach(list, i, max, name)
    {
        if (yyjson_is_str(name) &&
            yyjson_obj_getn(value, yyjson_get_str(name), yyjson_get_len(name)) == NULL)
            return no(c, "must have \"%.60s\"", yyjson_get_str(name));
    }
    return true;
}

static bool check_members(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *properties = yyjson_obj_get(schema, "properties"), *name, *member;
    yyjson_val *others = yyjson_obj_get(schema, "additionalProperties");
    size_t i, max;

    if (!yyjson_is_obj(value))
        return true;
    if (!check_required(c, schema, value) ||
        !check_count(c, schema, "minProperties", "maxProperties", yyjson_obj_size(value),
                     "members"))
        return false;
    yyjson_obj_foreach(value, i, max, name, member)
    {
        yyjson_val *of =
            yyjson_obj_getn(properties, yyjson_get_str(name), yyjson_get_len(name));

        if (of == NULL && yyjson_is_false(others))
            return no(c, "must not have \"%.60s\"", yyjson_get_str(name));
        if (of == NULL)
            of = others;
        if (of != NULL && !fits_at(c, yyjson_get_str(name), 0, of, member))
            return false;
    }
    return true;
}

/* --- schemas of schemas ------------------------------------------------------ */

static size_t count_fitting(struct check *c, yyjson_val *list, yyjson_val *value)
{
    yyjson_val *schema;
    size_t i, max, n = 0;

    yyjson_arr_foreach(list, i, max, schema) n += fits(c, schema, value);
    return n;
}

static bool check_combined(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *all = yyjson_obj_get(schema, "allOf"), *any = yyjson_obj_get(schema, "anyOf");
    yyjson_val *one = yyjson_obj_get(schema, "oneOf"), *not = yyjson_obj_get(schema, "not");

    if (yyjson_is_arr(all) && count_fitting(c, all, value) < yyjson_arr_size(all))
        return false; /* which says why */
    if (yyjson_is_arr(any) && count_fitting(c, any, value) == 0)
        return no(c, "fits none of what is allowed");
    if (yyjson_is_arr(one) && count_fitting(c, one, value) != 1)
        return no(c, "must fit exactly one of what is allowed");
    if (not != NULL && fits(c, not, value))
        return no(c, "is what is not allowed");
    return true;
}

static bool check_reference(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    yyjson_val *ref = yyjson_obj_get(schema, "$ref");
    const char *to = yyjson_get_str(ref);

    if (to == NULL)
        return true;
    yyjson_val *target = to[0] == '#' ? yyjson_ptr_get(c->root, to + 1) : NULL;
    return target != NULL ? fits(c, target, value)
                          : no(c, "cannot be checked: no %.60s in the schema", to);
}

static bool fits(struct check *c, yyjson_val *schema, yyjson_val *value)
{
    if (yyjson_is_bool(schema))
        return yyjson_is_true(schema) || no(c, "must not be there");
    if (c->depth == MAX_DEPTH || c->steps++ > MAX_STEPS)
        return no(c, "cannot be checked: the schema goes too deep");
    c->depth++;
    bool ok = check_type(c, schema, value) && check_values(c, schema, value) &&
              check_number(c, schema, value) &&
              (!yyjson_is_str(value) || check_count(c, schema, "minLength", "maxLength",
                                                    count_points(value), "characters")) &&
              check_items(c, schema, value) && check_members(c, schema, value) &&
              check_combined(c, schema, value) && check_reference(c, schema, value);
    c->depth--;
    return ok;
}

bool json_schema_check(struct str schema, struct str value, struct json_schema_problem *ret)
{
    yyjson_doc *of = yyjson_read(schema.p, schema.n, 0);
    yyjson_doc *doc = yyjson_read(value.p, value.n, 0);
    struct check c = { .root = yyjson_doc_get_root(of), .problem = ret };
    bool ok = of != NULL && doc != NULL ? fits(&c, c.root, yyjson_doc_get_root(doc))
                                        : no(&c, "cannot be read as JSON");

    yyjson_doc_free(of);
    yyjson_doc_free(doc);
    return ok;
}
