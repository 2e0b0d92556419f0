/* Merges JSON objects.  Pure. */
#ifndef BASE_JSON_MERGE_H
#define BASE_JSON_MERGE_H

#include "base/arena.h"
#include "base/buf.h"

/* Appends the object that has the members of both; where both have one, it is @over's.  What
 * is no object counts as an empty one. */
void json_merge(struct buf *b, struct str under, struct str over);
/* The same in @mem.  0, or ERR_NOMEM. */
int json_merge_copy(struct arena *mem, struct str under, struct str over, struct str *ret);

#endif
