/* GET /v1/agents/{agent}/queue: how much work waits for an agent, for whoever starts workers.
 *
 * ?wait=SECONDS&above=N is answered when more than N jobs are queued, or when the time is over;
 * with tickets=N instead, when a job is queued and more than N are queued or leased: N tickets,
 * some of which have their job, are not enough.  A watch asks the journal once; then again
 * after changes of the agent's jobs (the first of them at once, because somebody waits for that
 * job; many that follow each other cost one question), and once a second, because changes of
 * other gateways can get lost. */
#include "api/admit.h"
#include "api/api.h"

#include "base/container_of.h"
#include "base/error.h"
#include "dialect/render.h"

#include <stdlib.h>

enum { MAX_WAIT_S = 60, AGAIN_MS = 1000, SOON_MS = 20 };

struct queue_watch {
    struct hub_listener listener;
    struct journal_request count;
    struct app_loop *loop;
    struct http_request *req; /* NULL: it was answered, or the client has disconnected */
    struct str agent;         /* borrowed as long as the app */
    uv_timer_t timer;
    uint64_t deadline; /* of the loop's clock */
    uint64_t above;
    uint64_t tickets;
    uint64_t asked; /* the journal, for a change; of the loop's clock */
    bool is_soon;   /* the timer is set for a change */
    bool is_closed;
};

/* When neither the timer nor the journal has it. */
static void free_watch(struct queue_watch *w)
{
    if (!w->is_closed || w->count.loop_call.is_pending)
        return;
    journal_request_done(&w->count);
    free(w);
}

static void on_closed(uv_handle_t *handle)
{
    struct queue_watch *w = handle->data;

    w->is_closed = true;
    free_watch(w);
}

static void on_dropped(struct loop_call *call)
{
    free_watch(call->owner);
}

static void finish(struct queue_watch *w)
{
    w->req = NULL;
    loop_call_cancel(&w->count.loop_call);
    hub_unlisten(w->loop->hub, &w->listener);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

static void on_gone(struct http_request *req, void *data)
{
    (void)req;
    finish(data);
}

static void put_queue(struct buf *b, const struct queue_watch *w)
{
    const struct count_request *c = &w->count.count;

    json_begin(b);
    json_add_str(b, "agent", w->agent);
    json_add_uint(b, "queued", c->n_waiting);
    json_add_uint(b, "leased", c->n_running);
    if (c->n_waiting > 0)
        json_add_int(b, "oldest_ms", c->oldest_ms);
    else
        json_add_const(b, "oldest_ms", "null");
    json_end(b);
}

static void answer(struct queue_watch *w)
{
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    http_on_gone(w->req, NULL, NULL);
    put_queue(&out, w);
    if (w->count.code != 0)
        http_respond_error(w->req, 503, "%s", w->count.why.text);
    else
        api_json(w->req, 200, &out);
    finish(w);
}

static bool is_due(const struct queue_watch *w)
{
    const struct count_request *c = &w->count.count;

    return c->n_waiting > w->above && c->n_waiting + c->n_running > w->tickets;
}

static void on_time(uv_timer_t *timer);

/* The journal is asked at once after a change, but not more often than every SOON_MS. */
static uint64_t ms_until_asked(const struct queue_watch *w)
{
    uint64_t passed = uv_now(w->timer.loop) - w->asked;

    return passed < SOON_MS ? SOON_MS - passed : 0;
}

static void on_counted(struct loop_call *call)
{
    struct queue_watch *w = call->owner;
    uint64_t now = uv_now(w->timer.loop);

    if (w->count.code != 0 || is_due(w) || now >= w->deadline) {
        answer(w);
        return;
    }
    uint64_t left = w->deadline - now;
    uint64_t ms = w->is_soon ? ms_until_asked(w) : AGAIN_MS;
    (void)uv_timer_start(&w->timer, on_time, ms < left ? ms : left, 0);
}

static void ask(struct queue_watch *w)
{
    if (w->is_soon)
        w->asked = uv_now(w->timer.loop);
    w->is_soon = false;
    (void)journal_request_begin(&w->count, JOURNAL_COUNT);
    w->count.count.agents = &w->agent;
    w->count.count.n_agents = 1;
    journal_post(w->loop->app->journal, &w->count);
}

static void on_time(uv_timer_t *timer)
{
    ask(timer->data);
}

static void on_change(struct hub_listener *l, const struct change *change)
{
    struct queue_watch *w = container_of(l, struct queue_watch, listener);

    if (w->is_soon ||
        (change != NULL && !(change->state_changed && str_eq(change->agent, w->agent))))
        return;
    w->is_soon = true;
    if (!w->count.loop_call.is_pending)
        (void)uv_timer_start(&w->timer, on_time, ms_until_asked(w), 0);
}

static void watch(struct http_request *req,
                  const struct app_agent *agent,
                  int64_t wait,
                  int64_t above,
                  int64_t tickets)
{
    struct queue_watch *w = calloc(1, sizeof(*w));
    uv_loop_t *uv = http_loop_uv(http_request_loop(req));

    if (w == NULL) {
        (void)api_no_memory(req);
        return;
    }
    w->loop = app_loop_of(req);
    w->req = req;
    w->agent = agent->name;
    w->above = (uint64_t)above;
    w->tickets = (uint64_t)tickets;
    w->deadline = uv_now(uv) + (uint64_t)wait * 1000;
    journal_request_init(&w->count, w->loop->box, w, on_counted);
    w->count.loop_call.dropped = on_dropped;
    w->listener.hear = on_change;
    hub_listen(w->loop->hub, &w->listener);
    http_on_gone(req, on_gone, w);
    (void)uv_timer_init(uv, &w->timer); /* cannot fail */
    w->timer.data = w;
    ask(w);
}

static bool read_number(struct http_request *req, const char *name, int64_t max, int64_t *ret)
{
    struct str text = http_query(req, name);

    *ret = 0;
    if (text.p == NULL || (str_number(text, ret) && *ret <= max))
        return true;
    return http_respond_error(req, 422, "%s must be a whole number from 0 to %lld", name,
                              (long long)max);
}

void api_queue(struct http_request *req)
{
    const struct app_agent *agent = api_agent(req);
    int64_t wait, above, tickets;

    if (agent != NULL && read_number(req, "wait", MAX_WAIT_S, &wait) &&
        read_number(req, "above", INT32_MAX, &above) &&
        read_number(req, "tickets", INT32_MAX, &tickets))
        watch(req, agent, wait, above, tickets);
}
