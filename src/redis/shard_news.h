/* What shards are told about all of their jobs that are fed from channels: while Redis is away,
 * their leases do not run out; and when a shard comes from another gateway, they may have
 * missed messages.
 *
 * Loop thread only. */
#ifndef REDIS_SHARD_NEWS_H
#define REDIS_SHARD_NEWS_H

#include "base/must_check.h"

#include <stdbool.h>
#include <stdint.h>

struct journal;
struct mailbox;
struct shard_news;

/* @journal, @box: borrowed. */
MUST_CHECK int shard_news_new(struct journal *journal,
                              struct mailbox *box,
                              int64_t n_shards,
                              struct shard_news **ret);
/* When nothing is under way. */
void shard_news_free(struct shard_news *all);

/* Jobs of these shards, as bits, are still to be warned. */
void shard_news_owe(struct shard_news *all, uint64_t shards);
/* Warns those of @shards that are; what fails is still owed. */
void shard_news_warn(struct shard_news *all, uint64_t shards);
/* A failure is ignored: the next renewal repairs it. */
void shard_news_renew(struct shard_news *all, uint64_t shards);
/* Is a request under way? */
bool shard_news_is_busy(const struct shard_news *all);

#endif
