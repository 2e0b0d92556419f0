/* The streams of one loop: shared state, and the timers of all streams.
 *
 * Loop thread only. */
#ifndef TRANSPORT_STREAMS_H
#define TRANSPORT_STREAMS_H

#include "base/must_check.h"
#include "http/http.h"
#include "http/wheel.h"
#include "hub/hub.h"
#include "hub/thread_pool.h"
#include "transport/thread_wait.h"
#include "transport/ws_in.h"

struct poll;
struct stream;
struct streams;
struct traffic;

struct stream_options {
    struct ws_in_limits websocket;
    unsigned max_subscriptions; /* jobs at a time on one connection (100) */
    int64_t pong_ms;            /* timeout for the answer to a ping (20 000) */
    int64_t keep_alive_ms; /* a keep-alive is sent after so long without other bytes (15 000) */
    int64_t heartbeat_ms;  /* job.heartbeat to readers of aiq and raw (30 000) */
    int64_t max_age_ms;    /* the connection is closed after this, with jitter; 0: never */
    size_t page_bytes;     /* read from the store at a time; 0: the default of pages */
};

MUST_CHECK int streams_new(struct http_loop *loop,
                           struct hub *hub,
                           struct thread_pool *pool,
                           struct mailbox *box,
                           struct traffic *traffic,
                           const struct stream_options *options,
                           struct streams **ret);
/* Replaces the options; a stream's maximum age and next heartbeat do not change. */
void streams_set_options(struct streams *l, const struct stream_options *options);
/* The server shuts down: tells readers, if their protocol can, and disconnects them one after
 * another within @window_ms. */
void streams_drain(struct streams *l, int64_t window_ms);
/* Permits may have become invalid: readers without a valid one are disconnected soon. */
void streams_check_permits(struct streams *l);
void streams_close(struct streams *l); /* on the loop; after all streams are closed */
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
    struct poll *polls; /* list of waiting polls */
    struct thread_waits thread_waits;
    struct buf sink; /* discards what is written: see stream_small */
    unsigned seed;
    int64_t rechecked; /* time of the last hub_recheck */
    bool draining;
    int64_t drain_ms; /* the drain window */
    size_t n_drained; /* streams that have a turn in it */
};

/* Monotonic, for intervals; for timestamps use clock_wall_ms. */
int64_t streams_now(void);
/* A random number below @n. */
unsigned streams_jitter(struct streams *l, unsigned n);

/* While draining: schedules when the stream is disconnected. */
void streams_take_turn(struct stream *s);

#endif
