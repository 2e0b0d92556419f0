/* A connection: one socket, from accept to close, and the requests that come over it.
 *
 * What only a request needs is in `req`, which an idle connection and a stream do not
 * have: there may be ten thousands of them. */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include "base/container_of.h"
#include "base/str.h"
#include "http/peer.h"
#include "http/wheel.h"

#include <stdarg.h>
#include <stdint.h>
#include <uv.h>

struct buf;
struct http_loop;
struct http_request;
struct http_stream_events;
struct tls;

enum conn_state {
    CONN_IDLE,     /* no byte of a request yet */
    CONN_HEAD,     /* reading a head */
    CONN_BODY,     /* reading a body */
    CONN_HANDLING, /* a handler has the request */
    CONN_STREAM,   /* the answer goes on */
    CONN_ENDING,   /* the last bytes are on their way out */
    CONN_LINGER,   /* everything is sent; the peer may still be sending */
    CONN_CLOSING,  /* until libuv has closed the handle */
    CONN_STATE_MAX
};

struct http_stream {
    const struct http_stream_events *events; /* borrowed; NULL: none, or `closed` was called */
    void *data;                              /* the caller's */
};

/* What the log line of a stream needs at its end. */
struct stream_note {
    uint64_t start_us;
    uint64_t bytes;
    uint16_t status;
    uint16_t path_n;
    uint8_t id_n;
    uint8_t method_n;
    char text[]; /* method, id, path */
};

struct conn {
    union {
        uv_handle_t any;
        uv_stream_t stream;
        uv_tcp_t tcp; /* also of a Unix socket: to libuv it is a stream like any other, and a
                       * uv_pipe_t would be larger */
    } handle;
    struct wheel_entry deadline;
    struct http_loop *loop;    /* borrowed; outlives us */
    struct tls *tls;           /* owned; NULL: its bytes are plain */
    struct http_request *req;  /* owned, or NULL */
    struct http_stream stream; /* while STREAM and its ENDING */
    struct stream_note *note;  /* owned, or NULL */
    void *visitor;             /* owned; see http_visitor */
    uint32_t sent;             /* bytes given to the socket or to libuv; wraps around */
    uint32_t taken; /* bytes that the peer had acknowledged at the last check; wraps around */
    uint32_t taken_ms; /* when `taken` last grew */
    struct peer peer;
    uint16_t n_writes; /* that libuv has and that are not out yet */
    uint8_t state;     /* enum conn_state */
    bool is_reading : 1;
    bool is_timed : 1;   /* the deadline of its state is set */
    bool is_fresh : 1;   /* no request was answered yet */
    bool is_over : 1;    /* accepted above the limit: health routes only */
    bool is_chunked : 1; /* the stream */
    bool is_paused : 1;  /* the stream receives nothing */
    bool is_clear : 1;   /* the peer had acknowledged all at the last check */
    bool is_stalled : 1; /* the peer acknowledged nothing for too long */
    bool stays : 1;      /* takes further requests after its stream */
};

#define conn_container(ptr, member) container_of(ptr, struct conn, member)

static inline struct conn *conn_of_deadline(struct wheel_entry *e)
{
    return conn_container(e, deadline);
}

/* Owns @fd from here on; closes it when memory runs out.  @is_over: it is above the limit, and
 * the loop's reserve has room. */
void conn_open(struct http_loop *loop, int fd, const struct peer *peer, bool is_over);

/* Closes the connection; bytes that libuv still has may be lost.  The reason is logged.  May be
 * called anywhere, also twice: callbacks run later, and then the memory is freed. */
void conn_close(struct conn *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with a TCP reset, so that the peer does not take it for a regular end. */
void conn_cut(struct conn *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

void conn_move(struct conn *c, enum conn_state to);

/* Starts or stops reading, and sets the deadline.  To be called outside of conn_take after
 * anything that changed its state or its writes. */
void conn_settle(struct conn *c);

/* Sets the deadline of its state, unless it is set. */
void conn_set_deadline(struct conn *c);
/* Handles its deadline, which has come. */
void conn_due(struct conn *c);
/* Closes it if it has no request and no stream. */
void conn_drain(struct conn *c);
/* The oldest of the reserve from which no request is being served; NULL when there is none. */
struct conn *conn_silent(const struct http_loop *loop);

/* Takes bytes that were received, decrypted if it has TLS. */
void conn_received(struct conn *c, struct str bytes);

/* Forgets its request. */
void conn_drop_request(struct conn *c);

/* --- conn_output.c ---------------------------------------------------------------- */

/* Where the text of its next answer goes: see conn_flush. */
struct buf *conn_out(struct conn *c);
/* Sends what is in conn_out and @body, in one write if the socket takes it; the rest is
 * copied.  False when the connection is closing. */
bool conn_flush(struct conn *c, struct str body);

/* Sends @a and @b as they are; what the socket does not take is copied.  False when the
 * connection is closing. */
bool conn_write(struct conn *c, struct str a, struct str b);

/* Bytes that the peer has not acknowledged. */
size_t conn_unsent(const struct conn *c);
/* Counts bytes that are about to be given to the socket or to libuv. */
void conn_count_sent(struct conn *c, size_t bytes);
/* Counts a write that libuv has accepted. */
void conn_count_write(struct conn *c);

enum { CONN_PROGRESS_CHECKS = 8 }; /* per write_stall_ms */
/* Has the peer acknowledged anything since the last check?  Cuts it off after write_stall_ms
 * without progress. */
void conn_check_progress(struct conn *c);

#endif
