/* The words of JSON Schema: what stands behind each, and where that leads to other schemas.
 *
 * Internal to jobs/. */
#ifndef JOBS_JSON_SCHEMA_WORDS_H
#define JOBS_JSON_SCHEMA_WORDS_H

#include "base/str.h"

#include <yyjson.h>

enum {
    JSON_SCHEMA_DEPTH = 64,         /* of schemas in schemas */
    JSON_SCHEMA_STEPS = 100 * 1000, /* of a check; each takes about a microsecond */
};

enum word_kind {
    WORD_NOTE,       /* says nothing about what fits */
    WORD_SCHEMA,     /* a schema */
    WORD_SCHEMAS,    /* a list of them */
    WORD_NAMED,      /* an object of them, by name */
    WORD_BY_PATTERN, /* an object of them, by regular expression */
    WORD_TYPE,
    WORD_NUMBER,
    WORD_DIVISOR,
    WORD_COUNT, /* whole, not negative */
    WORD_BOOL,
    WORD_LIST, /* of anything */
    WORD_NAMES,
    WORD_NAMES_BY_NAME,
    WORD_PATTERN,
    WORD_REF,
    WORD_ANCHOR,
    WORD_ID,
    WORD_UNSUPPORTED,
};

enum word_kind word_kind_of(struct str word);

struct json_schema_problem;

/* NULL when @text is no JSON, or memory ran out, which @ret says. */
yyjson_doc *json_schema_parse(struct str text, struct json_schema_problem *ret);

/* What `$ref` means in the schema whose root is @root; NULL: nothing that is in it. */
yyjson_val *json_schema_resolve(yyjson_val *root, struct str ref);
/* The steps that this takes at most in a schema of @n_values. */
size_t json_schema_resolve_steps(struct str ref, size_t n_values);

#endif
