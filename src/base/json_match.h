/* Compares JSON values, and matches them against filters.  Pure. */
#ifndef BASE_JSON_MATCH_H
#define BASE_JSON_MATCH_H

#include "base/json.h"

/* Less than 0, 0 or more than 0; both are numbers.  Those of 64 bits are compared exactly. */
int json_compare_numbers(const yyjson_val *a, const yyjson_val *b);

/* The same value, whatever the order of members; 1 and 1.0 are the same number. */
bool json_same(const yyjson_val *a, const yyjson_val *b);

/* Has @whole all that @part has?  Objects may have more members; a list has each of the
 * part's elements somewhere; all else must be the same. */
bool json_contains(const yyjson_val *whole, const yyjson_val *part);

/* Does the object @value match @filter?  Each member of the filter names a member that must be
 * the same, or gives conditions for it: {"$gte": 3, "$lt": 9}; $eq, $ne, $gt, $gte, $lt, $lte.
 * Only numbers are compared with numbers, and texts with texts. */
bool json_matches(const yyjson_val *value, const yyjson_val *filter);
/* The first condition of @filter that does not exist; absent when all do. */
struct str json_filter_fault(const yyjson_val *filter);

#endif
