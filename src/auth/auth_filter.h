/* The filters that a project's authorization handlers return: which metadata a thing must have
 * for its caller to see and touch it.  Pure.
 *
 *     {"owner": "ann"}                          the same value
 *     {"owner": {"$eq": "ann"}}                 the same
 *     {"readers": {"$contains": "ann"}}         a list with that element
 *     {"readers": {"$contains": ["a", "b"]}}    a list with all of them
 *     {"$or": [{...}, {...}], "$and": [...]}    of filters
 *
 * Several members must all hold.  A condition that does not exist never holds. */
#ifndef AUTH_AUTH_FILTER_H
#define AUTH_AUTH_FILTER_H

#include "base/json.h"

/* NULL, null and {} let everything pass; metadata that is NULL has no members. */
bool auth_filter_matches(const yyjson_val *filter, const yyjson_val *metadata);
/* The same for texts; an absent or empty filter lets everything pass.  Without memory, and for
 * a filter that is no JSON: false. */
bool auth_filter_lets(struct str filter, struct str metadata);

#endif
