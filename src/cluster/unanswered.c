#include "cluster/unanswered.h"

#include "base/clock.h"
#include "base/error.h"
#include "cluster/codec.h"
#include "cluster/frame.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAP = 64, KEPT_MS = 1000 };

void unanswered_init(struct unanswered_table *t, const char *gateway, int64_t shard)
{
    *t =
        (struct unanswered_table){ .gateway = gateway, .shard = shard, .first_free = SIZE_MAX };
}

void unanswered_done(struct unanswered_table *t)
{
    assert(t->n_used == 0);
    free(t->entries);
}

/* --- places ------------------------------------------------------------------------------- */

static int grow(struct unanswered_table *t)
{
    size_t cap = t->cap > 0 ? 2 * t->cap : FIRST_CAP;
    struct unanswered *more = realloc(t->entries, cap * sizeof(*more));

    if (more == NULL)
        return ERR_NOMEM;
    for (size_t i = t->cap; i < cap; i++)
        more[i] = (struct unanswered){ .next_free = i + 1 < cap ? i + 1 : SIZE_MAX };
    t->first_free = t->cap;
    t->entries = more;
    t->cap = cap;
    return 0;
}

static uint64_t number_of(const struct unanswered_table *t, const struct unanswered *e)
{
    return (uint64_t)e->uses << 32 | (uint64_t)(e - t->entries);
}

struct journal_request *unanswered_take(struct unanswered_table *t, struct unanswered *e)
{
    struct journal_request *req = e->req;

    e->req = NULL;
    e->uses++;
    e->next_free = t->first_free;
    t->first_free = (size_t)(e - t->entries);
    t->n_used--;
    return req;
}

struct unanswered *unanswered_find(struct unanswered_table *t, uint64_t number)
{
    size_t i = (size_t)(number & UINT32_MAX);
    struct unanswered *e = i < t->cap ? &t->entries[i] : NULL;

    return e != NULL && e->req != NULL && number_of(t, e) == number ? e : NULL;
}

static int by_order(const void *a, const void *b)
{
    const struct unanswered *const *x = a, *const *y = b;

    return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

struct unanswered **unanswered_sorted(struct unanswered_table *t, size_t *ret_n)
{
    struct unanswered **list =
        t->n_used > 0 ? calloc(t->n_used, sizeof(struct unanswered *)) : NULL;
    size_t n = 0;

    for (size_t i = 0; list != NULL && i < t->cap; i++)
        if (t->entries[i].req != NULL)
            list[n++] = &t->entries[i];
    if (n > 0)
        qsort(list, n, sizeof(list[0]), by_order);
    *ret_n = n;
    return list;
}

/* --- requests ----------------------------------------------------------------------------- */

static bool waits(const struct journal_request *req)
{
    return req->op == JOURNAL_LEASE || req->op == JOURNAL_CALL || req->op == JOURNAL_HEARTBEAT;
}

static int64_t *wait_of(struct journal_request *req)
{
    if (req->op == JOURNAL_HEARTBEAT)
        return &req->beat.wait_ms;
    return req->op == JOURNAL_LEASE ? &req->work.wait_ms : &req->call.wait_ms;
}

/* Whoever gets the same operation a second time finds that it was done. */
static void name_operation(const struct unanswered_table *t,
                           struct journal_request *req,
                           uint64_t order)
{
    char id[80];

    if (!str_absent(req->operation))
        return; /* it was here before */
    (void)snprintf(id, sizeof(id), "%s:%lld:%llu", t->gateway, (long long)t->shard,
                   (unsigned long long)order);
    (void)arena_copy(&req->mem, str_of(id), &req->operation); /* or it has none */
    req->is_repeat = false;
}

/* Whoever asks again with the same name gets the lease whose answer was lost. */
static void name_lease(const struct unanswered_table *t,
                       struct journal_request *req,
                       uint64_t order)
{
    char name[80];

    if (req->op != JOURNAL_LEASE || !str_absent(req->work.request_id))
        return;
    (void)snprintf(name, sizeof(name), "gateway:%s:%lld:%llu", t->gateway, (long long)t->shard,
                   (unsigned long long)order);
    (void)arena_copy(&req->mem, str_of(name), &req->work.request_id); /* or it has none */
}

struct unanswered *unanswered_add(struct unanswered_table *t,
                                  struct journal_request *req,
                                  int64_t now)
{
    if (t->first_free == SIZE_MAX && grow(t) != 0)
        return NULL;
    struct unanswered *e = &t->entries[t->first_free];
    t->first_free = e->next_free;
    t->n_used++;
    e->req = req;
    e->order = t->n_orders++;
    e->is_sent = e->is_withdrawn = false;
    e->since = now;
    e->deadline = waits(req) ? now + *wait_of(req) : 0;
    name_operation(t, req, e->order);
    name_lease(t, req, e->order);
    return e;
}

void unanswered_put(struct unanswered_table *t, struct unanswered *e, struct buf *out)
{
    size_t from = frame_begin(out, FRAME_REQUEST, number_of(t, e));

    if (e->deadline != 0) {
        int64_t left = e->deadline - clock_steady_ms();

        *wait_of(e->req) = left > 0 ? left : 0;
    }
    codec_put_request(out, e->req);
    frame_end(out, from);
    e->is_sent = true;
    e->sent = clock_steady_ms();
    e->is_withdrawn = false;
    e->req->is_repeat = true; /* from now on */
}

bool unanswered_is_abandoned(const struct unanswered *e)
{
    return waits(e->req) && e->req->withdrawn;
}

void unanswered_withdraw(struct unanswered_table *t, struct unanswered *e, struct buf *out)
{
    if (e->is_withdrawn)
        return;
    e->is_withdrawn = true;
    frame_end(out, frame_begin(out, FRAME_WITHDRAW, number_of(t, e)));
}

void unanswered_unsend(struct unanswered_table *t, int64_t now)
{
    for (size_t i = 0; i < t->cap; i++) {
        struct unanswered *e = &t->entries[i];

        if (e->req == NULL || !e->is_sent)
            continue;
        e->is_sent = false;
        if (now - e->sent >= KEPT_MS)
            e->since = now;
    }
}
