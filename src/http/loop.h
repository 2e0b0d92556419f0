/* One event loop: its thread, its clock and log, and what its connections share.
 *
 * Everything here belongs to the loop's thread, except `command`, which others set before
 * they wake the loop. */
#ifndef HTTP_LOOP_H
#define HTTP_LOOP_H

#include "base/buf.h"
#include "base/thread_owner.h"
#include "http/access_log.h"
#include "http/counts.h"
#include "http/date.h"
#include "http/listener.h"
#include "http/spares.h"
#include "http/wheel.h"

#include <stdatomic.h>
#include <uv.h>

struct conn;
struct error;
struct http_request;
struct http_server;

enum {
    LOOP_READ_BYTES = 65536,
    LOOP_HEAD_BYTES = 16384, /* read at once while no body is expected */
    /* The same over TLS: with what was left of a record, no more than LOOP_READ_BYTES. */
    LOOP_SEALED_BYTES = LOOP_READ_BYTES - 16384,
    LOOP_RESERVE = 32, /* connections above the limit, for health checks */
};

enum loop_command { LOOP_GO, LOOP_DRAIN, LOOP_STOP };

struct http_loop {
    struct thread_owner owner;
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t tick;            /* runs while a deadline is set */
    uv_idle_t turn;             /* runs once after something is due or logged */
    struct http_server *server; /* borrowed; outlives us */
    unsigned index;
    void *data; /* the caller's */
    uv_thread_t thread;
    bool has_thread;
    bool is_draining;
    bool is_stopping;
    atomic_int command;

    struct listener tcp;
    struct listener local; /* the Unix socket, on the first loop */
    struct spares spares;

    struct wheel wheel;                 /* every connection that is not closing */
    unsigned n_conns;                   /* also those that are closing */
    struct conn *reserve[LOOP_RESERVE]; /* those above the limit, oldest first */
    unsigned n_reserve;

    char *read_bytes;    /* owned; what was just received, of whichever connection */
    struct conn *corked; /* its answers gather in `cork` while its bytes are taken */
    struct buf cork;
    struct buf scratch; /* any other answer */
    struct buf text;    /* an error's body */
    struct buf plain;   /* over TLS: what was just received, */
    struct buf sealed;  /* and what is about to be sent */

    struct http_request *spare_requests; /* owned */
    unsigned n_spare_requests;
    struct http_request *orphans; /* owned; their connections closed before the answer */

    struct access_log log;
    struct loop_counts counts;
    struct date date;
    uint64_t date_at; /* uv_now() of it */
    uint64_t id_seed;
    uint64_t n_ids;
};

/* In the thread that starts the server.  On failure it cleans up after itself. */
int loop_init(struct http_loop *loop, struct http_server *server, unsigned index);
/* Takes the descriptors, also on failure. */
int loop_listen(struct http_loop *loop, int tcp_fd, int unix_fd);
int loop_start(struct http_loop *loop);
/* From any thread. */
void loop_send(struct http_loop *loop, enum loop_command command);
/* After LOOP_STOP: waits for the thread. */
void loop_join(struct http_loop *loop);
/* For a loop that was not started. */
void loop_done(struct http_loop *loop);

/* --- deadlines: see wheel.h --------------------------------------------------------- */

void loop_arm(struct http_loop *loop, struct wheel_entry *e, uint64_t in_ms);
void loop_hurry(struct http_loop *loop, struct wheel_entry *e);
/* Runs the tick even if no deadline is set, for a listener that rests. */
void loop_want_tick(struct http_loop *loop);

/* --- the rest ----------------------------------------------------------------------- */

/* The time of day, as exact as the loop's own clock. */
const struct date *loop_date(struct http_loop *loop);
/* Does it write an access log? */
bool loop_logs(const struct http_loop *loop);
void loop_log(struct http_loop *loop, const struct access_entry *entry);
/* After the last connection of a stopping loop is gone. */
void loop_finish(struct http_loop *loop);

#endif
