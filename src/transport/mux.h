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
    struct stream_format format; /* dialect and variant, where a subscription does not say */
    struct str jobs;             /* with commas between, each perhaps with @ and its cursor */
    bool watches;                /* the states of all jobs */
    struct str last_id;          /* a browser's Last-Event-ID, or absent */
    struct permit *permit;       /* is taken; NULL: may read all, for ever */
};

/* Answers @req: 404 when none of the jobs is there, 204 to a browser that has everything of
 * them all, 422, or the stream. */
void mux_open(struct streams *l, struct http_request *req, const struct mux_request *what);

/* --- for transport/ --------------------------------------------------------------- */

struct mux {
    struct stream stream;
    struct stream_format format; /* of the transport, and where a subscription does not say */
    struct watch watch;
    struct places places;               /* of the jobs in the request */
    struct subscription *first;         /* owned; all of them */
    struct subscription *ready, **tail; /* those that may have something, in turn */
    struct subscription *giving;        /* whose bytes may be on their way */
    size_t n;                           /* subscriptions */
    bool by_header;                     /* the places are those of a browser's Last-Event-ID */
    bool has_begun;
    struct buf out; /* events of SSE with their ids */
};

static inline bool mux_is_socket(const struct mux *m)
{
    return m->stream.transport == &transport_websocket;
}

static inline bool mux_is_sse(const struct mux *m)
{
    return m->stream.transport == &transport_sse;
}

/* A subscription's first page is there. */
void mux_opened(struct mux *m, struct subscription *sub);
/* A subscription may have something. */
void mux_enqueue(struct mux *m, struct subscription *sub);
void mux_dequeue(struct mux *m, struct subscription *sub);
/* Sends what there is, while the stream has room. */
void mux_carry(struct mux *m);

#endif
