/* The lease that a request shows in its query (jobs/lease.h). */
#ifndef API_WORKER_LEASE_H
#define API_WORKER_LEASE_H

#include "api/api.h"

/* What the query's lease=TOKEN says of @job: forged when it was not given for that.  False when
 * the request was answered: it does not look like a lease. */
bool lease_read(struct http_request *req, struct str job, struct lease_shown *ret);
/* Sets job and lease of a call from @job and the query's lease. */
bool lease_read_job(struct journal_call *call, struct str job);
/* The fence of a request about checkpoints: ?job=JOB&lease=TOKEN, or ?call=ID.  False when it
 * was answered: there is none. */
bool lease_read_fence(struct journal_call *call);
/* `,"lease":"…"` of the job that a lease has brought. */
void lease_put_member(struct buf *b, const struct journal_call *call);

#endif
