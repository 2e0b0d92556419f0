/* The router: which of the database's shards does a request.
 *
 *     journal_post ──▶ router ──┬──▶ journal of shard 0 (open, or it forwards: cluster/link.h)
 *                               ├──▶ journal of shard 1
 *                               └──▶ …
 *
 * The shard of a job, or of a thread, is stored with it.  The router guesses it: by the key
 * that a lease shows, if it has seen one near it, else by a hash of the id.  A journal that
 * reads a row of another shard does nothing and says so (ERR_ELSEWHERE); then the request goes
 * there.  So a wrong guess costs time, and never does harm.
 *
 * Where a new job goes: to the shard of its thread, else of its idempotency key, else of its
 * id, all by hash.  Jobs that are made together go where the first one goes.
 *
 * A pinned request goes to the shard that it names, and what that one answers is its answer.
 * Some requests concern all shards: leases (cluster/seekers.h), and what counts or lists
 * (cluster/fan_out.h).  Calls, assistants and items of clients belong to shard 0.
 *
 * From any thread. */
#ifndef CLUSTER_SHARD_ROUTER_H
#define CLUSTER_SHARD_ROUTER_H

#include "journal/journal.h"

struct shard_router;

/* @gateway: the id of this one; borrowed. */
MUST_CHECK int shard_router_new(int64_t n_shards,
                                struct str gateway,
                                struct shard_router **ret,
                                struct error *err);
/* After shard_router_stop(), when all journals and links are gone. */
void shard_router_free(struct shard_router *r);
/* Before anything is posted: the journal of a shard; borrowed. */
void shard_router_set_journal(struct shard_router *r, int64_t shard, struct journal *journal);
MUST_CHECK int shard_router_start(struct shard_router *r, struct error *err);
/* From now on nothing is posted: requests that come back are answered ERR_BUSY. */
void shard_router_stop(struct shard_router *r);

/* For journal_options. */
void shard_router_post(void *router, struct journal_request *chain);
/* Work may wait for @agent; absent: for any. */
void shard_router_queued(struct shard_router *r, struct str agent);

/* --- for its parts ------------------------------------------------------------------------ */

int64_t shard_router_shards(const struct shard_router *r);
/* Posts a request that is under way (loop_call_start) to one shard.  False: it is stopping, and
 * the request was given ERR_BUSY. */
MUST_CHECK bool shard_router_put(struct shard_router *r,
                                 int64_t shard,
                                 struct journal_request *req);
/* The job with this key is in @shard, and so are those with keys near it. */
void shard_router_learn(struct shard_router *r, int64_t key, int64_t shard);

#endif
