#include "cluster/fan_out.h"

#include "base/error.h"
#include "cluster/shard_router.h"

#include <stdlib.h>

/* A request to all shards: one part for each. */
struct shards_call {
    struct shard_router *router;
    struct journal_request *whole;
    atomic_size_t n_left; /* parts that are not answered */
    size_t n;
    struct journal_request parts[];
};

static void refuse_whole(struct journal_request *req, const char *why)
{
    req->code = error_set(&req->why, ERR_BUSY, "%s", why);
    journal_request_answer(req);
}

/* --- answers ------------------------------------------------------------------------------ */

static int join_workers(struct shards_call *f)
{
    struct workers_request *all = &f->whole->workers;
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++)
        n += f->parts[i].workers.n;
    all->list = arena_alloc(&f->whole->mem, (n + 1) * sizeof(*all->list));
    if (all->list == NULL)
        return ERR_NOMEM;
    all->n = 0;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->parts[i].workers.n; k++)
            if (!journal_worker_copy(&f->whole->mem, &f->parts[i].workers.list[k],
                                     &all->list[all->n++]))
                return ERR_NOMEM;
    return 0;
}

static void add_count(struct count_request *all, const struct count_request *part)
{
    all->n_waiting += part->n_waiting;
    all->n_running += part->n_running;
    if (part->oldest_ms > all->oldest_ms)
        all->oldest_ms = part->oldest_ms;
}

static void add_agent(struct journal_agent_state *all, const struct journal_agent_state *part)
{
    all->n_waiting += part->n_waiting;
    all->n_running += part->n_running;
    if (part->oldest_ms > all->oldest_ms)
        all->oldest_ms = part->oldest_ms;
}

/* The agents of the first shard, which also has what workers report, with the jobs of all. */
static int join_agents(struct shards_call *f)
{
    struct agents_request *all = &f->whole->agents;
    const struct agents_request *first = &f->parts[0].agents;

    *all = (struct agents_request){ .n = first->n };
    all->list = arena_alloc(&f->whole->mem, (first->n + 1) * sizeof(*all->list));
    if (all->list == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < all->n; i++) {
        struct journal_agent_state *a = &all->list[i];

        *a = first->list[i];
        if (!arena_copy(&f->whole->mem, a->name, &a->name) ||
            !arena_copy(&f->whole->mem, a->error, &a->error))
            return ERR_NOMEM;
        for (size_t s = 1; s < f->n; s++)
            for (size_t k = 0; k < f->parts[s].agents.n; k++)
                if (str_eq(f->parts[s].agents.list[k].name, a->name))
                    add_agent(a, &f->parts[s].agents.list[k]);
    }
    return 0;
}

static void join(struct shards_call *f)
{
    struct journal_request *req = f->whole;

    req->code = 0;
    for (size_t i = 0; i < f->n && req->code == 0; i++) {
        req->code = f->parts[i].code;
        req->why = f->parts[i].why;
    }
    if (req->code == 0 && req->op == JOURNAL_WORKERS)
        req->code = join_workers(f);
    if (req->code == 0 && req->op == JOURNAL_AGENTS)
        req->code = join_agents(f);
    for (size_t i = 0; i < f->n && req->op == JOURNAL_COUNT; i++)
        add_count(&req->count, &f->parts[i].count);
    for (size_t i = 0; i < f->n; i++)
        journal_request_done(&f->parts[i]);
    journal_request_answer(req);
    free(f);
}

static void on_part(struct loop_call *call)
{
    struct shards_call *f = call->owner;

    if (atomic_fetch_sub(&f->n_left, 1) == 1)
        join(f);
}

/* --- requests ----------------------------------------------------------------------------- */

static void fill_part(struct journal_request *part, const struct journal_request *req)
{
    (void)journal_request_begin(part, req->op);
    part->job_scope = req->job_scope;
    part->caller = req->caller;
    if (req->op == JOURNAL_COUNT)
        part->count = req->count;
    else if (req->op == JOURNAL_SETTINGS)
        part->settings = req->settings;
}

void fan_out(struct shard_router *r, struct journal_request *req)
{
    size_t n = (size_t)shard_router_shards(r);
    struct shards_call *f = calloc(1, sizeof(*f) + n * sizeof(f->parts[0]));

    if (f == NULL) {
        refuse_whole(req, "out of memory");
        return;
    }
    *f = (struct shards_call){ .router = r, .whole = req, .n = n };
    atomic_init(&f->n_left, n);
    for (size_t i = 0; i < n; i++) {
        journal_request_init(&f->parts[i], NULL, f, on_part);
        fill_part(&f->parts[i], req);
        loop_call_start(&f->parts[i].loop_call);
    }
    for (size_t i = 0; i < n; i++) /* the last answer frees it */
        if (!shard_router_put(r, (int64_t)i, &f->parts[i]))
            loop_call_answer(&f->parts[i].loop_call);
}

/* --- a checkpoint of a call --------------------------------------------------------------- */

struct held_call {
    struct journal_request hold;
    struct shard_router *router;
    struct journal_request *whole;
};

static void on_held(struct loop_call *call)
{
    struct held_call *h = call->owner;
    struct journal_request *req = h->whole;

    req->code = h->hold.code;
    req->why = h->hold.why;
    req->checkpoint.is_held = req->code == 0;
    if (req->checkpoint.is_held)
        shard_router_post(h->router, req);
    else
        journal_request_answer(req);
    journal_request_done(&h->hold);
    free(h);
}

void fan_out_hold(struct shard_router *r, struct journal_request *req)
{
    struct held_call *h = calloc(1, sizeof(*h));

    if (h == NULL) {
        refuse_whole(req, "out of memory");
        return;
    }
    h->router = r;
    h->whole = req;
    journal_request_init(&h->hold, NULL, h, on_held);
    (void)journal_request_begin(&h->hold, JOURNAL_CHECKPOINTS_HOLD);
    h->hold.thread = req->thread;
    h->hold.caller = req->caller;
    h->hold.job_scope = req->job_scope;
    h->hold.checkpoint.call = req->checkpoint.call;
    loop_call_start(&h->hold.loop_call);
    if (!shard_router_put(r, 0, &h->hold))
        loop_call_answer(&h->hold.loop_call);
}
