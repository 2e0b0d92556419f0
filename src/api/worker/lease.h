/* The lease that a request presents in its query (jobs/lease.h). */
#ifndef API_WORKER_LEASE_H
#define API_WORKER_LEASE_H

#include "api/api.h"

/* Reads lease=TOKEN from the query; it is marked as forged when it was not issued for @job.
 * False when the request was answered: it is not a lease at all. */
bool lease_read(struct http_request *req, struct str job, struct lease_shown *ret);
/* Sets the job and the lease of a call from @job and the query. */
bool lease_read_job(struct journal_call *call, struct str job);
/* Reads the fence of a checkpoint request: ?job=JOB&lease=TOKEN, or ?call=ID.  False when it
 * was answered: there is none. */
bool lease_read_fence(struct journal_call *call);
/* Writes `,"lease":"…"` for the leased job. */
void lease_put_member(struct buf *b, const struct journal_call *call);

#endif
