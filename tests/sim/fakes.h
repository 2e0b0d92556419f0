/* What stands in for threads, sockets and time: nothing here happens by itself, the
 * scheduler says when.
 *
 *     fake_mailbox.c  loop/mailbox.h, hub/thread_pool.h and libuv's timers
 *     fake_threads.c  threads that are never started, and libuv's loops
 *     fake_http.c     the part of http/http.h that a stream uses
 *     fake_memory.c   counts what is allocated, and tells the virtual time */
#ifndef SIM_FAKES_H
#define SIM_FAKES_H

#include "http/http.h"
#include "hub/thread_pool.h"
#include "loop/mailbox.h"

#include <stdbool.h>
#include <stddef.h>

/* --- messages ------------------------------------------------------------------ */

size_t fake_mailbox_waiting(const struct mailbox *box);
/* Delivers the oldest message. */
void fake_mailbox_deliver(struct mailbox *box);

/* --- loops of other threads ---------------------------------------------------- */

/* The loop that was made last. */
uv_loop_t *fake_loop_last(void);
/* Calls what was sent to with uv_async_send() since; false: there was nothing. */
bool fake_loop_wake(uv_loop_t *loop);

/* --- tasks -------------------------------------------------------------------- */

/* Tasks read from @store (owned). */
struct thread_pool *fake_pool_new(struct store *store);
size_t fake_pool_waiting(const struct thread_pool *p);
/* Runs the @i-th task that waits, as one of several threads might, and posts its message. */
void fake_pool_run(struct thread_pool *p, size_t i);

/* --- timers ------------------------------------------------------------------- */

/* Calls the timer that was started last on @loop, if any. */
void fake_timer_tick(uv_loop_t *loop);

/* --- a client's connection ----------------------------------------------------- */

struct http_loop {
    uv_loop_t uv;
};

struct http_stream {
    const struct http_stream_events *events; /* NULL: none, or it was closed */
    void *data;
};

/* Owned by the client; the server sees its request and its stream. */
struct http_request {
    struct str authorization, upgrade, link; /* headers; or absent */
    bool is_header, is_10, is_over;
    bool answered;
    int status;
    void (*gone)(struct http_request *req, void *data);
    void *gone_data;
    struct http_stream stream;
    bool streaming; /* a stream has begun and was not told that it is closed */
    bool ended;     /* cleanly, by the server */
    bool cut;       /* by the server, or a write found that we had left */
    bool left;      /* we have gone; the server does not know it yet */
    char reason[80];
    size_t room; /* bytes that the socket takes at once */
    uv_buf_t pending[HTTP_STREAM_PIECES];
    unsigned n_pending; /* pieces that the server waits to get rid of */
    struct buf got;     /* what has come and was not looked at */
};

/* The client has read @n bytes: so much more fits into the socket. */
void fake_http_drain(struct http_request *req, size_t n);
/* The server notices what has happened to the connection (ended, cut, left). */
bool fake_http_must_close(const struct http_request *req);
void fake_http_close(struct http_request *req);

/* --- memory and time ------------------------------------------------------------ */

/* Blocks that our code has and has not given back. */
long fake_memory_blocks(void);
void fake_clock_set(int64_t ms);

#endif
