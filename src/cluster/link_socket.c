#include "cluster/link_socket.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BUFFER = 1024 * 1024 * 1024 };

struct link_socket {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uv_getaddrinfo_t lookup;
    uv_timer_t failing; /* says later what went wrong at once */
    struct link_socket_events events;
    struct buf sending;
    bool is_looking, is_writing;
    struct tls *tls;   /* NULL: none */
    struct buf sealed; /* encrypted, to be sent */
    struct buf plain;  /* decrypted, just received */
    bool is_done;      /* closed by its user, or lost */
    int n_handles;     /* that libuv has not closed yet */
    char why[120];     /* it is lost */
    char chunk[64 * 1024];
};

const char *link_address_read(struct str url, struct link_address *ret)
{
    *ret = (struct link_address){ .host = "" };
    ret->is_secure = str_starts(url, STR("https://"));
    if (!ret->is_secure && !str_starts(url, STR("http://")))
        return "its URL must begin with http:// or https://";
    struct str rest = str_skip(url, ret->is_secure ? 8 : 7);
    rest = str_head(rest, str_find(rest, '/'));
    size_t colon = rest.n;
    while (colon > 0 && rest.p[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return "its URL has no port";
    struct str host = str_head(rest, colon - 1), port = str_skip(rest, colon);
    if (host.n > 2 && host.p[0] == '[')
        host = str_make(host.p + 1, host.n - 2);
    (void)snprintf(ret->host, sizeof(ret->host), "%.*s", STR_ARG(host));
    (void)snprintf(ret->port, sizeof(ret->port), "%.*s", STR_ARG(str_head(port, 7)));
    return NULL;
}

/* --- closing ------------------------------------------------------------------------------ */

static void free_if_closed(struct link_socket *s)
{
    if (s->is_looking || s->n_handles > 0)
        return;
    buf_done(&s->sending);
    buf_done(&s->sealed);
    buf_done(&s->plain);
    tls_free(s->tls);
    free(s);
}

static void on_closed(uv_handle_t *handle)
{
    struct link_socket *s = handle->data;

    s->n_handles--;
    free_if_closed(s);
}

void link_socket_close(struct link_socket *s)
{
    s->is_done = true;
    if (s->is_looking)
        (void)uv_cancel((uv_req_t *)&s->lookup); /* or it is about to come */
    uv_close((uv_handle_t *)&s->tcp, on_closed);
    uv_close((uv_handle_t *)&s->failing, on_closed);
}

static void lose(struct link_socket *s, const char *why)
{
    if (s->is_done)
        return;
    s->is_done = true;
    s->events.lost(s->events.arg, why);
}

static void on_failing(uv_timer_t *timer)
{
    struct link_socket *s = timer->data;

    lose(s, s->why);
}

/* From inside a call of the user, who expects no event then. */
static void lose_later(struct link_socket *s, const char *why)
{
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
    (void)uv_timer_start(&s->failing, on_failing, 0, 0); /* cannot fail: it is not closing */
}

/* --- sending and receiving ---------------------------------------------------------------- */

static void on_written(uv_write_t *write, int status);

/* Sends all of *@out, and leaves another buffer there that is empty. */
static void write_now(struct link_socket *s, struct buf *out)
{
    struct buf sent = s->sending;

    s->sending = *out;
    *out = sent;
    buf_clear(out);
    uv_buf_t bytes = uv_buf_init(s->sending.p, (unsigned)s->sending.n);
    int status = uv_write(&s->write, (uv_stream_t *)&s->tcp, &bytes, 1, on_written);
    s->is_writing = status == 0;
    if (status != 0)
        lose_later(s, uv_strerror(status));
}

static void on_written(uv_write_t *write, int status)
{
    struct link_socket *s = write->data;

    s->is_writing = false;
    if (status != 0)
        lose(s, uv_strerror(status));
    else if (!s->is_done && s->sealed.n > 0)
        write_now(s, &s->sealed);
    else if (!s->is_done)
        s->events.written(s->events.arg);
}

void link_socket_send(struct link_socket *s, struct buf *out)
{
    if (s->is_done || s->is_writing || out->n == 0)
        return;
    if (out->error != 0) {
        lose_later(s, "out of memory");
        return;
    }
    if (s->tls == NULL) {
        write_now(s, out);
        return;
    }
    int err = tls_seal(s->tls, buf_text(out), &s->sealed);
    buf_clear(out);
    if (err != 0)
        lose_later(s, err == ERR_NOMEM ? "out of memory" : tls_problem(s->tls));
    else
        write_now(s, &s->sealed);
}

/* Encrypted bytes have come; none: the handshake begins. */
static void take_sealed(struct link_socket *s, struct str bytes)
{
    bool was_ready = tls_is_ready(s->tls);
    int err = tls_open(s->tls, bytes, &s->plain, &s->sealed);

    if (s->sealed.n > 0 && !s->is_writing)
        write_now(s, &s->sealed); /* an alert too */
    if (err != 0) {
        lose(s, err == ERR_CLOSED  ? "it has closed the connection"
                : err == ERR_NOMEM ? "out of memory"
                                   : tls_problem(s->tls));
        return;
    }
    if (!was_ready && tls_is_ready(s->tls) && !s->is_done)
        s->events.connected(s->events.arg);
    if (s->plain.n > 0 && !s->is_done)
        s->events.received(s->events.arg, buf_text(&s->plain));
    buf_clear(&s->plain);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    struct link_socket *s = handle->data;

    (void)size;
    *ret = uv_buf_init(s->chunk, sizeof(s->chunk));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct link_socket *s = stream->data;

    if (n < 0)
        lose(s, n == UV_EOF ? "it has closed the connection" : uv_strerror((int)n));
    else if (n > 0 && !s->is_done && s->tls != NULL)
        take_sealed(s, str_make(bytes->base, (size_t)n));
    else if (n > 0 && !s->is_done)
        s->events.received(s->events.arg, str_make(bytes->base, (size_t)n));
}

/* --- connecting --------------------------------------------------------------------------- */

static void on_connected(uv_connect_t *connect, int status)
{
    struct link_socket *s = connect->data;

    if (s->is_done)
        return;
    if (status == 0)
        status = uv_read_start((uv_stream_t *)&s->tcp, on_alloc, on_read);
    if (status != 0) {
        lose(s, uv_strerror(status));
        return;
    }
    (void)uv_tcp_nodelay(&s->tcp, 1);
    if (s->tls != NULL)
        take_sealed(s, STR(""));
    else
        s->events.connected(s->events.arg);
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct link_socket *s = lookup->data;

    s->is_looking = false;
    if (s->n_handles == 0) { /* it was closed meanwhile */
        free_if_closed(s);
    } else if (!s->is_done) {
        if (status == 0)
            status = uv_tcp_connect(&s->connect, &s->tcp, found->ai_addr, on_connected);
        if (status != 0)
            lose(s, uv_strerror(status));
    }
    uv_freeaddrinfo(found);
}

struct link_socket *link_socket_open(uv_loop_t *loop,
                                     const struct link_address *to,
                                     struct tls_identity *tls,
                                     const struct link_socket_events *events)
{
    struct link_socket *s = calloc(1, sizeof(*s));
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

    if (s == NULL || (tls != NULL && tls_new_client(tls, to->host, &s->tls) != 0) ||
        uv_tcp_init(loop, &s->tcp) != 0) {
        if (s != NULL)
            tls_free(s->tls);
        free(s);
        return NULL;
    }
    (void)uv_timer_init(loop, &s->failing); /* cannot fail */
    s->n_handles = 2;
    s->events = *events;
    buf_init(&s->sending, MAX_BUFFER);
    buf_init(&s->sealed, MAX_BUFFER);
    buf_init(&s->plain, MAX_BUFFER);
    s->tcp.data = s->failing.data = s;
    s->connect.data = s->write.data = s->lookup.data = s;
    int status = uv_getaddrinfo(loop, &s->lookup, on_found, to->host, to->port, &hints);
    s->is_looking = status == 0;
    if (status != 0)
        lose_later(s, uv_strerror(status));
    return s;
}
