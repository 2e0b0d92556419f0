/* The lease that a request shows in its query (jobs/lease.h). */
#ifndef API_LEASE_H
#define API_LEASE_H

#include "api/api.h"

/* Sets key and attempt from the query's lease=TOKEN; false when the request was answered. */
bool lease_read(struct call *call);
/* The fence of a write: ?job=JOB&lease=TOKEN, or ?call=ID.  False when it was answered: there
 * is none. */
bool lease_read_fence(struct call *call);

#endif
