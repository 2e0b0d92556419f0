/* What a connection sends, and how much of it the peer acknowledges.
 *
 * Bytes are offered to the socket at once; what it does not take is copied and left to libuv.
 * Answers that are given while a read is being handled gather in the loop's cork and go out
 * together. */
#include "http/conn.h"

#include "http/http.h"
#include "http/loop.h"
#include "http/secure.h"
#include "http/server.h"

#include <stdlib.h>
#include <sys/ioctl.h>

struct pending {
    uv_write_t write;
    struct conn *conn; /* borrowed; libuv calls back before it closes */
    char bytes[];
};

static void on_written(uv_write_t *write, int status)
{
    struct pending *p = write->data;
    struct conn *c = p->conn;

    free(p);
    if (--c->n_writes == 0)
        c->is_timed = false;
    if (status != 0)
        conn_close(c, "%s", uv_strerror(status));
    conn_settle(c);
}

void conn_count_write(struct conn *c)
{
    if (c->n_writes++ == 0)
        c->is_timed = false;
}

void conn_count_sent(struct conn *c, size_t bytes)
{
    uint32_t before = c->sent;

    c->sent += (uint32_t)bytes;
    if (!c->is_clear)
        return;
    c->is_clear = false;
    c->taken = before;
    c->taken_ms = (uint32_t)uv_now(&c->loop->uv);
    if (c->state == CONN_STREAM && c->n_writes == 0) {
        c->is_timed = false;
        conn_set_deadline(c);
    }
}

/* Copies what the socket did not take. */
static bool write_later(struct conn *c, struct str a, struct str b)
{
    struct pending *p = malloc(sizeof(*p) + a.n + b.n);

    if (p == NULL) {
        conn_close(c, "out of memory");
        return false;
    }
    str_copy(p->bytes, a);
    str_copy(p->bytes + a.n, b);
    p->conn = c;
    p->write.data = p;
    uv_buf_t bytes = { .base = p->bytes, .len = a.n + b.n };
    int err = uv_write(&p->write, &c->handle.stream, &bytes, 1, on_written);
    if (err != 0) {
        free(p);
        conn_close(c, "%s", uv_strerror(err));
        return false;
    }
    conn_count_write(c);
    return true;
}

static uv_buf_t uv_buf_of(struct str s)
{
    return (uv_buf_t){ .base = (char *)(uintptr_t)s.p, .len = s.n };
}

bool conn_write(struct conn *c, struct str a, struct str b)
{
    uv_buf_t both[2] = { uv_buf_of(a), uv_buf_of(b) };
    size_t sent = 0;

    conn_count_sent(c, a.n + b.n);
    if (c->n_writes == 0) { /* else it would overtake them */
        int n = uv_try_write(&c->handle.stream, both, b.n > 0 ? 2 : 1);
        if (n < 0 && n != UV_EAGAIN) {
            conn_close(c, "%s", uv_strerror(n));
            return false;
        }
        sent = n > 0 ? (size_t)n : 0;
    }
    if (sent == a.n + b.n)
        return true;
    return sent < a.n ? write_later(c, str_skip(a, sent), b)
                      : write_later(c, str_skip(b, sent - a.n), STR_NONE);
}

struct buf *conn_out(struct conn *c)
{
    return c->loop->corked == c ? &c->loop->cork : &c->loop->scratch;
}

bool conn_flush(struct conn *c, struct str body)
{
    struct buf *out = conn_out(c);
    bool ok = c->state != CONN_CLOSING;

    if (ok && out->n + body.n > 0)
        ok = c->tls == NULL ? conn_write(c, buf_text(out), body)
                            : secure_write(c, buf_text(out), body);
    buf_clear(out);
    return ok;
}

/* --- the peer's progress ------------------------------------------------------------ */

/* In our queue and in the kernel's.  The latter shrinks with what the peer acknowledges,
 * while the socket takes more from us only when a good part of its buffer is free: with a
 * slow reader that is minutes apart. */
size_t conn_unsent(const struct conn *c)
{
    size_t n = uv_stream_get_write_queue_size(&c->handle.stream);
    int in_kernel = 0;
    uv_os_fd_t fd;

    if (uv_fileno(&c->handle.any, &fd) == 0 && ioctl(fd, TIOCOUTQ, &in_kernel) == 0)
        n += (size_t)in_kernel;
    return n;
}

/* Small writes succeed even when the peer has vanished: the kernel buffers them, and gives up
 * after a quarter of an hour.  So we check while anything is unacknowledged, in libuv's queue
 * or in the kernel's. */
void conn_check_progress(struct conn *c)
{
    unsigned stall_ms = http_server_limits(c->loop->server)->write_stall_ms;
    size_t unsent = conn_unsent(c);
    uint32_t now = (uint32_t)uv_now(&c->loop->uv);
    uint32_t taken = c->sent - (uint32_t)unsent;

    c->is_clear = unsent == 0;
    if (c->is_clear || taken != c->taken)
        c->taken_ms = now;
    c->taken = taken;
    c->is_stalled = now - c->taken_ms >= stall_ms;
    if (!c->is_stalled)
        conn_settle(c);
    else
        conn_cut(c, "the peer has taken nothing for %u ms, %zu bytes are unsent", stall_ms,
                 unsent);
}
