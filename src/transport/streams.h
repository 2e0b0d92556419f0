/* The streams of one loop: what they share, and their time.
 *
 * Loop thread only. */
#ifndef TRANSPORT_STREAMS_H
#define TRANSPORT_STREAMS_H

#include "base/must_check.h"
#include "http/http.h"
#include "http/wheel.h"
#include "hub/hub.h"
#include "hub/thread_pool.h"
#include "transport/ws_in.h"

struct poll;
struct stream;
struct streams;
struct traffic;

struct stream_options {
    struct ws_in_limits websocket;
    unsigned max_subscriptions; /* jobs at a time on one connection (100) */
    int64_t pong_ms;            /* for the answer to a ping (20 000) */
    int64_t keep_alive_ms;      /* something is sent after so much silence (15 000) */
    int64_t heartbeat_ms;       /* job.heartbeat to readers of aiq and raw (30 000) */
    int64_t max_age_ms;         /* then the connection is closed, with some jitter; 0: never */
    size_t page_bytes;          /* of what is read from the store at a time; 0: as pages are */
};

MUST_CHECK int streams_new(struct http_loop *loop,
                           struct hub *hub,
                           struct thread_pool *pool,
                           struct mailbox *box,
                           struct traffic *traffic,
                           const struct stream_options *options,
                           struct streams **ret);
/* Other options from now on; a stream's age and next heartbeat are as they were. */
void streams_set_options(struct streams *l, const struct stream_options *options);
/* The server shuts down: readers are told, if their protocol can, and disconnected one after
 * another within @window_ms. */
void streams_drain(struct streams *l, int64_t window_ms);
/* Permits may have become invalid: readers without a valid one are disconnected soon. */
void streams_check_permits(struct streams *l);
void streams_close(struct streams *l); /* on the loop; all streams are gone */
void streams_free(struct streams *l);

/* --- for transport/ --------------------------------------------------------------- */

struct streams {
    struct http_loop *http;   /* borrowed */
    struct hub *hub;          /* borrowed */
    struct thread_pool *pool; /* borrowed */
    struct mailbox *box;      /* borrowed */
    struct traffic *traffic;  /* borrowed */
    struct stream_options opt;
    uv_timer_t timer;
    struct wheel wheel; /* every stream that has begun */
    struct poll *polls; /* that wait */
    struct buf sink;    /* takes nothing: see stream_small */
    unsigned seed;
    int64_t rechecked; /* when hub_recheck was called last */
    bool draining;
    int64_t drain_ms; /* the window, */
    size_t n_drained; /* and how many have their place in it */
};

/* For intervals; for times that are told, there is clock_wall_ms. */
int64_t streams_now(void);
/* Below @n, and different for everyone. */
unsigned streams_jitter(struct streams *l, unsigned n);

/* While draining: when it is to go. */
void streams_take_turn(struct stream *s);

#endif
