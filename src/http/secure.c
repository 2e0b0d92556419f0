/* TLS between a socket and its connection.
 *
 * Plain and encrypted bytes are in two buffers of the loop's, only for the length of a call:
 * encrypted bytes are sent at once, and only what the socket does not take is copied.  A
 * stream's bytes are encrypted a slice at a time, so that a slow reader holds one slice of
 * encrypted bytes, however much there is for it. */
#include "http/secure.h"

#include "base/error.h"
#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/server.h"
#include "http/tls.h"

#include <stdlib.h>

enum {
    SLICE_BYTES = 64 * 1024, /* of a stream, sealed at once */
    KEEP_BYTES = 256 * 1024, /* a buffer that grew beyond is given back */
};

static void give_back(struct buf *b)
{
    if (b->cap > KEEP_BYTES)
        buf_done(b);
    buf_clear(b);
}

/* --- beginning and receiving -------------------------------------------------------- */

bool secure_begin(struct conn *c)
{
    struct http_server *s = c->loop->server;

    uv_mutex_lock(&s->identity_lock);
    int err = tls_new(s->identity, &c->tls);
    uv_mutex_unlock(&s->identity_lock);
    return err == 0;
}

void secure_count_lost(const struct conn *c)
{
    if (tls_is_waiting(c->tls))
        counter_add(&c->loop->counts.handshakes_failed, 1);
}

/* A readable answer for a client that used http: instead of https:. */
static const char not_tls[] = "HTTP/1.1 400 Bad Request\r\n"
                              "Content-Type: text/plain\r\n"
                              "Connection: close\r\n"
                              "\r\n"
                              "This port speaks TLS: use https.\n";

static void fail(struct conn *c, int err)
{
    if (err == ERR_SYNTAX)
        (void)conn_write(c, str_make(not_tls, sizeof(not_tls) - 1), STR_NONE); /* best effort */
    if (err == ERR_CLOSED)
        conn_close(c, "the peer closed the connection");
    else
        conn_close(c, "%s", err == ERR_NOMEM ? "out of memory" : tls_problem(c->tls));
}

void secure_take(struct conn *c, struct str sealed)
{
    struct http_loop *loop = c->loop;
    bool was_ready = tls_is_ready(c->tls);
    int err = tls_open(c->tls, sealed, &loop->plain, &loop->sealed);

    if (!was_ready && tls_is_ready(c->tls))
        counter_add(&loop->counts.handshakes, 1);
    if (loop->sealed.n > 0)
        (void)conn_write(c, buf_text(&loop->sealed), STR_NONE); /* a failure has closed it */
    give_back(&loop->sealed);
    if (loop->plain.n > 0)
        conn_received(c, buf_text(&loop->plain));
    buf_clear(&loop->plain);
    if (err != 0)
        fail(c, err);
    conn_settle(c);
}

/* --- sending ------------------------------------------------------------------------- */

static bool seal(struct conn *c, struct str plain)
{
    int err = tls_seal(c->tls, plain, &c->loop->sealed);

    if (err != 0)
        conn_cut(c, "%s", err == ERR_NOMEM ? "out of memory" : tls_problem(c->tls));
    return err == 0;
}

bool secure_write(struct conn *c, struct str a, struct str b)
{
    struct buf *sealed = &c->loop->sealed;
    bool ok = seal(c, a) && seal(c, b) && conn_write(c, buf_text(sealed), STR_NONE);

    give_back(sealed);
    return ok;
}

void secure_end(struct conn *c)
{
    struct buf *sealed = &c->loop->sealed;

    tls_end(c->tls, sealed);
    uv_buf_t bytes = { .base = sealed->p, .len = sealed->n };
    if (sealed->n > 0 && c->n_writes == 0)
        (void)uv_try_write(&c->handle.stream, &bytes, 1); /* best effort */
    buf_clear(sealed);
}

/* --- streams -------------------------------------------------------------------------- */

/* What the socket did not take of a slice, and the plain bytes behind it. */
struct sealed_write {
    uv_write_t write;
    struct conn *conn; /* borrowed; libuv calls back before it closes */
    unsigned n_left;
    uv_buf_t left[HTTP_STREAM_PIECES]; /* the caller's */
    char bytes[];
};

static void on_written(uv_write_t *write, int status)
{
    struct sealed_write *w = write->data;
    struct conn *c = w->conn;

    if (--c->n_writes == 0)
        c->is_timed = false;
    if (status != 0)
        conn_close(c, "%s", uv_strerror(status));
    bool is_done = c->state == CONN_STREAM && secure_send(c, w->left, w->n_left);
    free(w);
    conn_settle(c);
    if (is_done && c->state == CONN_STREAM && c->stream.events->ready != NULL)
        c->stream.events->ready(&c->stream, c->stream.data);
}

static void send_later(struct conn *c, struct str rest, const uv_buf_t *left, unsigned n)
{
    struct sealed_write *w = malloc(sizeof(*w) + rest.n);

    if (w == NULL) {
        conn_cut(c, "out of memory");
        return;
    }
    w->conn = c;
    w->write.data = w;
    w->n_left = n;
    if (n > 0)
        memcpy(w->left, left, n * sizeof(left[0]));
    str_copy(w->bytes, rest);
    uv_buf_t bytes = { .base = w->bytes, .len = rest.n };
    int err = uv_write(&w->write, &c->handle.stream, &bytes, 1, on_written);
    if (err != 0) {
        free(w);
        conn_cut(c, "%s", uv_strerror(err));
        return;
    }
    conn_count_write(c);
    conn_settle(c);
}

/* Seals about a slice of @pieces; returns how many are left of them, or -1 if it is cut. */
static int seal_slice(struct conn *c, uv_buf_t *pieces, unsigned n)
{
    size_t room = SLICE_BYTES;
    unsigned first = 0;

    while (first < n && room > 0) {
        uv_buf_t *piece = &pieces[first];
        size_t part = piece->len < room ? piece->len : room;

        if (!seal(c, str_make(piece->base, part)))
            return -1;
        room -= part;
        piece->base += part;
        piece->len -= part;
        first += piece->len == 0;
    }
    memmove(pieces, pieces + first, (n - first) * sizeof(pieces[0]));
    return (int)(n - first);
}

/* How many of the sealed bytes the socket has taken; negative: an error. */
static int try_sealed(struct conn *c)
{
    uv_buf_t bytes = { .base = c->loop->sealed.p, .len = c->loop->sealed.n };

    conn_count_sent(c, bytes.len);
    int sent = c->n_writes == 0 ? uv_try_write(&c->handle.stream, &bytes, 1) : UV_EAGAIN;

    return sent == UV_EAGAIN ? 0 : sent;
}

bool secure_send(struct conn *c, uv_buf_t *pieces, unsigned n)
{
    struct buf *sealed = &c->loop->sealed;

    while (n > 0) {
        int left = seal_slice(c, pieces, n);
        int sent = left >= 0 ? try_sealed(c) : -1;
        struct str rest = sent >= 0 ? str_skip(buf_text(sealed), (size_t)sent) : STR_NONE;

        if (left >= 0 && sent < 0)
            conn_close(c, "%s", uv_strerror(sent));
        else if (rest.n > 0)
            send_later(c, rest, pieces, (unsigned)left);
        bool is_out = sent >= 0 && rest.n == 0;
        buf_clear(sealed);
        if (!is_out)
            return false;
        n = (unsigned)left;
    }
    return true;
}
