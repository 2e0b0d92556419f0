#include "agents/pool/call_router.h"

#include "agents/host.h"
#include "agents/pool/pool_process.h"
#include "agents/assignment.h"
#include "agents/pool/report.h"
#include "agents/pool/pool.h"

#include <stdlib.h>

enum { MAX_LINE = 64 * 1024 * 1024 };

/* A call that was sent to a process. */
struct pending_call {
    struct pending_call *next;
    struct call_router *router;
    const struct pool_process *process; /* borrowed; NULL: it was answered */
    struct arena mem;
    struct str id; /* in `mem`, like the texts of the answer */
    struct journal_request post;
};

/* --- the answer -------------------------------------------------------------- */

static void remove_call(struct pending_call *q)
{
    struct pending_call **at = &q->router->open;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    journal_request_done(&q->post);
    arena_done(&q->mem);
    free(q);
}

/* The answer was delivered, or the caller has disconnected. */
static void on_delivered(struct loop_call *call)
{
    struct pending_call *q = call->owner;
    struct call_router *b = q->router;

    remove_call(q);
    if (call_router_is_idle(b))
        b->idle(b->arg);
}

/* With neither @answer nor @error, the call is returned to the journal. */
static void deliver(struct pending_call *q, struct str answer, struct str error)
{
    struct journal_request *req = journal_request_begin(&q->post, JOURNAL_ANSWER_CALL);

    q->process = NULL;
    req->answer.id = q->id;
    if (arena_copy(&q->mem, answer, &req->answer.output))
        (void)arena_copy(&q->mem, error, &req->answer.error); /* without memory: it is returned
                                                                 to the journal */
    journal_post(q->router->host->journal, &q->post);
}

bool call_router_answer(struct call_router *b,
                        const struct pool_process *m,
                        const struct report *report)
{
    for (struct pending_call *q = b->open; q != NULL; q = q->next)
        if (q->process == m && str_eq(q->id, report->call)) {
            deliver(q, report->answer, report->error);
            return true;
        }
    return false;
}

void call_router_lose(struct call_router *b, const struct pool_process *m)
{
    for (struct pending_call *q = b->open; q != NULL; q = q->next) /* no call is removed inside
                                                                      of this loop */
        if (q->process == m) {
            deliver(q, STR_NONE, STR_NONE);
            b->is_wanted = true;
        }
}

/* --- sending a call ---------------------------------------------------------- */

static struct pending_call *pending_call_new(struct call_router *b, struct str id)
{
    struct pending_call *q = calloc(1, sizeof(*q));

    if (q == NULL)
        return NULL;
    q->router = b;
    arena_init(&q->mem);
    journal_request_init(&q->post, b->take.loop_call.home, q, on_delivered);
    if (!arena_copy(&q->mem, id, &q->id)) {
        journal_request_done(&q->post);
        arena_done(&q->mem);
        free(q);
        return NULL;
    }
    q->next = b->open;
    b->open = q;
    return q;
}

/* Sends the call to a process.  Without memory it gets no answer, and the caller times out. */
static void put_through(struct call_router *b, const struct taken_call *call)
{
    struct pool_process *m = pool_callee(b->pool);
    struct pending_call *q = pending_call_new(b, call->id);
    struct buf line LOCAL_BUF(MAX_LINE);

    if (q == NULL)
        return;
    assignment_put_call(&line, call, *b->agent);
    q->process = m;
    if (m == NULL || line.error != 0 || child_say(&m->child, buf_text(&line)) != 0)
        deliver(q, STR_NONE, STR_NONE);
}

static void on_taken(struct loop_call *call)
{
    struct call_router *b = call->owner;

    if (b->take.code == 0) {
        b->is_wanted = true;
        put_through(b, &b->take.work.call);
    }
    call_router_go_on(b);
    if (call_router_is_idle(b))
        b->idle(b->arg);
}

void call_router_go_on(struct call_router *b)
{
    if (!b->is_wanted || b->take.loop_call.is_pending || b->host->is_stopping)
        return;
    if (pool_callee(b->pool) == NULL) {
        pool_wake(b->pool);
        return;
    }
    struct journal_request *req = journal_request_begin(&b->take, JOURNAL_TAKE);
    b->is_wanted = false;
    req->work.agents = b->agent;
    req->work.n_agents = 1;
    req->work.takes_calls = true;
    journal_post(b->host->journal, &b->take);
}

/* --- life -------------------------------------------------------------------- */

void call_router_init(struct call_router *b,
                      const struct host *host,
                      struct mailbox *box,
                      const struct str *agent,
                      struct pool *pool,
                      void (*idle)(void *arg),
                      void *arg)
{
    *b = (struct call_router){
        .host = host, .agent = agent, .pool = pool, .idle = idle, .arg = arg
    };
    journal_request_init(&b->take, box, b, on_taken);
}

void call_router_done(struct call_router *b)
{
    journal_request_done(&b->take);
}

bool call_router_is_idle(const struct call_router *b)
{
    return !b->take.loop_call.is_pending && b->open == NULL;
}
