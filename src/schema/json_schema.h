/* Validates a value against a JSON Schema.  Draft 2020-12, these keywords:
 *
 * type enum const, allOf anyOf oneOf not, if then else, $ref $anchor $defs within the schema,
 * minimum maximum exclusiveMinimum exclusiveMaximum multipleOf, minLength maxLength pattern,
 * items prefixItems contains minContains maxContains minItems maxItems uniqueItems, properties
 * patternProperties additionalProperties propertyNames required dependentRequired
 * dependentSchemas minProperties maxProperties
 *
 * json_schema_usable() refuses a schema with keywords of the standard that are not in this
 * list; json_schema_check() applies everything that it accepts.  `format` and unknown keywords
 * are annotations.  Pure. */
#ifndef SCHEMA_JSON_SCHEMA_H
#define SCHEMA_JSON_SCHEMA_H

#include "base/str.h"

struct json_schema_problem {
    char text[200]; /* where, and what the schema requires */
    bool no_memory; /* memory ran out; it may be valid */
};

/* Both are JSON texts.  False, with the reason, when @value is invalid or that cannot be
 * decided. */
bool json_schema_check(struct str schema, struct str value, struct json_schema_problem *ret);

/* Can answers be checked against @schema, a JSON text?  If not: false, with the reason. */
bool json_schema_usable(struct str schema, struct json_schema_problem *ret);

#endif
