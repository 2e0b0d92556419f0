/* Does a value fit a JSON Schema?  Draft 2020-12 as far as answers of people need it:
 *
 *     type enum const, allOf anyOf oneOf not, if then else, $ref $anchor $defs within the
 * schema minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength
 * pattern, items prefixItems contains minContains maxContains minItems maxItems uniqueItems,
 * properties patternProperties additionalProperties propertyNames required dependentRequired
 * dependentSchemas minProperties maxProperties
 *
 * json_schema_usable() refuses a schema with the words of the standard that are not in this
 * list: what it accepts, json_schema_check() looks at in full.  `format` and words that the
 * standard does not have say nothing about what fits.  Pure. */
#ifndef SCHEMA_JSON_SCHEMA_H
#define SCHEMA_JSON_SCHEMA_H

#include "base/str.h"

struct json_schema_problem {
    char text[200]; /* where, and what was wanted */
    bool no_memory; /* it may fit at another time */
};

/* Both are JSON texts.  False, and why, when it does not fit, or cannot be decided. */
bool json_schema_check(struct str schema, struct str value, struct json_schema_problem *ret);

/* Can answers be checked against @schema, a JSON text?  False, and why, if not. */
bool json_schema_usable(struct str schema, struct json_schema_problem *ret);

#endif
