/* Does a value fit a JSON Schema?  The part of it that describes answers:
 *
 *     type enum const, allOf anyOf oneOf not, $ref within the schema
 *     minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
 *     minLength maxLength, items prefixItems minItems maxItems uniqueItems
 *     properties required additionalProperties minProperties maxProperties
 *
 * Other words say nothing about what fits, as the standard has it.  Pure. */
#ifndef JOBS_JSON_SCHEMA_H
#define JOBS_JSON_SCHEMA_H

#include "base/str.h"

struct json_schema_problem {
    char text[200]; /* where, and what was wanted */
};

/* Both are JSON texts.  False, and why, when it does not fit. */
bool json_schema_check(struct str schema, struct str value, struct json_schema_problem *ret);

#endif
