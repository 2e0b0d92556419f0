#include "api/lease.h"

#include "jobs/lease.h"

bool lease_read(struct call *call)
{
    if (lease_parse(http_query(call->req, "lease"), &call->journal.key, &call->journal.attempt))
        return true;
    http_respond_error(call->req, 422,
                       "the query must have lease=TOKEN, as the answer to the lease gave it");
    return false;
}

bool lease_read_fence(struct call *call)
{
    struct journal_request *j = &call->journal;
    struct str job = http_query(call->req, "job"), id = http_query(call->req, "call");

    if (job.n == 0 && id.n == 0) {
        http_respond_error(call->req, 422,
                           "the query must have job=JOB&lease=TOKEN of the job that writes, or "
                           "call=ID of the call");
        return false;
    }
    if (!arena_copy(&j->mem, job.n > 0 ? job : STR_NONE, &j->job) ||
        !arena_copy(&j->mem, job.n > 0 ? STR_NONE : id, &j->call.id))
        return api_no_memory(call->req);
    return job.n == 0 || lease_read(call);
}
