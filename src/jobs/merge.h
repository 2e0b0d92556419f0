/* JSON objects, one over another.  Pure. */
#ifndef JOBS_MERGE_H
#define JOBS_MERGE_H

#include "base/buf.h"

/* Appends the object that has the members of both; where both have one, it is @over's.  What
 * is no object counts as an empty one. */
void merge_objects(struct buf *b, struct str under, struct str over);

#endif
