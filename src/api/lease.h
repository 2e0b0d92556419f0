/* What the holder of a lease shows: "8.1", the job's key, which is never given to another job,
 * and the attempt. */
#ifndef API_LEASE_H
#define API_LEASE_H

#include "api/api.h"

void lease_put(struct buf *b, const struct job_row *row);
/* Sets key and attempt from the query's lease=TOKEN; false when the request was answered. */
bool lease_read(struct call *call);
/* The fence of a write: ?job=JOB&lease=TOKEN, or ?call=ID.  False when it was answered: there
 * is none. */
bool lease_read_fence(struct call *call);

#endif
