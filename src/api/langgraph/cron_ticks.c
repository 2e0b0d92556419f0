/* A tick is a request of the server itself: its body is the cron's payload, its caller the
 * cron's owner, and it is handled as POST …/runs is.  The journal takes the tick in the turn
 * that creates the run (journal/crons.c), so it does not matter how often a tick is tried:
 * after a crash, or while another gateway takes over, it is found again as due, or it was
 * taken.
 *
 *     timer ──▶ store_crons_due ──▶ for each: its assistant ──▶ SUBMIT with the tick
 *                                        │ refused here: CRON_SKIP
 *
 * Of a cron that a user of the project's own handlers has created, they are asked first
 * (cron_user.h): whoever may not create runs any more has no ticks.
 *
 * What is due is decided by the wall clock, since a schedule is about dates.  After a step
 * back, ticks that were taken do not come again: their crons have moved on.  Only a clock that
 * was more than a day ahead was wrong: crons that moved on by it get their ticks anew. */
#include "api/langgraph/cron_ticks.h"

#include "api/authorization.h"
#include "api/langgraph/authorize.h"
#include "api/langgraph/cron_user.h"
#include "api/langgraph/langgraph.h"
#include "auth/authenticator.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_merge.h"
#include "store/crons.h"
#include "store/rows.h"

#include <stdlib.h>

enum {
    EVERY_MS = 500,
    MAX_DUE = 100,
    LOOKS_FOR_ALL = 120 /* looks between two that look at all crons */
};

struct due_cron {
    struct cron_ticks *ticks;
    struct cron_row row;      /* in the ticks' memory */
    struct visitor visitor;   /* its owner; has the token, and the user */
    struct http_request *req; /* NULL: not under way */
    bool is_wrong;            /* its tick was computed with a wrong clock */
};

struct cron_ticks {
    struct app_loop *loop; /* borrowed */
    struct http_loop *http;
    uv_timer_t timer;
    struct thread_task task; /* asks the store */
    bool is_asking, is_stopped;
    size_t n_pending; /* ticks that are under way */
    struct arena mem; /* of the last answer */
    struct due_cron *due;
    size_t n_due;
    unsigned n_looks;
    int64_t now;
    bool no_memory;
};

/* --- one tick ----------------------------------------------------------------------------- */

static void tick_done(struct due_cron *c)
{
    c->req = NULL;
    visitor_set_note(&c->visitor, NULL, NULL);
    token_unref(c->visitor.token);
    c->visitor.token = NULL;
    c->ticks->n_pending--;
}

static void on_skipped(struct loop_call *call)
{
    struct journal_request *req = call->owner;

    journal_request_done(req);
    free(req);
}

/* The run cannot be created: on to the next tick.  If this fails, the tick is tried again. */
static void skip(struct due_cron *c)
{
    struct app_loop *loop = c->ticks->loop;
    struct journal_request *req = calloc(1, sizeof(*req));

    if (req == NULL)
        return;
    journal_request_init(req, loop->box, req, on_skipped);
    req->loop_call.dropped = on_skipped;
    (void)journal_request_begin(req, JOURNAL_CRON_SKIP);
    req->tick.due = c->row.next;
    if (arena_copy(&req->mem, c->row.id, &req->tick.cron))
        journal_post(loop->app->journal, req);
    else
        on_skipped(&req->loop_call);
}

/* 503: it is still due.  409: it was taken. */
static void on_answered(struct http_request *req, int status, struct str body, void *arg)
{
    struct due_cron *c = arg;

    (void)req;
    (void)body;
    counter_add(&c->ticks->loop->cron_ticks[status < 300 ? CRON_TICK_RUN : CRON_TICK_REFUSED],
                1);
    if (status >= 400 && status != 503 && status != 409)
        skip(c);
    tick_done(c);
}

static void answer_run(struct journal_call *call)
{
    if (!langgraph_refused_run(call))
        http_respond(call->req, 200, "application/json", STR("{}"));
}

static bool read_run(struct journal_call *call, struct json_reader *reader)
{
    const struct due_cron *c = http_inner_arg(call->req);
    struct json json;

    call->journal.submit.tick.due = c->row.next;
    return api_read_body(call->req, reader, buf_text(&call->body), &json) &&
           (arena_copy(&call->journal.mem, c->row.id, &call->journal.submit.tick.cron) ||
            api_no_memory(call->req)) &&
           langgraph_read_run(call, json.root);
}

static void submit(struct http_request *req, const struct assistant_row *assistant)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_SUBMIT, answer_run);

    if (call == NULL)
        return;
    call->assistant = assistant;
    journal_call_read(call, LANGGRAPH_MAX_DEPTH, read_run);
}

static int make_owner(struct due_cron *c)
{
    const struct cron_row *row = &c->row;
    struct token *guest = c->ticks->loop->guest;
    const struct token_limits limits = { .jobs = row->max_jobs,
                                         .queued = row->max_queued,
                                         .running = row->max_running };
    struct authorization *user = NULL;
    int code = cron_user_read(row->payload, &user);

    if (user != NULL)
        visitor_set_note(&c->visitor, user, authorization_free);
    if (code == 0 && user != NULL && guest != NULL) {
        c->visitor.token = token_ref(guest);
        return 0;
    }
    if (code == 0)
        code = row->owner.n > 0 ? token_new_for_owner(row->owner, &limits, &c->visitor.token)
                                : token_new_everybody(&c->visitor.token);
    return code;
}

/* The payload, with the cron's metadata and what becomes of the thread. */
static void put_body(struct buf *b, const struct cron_row *row)
{
    struct buf over LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&over);
    json_add_raw(&over, "metadata", row->metadata);
    if (!str_absent(row->on_completed))
        json_add_str(&over, "on_completion", row->on_completed);
    json_end(&over);
    json_merge(b, row->payload, buf_text(&over));
    if (over.error != 0)
        b->error = over.error;
}

static void run_tick(struct http_request *req)
{
    const struct due_cron *c = http_inner_arg(req);

    langgraph_with_assistant(req, c->row.assistant, submit);
}

/* Without memory it is tried again at the next look. */
static void begin_tick(struct due_cron *c)
{
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    c->ticks->n_pending++;
    if (make_owner(c) != 0) {
        tick_done(c);
        return;
    }
    put_body(&body, &c->row);
    c->req = body.error == 0
                 ? http_inner_new_for(c->ticks->http, &c->visitor, "thread", c->row.thread,
                                      buf_text(&body), on_answered, c)
                 : NULL;
    if (c->req == NULL)
        tick_done(c);
    else
        authorize_run(c->req, run_tick);
}

/* --- which are due ------------------------------------------------------------------------ */

static int on_due(void *arg, const struct cron_row *row)
{
    struct cron_ticks *t = arg;
    struct due_cron *c = &t->due[t->n_due];

    if (t->n_due == MAX_DUE)
        return 1;
    *c = (struct due_cron){ .ticks = t, .row = *row };
    t->no_memory = !row_copy(&t->mem, &cron_texts, &c->row);
    t->n_due += t->no_memory ? 0 : 1;
    return t->no_memory;
}

static int on_any(void *arg, const struct cron_row *row)
{
    struct cron_ticks *t = arg;
    size_t n = t->n_due;

    if (row->moved <= t->now + CRON_CLOCK_WAS_WRONG_MS)
        return 0;
    int code = on_due(t, row);
    if (t->n_due > n)
        t->due[n].is_wrong = true;
    return code;
}

/* A store that cannot be read is asked again at the next look; others say that it is broken. */
static void run_due(struct thread_task *task, struct store *store)
{
    struct cron_ticks *t = container_of(task, struct cron_ticks, task);

    arena_reset(&t->mem);
    t->n_due = 0;
    t->due = arena_alloc(&t->mem, MAX_DUE * sizeof(*t->due));
    t->now = clock_wall_ms();
    if (t->due != NULL)
        (void)store_crons_due(store, t->now, MAX_DUE, on_due, t, NULL);
    if (t->due != NULL && t->n_looks++ % LOOKS_FOR_ALL == 0)
        (void)store_crons(store, on_any, t, NULL);
}

static void on_found(struct loop_call *call)
{
    struct cron_ticks *t = call->owner;

    t->is_asking = false;
    for (size_t i = 0; i < t->n_due && !t->is_stopped; i++) {
        if (t->due[i].is_wrong)
            skip(&t->due[i]);
        else
            begin_tick(&t->due[i]);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct cron_ticks *t = timer->data;
    struct app *app = t->loop->app;

    if (t->is_asking || t->n_pending > 0 || atomic_load(&app->draining) || !app_is_writer(app))
        return;
    t->is_asking = true;
    thread_pool_post(app->pool, &t->task);
}

/* --- life --------------------------------------------------------------------------------- */

int cron_ticks_new(struct http_loop *http, struct app_loop *loop, struct cron_ticks **ret)
{
    struct cron_ticks *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return ERR_NOMEM;
    t->http = http;
    t->loop = loop;
    arena_init(&t->mem);
    t->task.loop_call =
        (struct loop_call){ .home = loop->box, .owner = t, .answered = on_found };
    t->task.run = run_due;
    t->timer.data = t;
    (void)uv_timer_init(http_loop_uv(http), &t->timer); /* cannot fail */
    (void)uv_timer_start(&t->timer, on_timer, EVERY_MS, EVERY_MS);
    *ret = t;
    return 0;
}

void cron_ticks_stop(struct cron_ticks *t)
{
    t->is_stopped = true;
    /* While the store is asked, another thread fills them, and none is under way. */
    for (size_t i = 0; !t->is_asking && i < t->n_due; i++)
        if (t->due[i].req != NULL)
            http_inner_leave(t->due[i].req);
    uv_close((uv_handle_t *)&t->timer, NULL);
}

void cron_ticks_free(struct cron_ticks *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->n_due; i++) { /* ticks that have not ended */
        visitor_set_note(&t->due[i].visitor, NULL, NULL);
        token_unref(t->due[i].visitor.token);
    }
    arena_done(&t->mem);
    free(t);
}
