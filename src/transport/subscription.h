/* A subscription: one job on a multiplexed connection.
 *
 * It lives from being asked for to the end of its job, or until nobody wants it any more. */
#ifndef TRANSPORT_SUBSCRIPTION_H
#define TRANSPORT_SUBSCRIPTION_H

#include "base/must_check.h"
#include "transport/feed.h"
#include "transport/traffic.h"

struct mux;

struct subscription {
    struct feed feed;
    struct mux *mux;                  /* borrowed; outlives us */
    struct subscription *prev, *next; /* among the mux's */
    struct subscription *next_ready;
    size_t place;  /* which of the mux's places is its own */
    bool is_ready; /* in the queue */
    bool is_leaving;
    const struct dialect *dialect; /* once it is counted as open */
};

struct subscription_request {
    struct str job;
    struct stream_format format; /* framing and wrapping are the mux's */
    struct cursor after;
    size_t place;
};

/* The same errors as feed_open; on 0, mux_opened follows. */
MUST_CHECK int subscription_open(struct mux *m, const struct subscription_request *what);
/* NULL: the job is not subscribed to. */
struct subscription *subscription_find(const struct mux *m, struct str job);
struct str subscription_job(const struct subscription *sub);

/* The first page is there, and the stream has begun: it is to give what it has, or, when there
 * is no such job, the reader is told and it is closed. */
void subscription_begin(struct subscription *sub);
/* Sends the next piece of it, or leaves the queue; it may be closed afterwards.  Only when the
 * stream has room. */
void subscription_carry(struct subscription *sub);
/* The client has unsubscribed: closes it, but not while its bytes are being sent. */
void subscription_leave(struct subscription *sub);
void subscription_close(struct subscription *sub, enum stream_end why);

#endif
