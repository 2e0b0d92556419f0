/* What the holder of a lease shows: "8.1", the job's key, which is never given to another job,
 * and the attempt. */
#ifndef JOBS_LEASE_H
#define JOBS_LEASE_H

#include "base/buf.h"

#include <stdint.h>

void lease_put(struct buf *b, int64_t key, int64_t attempt);
/* False: @text is none. */
bool lease_parse(struct str text, int64_t *ret_key, int64_t *ret_attempt);

#endif
