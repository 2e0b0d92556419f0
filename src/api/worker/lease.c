#include "api/worker/lease.h"

#include "auth/token_service.h"
#include "base/error.h"

static const unsigned char *key_of_leases(const struct app_loop *loop)
{
    return token_service_lease_key(loop->app->tokens);
}

/* Is the caller the process that took the lease?  An engine may run a task again by itself:
 * the second run must not continue the first one's stream. */
static bool is_executor(struct http_request *req, const struct lease_text *lease)
{
    struct str executor = http_query(req, "executor");

    if (str_absent(lease->executor) || str_eq(executor, lease->executor))
        return true;
    if (str_absent(executor))
        return http_respond_error(req, 409,
                                  "this lease is bound to an executor: send executor=ID, as in "
                                  "the lease request, with every request about the job");
    return http_respond_error(req, 409,
                              "this lease was taken by the executor %.*s: another process must "
                              "not continue its stream; ask for a lease of its own",
                              STR_ARG(lease->executor));
}

bool lease_read(struct http_request *req, struct str job, struct lease_shown *ret)
{
    struct lease_text text;

    if (job.n == 0) { /* else it would count as a request without a job */
        return http_respond_error(req, 422, "the query must have job=JOB beside lease=TOKEN");
    }
    if (!lease_read_text(http_query(req, "lease"), &text))
        return http_respond_error(
            req, 422, "the query must have lease=TOKEN, as the answer to the lease gave it");
    *ret = (struct lease_shown){ .is_unsigned = str_absent(text.mac) };
    int code = ret->is_unsigned ? 0 : lease_cache_check(&app_loop_of(req)->leases, &text, job);
    if (code == ERR_NOMEM)
        return api_no_memory(req);
    if (code == 0) {
        ret->key = text.key;
        ret->attempt = text.attempt;
    }
    return code != 0 || ret->is_unsigned || is_executor(req, &text);
}

bool lease_read_job(struct journal_call *call, struct str job)
{
    struct journal_request *j = &call->journal;

    return lease_read(call->req, job, &j->lease) &&
           (arena_copy(&j->mem, job, &j->job) || api_no_memory(call->req));
}

bool lease_read_fence(struct journal_call *call)
{
    struct journal_request *j = &call->journal;
    struct str job = http_query(call->req, "job"), id = http_query(call->req, "call");

    if (job.n == 0 && id.n == 0)
        return http_respond_error(
            call->req, 422,
            "the query must have job=JOB&lease=TOKEN of the job that asks, or "
            "call=ID of the call");
    if (job.n > 0)
        return lease_read_job(call, job);
    return arena_copy(&j->mem, id, &j->checkpoint.call) || api_no_memory(call->req);
}

void lease_put_member(struct buf *b, const struct journal_call *call)
{
    const struct job_row *row = call->journal.row;

    json_add_parts(b, "lease");
    lease_put(b, key_of_leases(call->loop), row->id, row->key, row->attempt, call->executor);
    json_end_parts(b);
}
