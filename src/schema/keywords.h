/* The keywords of JSON Schema: the form of each one's value, and which values are schemas.
 *
 * Internal to schema/. */
#ifndef SCHEMA_KEYWORDS_H
#define SCHEMA_KEYWORDS_H

#include "base/str.h"

#include <yyjson.h>

enum {
    JSON_SCHEMA_DEPTH = 64,         /* of nested schemas */
    JSON_SCHEMA_STEPS = 100 * 1000, /* of a check; each takes about a microsecond */
};

enum keyword_kind {
    KEYWORD_NOTE,       /* an annotation: does not validate */
    KEYWORD_SCHEMA,     /* a schema */
    KEYWORD_SCHEMAS,    /* a list of schemas */
    KEYWORD_NAMED,      /* an object of schemas, by name */
    KEYWORD_BY_PATTERN, /* an object of schemas, by regular expression */
    KEYWORD_TYPE,
    KEYWORD_NUMBER,
    KEYWORD_DIVISOR,
    KEYWORD_COUNT, /* an integer, not negative */
    KEYWORD_BOOL,
    KEYWORD_LIST, /* of anything */
    KEYWORD_NAMES,
    KEYWORD_NAMES_BY_NAME,
    KEYWORD_PATTERN,
    KEYWORD_REF,
    KEYWORD_ANCHOR,
    KEYWORD_ID,
    KEYWORD_UNSUPPORTED,
};

enum keyword_kind keyword_kind_of(struct str word);

struct json_schema_problem;

/* NULL when @text is not JSON, or memory ran out; @ret says which. */
yyjson_doc *json_schema_parse(struct str text, struct json_schema_problem *ret);

/* The target of `$ref` in the schema whose root is @root; NULL: not found. */
yyjson_val *json_schema_resolve(yyjson_val *root, struct str ref);
/* The most steps that this takes in a schema of @n_values. */
size_t json_schema_resolve_steps(struct str ref, size_t n_values);

#endif
