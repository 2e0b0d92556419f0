/* Streams: responses without a known end.
 *
 * After its header the request is freed; the connection and a note for the log stay.  Bytes to
 * send are the caller's: what the socket does not take at once libuv sends from where it is,
 * with a write request that exists only meanwhile.
 *
 *     begin -> send ... -> end: last chunk, `closed`; the connection may take further requests
 *                     \--> cut, or the peer leaves: `closed`
 *
 * Nothing here calls back before it returns. */
#include "base/clock.h"
#include "http/chunk.h"
#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/request.h"
#include "http/secure.h"
#include "http/server.h"

#include <assert.h>
#include <stdlib.h>

static struct conn *conn_of(struct http_stream *st)
{
    return conn_container(st, stream);
}

/* --- for conn.c -------------------------------------------------------------------- */

void stream_log(struct conn *c, struct str why)
{
    const struct stream_note *note = c->note;
    char peer[PEER_TEXT];
    struct access_entry entry = {
        .kind = ACCESS_STREAM,
        .peer = peer_text(&c->peer, peer),
        .why = why,
    };

    if (note != NULL) {
        entry.status = note->status;
        entry.bytes = note->bytes;
        entry.us = clock_monotonic_us() - note->start_us;
        entry.method = str_make(note->text, note->method_n);
        entry.id = str_make(note->text + note->method_n, note->id_n);
        entry.path = str_make(note->text + note->method_n + note->id_n, note->path_n);
    }
    loop_log(c->loop, &entry);
}

void stream_tell_closed(struct conn *c)
{
    const struct http_stream_events *events = c->stream.events;
    void *data = c->stream.data;

    c->stream.events = NULL;
    if (events->closed != NULL)
        events->closed(&c->stream, data);
}

void stream_tell_received(struct conn *c, struct str bytes)
{
    const struct http_stream_events *events = c->stream.events;

    if (events != NULL && events->received != NULL)
        events->received(&c->stream, bytes, c->stream.data);
    else
        c->stays = false; /* a request sent ahead, which is lost */
}

/* --- beginning --------------------------------------------------------------------- */

/* NULL without memory: then the log line has less in it. */
static struct stream_note *make_note(const struct http_request *req)
{
    struct str parts[3] = { str_of(req->method), http_request_id(req),
                            str_head(req->path, 512) };
    size_t n = parts[0].n + parts[1].n + parts[2].n;
    struct stream_note *note = malloc(offsetof(struct stream_note, text) + n);
    char *at;

    if (note == NULL)
        return NULL;
    *note = (struct stream_note){
        .start_us = req->start_us,
        .status = (uint16_t)req->status,
        .path_n = (uint16_t)parts[2].n,
        .id_n = (uint8_t)parts[1].n,
        .method_n = (uint8_t)parts[0].n,
    };
    at = note->text;
    for (size_t i = 0; i < 3; at += parts[i++].n)
        str_copy(at, parts[i]);
    return note;
}

static bool send_head(struct http_request *req, int status, const char *type)
{
    struct conn *c = req->conn;
    struct buf *b = conn_out(c);
    size_t from = b->n;

    c->is_chunked = !parser_is_10(&req->parser);
    req->status = status;
    if (!c->is_chunked || c->is_over || !str_empty(request_rest(req)))
        req->keep_alive = false; /* what was sent ahead is not kept during a stream */
    respond_put_head(req, status, type, -1);
    c->stays = req->keep_alive;
    if (c->is_chunked)
        buf_lit(b, "Transfer-Encoding: chunked\r\n");
    buf_lit(b, "\r\n");
    return respond_is_whole(req, from) && conn_flush(c, STR_NONE);
}

static bool send_upgrade_head(struct http_request *req, struct str protocol)
{
    struct conn *c = req->conn;
    struct buf *b = conn_out(c);
    size_t from = b->n;

    c->is_chunked = c->stays = false;
    req->status = 101;
    req->keep_alive = true; /* no "Connection: close": it is "Upgrade" below */
    respond_put_head(req, 101, NULL, -1);
    header_put(b, STR("Connection"), STR("Upgrade"));
    header_put(b, STR("Upgrade"), protocol);
    buf_lit(b, "\r\n");
    return respond_is_whole(req, from) && conn_flush(c, STR_NONE);
}

/* The header is sent; NULL when the connection is closed. */
static struct http_stream *begin(struct http_request *req,
                                 bool goes_on,
                                 const struct http_stream_events *events,
                                 void *data)
{
    struct conn *c = req->conn;

    assert(!pipeline_has(req));
    if (!goes_on) {
        respond_end(req);
        return NULL;
    }
    c->stream = (struct http_stream){ events, data };
    c->note = make_note(req);
    loop_count_stream(req);
    if (events->received == NULL)
        http_set_visitor(req, NULL); /* no further request comes for a long time */
    req->is_logged = true;           /* the stream will be */
    conn_move(c, CONN_STREAM);
    respond_end(req);
    return &c->stream;
}

struct http_stream *http_stream_begin(struct http_request *req,
                                      int status,
                                      const char *type,
                                      const struct http_stream_events *events,
                                      void *data)
{
    if (!respond_begin(req))
        return NULL;
    bool goes_on = send_head(req, status, type) && strcmp(req->method, "HEAD") != 0;
    return begin(req, goes_on, events, data);
}

struct http_stream *http_upgrade(struct http_request *req,
                                 struct str protocol,
                                 const struct http_stream_events *events,
                                 void *data)
{
    if (!respond_begin(req))
        return NULL;
    return begin(req, send_upgrade_head(req, protocol), events, data);
}

struct http_stream *http_tunnel(struct http_request *req,
                                const struct http_stream_events *events,
                                void *data)
{
    conn_move(req->conn, CONN_HANDLING);
    if (!respond_begin(req))
        return NULL;
    req->conn->is_chunked = req->conn->stays = false;
    req->status = 101; /* as for an upgrade: what follows is not ours */
    req->keep_alive = true;
    return begin(req, true, events, data);
}

/* --- sending ----------------------------------------------------------------------- */

struct stream_write {
    uv_write_t write;
    struct conn *conn; /* borrowed; libuv calls back before it closes */
};

static void on_written(uv_write_t *write, int status)
{
    struct stream_write *w = write->data;
    struct conn *c = w->conn;

    free(w);
    if (--c->n_writes == 0)
        c->is_timed = false;
    if (status != 0)
        conn_close(c, "%s", uv_strerror(status));
    conn_settle(c);
    if (c->state == CONN_STREAM && c->stream.events->ready != NULL)
        c->stream.events->ready(&c->stream, c->stream.data);
}

static void send_later(struct conn *c, const uv_buf_t *pieces, unsigned n)
{
    struct stream_write *w = malloc(sizeof(*w));

    if (w == NULL) {
        conn_cut(c, "out of memory");
        return;
    }
    w->conn = c;
    w->write.data = w;
    int err = uv_write(&w->write, &c->handle.stream, pieces, n, on_written);
    if (err != 0) {
        free(w);
        conn_cut(c, "%s", uv_strerror(err));
        return;
    }
    conn_count_write(c);
    conn_settle(c);
}

/* What is left of @pieces after @sent bytes; returns how many are left. */
static unsigned skip_sent(uv_buf_t *pieces, unsigned n, size_t sent)
{
    unsigned first = 0;

    while (first < n && sent >= pieces[first].len)
        sent -= pieces[first++].len;
    memmove(pieces, pieces + first, (n - first) * sizeof(pieces[0]));
    if (first < n) {
        pieces[0].base += sent;
        pieces[0].len -= sent;
    }
    return n - first;
}

bool http_stream_send_pieces(struct http_stream *st, const uv_buf_t *pieces, unsigned n)
{
    struct conn *c = conn_of(st);
    uv_buf_t left[HTTP_STREAM_PIECES];
    size_t total = 0;
    int sent = UV_EAGAIN;

    assert(n <= HTTP_STREAM_PIECES);
    if (c->state != CONN_STREAM)
        return false;
    for (unsigned i = 0; i < n; i++)
        total += pieces[i].len;
    if (c->note != NULL)
        c->note->bytes += total;
    if (c->tls != NULL) {
        memcpy(left, pieces, n * sizeof(pieces[0]));
        return secure_send(c, left, n);
    }
    conn_count_sent(c, total);
    if (c->n_writes == 0 && total > 0)
        sent = uv_try_write(&c->handle.stream, pieces, n);
    if (total == 0 || (sent >= 0 && (size_t)sent == total))
        return true;
    if (sent < 0 && sent != UV_EAGAIN) {
        conn_close(c, "%s", uv_strerror(sent));
        return false;
    }
    memcpy(left, pieces, n * sizeof(pieces[0]));
    n = skip_sent(left, n, sent > 0 ? (size_t)sent : 0);
    send_later(c, left, n);
    return false;
}

bool http_stream_send(struct http_stream *st, const char *p, size_t n)
{
    uv_buf_t piece = { .base = (char *)(uintptr_t)p, .len = n };

    return http_stream_send_pieces(st, &piece, 1);
}

void http_stream_pause(struct http_stream *st, bool is_paused)
{
    struct conn *c = conn_of(st);

    c->is_paused = is_paused;
    conn_settle(c);
}

size_t http_stream_unsent(const struct http_stream *st)
{
    return conn_unsent(conn_of((struct http_stream *)(uintptr_t)st));
}

/* --- ending ------------------------------------------------------------------------ */

void http_stream_end(struct http_stream *st)
{
    struct conn *c = conn_of(st);

    if (c->state != CONN_STREAM)
        return;
    conn_move(c, CONN_ENDING);
    if (c->is_chunked)
        (void)conn_flush(c, STR(HTTP_LAST_CHUNK)); /* a failure has closed it */
    conn_settle(c);
}

void http_stream_cut(struct http_stream *st, const char *reason)
{
    conn_cut(conn_of(st), "%s", reason);
}

bool http_stream_is_stalled(const struct http_stream *st)
{
    return conn_of((struct http_stream *)(uintptr_t)st)->is_stalled;
}

bool http_stream_is_chunked(const struct http_stream *st)
{
    return conn_of((struct http_stream *)(uintptr_t)st)->is_chunked;
}
