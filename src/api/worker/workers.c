/* GET /v1/workers: who holds a lease, and who waits for one. */
#include "api/admit.h"
#include "api/api.h"

#include "dialect/render.h"

static void put_worker(struct buf *b, const struct journal_worker *w)
{
    buf_lit(b, "{\"worker\":");
    json_put_str_or_null(b, w->worker);
    buf_lit(b, ",\"agents\":[");
    for (size_t i = 0; i < w->n_agents; i++) {
        if (i > 0)
            buf_char(b, ',');
        json_put_str(b, w->agents[i]);
    }
    buf_char(b, ']');
    render_text(b, "job_id", w->job);
    if (str_absent(w->job))
        buf_lit(b, ",\"attempt\":null");
    else
        render_number(b, "attempt", w->attempt);
    render_moment(b, "lease_until", w->lease_until);
    render_moment(b, "seen_at", w->seen);
    buf_char(b, '}');
}

static void answer_workers(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;
    struct buf *b = &call->out;

    if (journal_call_refused(call))
        return;
    buf_lit(b, "{\"workers\":[");
    for (size_t i = 0; i < j->n_workers; i++) {
        if (i > 0)
            buf_char(b, ',');
        put_worker(b, &j->workers[i]);
    }
    buf_lit(b, "]}");
    api_json(call->req, 200, b);
}

void api_workers(struct http_request *req, void *arg)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_WORKERS, answer_workers);

    (void)arg;
    if (call != NULL)
        journal_call_post(call);
}
