/* GET /v1/workers: the workers that hold a lease, and those that wait for one. */
#include "api/admit.h"
#include "api/api.h"

#include "dialect/render.h"

static void put_worker(struct buf *b, const struct journal_worker *w)
{
    json_begin(b);
    json_add_text(b, "worker", w->worker);
    json_add_array(b, "agents");
    for (size_t i = 0; i < w->n_agents; i++)
        json_put_str(json_next(b), w->agents[i]);
    json_end_array(b);
    json_add_text(b, "job_id", w->job);
    if (str_absent(w->job))
        json_add_const(b, "attempt", "null");
    else
        json_add_int(b, "attempt", w->attempt);
    json_add_time(b, "lease_until", w->lease_until);
    json_add_time(b, "seen_at", w->seen);
    json_end(b);
}

static void answer_workers(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;
    struct buf *b = &call->out;

    if (journal_call_refused(call))
        return;
    json_begin_list(b, "workers");
    for (size_t i = 0; i < j->workers.n; i++)
        put_worker(json_next(b), &j->workers.list[i]);
    json_end_list(b);
    api_json(call->req, 200, b);
}

void api_workers(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_WORKERS, answer_workers);

    if (call != NULL)
        journal_call_post(call);
}
