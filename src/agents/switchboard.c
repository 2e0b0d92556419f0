#include "agents/switchboard.h"

#include "agents/host.h"
#include "agents/member.h"
#include "agents/order.h"
#include "agents/report.h"
#include "agents/team.h"

#include <stdlib.h>

enum { MAX_LINE = 64 * 1024 * 1024 };

/* A call that a process has. */
struct inquiry {
    struct inquiry *next;
    struct switchboard *board;
    const struct member *member; /* borrowed; NULL: it was answered */
    struct arena mem;
    struct str id; /* in `mem`, like the texts of the answer */
    struct post post;
};

/* --- the answer -------------------------------------------------------------- */

static void remove_inquiry(struct inquiry *q)
{
    struct inquiry **at = &q->board->open;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    post_done(&q->post);
    arena_done(&q->mem);
    free(q);
}

/* Its caller has it, or has gone. */
static void on_delivered(struct post *p)
{
    struct inquiry *q = p->owner;
    struct switchboard *b = q->board;

    remove_inquiry(q);
    if (switchboard_is_idle(b))
        b->idle(b->arg);
}

/* Neither @answer nor @error: it is handed back. */
static void deliver(struct inquiry *q, struct str answer, struct str error)
{
    struct journal_request *req = post_begin(&q->post, JOURNAL_ANSWER);

    q->member = NULL;
    req->call.id = q->id;
    if (arena_copy(&q->mem, answer, &req->output))
        (void)arena_copy(&q->mem, error, &req->error); /* without memory: handed back */
    post_send(&q->post, q->board->host->journal);
}

bool switchboard_answer(struct switchboard *b,
                        const struct member *m,
                        const struct report *report)
{
    for (struct inquiry *q = b->open; q != NULL; q = q->next)
        if (q->member == m && str_eq(q->id, report->call)) {
            deliver(q, report->answer, report->error);
            return true;
        }
    return false;
}

void switchboard_lose(struct switchboard *b, const struct member *m)
{
    for (struct inquiry *q = b->open; q != NULL; q = q->next) /* none goes away in here */
        if (q->member == m) {
            deliver(q, STR_NONE, STR_NONE);
            b->is_wanted = true;
        }
}

/* --- the question ------------------------------------------------------------ */

static struct inquiry *inquiry_new(struct switchboard *b, struct str id)
{
    struct inquiry *q = calloc(1, sizeof(*q));

    if (q == NULL)
        return NULL;
    q->board = b;
    arena_init(&q->mem);
    post_init(&q->post, b->take.home, q, on_delivered);
    if (!arena_copy(&q->mem, id, &q->id)) {
        post_done(&q->post);
        arena_done(&q->mem);
        free(q);
        return NULL;
    }
    q->next = b->open;
    b->open = q;
    return q;
}

/* Without memory the call has no answer, and its caller hears so in time. */
static void put_through(struct switchboard *b, const struct journal_request *call)
{
    struct member *m = team_callee(b->team);
    struct inquiry *q = inquiry_new(b, call->call.id);
    struct buf line;

    if (q == NULL)
        return;
    buf_init(&line, MAX_LINE);
    order_put_call(&line, &call->call, *b->agent);
    q->member = m;
    if (m == NULL || line.error != 0 || child_say(&m->child, buf_text(&line)) != 0)
        deliver(q, STR_NONE, STR_NONE);
    buf_done(&line);
}

static void on_taken(struct post *p)
{
    struct switchboard *b = p->owner;

    if (p->req.code == 0) {
        b->is_wanted = true;
        put_through(b, &p->req);
    }
    switchboard_go_on(b);
    if (switchboard_is_idle(b))
        b->idle(b->arg);
}

void switchboard_go_on(struct switchboard *b)
{
    if (!b->is_wanted || b->take.is_flying || b->host->is_stopping)
        return;
    if (team_callee(b->team) == NULL) {
        team_wake(b->team);
        return;
    }
    struct journal_request *req = post_begin(&b->take, JOURNAL_TAKE);
    b->is_wanted = false;
    req->agents = b->agent;
    req->n_agents = 1;
    req->takes_calls = true;
    post_send(&b->take, b->host->journal);
}

/* --- life -------------------------------------------------------------------- */

void switchboard_init(struct switchboard *b,
                      const struct host *host,
                      struct mailbox *box,
                      const struct str *agent,
                      struct team *team,
                      void (*idle)(void *arg),
                      void *arg)
{
    *b = (struct switchboard){
        .host = host, .agent = agent, .team = team, .idle = idle, .arg = arg
    };
    post_init(&b->take, box, b, on_taken);
}

void switchboard_done(struct switchboard *b)
{
    post_done(&b->take);
}

bool switchboard_is_idle(const struct switchboard *b)
{
    return !b->take.is_flying && b->open == NULL;
}
