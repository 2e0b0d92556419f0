/* Several jobs, and the states of all jobs, over one connection. */
#ifndef TRANSPORT_MUX_H
#define TRANSPORT_MUX_H

#include "transport/places.h"
#include "transport/stream.h"
#include "transport/watch.h"

struct permit;
struct subscription;

struct mux_request {
    const struct transport *transport;
    struct stream_format format; /* defaults of subscriptions: dialect and variant */
    struct str jobs;       /* separated by commas, each with an optional @ and its cursor */
    bool watches;          /* watch the states of all jobs */
    struct str last_id;    /* a browser's Last-Event-ID, or absent */
    struct permit *permit; /* taken over; NULL: may read all jobs, without a time limit */
};

/* Answers @req: 404 when none of the jobs exists, 204 to a browser that already has all of
 * them, 422, or the stream. */
void mux_open(struct streams *l, struct http_request *req, const struct mux_request *what);

/* --- for transport/ --------------------------------------------------------------- */

struct mux {
    struct stream stream;
    struct stream_format format; /* of the transport; the default of subscriptions */
    struct watch watch;
    struct places places;               /* cursors of the jobs in the request */
    struct subscription *first;         /* owned; list of all */
    struct subscription *ready, **tail; /* queue of those that may have something to send */
    struct subscription *giving;        /* the one whose bytes may be in flight */
    size_t n;                           /* number of subscriptions */
    bool by_header;                     /* the places are from a browser's Last-Event-ID */
    bool has_begun;
    struct buf out; /* SSE events with their ids */
};

static inline bool mux_is_socket(const struct mux *m)
{
    return m->stream.transport == &transport_websocket;
}

static inline bool mux_is_sse(const struct mux *m)
{
    return m->stream.transport == &transport_sse;
}

/* A subscription's first page was read. */
void mux_opened(struct mux *m, struct subscription *sub);
/* A subscription may have something to send. */
void mux_enqueue(struct mux *m, struct subscription *sub);
void mux_dequeue(struct mux *m, struct subscription *sub);
/* Sends while the stream has room. */
void mux_carry(struct mux *m);

#endif
