/* A subscription: one job on a multiplexed connection.
 *
 * It exists from the request until its job ends or the client unsubscribes. */
#ifndef TRANSPORT_SUBSCRIPTION_H
#define TRANSPORT_SUBSCRIPTION_H

#include "base/must_check.h"
#include "transport/feed.h"
#include "transport/traffic.h"

struct mux;

struct subscription {
    struct feed feed;
    struct mux *mux;                  /* borrowed; outlives us */
    struct subscription *prev, *next; /* in the mux's list */
    struct subscription *next_ready;
    size_t place;  /* index of its cursor in the mux's places */
    bool is_ready; /* in the queue */
    bool is_leaving;
    const struct dialect *dialect; /* set once it is counted as open */
};

struct subscription_request {
    struct str job;
    struct stream_format format; /* framing and wrapping are set by the mux */
    struct cursor after;
    size_t place;
};

/* The same errors as feed_open; on 0, mux_opened follows. */
MUST_CHECK int subscription_open(struct mux *m, const struct subscription_request *what);
/* NULL: the job is not subscribed to. */
struct subscription *subscription_find(const struct mux *m, struct str job);
struct str subscription_job(const struct subscription *sub);

/* Its first page was read, and the stream has begun: queues it for sending; if the job does not
 * exist, tells the reader and closes it. */
void subscription_begin(struct subscription *sub);
/* Sends its next piece, or leaves the queue; may close it.  Only when the stream has room. */
void subscription_carry(struct subscription *sub);
/* The client has unsubscribed: closes it, after its bytes were sent. */
void subscription_leave(struct subscription *sub);
void subscription_close(struct subscription *sub, enum stream_end why);

#endif
