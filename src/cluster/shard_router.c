/* What is known of shards is kept in a table of fixed size, without locks: an entry is the
 * upper part of a hash and, in its last byte, the shard.  Keys are remembered by blocks, since
 * a block of keys is one shard's. */
#include "cluster/shard_router.h"

#include "base/container_of.h"
#include "base/table.h"
#include "cluster/fan_out.h"
#include "cluster/seekers.h"

#include <stdlib.h>

enum {
    N_KNOWN = 8192,
    KEY_BLOCK = 1024, /* keys that a shard takes at once; another number only costs time */
};

struct shard_router {
    struct journal_router answers;
    int64_t n;
    struct journal *journals[STORE_MAX_SHARDS]; /* borrowed */
    struct seekers *seekers;
    atomic_bool is_stopping;
    _Atomic uint64_t known[N_KNOWN];
};

_Static_assert(STORE_MAX_SHARDS < 256, "a shard is one byte of an entry");

/* --- what is known ------------------------------------------------------------------------ */

static void learn(struct shard_router *r, uint64_t hash, int64_t shard)
{
    atomic_store_explicit(&r->known[hash % N_KNOWN], (hash & ~UINT64_C(255)) | (uint64_t)shard,
                          memory_order_relaxed);
}

/* -1: it is not known. */
static int64_t known(const struct shard_router *r, uint64_t hash)
{
    uint64_t e = atomic_load_explicit(&r->known[hash % N_KNOWN], memory_order_relaxed);
    int64_t shard = (int64_t)(e & 255);

    return e != 0 && (e ^ hash) >> 8 == 0 && shard < r->n ? shard : -1;
}

static uint64_t hash_of_key(int64_t key)
{
    uint64_t hash = ((uint64_t)key / KEY_BLOCK + 1) * UINT64_C(0x9E3779B97F4A7C15);

    return hash ^ hash >> 32;
}

void shard_router_learn(struct shard_router *r, int64_t key, int64_t shard)
{
    learn(r, hash_of_key(key), shard);
}

static int64_t shard_of_text(const struct shard_router *r, struct str text)
{
    struct key k = key_stable(JOURNAL_SPACE_IDS, text);
    int64_t shard = known(r, k.b);

    return shard >= 0 ? shard : (int64_t)(k.a % (uint64_t)r->n);
}

static int64_t shard_of_job(const struct shard_router *r, const struct journal_request *req)
{
    int64_t shard = req->lease.key != 0 ? known(r, hash_of_key(req->lease.key)) : -1;

    return shard >= 0 ? shard : shard_of_text(r, req->job);
}

static int64_t shard_of_submit(const struct shard_router *r, const struct journal_request *req)
{
    const struct submit_request *s = &req->submit;

    if (!str_absent(s->run.kwargs) && !s->is_temporary)
        return shard_of_text(r, req->thread);
    return journal_shard_of_new(s->idempotency_key.p != NULL ? s->idempotency_key : s->id,
                                r->n);
}

/* --- the table ---------------------------------------------------------------------------- */

enum route {
    ROUTE_JOB,    /* the shard of its job, else of its thread, else the first */
    ROUTE_THREAD, /* the shard of its thread, else of its job */
    ROUTE_FIRST,
    ROUTE_SUBMIT,
    ROUTE_HELD, /* as ROUTE_JOB; without a job, the call must be held: it is in the first shard
                 */
    ROUTE_ALL,
    ROUTE_LEASE
};

static const enum route routes[JOURNAL_OP_MAX] = {
    [JOURNAL_SUBMIT] = ROUTE_SUBMIT,
    [JOURNAL_CANCEL] = ROUTE_THREAD,
    [JOURNAL_DELETE] = ROUTE_THREAD,
    [JOURNAL_RELEASE] = ROUTE_JOB,
    [JOURNAL_ANSWER_QUESTION] = ROUTE_JOB,
    [JOURNAL_PAUSE] = ROUTE_JOB,
    [JOURNAL_RESUME] = ROUTE_JOB,
    [JOURNAL_EXPIRE] = ROUTE_JOB,
    [JOURNAL_RUN_READ] = ROUTE_JOB,
    [JOURNAL_FEED] = ROUTE_JOB, /* it is pinned: redis/subscriber.c */

    [JOURNAL_LEASE] = ROUTE_LEASE,
    [JOURNAL_APPEND] = ROUTE_JOB,
    [JOURNAL_HEARTBEAT] = ROUTE_JOB,
    [JOURNAL_FINISH] = ROUTE_JOB,
    [JOURNAL_RETURN] = ROUTE_JOB,
    [JOURNAL_LOSE] = ROUTE_JOB,
    [JOURNAL_COUNT] = ROUTE_ALL,
    [JOURNAL_WORKERS] = ROUTE_ALL,
    [JOURNAL_AGENTS] = ROUTE_ALL,
    [JOURNAL_REPORT] = ROUTE_FIRST,

    [JOURNAL_CALL] = ROUTE_FIRST,
    [JOURNAL_TAKE] = ROUTE_FIRST,
    [JOURNAL_ANSWER_CALL] = ROUTE_FIRST,

    [JOURNAL_THREAD_CREATE] = ROUTE_THREAD,
    [JOURNAL_THREAD_PATCH] = ROUTE_THREAD,
    [JOURNAL_THREAD_COPY] = ROUTE_THREAD,
    [JOURNAL_THREAD_DELETE] = ROUTE_THREAD,
    [JOURNAL_THREAD_THIN] = ROUTE_THREAD,

    [JOURNAL_CHECKPOINT_PUT] = ROUTE_HELD,
    [JOURNAL_CHECKPOINT_WRITES] = ROUTE_HELD,
    [JOURNAL_CHECKPOINT_STATE] = ROUTE_HELD,
    [JOURNAL_CHECKPOINTS_HOLD] = ROUTE_JOB, /* without a job: the first, which has the call */
    [JOURNAL_CHECKPOINTS_DELETE] = ROUTE_HELD,
    [JOURNAL_ITEM_PUT] = ROUTE_JOB,
    [JOURNAL_ITEM_DELETE] = ROUTE_JOB,
    [JOURNAL_ITEM_TOUCH] = ROUTE_JOB,
    [JOURNAL_ASSISTANT_CREATE] = ROUTE_FIRST,
    [JOURNAL_ASSISTANT_PATCH] = ROUTE_FIRST,
    [JOURNAL_ASSISTANT_CHOOSE] = ROUTE_FIRST,
    [JOURNAL_ASSISTANT_DELETE] = ROUTE_FIRST,
    [JOURNAL_CRON_CREATE] = ROUTE_FIRST,
    [JOURNAL_CRON_PATCH] = ROUTE_FIRST,
    [JOURNAL_CRON_DELETE] = ROUTE_FIRST,
    [JOURNAL_CRON_SKIP] = ROUTE_FIRST,
    [JOURNAL_WEBHOOK] = ROUTE_FIRST,

    [JOURNAL_MARK_PUBLISHED] = ROUTE_FIRST, /* it is pinned: redis/publisher.c */
    [JOURNAL_GATEWAYS] = ROUTE_FIRST,       /* not posted here: cluster/member.c */
    [JOURNAL_WAITERS] = ROUTE_FIRST,        /* nor this: cluster/seekers.c */
    [JOURNAL_SETTINGS] = ROUTE_ALL,
};

static enum route route_of(const struct journal_request *req)
{
    bool has_job = !str_absent(req->job);

    if (req->op == JOURNAL_CHECKPOINTS_HOLD && !has_job)
        return ROUTE_FIRST;
    if (routes[req->op] == ROUTE_HELD && (has_job || req->checkpoint.is_held))
        return ROUTE_JOB;
    return routes[req->op];
}

static int64_t shard_of(const struct shard_router *r,
                        enum route route,
                        const struct journal_request *req)
{
    if (route == ROUTE_FIRST)
        return 0;
    if (route == ROUTE_SUBMIT)
        return shard_of_submit(r, req);
    if (!str_absent(req->job) && (route == ROUTE_JOB || str_absent(req->thread)))
        return shard_of_job(r, req);
    return str_absent(req->thread) ? 0 : shard_of_text(r, req->thread);
}

/* --- posting ------------------------------------------------------------------------------ */

int64_t shard_router_shards(const struct shard_router *r)
{
    return r->n;
}

bool shard_router_put(struct shard_router *r, int64_t shard, struct journal_request *req)
{
    req->next = NULL;
    if (atomic_load(&r->is_stopping)) {
        req->code = error_set(&req->why, ERR_BUSY, "the server is going down");
        return false;
    }
    journal_post_again(r->journals[shard], req);
    return true;
}

/* True: it is on its way, and not part of a chain. */
static bool take_apart(struct shard_router *r, enum route route, struct journal_request *req)
{
    if (route == ROUTE_LEASE)
        seekers_add(r->seekers, req);
    else if (route == ROUTE_ALL)
        fan_out(r, req);
    else if (route == ROUTE_HELD)
        fan_out_hold(r, req);
    else
        return false;
    return true;
}

void shard_router_post(void *router, struct journal_request *chain)
{
    struct shard_router *r = router;
    struct journal_request *first[STORE_MAX_SHARDS] = { NULL };
    struct journal_request *last[STORE_MAX_SHARDS];

    while (chain != NULL) {
        struct journal_request *req = chain;

        chain = req->next;
        req->next = NULL;
        enum route route = route_of(req);
        if (!req->is_pinned && take_apart(r, route, req))
            continue;
        int64_t shard = req->is_pinned ? req->shard : shard_of(r, route, req);
        req->router = req->is_pinned ? NULL : &r->answers;
        if (first[shard] == NULL)
            first[shard] = req;
        else
            last[shard]->next = req;
        last[shard] = req;
    }
    for (int64_t i = 0; i < r->n; i++)
        if (first[i] != NULL)
            journal_post_again(r->journals[i], first[i]);
}

static void learn_from(struct shard_router *r, const struct journal_request *req)
{
    bool is_thread = str_absent(req->job) || req->op == JOURNAL_SUBMIT;

    if (!is_thread && req->lease.key != 0)
        shard_router_learn(r, req->lease.key, req->shard);
    else if (is_thread || str_absent(req->thread))
        learn(r, key_stable(JOURNAL_SPACE_IDS, is_thread ? req->thread : req->job).b,
              req->shard);
    else
        learn(r, key_stable(JOURNAL_SPACE_IDS, req->thread).b, req->shard);
}

static bool on_answered(struct journal_router *answers, struct journal_request *req)
{
    struct shard_router *r = container_of(answers, struct shard_router, answers);

    if (req->code != ERR_ELSEWHERE || req->shard < 0 || req->shard >= r->n)
        return false;
    learn_from(r, req);
    return shard_router_put(r, req->shard, req);
}

void shard_router_queued(struct shard_router *r, struct str agent)
{
    seekers_queued(r->seekers, agent);
}

/* --- life --------------------------------------------------------------------------------- */

int shard_router_new(int64_t n_shards,
                     struct str gateway,
                     struct shard_router **ret,
                     struct error *err)
{
    struct shard_router *r = calloc(1, sizeof(*r));

    if (r == NULL || seekers_new(r, gateway, &r->seekers) != 0) {
        free(r);
        return error_set(err, ERR_NOMEM, "out of memory");
    }
    r->answers.answered = on_answered;
    r->n = n_shards;
    *ret = r;
    return 0;
}

void shard_router_set_journal(struct shard_router *r, int64_t shard, struct journal *journal)
{
    r->journals[shard] = journal;
}

int shard_router_start(struct shard_router *r, struct error *err)
{
    return seekers_start(r->seekers, err);
}

void shard_router_stop(struct shard_router *r)
{
    atomic_store(&r->is_stopping, true);
    seekers_stop(r->seekers);
}

void shard_router_free(struct shard_router *r)
{
    if (r == NULL)
        return;
    seekers_free(r->seekers);
    free(r);
}
