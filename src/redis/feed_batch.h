/* Lines of a job that came over its channel and are stored with one request, or with a few. */
#ifndef REDIS_FEED_BATCH_H
#define REDIS_FEED_BATCH_H

#include "base/buf.h"
#include "base/must_check.h"
#include "redis/payload.h"

struct note {
    size_t from, n;  /* position in the batch's text */
    uint64_t moment; /* at which it arrived: see heard_shards.h */
    struct payload_about about;
};

struct feed_batch {
    struct buf text;
    struct note *notes; /* owned */
    size_t n, cap;
};

void feed_batch_init(struct feed_batch *b);
void feed_batch_done(struct feed_batch *b);
void feed_batch_clear(struct feed_batch *b);
/* ERR_NOMEM, ERR_TOO_LARGE: nothing was added. */
MUST_CHECK int feed_batch_add(struct feed_batch *b,
                              struct str payload,
                              uint64_t moment,
                              const struct payload_about *about);

#endif
