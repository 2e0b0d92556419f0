#include "fakes.h"

#include "base/container_of.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct http_request *request_of(struct http_stream *st)
{
    return container_of(st, struct http_request, stream);
}

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "http was misused: %s\n", what);
        abort();
    }
}

uv_loop_t *http_loop_uv(struct http_loop *loop)
{
    return &loop->uv;
}

bool http_is_10(const struct http_request *req)
{
    return req->is_10;
}

bool http_is_over(const struct http_request *req)
{
    return req->is_over;
}

struct str http_header(const struct http_request *req, const char *name)
{
    return strcmp(name, "Authorization") == 0    ? req->authorization
           : strcmp(name, "Upgrade") == 0        ? req->upgrade
           : strcmp(name, "Spoolwire-Link") == 0 ? req->link
                                                 : STR_NONE;
}

void http_on_gone(struct http_request *req,
                  void (*gone)(struct http_request *req, void *data),
                  void *data)
{
    check(!req->answered, "on_gone after the answer");
    req->gone = gone;
    req->gone_data = data;
}

void http_set_header(struct http_request *req, const char *name, struct str value)
{
    (void)name;
    (void)value;
    check(!req->answered, "a header after the answer");
}

/* --- answers ------------------------------------------------------------------ */

static void answer(struct http_request *req, int status)
{
    check(!req->answered, "two answers");
    req->answered = true;
    req->status = status;
}

void http_respond(struct http_request *req, int status, const char *type, struct str body)
{
    (void)type;
    (void)body;
    answer(req, status);
}

bool http_respond_error(struct http_request *req, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(req->reason, sizeof(req->reason), format, args);
    va_end(args);
    answer(req, status);
    return false;
}

/* --- streams ------------------------------------------------------------------ */

struct http_stream *http_stream_begin(struct http_request *req,
                                      int status,
                                      const char *type,
                                      const struct http_stream_events *events,
                                      void *data)
{
    (void)type;
    answer(req, status);
    if (req->is_header || req->left)
        return NULL;
    req->stream = (struct http_stream){ events, data };
    req->streaming = true;
    return &req->stream;
}

/* Moves what fits into the socket. */
static void flush(struct http_request *req)
{
    unsigned first = 0;

    while (first < req->n_pending && req->room > 0) {
        uv_buf_t *piece = &req->pending[first];
        size_t n = piece->len < req->room ? piece->len : req->room;

        buf_put(&req->got, piece->base, n);
        req->room -= n;
        piece->base += n;
        piece->len -= n;
        first += piece->len == 0;
    }
    while (first < req->n_pending && req->pending[first].len == 0)
        first++;
    memmove(req->pending, req->pending + first,
            (req->n_pending - first) * sizeof(req->pending[0]));
    req->n_pending -= first;
}

bool http_stream_send_pieces(struct http_stream *st, const uv_buf_t *pieces, unsigned n)
{
    struct http_request *req = request_of(st);

    check(req->streaming && n <= HTTP_STREAM_PIECES, "send");
    if (req->cut || req->ended)
        return false;
    check(req->n_pending == 0, "send before ready");
    if (req->left) {
        req->cut = true;
        return false;
    }
    memcpy(req->pending, pieces, n * sizeof(pieces[0]));
    req->n_pending = n;
    flush(req);
    return req->n_pending == 0;
}

bool http_stream_send(struct http_stream *st, const char *p, size_t n)
{
    uv_buf_t piece = { .base = (char *)(uintptr_t)p, .len = n };

    return http_stream_send_pieces(st, &piece, 1);
}

void http_stream_end(struct http_stream *st)
{
    struct http_request *req = request_of(st);

    check(req->streaming && req->n_pending == 0, "end");
    req->ended = true;
}

void http_stream_cut(struct http_stream *st, const char *reason)
{
    struct http_request *req = request_of(st);

    check(req->streaming, "cut");
    (void)snprintf(req->reason, sizeof(req->reason), "%s", reason);
    req->cut = true;
}

struct http_stream *http_upgrade(struct http_request *req,
                                 struct str protocol,
                                 const struct http_stream_events *events,
                                 void *data)
{
    (void)protocol;
    return http_stream_begin(req, 101, NULL, events, data);
}

void http_stream_pause(struct http_stream *st, bool is_paused)
{
    (void)st;
    (void)is_paused;
}

size_t http_stream_unsent(const struct http_stream *st)
{
    return request_of((struct http_stream *)(uintptr_t)st)->n_pending;
}

/* Nobody here sends commands over a WebSocket. */
struct http_request *http_inner_new(struct http_stream *st,
                                    const char *param,
                                    struct str value,
                                    struct str body,
                                    http_inner_answered *answered,
                                    void *arg)
{
    (void)st;
    (void)param;
    (void)value;
    (void)body;
    (void)answered;
    (void)arg;
    check(false, "a request inside of a stream");
    return NULL;
}

void http_inner_leave(struct http_request *req)
{
    (void)req;
}

bool http_asks_upgrade(const struct http_request *req)
{
    return !str_absent(req->upgrade);
}

struct str http_method(const struct http_request *req)
{
    return req->is_header ? STR("HEAD") : STR("GET");
}

bool http_stream_is_chunked(const struct http_stream *st)
{
    return !request_of((struct http_stream *)(uintptr_t)st)->is_10;
}

bool http_stream_is_stalled(const struct http_stream *st)
{
    (void)st;
    return false;
}

/* --- the client's side ---------------------------------------------------------- */

void fake_http_drain(struct http_request *req, size_t n)
{
    bool waited = req->n_pending > 0;

    req->room += n;
    if (req->cut || req->left)
        return;
    flush(req);
    if (waited && req->n_pending == 0)
        req->stream.events->ready(&req->stream, req->stream.data);
}

bool fake_http_must_close(const struct http_request *req)
{
    return (req->streaming && (req->ended || req->cut || req->left)) ||
           (req->left && !req->answered);
}

void fake_http_close(struct http_request *req)
{
    const struct http_stream_events *events = req->stream.events;

    if (!req->answered) {
        req->answered = true;
        if (req->gone != NULL)
            req->gone(req, req->gone_data);
        return;
    }
    if (!req->streaming)
        return;
    req->streaming = false;
    req->n_pending = 0;
    events->closed(&req->stream, req->stream.data);
}
