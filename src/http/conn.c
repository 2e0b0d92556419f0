/* The life of a connection.
 *
 *     IDLE -> HEAD -> BODY -> HANDLING -> IDLE ...       keep-alive
 *                                 |   \-> STREAM --\
 *                                 \----------------> ENDING -> LINGER -> CLOSING
 *                                                       \----> IDLE    after a stream in chunks
 *
 * Bytes arrive in the loop's buffer and are taken as far as they go: request after
 * request, until they run out or a request has to wait for its answer.  Then the rest is
 * kept with that request and reading stops, so a peer cannot make us hold more than one
 * read.  (Without a rest we keep reading while a handler works, to notice a peer that
 * leaves.)  Answers given meanwhile gather in the loop's cork and go out together.  Where
 * routes allow it, requests are handed on before those ahead are answered: see pipeline.h.
 *
 * While anything is still to be written, no further request is taken.  Whoever answers
 * from outside (a timer, another thread's message) never re-enters the parser: the connection
 * is marked as due in the wheel, and goes on in the loop's next turn.
 *
 * A close has a reason, which goes to the log if a request, a stream or unsent bytes are
 * lost by it.  Callbacks to handlers and streams are made by on_closed only (or, for a
 * stream that ended by itself, by finish), and on_closed frees the memory. */
#include "http/conn.h"

#include "http/http.h"
#include "http/loop.h"
#include "http/pipeline.h"
#include "http/request.h"
#include "http/secure.h"
#include "http/server.h"
#include "http/tls.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    LINGER_MS = 2000,
    OVER_MS = 3000,       /* for the head of a connection above the limit */
    DRAIN_MS = 1000,      /* for the first request of a connection, when draining */
    BODY_WINDOW_MS = 5000 /* in which body_min_rate must be kept on average */
};

#define TO(state) (1u << (state))

static const unsigned moves[CONN_STATE_MAX] = {
    [CONN_IDLE] = TO(CONN_HEAD) | TO(CONN_CLOSING),
    [CONN_HEAD] =
        TO(CONN_BODY) | TO(CONN_HANDLING) | TO(CONN_IDLE) | TO(CONN_ENDING) | TO(CONN_CLOSING),
    [CONN_BODY] = TO(CONN_HANDLING) | TO(CONN_ENDING) | TO(CONN_CLOSING),
    [CONN_HANDLING] = TO(CONN_IDLE) | TO(CONN_STREAM) | TO(CONN_ENDING) | TO(CONN_CLOSING),
    [CONN_STREAM] = TO(CONN_ENDING) | TO(CONN_CLOSING),
    [CONN_ENDING] = TO(CONN_LINGER) | TO(CONN_IDLE) | TO(CONN_CLOSING),
    [CONN_LINGER] = TO(CONN_CLOSING),
    [CONN_CLOSING] = 0,
};

void conn_move(struct conn *c, enum conn_state to)
{
    assert((moves[c->state] & TO(to)) != 0);
    c->state = (uint8_t)to;
    c->is_timed = false;
}

/* --- the reserve -------------------------------------------------------------------- */

static void leave_reserve(struct conn *c)
{
    struct http_loop *loop = c->loop;
    unsigned i = 0;

    while (loop->reserve[i] != c)
        i++;
    for (loop->n_reserve--; i < loop->n_reserve; i++)
        loop->reserve[i] = loop->reserve[i + 1];
}

struct conn *conn_silent(const struct http_loop *loop)
{
    for (unsigned i = 0; i < loop->n_reserve; i++) {
        struct conn *c = loop->reserve[i];

        if (c->state == CONN_IDLE || c->state == CONN_HEAD || c->state == CONN_LINGER)
            return c;
    }
    return NULL;
}

/* --- the end ------------------------------------------------------------------------ */

static void log_lost(struct conn *c, struct str why)
{
    pipeline_log(c, why);
    if (request_is_open(c->req))
        request_log(c->req, why);
}

/* Logs what the close cuts off: a stream, a request or unsent bytes. */
static void log_close(struct conn *c, struct str why)
{
    char text[PEER_TEXT];
    struct str peer = peer_text(&c->peer, text);

    if (c->stream.events != NULL)
        stream_log(c, why);
    else if (c->req != NULL && (c->req->line.n > 0 || request_is_open(c->req)))
        log_lost(c, why);
    else if (c->n_writes > 0 || c->loop->corked == c)
        loop_log(c->loop,
                 &(struct access_entry){ .kind = ACCESS_CLOSE, .peer = peer, .why = why });
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = conn_container(handle, handle);
    struct http_loop *loop = c->loop;

    if (c->stream.events != NULL)
        stream_tell_closed(c);
    if (c->req != NULL)
        pipeline_leave(c);
    if (!c->peer.is_unix)
        addresses_leave(&loop->server->addresses, &c->peer.address);
    if (c->visitor != NULL)
        loop->server->options.visitor_free(c->visitor);
    free(c->note);
    tls_free(c->tls);
    free(c);
    atomic_fetch_sub(&loop->server->n_connections, 1);
    if (--loop->n_conns == 0 && loop->is_stopping)
        loop_finish(loop);
}

static void close_with(struct conn *c, bool is_hard, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void close_with(struct conn *c, bool is_hard, const char *format, va_list args)
{
    char why[160];

    assert_owner(&c->loop->owner);
    if (c->state == CONN_CLOSING)
        return;
    (void)vsnprintf(why, sizeof(why), format, args); /* may be truncated */
    log_close(c, str_of(why));
    if (c->tls != NULL)
        secure_count_lost(c);
    if (c->tls != NULL && !is_hard)
        secure_end(c);
    conn_move(c, CONN_CLOSING);
    if (c->is_over)
        leave_reserve(c);
    wheel_remove(&c->loop->wheel, &c->deadline);
    spares_before_close(&c->loop->spares);
    if (!is_hard || c->peer.is_unix || uv_tcp_close_reset(&c->handle.tcp, on_closed) != 0)
        uv_close(&c->handle.any, on_closed);
    spares_after_close(&c->loop->spares);
}

void conn_close(struct conn *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    close_with(c, false, format, args);
    va_end(args);
}

void conn_cut(struct conn *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    close_with(c, true, format, args);
    va_end(args);
}

static void finish_stream(struct conn *c)
{
    stream_log(c, STR_NONE);
    free(c->note);
    c->note = NULL;
    stream_tell_closed(c);
}

/* Everything is sent.  A close now would reset the connection, and lose the answer, if the
 * peer has sent more than we have read; so we only shut down our sending side. */
static void finish(struct conn *c)
{
    bool stays = c->stays && c->stream.events != NULL && !c->loop->is_draining;
    uv_os_fd_t fd;

    if (c->stream.events != NULL)
        finish_stream(c);
    if (stays) {
        conn_move(c, CONN_IDLE);
        conn_settle(c);
        return;
    }
    conn_move(c, CONN_LINGER);
    if (c->tls != NULL)
        secure_end(c);
    if (uv_fileno(&c->handle.any, &fd) != 0 || shutdown(fd, SHUT_WR) != 0)
        conn_close(c, "the peer left");
    else
        conn_settle(c);
}

void conn_drop_request(struct conn *c)
{
    struct http_request *req = c->req;

    c->req = NULL;
    if (req != NULL)
        request_release(req);
}

/* --- taking what was received ------------------------------------------------------- */

static bool has_line(const struct conn *c)
{
    return c->req != NULL && c->req->line.n > 0;
}

/* The request is complete, but those before it are not answered yet. */
static bool is_waiting(const struct conn *c)
{
    return c->req != NULL && c->req->waits;
}

static bool can_parse(const struct conn *c)
{
    return c->n_writes == 0 && !is_waiting(c) &&
           (c->state == CONN_IDLE || c->state == CONN_HEAD || c->state == CONN_BODY);
}

/* May received bytes be parsed, or handed to a stream after an upgrade? */
static bool can_take(const struct conn *c)
{
    return can_parse(c) ||
           (c->n_writes == 0 && c->state == CONN_STREAM && c->loop->corked != c);
}

static bool want_request(struct conn *c)
{
    static const char no_memory[] = "HTTP/1.1 500 Internal Server Error\r\n"
                                    "Content-Length: 0\r\nConnection: close\r\n\r\n";

    if (c->req == NULL)
        c->req = request_new(c);
    if (c->req == NULL) {
        buf_lit(conn_out(c), no_memory);
        (void)conn_flush(c, STR_NONE); /* it closes either way */
        conn_close(c, "out of memory");
        return false;
    }
    if (c->state == CONN_IDLE) {
        conn_move(c, CONN_HEAD);
        request_begin(c->req);
    }
    return true;
}

/* Keeps the bytes of requests that have to wait. */
static void keep_rest(struct conn *c, struct str rest)
{
    struct http_request *req = c->req;

    if (c->state != CONN_IDLE && c->state != CONN_HANDLING && c->state != CONN_HEAD &&
        c->state != CONN_BODY)
        return; /* no further request is read on this connection */
    if (req != NULL && !request_keep_rest(req, rest))
        conn_close(c, "out of memory");
}

/* Hands on the bytes that followed an upgrade request. */
static void pass_on(struct conn *c, struct str in)
{
    if (in.n > 0)
        stream_tell_received(c, in);
    if (c->state != CONN_CLOSING)
        conn_drop_request(c);
}

static void take(struct conn *c, struct str in)
{
    struct http_loop *loop = c->loop;

    assert(loop->corked == NULL);
    loop->corked = c;
    if (pipeline_is_free(c)) {
        c->req->waits = false;
        request_advance(c->req);
    }
    while (in.n > 0 && (can_parse(c) || pipeline_pass(c)) && want_request(c)) {
        in = str_skip(in, parser_feed(&c->req->parser, in));
        if (pipeline_lets(c->req))
            request_advance(c->req);
    }
    keep_rest(c, in);
    (void)conn_flush(c, STR_NONE); /* a failure has closed it */
    loop->corked = NULL;
    if (c->state == CONN_STREAM)
        pass_on(c, in);
    conn_settle(c);
}

/* --- reading ------------------------------------------------------------------------ */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct conn *c = conn_container(handle, handle);

    (void)suggested;
    *ret = (uv_buf_t){
        .base = c->loop->read_bytes,
        .len = c->state != CONN_BODY ? LOOP_HEAD_BYTES
               : c->tls == NULL      ? LOOP_READ_BYTES
                                     : LOOP_SEALED_BYTES,
    };
}

static void peer_left(struct conn *c, int err)
{
    if (err == UV_EOF)
        conn_close(c, "the peer closed the connection");
    else
        conn_close(c, "%s", uv_strerror(err));
}

void conn_received(struct conn *c, struct str bytes)
{
    switch ((enum conn_state)c->state) {
    case CONN_IDLE:
    case CONN_HEAD:
    case CONN_BODY:
    case CONN_HANDLING:
        take(c, bytes);
        break;
    case CONN_STREAM:
        stream_tell_received(c, bytes);
        break;
    case CONN_ENDING:
    case CONN_LINGER:
    case CONN_CLOSING:
    case CONN_STATE_MAX:
        break;
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct conn *c = conn_container(stream, handle);
    struct str in = str_make(bytes->base, n > 0 ? (size_t)n : 0);

    if (n < 0)
        peer_left(c, (int)n);
    else if (in.n > 0 && c->tls == NULL)
        conn_received(c, in);
    else if (in.n > 0 && c->state != CONN_LINGER)
        secure_take(c, in);
}

static bool should_read(const struct conn *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_IDLE:
    case CONN_HEAD:
    case CONN_BODY:
        return c->n_writes == 0 && !is_waiting(c);
    case CONN_HANDLING:
        return str_empty(request_rest(c->req));
    case CONN_STREAM:
        return !c->is_paused && c->req == NULL;
    case CONN_LINGER:
        return true;
    case CONN_ENDING:
    case CONN_CLOSING:
    case CONN_STATE_MAX:
        break;
    }
    return false;
}

static void set_reading(struct conn *c, bool wanted)
{
    if (wanted == c->is_reading)
        return;
    c->is_reading = wanted;
    int err = wanted ? uv_read_start(&c->handle.stream, on_alloc, on_read)
                     : uv_read_stop(&c->handle.stream);
    if (err != 0)
        conn_close(c, "%s", uv_strerror(err));
}

/* --- deadlines ---------------------------------------------------------------------- */

static uint64_t time_allowed(const struct conn *c)
{
    const struct http_limits *o = http_server_limits(c->loop->server);

    if (c->n_writes > 0 || (c->state == CONN_STREAM && !c->is_clear))
        return o->write_stall_ms / CONN_PROGRESS_CHECKS;
    if (is_waiting(c) || (c->state == CONN_IDLE && has_line(c)))
        return 0; /* no deadline: we act next, not the peer */
    switch ((enum conn_state)c->state) {
    case CONN_IDLE:
        if (!c->is_fresh)
            return o->idle_ms;
        return c->is_over && o->head_ms > OVER_MS ? OVER_MS : o->head_ms;
    case CONN_HEAD:
        return c->is_over && o->head_ms > OVER_MS ? OVER_MS : o->head_ms;
    case CONN_BODY:
        return BODY_WINDOW_MS;
    case CONN_LINGER:
        return LINGER_MS;
    case CONN_HANDLING:
    case CONN_STREAM:
    case CONN_ENDING:
    case CONN_CLOSING:
    case CONN_STATE_MAX:
        break;
    }
    return 0;
}

void conn_set_deadline(struct conn *c)
{
    uint64_t ms = time_allowed(c);

    if (c->is_timed)
        return;
    c->is_timed = true;
    if (ms > 0)
        loop_arm(c->loop, &c->deadline, ms);
    else
        wheel_park(&c->loop->wheel, &c->deadline);
}

static bool has_rest(const struct conn *c)
{
    return c->req != NULL && !str_empty(request_rest(c->req));
}

static bool can_take_rest(const struct conn *c)
{
    return pipeline_is_free(c) || (has_rest(c) && (can_take(c) || pipeline_can_pass(c)));
}

static bool can_go_on(const struct conn *c)
{
    return c->n_writes == 0 && (c->state == CONN_ENDING || can_take_rest(c));
}

void conn_settle(struct conn *c)
{
    if (c->state == CONN_CLOSING)
        return;
    if (c->state == CONN_STREAM && c->loop->corked != c && !has_rest(c))
        conn_drop_request(c);
    if (c->n_writes == 0 && pipeline_is_ready(c)) {
        set_reading(c, should_read(c));
        if (c->state != CONN_CLOSING)
            loop_hurry(c->loop, &c->deadline); /* answers that are ready by then leave together
                                                */
        return;
    }
    if (can_go_on(c)) {
        set_reading(c, false);
        if (c->state != CONN_CLOSING)
            loop_hurry(c->loop, &c->deadline);
        return;
    }
    if (c->state == CONN_IDLE && c->n_writes == 0 && !has_line(c)) {
        conn_drop_request(c);
        if (c->loop->is_draining && !c->is_fresh) {
            conn_close(c, "draining");
            return;
        }
    }
    set_reading(c, should_read(c));
    if (c->state != CONN_CLOSING)
        conn_set_deadline(c);
}

void conn_drain(struct conn *c)
{
    if (c->state != CONN_IDLE || c->n_writes > 0 || has_rest(c) || has_line(c))
        return;
    if (c->is_fresh)
        loop_arm(c->loop, &c->deadline, DRAIN_MS); /* its request may be on the way */
    else
        conn_close(c, "draining");
}

static void body_took_long(struct conn *c)
{
    const struct http_limits *o = http_server_limits(c->loop->server);
    uint64_t least = (uint64_t)o->body_min_rate * (BODY_WINDOW_MS / 1000);

    if (request_body_progress(c->req) >= least)
        conn_settle(c);
    else
        request_refuse(c->req, 408, "The request's body is coming too slowly");
}

static void deadline_passed(struct conn *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_IDLE:
        conn_close(c, "idle");
        break;
    case CONN_HEAD:
        request_refuse(c->req, 408, "The request's head took too long");
        break;
    case CONN_BODY:
        body_took_long(c);
        break;
    case CONN_ENDING:
        finish(c);
        break;
    case CONN_LINGER:
        conn_close(c, "done");
        break;
    case CONN_STREAM:
        conn_check_progress(c);
        break;
    case CONN_HANDLING:
    case CONN_CLOSING:
    case CONN_STATE_MAX:
        break;
    }
}

void conn_due(struct conn *c)
{
    c->is_timed = false;
    if (c->n_writes > 0)
        conn_check_progress(c);
    else if (pipeline_is_ready(c))
        pipeline_send(c);
    else if (can_take_rest(c))
        take(c, request_rest(c->req));
    else
        deadline_passed(c);
}

/* --- the beginning ------------------------------------------------------------------ */

static int open_handle(struct conn *c, int fd)
{
    int err = uv_tcp_init(&c->loop->uv, &c->handle.tcp);

    return err != 0 ? err : uv_tcp_open(&c->handle.tcp, fd);
}

void conn_open(struct http_loop *loop, int fd, const struct peer *peer, bool is_over)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        spares_close(&loop->spares, fd);
        atomic_fetch_sub(&loop->server->n_connections, 1);
        if (!peer->is_unix)
            addresses_leave(&loop->server->addresses, &peer->address);
        return;
    }
    c->loop = loop;
    c->peer = *peer;
    c->is_over = is_over;
    c->is_fresh = c->is_clear = true;
    c->state = CONN_IDLE;
    loop->n_conns++;
    if (is_over)
        loop->reserve[loop->n_reserve++] = c;
    wheel_add(&loop->wheel, &c->deadline);
    bool is_secure = !peer->is_unix && loop->server->options.tls_cert != NULL;
    if ((is_secure && !secure_begin(c)) || open_handle(c, fd) != 0) {
        spares_close(&loop->spares, fd); /* libuv refused the descriptor */
        conn_close(c, "cannot be opened");
        return;
    }
    if (!peer->is_unix)
        (void)uv_tcp_nodelay(&c->handle.tcp, 1); /* best effort: small writes are delayed
                                                    without it */
    conn_settle(c);
}
