/* The table of keywords, and the check that a schema can be used. */
#include "schema/keywords.h"

#include "base/json.h"
#include "base/error.h"
#include "schema/json_schema.h"
#include "schema/regex.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *word;
    enum keyword_kind kind;
} words[] = {
    { "$anchor", KEYWORD_ANCHOR },
    { "$defs", KEYWORD_NAMED },
    { "$dynamicAnchor", KEYWORD_UNSUPPORTED },
    { "$dynamicRef", KEYWORD_UNSUPPORTED },
    { "$id", KEYWORD_ID },
    { "$recursiveAnchor", KEYWORD_UNSUPPORTED },
    { "$recursiveRef", KEYWORD_UNSUPPORTED },
    { "$ref", KEYWORD_REF },
    { "$vocabulary", KEYWORD_UNSUPPORTED },
    { "additionalItems", KEYWORD_UNSUPPORTED },
    { "additionalProperties", KEYWORD_SCHEMA },
    { "allOf", KEYWORD_SCHEMAS },
    { "anyOf", KEYWORD_SCHEMAS },
    { "contains", KEYWORD_SCHEMA },
    { "definitions", KEYWORD_NAMED },
    { "dependencies", KEYWORD_UNSUPPORTED },
    { "dependentRequired", KEYWORD_NAMES_BY_NAME },
    { "dependentSchemas", KEYWORD_NAMED },
    { "else", KEYWORD_SCHEMA },
    { "enum", KEYWORD_LIST },
    { "exclusiveMaximum", KEYWORD_NUMBER },
    { "exclusiveMinimum", KEYWORD_NUMBER },
    { "if", KEYWORD_SCHEMA },
    { "items", KEYWORD_SCHEMA },
    { "maxContains", KEYWORD_COUNT },
    { "maxItems", KEYWORD_COUNT },
    { "maxLength", KEYWORD_COUNT },
    { "maxProperties", KEYWORD_COUNT },
    { "maximum", KEYWORD_NUMBER },
    { "minContains", KEYWORD_COUNT },
    { "minItems", KEYWORD_COUNT },
    { "minLength", KEYWORD_COUNT },
    { "minProperties", KEYWORD_COUNT },
    { "minimum", KEYWORD_NUMBER },
    { "multipleOf", KEYWORD_DIVISOR },
    { "not", KEYWORD_SCHEMA },
    { "oneOf", KEYWORD_SCHEMAS },
    { "pattern", KEYWORD_PATTERN },
    { "patternProperties", KEYWORD_BY_PATTERN },
    { "prefixItems", KEYWORD_SCHEMAS },
    { "properties", KEYWORD_NAMED },
    { "propertyNames", KEYWORD_SCHEMA },
    { "required", KEYWORD_NAMES },
    { "then", KEYWORD_SCHEMA },
    { "type", KEYWORD_TYPE },
    { "unevaluatedItems", KEYWORD_UNSUPPORTED },
    { "unevaluatedProperties", KEYWORD_UNSUPPORTED },
    { "uniqueItems", KEYWORD_BOOL },
};

enum keyword_kind keyword_kind_of(struct str word)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_eq(word, str_of(words[i].word)))
            return words[i].kind;
    return KEYWORD_NOTE;
}

/* Absent when @v is not a string: yyjson gives lists and objects a length too. */
static struct str text_of(yyjson_val *v)
{
    return yyjson_is_str(v) ? str_make(yyjson_get_str(v), yyjson_get_len(v)) : STR_NONE;
}

/* --- references ------------------------------------------------------------------ */

/* Searches for a schema by its anchor, or (without an anchor) by its address. */
struct schema_target {
    struct str anchor;
    yyjson_val *place;
};

static yyjson_val *find_schema(yyjson_val *schema, const struct schema_target *w, int depth);

/* Searches in the schemas of one keyword. */
static yyjson_val *find_below(enum keyword_kind kind,
                              yyjson_val *value,
                              const struct schema_target *w,
                              int depth)
{
    yyjson_val *found = NULL;

    if (kind == KEYWORD_SCHEMA)
        return find_schema(value, w, depth);
    if (kind == KEYWORD_SCHEMAS && yyjson_is_arr(value)) {
        json_each(item, value)
            if (found == NULL)
                found = find_schema(item, w, depth);
    } else if ((kind == KEYWORD_NAMED || kind == KEYWORD_BY_PATTERN) && yyjson_is_obj(value)) {
        json_each_member(key, item, value)
            if (found == NULL)
                found = find_schema(item, w, depth);
    }
    return found;
}

static bool is_wanted(yyjson_val *schema, const struct schema_target *w)
{
    yyjson_val *anchor = yyjson_obj_get(schema, "$anchor");

    return w->anchor.n > 0 ? yyjson_is_str(anchor) && str_eq(text_of(anchor), w->anchor)
                           : schema == w->place;
}

static yyjson_val *find_schema(yyjson_val *schema, const struct schema_target *w, int depth)
{
    yyjson_val *found = NULL;

    if (depth > JSON_SCHEMA_DEPTH || !yyjson_is_obj(schema))
        return NULL;
    if (is_wanted(schema, w))
        return schema;
    json_each_member(word, value, schema)
        if (found == NULL)
            found = find_below(keyword_kind_of(text_of(word)), value, w, depth + 1);
    return found;
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* Follows the JSON pointer of a URI fragment, in which %25 is a percent sign. */
static yyjson_val *follow_pointer(yyjson_val *root, struct str pointer)
{
    char plain[256];
    size_t n = 0;

    if (pointer.n >= sizeof(plain))
        return NULL;
    for (size_t i = 0; i < pointer.n; i++) {
        bool escaped = pointer.p[i] == '%' && i + 2 < pointer.n &&
                       hex_of(pointer.p[i + 1]) >= 0 && hex_of(pointer.p[i + 2]) >= 0;

        plain[n++] = escaped ? (char)(hex_of(pointer.p[i + 1]) * 16 + hex_of(pointer.p[i + 2]))
                             : pointer.p[i];
        i += escaped ? 2 : 0;
    }
    return yyjson_ptr_getn(root, plain, n);
}

yyjson_val *json_schema_resolve(yyjson_val *root, struct str ref)
{
    struct str id = text_of(yyjson_obj_get(root, "$id"));

    id = str_head(id, str_find(id, '#'));
    if (id.n > 0 && str_starts(ref, id))
        ref = str_skip(ref, id.n);
    if (ref.n == 0)
        return root;
    if (ref.p[0] != '#')
        return NULL;
    ref = str_skip(ref, 1);
    if (ref.n == 0 || ref.p[0] == '/')
        return follow_pointer(root, ref);
    return find_schema(root, &(struct schema_target){ .anchor = ref }, 0);
}

size_t json_schema_resolve_steps(struct str ref, size_t n_values)
{
    size_t mark = str_find(ref, '#');
    bool is_anchor = mark + 1 < ref.n && ref.p[mark + 1] != '/';

    /* A pointer compares names only; an anchor is searched in all schemas. */
    return 1 + n_values / (is_anchor ? 16 : 256);
}

/* --- is it usable? --------------------------------------------------------------- */

enum { MAX_ELSEWHERE = 32 }; /* schemas that are not below a keyword */

struct schema_walk {
    yyjson_val *root;
    size_t n_values;
    size_t steps; /* taken to resolve references */
    yyjson_val *seen[MAX_ELSEWHERE];
    size_t n_seen;
    struct json_schema_problem *problem;
    int depth;
};

static bool walk_schema(struct schema_walk *w, yyjson_val *schema);

static bool no(struct schema_walk *w, struct str word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool no(struct schema_walk *w, struct str word, const char *format, ...)
{
    char why[140];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof(why), format, args); /* cutting is fine */
    va_end(args);
    (void)snprintf(w->problem->text, sizeof(w->problem->text), "\"%.*s\" %s",
                   STR_ARG(str_head(word, 40)), why);
    return false;
}

static bool is_type(yyjson_val *v)
{
    static const char *const types[] = { "null",   "boolean", "object", "array",
                                         "number", "string",  "integer" };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (yyjson_equals_str(v, types[i]))
            return true;
    return false;
}

static bool all_of(yyjson_val *list, bool (*is)(yyjson_val *))
{
    if (!yyjson_is_arr(list))
        return false;
    json_each(item, list)
        if (!is(item))
            return false;
    return true;
}

static bool is_text(yyjson_val *v)
{
    return yyjson_is_str(v);
}

static bool is_names_by_name(yyjson_val *object)
{
    if (!yyjson_is_obj(object))
        return false;
    json_each_member(name, list, object)
        if (!all_of(list, is_text))
            return false;
    return true;
}

static bool walk_list(struct schema_walk *w, struct str word, yyjson_val *list)
{
    if (yyjson_arr_size(list) == 0)
        return no(w, word, "must be a list of schemas, and not empty");
    json_each(item, list)
        if (!walk_schema(w, item))
            return false;
    return true;
}

static bool walk_pattern(struct schema_walk *w, struct str word, struct str pattern)
{
    struct error err;

    if (regex_check(pattern, &err))
        return true;
    w->problem->no_memory = err.code == ERR_NOMEM;
    return no(w, word, "has the pattern %.*s: %s", STR_ARG(str_head(pattern, 60)), err.text);
}

static bool walk_named(struct schema_walk *w,
                       struct str word,
                       yyjson_val *object,
                       bool by_pattern)
{
    if (!yyjson_is_obj(object))
        return no(w, word, "must be an object of schemas");
    json_each_member(name, item, object)
        if ((by_pattern && !walk_pattern(w, word, text_of(name))) || !walk_schema(w, item))
            return false;
    return true;
}

static bool walk_number(struct schema_walk *w,
                        struct str word,
                        enum keyword_kind kind,
                        yyjson_val *v)
{
    if (!yyjson_is_num(v))
        return no(w, word, "must be a number");
    if (kind == KEYWORD_DIVISOR && yyjson_get_num(v) <= 0)
        return no(w, word, "must be more than 0");
    if (kind == KEYWORD_COUNT && yyjson_get_num(v) < 0)
        return no(w, word, "must not be negative");
    return true;
}

/* Is the target of @ref a schema below a keyword, such as "#", "#anchor" or "#/$defs/name"? The
 * walk checks those anyway. */
static bool is_usual_place(struct schema_walk *w, struct str ref, yyjson_val *target)
{
    static const char *const homes[] = { "#/$defs/", "#/definitions/" };

    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
        struct str name = str_skip(ref, strlen(homes[i]));

        if (str_starts(ref, str_of(homes[i])) && str_find(name, '/') == name.n)
            return true;
    }
    w->steps += w->n_values / 16;
    return find_schema(w->root, &(struct schema_target){ .place = target }, 0) != NULL;
}

/* Checks a schema that is not below a keyword: {"$ref":"#/x","x":{…}}. */
static bool walk_elsewhere(struct schema_walk *w, struct str word, yyjson_val *schema)
{
    for (size_t i = 0; i < w->n_seen; i++)
        if (w->seen[i] == schema)
            return true;
    if (w->n_seen == MAX_ELSEWHERE)
        return no(w, word, "leads to more than %d places outside of $defs", MAX_ELSEWHERE);
    w->seen[w->n_seen++] = schema;
    return walk_schema(w, schema);
}

static bool walk_reference(struct schema_walk *w, struct str word, struct str ref)
{
    w->steps += json_schema_resolve_steps(ref, w->n_values);
    if (w->steps > JSON_SCHEMA_STEPS)
        return no(w, word, "is there too often for so large a schema");
    yyjson_val *target = json_schema_resolve(w->root, ref);
    if (target == NULL)
        return no(w, word, "leads to nothing in this schema: %.*s", STR_ARG(str_head(ref, 80)));
    return is_usual_place(w, ref, target) || walk_elsewhere(w, word, target);
}

static bool walk_word(struct schema_walk *w, struct str word, yyjson_val *v)
{
    enum keyword_kind kind = keyword_kind_of(word);

    switch (kind) {
    case KEYWORD_SCHEMA:
        return yyjson_is_obj(v) || yyjson_is_bool(v) ? walk_schema(w, v)
                                                     : no(w, word, "must be a schema");
    case KEYWORD_SCHEMAS:
        return walk_list(w, word, v);
    case KEYWORD_NAMED:
    case KEYWORD_BY_PATTERN:
        return walk_named(w, word, v, kind == KEYWORD_BY_PATTERN);
    case KEYWORD_TYPE:
        return is_type(v) || all_of(v, is_type) ||
               no(w, word, "must be a type, or a list of types");
    case KEYWORD_NUMBER:
    case KEYWORD_DIVISOR:
    case KEYWORD_COUNT:
        return walk_number(w, word, kind, v);
    case KEYWORD_BOOL:
        return yyjson_is_bool(v) || no(w, word, "must be true or false");
    case KEYWORD_LIST:
        return yyjson_is_arr(v) || no(w, word, "must be a list");
    case KEYWORD_NAMES:
        return all_of(v, is_text) || no(w, word, "must be a list of names");
    case KEYWORD_NAMES_BY_NAME:
        return is_names_by_name(v) || no(w, word, "must be an object of lists of names");
    case KEYWORD_PATTERN:
        return (yyjson_is_str(v) || no(w, word, "must be a text")) &&
               walk_pattern(w, word, text_of(v));
    case KEYWORD_REF:
        return (yyjson_is_str(v) || no(w, word, "must be a text")) &&
               walk_reference(w, word, text_of(v));
    case KEYWORD_ANCHOR:
        return yyjson_is_str(v) || no(w, word, "must be a text");
    case KEYWORD_ID:
        return w->depth == 1 || no(w, word, "is supported at the top of the schema only");
    case KEYWORD_UNSUPPORTED:
        return no(w, word, "is not supported");
    case KEYWORD_NOTE:
        break;
    }
    return true;
}

static bool walk_schema(struct schema_walk *w, yyjson_val *schema)
{
    bool ok = true;

    if (yyjson_is_bool(schema))
        return true;
    if (!yyjson_is_obj(schema))
        return no(w, STR("schema"), "must be an object, true or false");
    if (w->depth == JSON_SCHEMA_DEPTH)
        return no(w, STR("schema"), "is nested more than %d deep", JSON_SCHEMA_DEPTH);
    w->depth++;
    json_each_member(word, value, schema)
        ok = ok && walk_word(w, text_of(word), value);
    w->depth--;
    return ok;
}

yyjson_doc *json_schema_parse(struct str text, struct json_schema_problem *ret)
{
    yyjson_read_err err = { 0 };
    /* yyjson only reads the text: the flag for in-place parsing is not set. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.n, 0, NULL, &err);

    ret->no_memory = doc == NULL && err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION;
    return doc;
}

bool json_schema_usable(struct str schema, struct json_schema_problem *ret)
{
    yyjson_doc *doc = json_schema_parse(schema, ret);
    struct schema_walk w = { .root = yyjson_doc_get_root(doc),
                             .n_values = yyjson_doc_get_val_count(doc),
                             .problem = ret };

    ret->text[0] = '\0';
    bool ok =
        doc != NULL ? walk_schema(&w, w.root) : no(&w, STR("schema"), "cannot be read as JSON");
    yyjson_doc_free(doc);
    return ok;
}
