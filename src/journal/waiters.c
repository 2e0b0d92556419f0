/* Workers that wait for a job at a gateway, for the list of workers.
 *
 * With several shards a lease request waits at the gateway that has received it
 * (cluster/seekers.h).  Each gateway tells the first shard once a second who waits there; what
 * it does not say again is forgotten. */
#include "journal/active_job.h"

#include "base/error.h"

#include <stdlib.h>

enum { KEEP_MS = 3500 };

struct gateway_waiters {
    struct gateway_waiters *next;
    int64_t told; /* when */
    struct arena mem;
    struct str gateway; /* in `mem`, as the list */
    struct journal_worker *list;
    size_t n;
};

static void waiters_free(struct gateway_waiters *w)
{
    arena_done(&w->mem);
    free(w);
}

/* Removes those of the gateway, and those of gateways that say nothing any more. */
static void drop(struct journal *j, struct str gateway)
{
    for (struct gateway_waiters **at = &j->waiters; *at != NULL;) {
        struct gateway_waiters *w = *at;

        if (!str_eq(w->gateway, gateway) && j->now - w->told < KEEP_MS) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        waiters_free(w);
    }
}

static bool take(struct journal *j, struct gateway_waiters *w, const struct waiters_request *in)
{
    bool ok = arena_copy(&w->mem, in->gateway, &w->gateway);

    w->told = j->now;
    w->list = arena_alloc(&w->mem, (in->n + 1) * sizeof(*w->list));
    ok = ok && w->list != NULL;
    for (size_t i = 0; ok && i < in->n; i++) {
        ok = journal_worker_copy(&w->mem, &in->list[i], &w->list[i]);
        w->list[w->n++].seen = j->now - in->list[i].seen;
    }
    return ok;
}

void journal_waiters(struct journal *j, struct journal_request *req)
{
    struct gateway_waiters *w = NULL;

    drop(j, req->waiters.gateway);
    req->code = 0;
    if (req->waiters.n == 0)
        return;
    w = calloc(1, sizeof(*w));
    if (w == NULL || !take(j, w, &req->waiters)) {
        if (w != NULL)
            waiters_free(w);
        req->code = ERR_NOMEM;
        return;
    }
    w->next = j->waiters;
    j->waiters = w;
}

bool waiters_put(struct journal *j, struct journal_request *req, size_t max)
{
    struct workers_request *out = &req->workers;

    drop(j, STR_NONE);
    for (const struct gateway_waiters *w = j->waiters; w != NULL; w = w->next)
        for (size_t i = 0; i < w->n && out->n < max; i++)
            if (!journal_worker_copy(&req->mem, &w->list[i], &out->list[out->n++]))
                return false;
    return true;
}

void waiters_forget(struct journal *j)
{
    for (struct gateway_waiters *w = j->waiters, *next; w != NULL; w = next) {
        next = w->next;
        waiters_free(w);
    }
    j->waiters = NULL;
}
