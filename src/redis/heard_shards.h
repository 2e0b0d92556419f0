/* The shards whose messages this gateway takes.
 *
 * A gateway that begins to write a shard may have messages in its socket that the last writer
 * has stored.  So it takes a shard's messages only from a moment at which it wrote the shard
 * already and Redis had sent everything that was published before:
 *
 *     the shard comes ──▶ PSUBSCRIBE once more ──▶ its confirmation: taken from here
 *
 * The shards that are there before the first connection are taken from its beginning.
 *
 * A moment is the number of shards that were taken so far; a message is of the moment at which
 * it arrived. */
#ifndef REDIS_HEARD_SHARDS_H
#define REDIS_HEARD_SHARDS_H

#include "store/store.h"

struct heard_shards {
    uint64_t written; /* by this gateway, as bits */
    uint64_t taken;   /* of these */
    uint64_t first;   /* of these: written before the first connection */
    uint64_t moment;
    uint64_t since[STORE_MAX_SHARDS];    /* the moment at which it was taken */
    uint64_t asked_in[STORE_MAX_SHARDS]; /* the subscription that is waited for; 0: none yet */
    uint64_t n_asked, n_confirmed;       /* subscriptions on this connection, but the first */
};

void heard_shards_init(struct heard_shards *h, uint64_t written);
/* @written by this gateway now; @lost: by another one since the last call.  True: subscribe
 * once more, if connected. */
bool heard_shards_set(struct heard_shards *h, uint64_t written, uint64_t lost);
/* Subscribed once more. */
void heard_shards_asked(struct heard_shards *h);
/* These return the shards that are taken from now on, as bits. */
uint64_t heard_shards_connected(struct heard_shards *h);
uint64_t heard_shards_confirmed(struct heard_shards *h);
void heard_shards_disconnected(struct heard_shards *h);
/* Do some wait for a subscription that was not sent? */
bool heard_shards_want(const struct heard_shards *h);

/* Is a message of that moment taken, if its job is in @shard? */
static inline bool heard_shards_take(const struct heard_shards *h,
                                     int64_t shard,
                                     uint64_t moment)
{
    return (h->taken >> shard & 1) != 0 && moment >= h->since[shard];
}

/* A shard in which a job may be whose shard is not known, @home if it can be; -1: none. */
int64_t heard_shards_try(const struct heard_shards *h, int64_t home, uint64_t moment);

#endif
