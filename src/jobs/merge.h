/* JSON objects, one over another.  Pure. */
#ifndef JOBS_MERGE_H
#define JOBS_MERGE_H

#include "base/arena.h"
#include "base/buf.h"

/* Appends the object that has the members of both; where both have one, it is @over's.  What
 * is no object counts as an empty one. */
void merge_objects(struct buf *b, struct str under, struct str over);
/* The same in @mem.  0, or ERR_NOMEM. */
int merge_copy(struct arena *mem, struct str under, struct str over, struct str *ret);

#endif
