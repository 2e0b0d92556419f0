/* Waiting for a job's end (?wait=).
 *
 * A waiter is a hub reader that takes no bytes: whenever the hub wakes it, it reads the job
 * from the store.  It answers when the job has ended, or when the time is over. */
#include "api/jobs/jobs.h"

#include "base/container_of.h"
#include "base/error.h"

#include <stdlib.h>

struct waiter {
    struct reader reader;
    struct app_loop *loop;
    struct http_request *req;  /* NULL: the client has disconnected */
    struct store_query *query; /* under way */
    uv_timer_t timer;
    bool again;   /* woken while a query was under way */
    bool over;    /* the time is over */
    bool closing; /* the timer is being closed, and the waiter with it */
};

static void query_again(struct waiter *w);

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void finish(struct waiter *w)
{
    if (w->closing)
        return;
    w->closing = true;
    if (w->query != NULL)
        loop_call_cancel(&w->query->task.loop_call);
    hub_leave(w->loop->hub, &w->reader);
    uv_close((uv_handle_t *)&w->timer, on_timer_closed);
}

static void on_gone(struct http_request *req, void *data)
{
    struct waiter *w = data;

    (void)req;
    w->req = NULL;
    finish(w);
}

static void on_queried(struct loop_call *call)
{
    struct store_query *query = call->owner;
    struct waiter *w = query->data;
    bool done = query->status != 202 || w->over;

    w->query = NULL;
    if (done) {
        http_on_gone(w->req, NULL, NULL);
        if (query->status >= 400)
            http_respond_error(w->req, query->status, "%.*s", STR_ARG(buf_text(&query->out)));
        else
            api_json(w->req, query->status, &query->out);
    }
    store_query_free(query);
    if (done)
        finish(w);
    else if (w->again)
        query_again(w);
}

static void query_again(struct waiter *w)
{
    w->again = w->query != NULL;
    if (w->query != NULL)
        return;
    struct store_query *query =
        store_query_new(w->req, hub_reader_job(&w->reader), state_run_result);
    if (query == NULL) { /* it has answered */
        w->req = NULL;
        finish(w);
        return;
    }
    query->data = w;
    query->task.loop_call.answered = on_queried;
    w->query = query;
    thread_pool_post(w->loop->app->pool, &query->task);
}

static void on_wake(struct reader *reader)
{
    struct waiter *w = container_of(reader, struct waiter, reader);

    if (!w->closing)
        query_again(w);
}

static void on_time(uv_timer_t *timer)
{
    struct waiter *w = timer->data;

    w->over = true;
    query_again(w);
}

void jobs_wait(struct http_request *req, struct str job, int64_t wait_ms)
{
    struct waiter *w = calloc(1, sizeof(*w));
    struct stream_format format = { .dialect = &dialect_nodes, .framing = &framing_ndjson };

    if (w == NULL || hub_join(app_loop_of(req)->hub, job, &format, &w->reader) != 0) {
        free(w);
        (void)api_no_memory(req);
        return;
    }
    w->loop = app_loop_of(req);
    w->req = req;
    w->reader.wake = on_wake;
    http_on_gone(req, on_gone, w);
    (void)uv_timer_init(http_loop_uv(http_request_loop(req)), &w->timer); /* cannot fail */
    w->timer.data = w;
    (void)uv_timer_start(&w->timer, on_time, (uint64_t)wait_ms, 0);
    query_again(w);
}
