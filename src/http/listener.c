/* A listening socket.
 *
 * The descriptor is polled and accept() called here rather than by libuv, which would drop
 * connections unanswered when the process is out of descriptors.  What happens to a new
 * connection, with n of them open and max allowed:
 *
 *     n <= max    served
 *     above       in the loop's reserve: served, but only the health routes; others get 503
 *     too many from one address: 503 without looking at the request
 *
 * Without descriptors one of the loop's spare ones is given up for the connection, which
 * is then one of the reserve.  When the reserve is full or the spares run out, its oldest
 * connection that has sent no request is closed, so that silent clients cannot hold the
 * reserve; if there is none such, the new one gets 503. */
#include "http/listener.h"

#include "base/json.h"
#include "http/conn.h"
#include "http/loop.h"
#include "http/server.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PER_TURN = 64 }; /* accepted at once, so that a flood of them does not hold the loop */

#define REFUSAL_BODY                                                        \
    "{" JSON_LIT("type", "about:blank") "," JSON_LIT(                       \
        "title",                                                            \
        "Service Unavailable") "," JSON_CONST("status",                     \
                                              "503") "," JSON_LIT("detail", \
                                                                  "Too many open connections") "}\n"

static const char refusal[] = "HTTP/1.1 503 Service Unavailable\r\n"
                              "Content-Type: application/problem+json\r\n"
                              "Content-Length: 103\r\n"
                              "Retry-After: 1\r\n"
                              "Connection: close\r\n"
                              "\r\n" REFUSAL_BODY;
_Static_assert(sizeof(REFUSAL_BODY) - 1 == 103, "the length above");

/* Answers 503 and closes.  What the peer has sent is read first, as far as it is there: unread
 * bytes would make the kernel reset the connection, and the answer would be lost. */
static void refuse(struct http_loop *loop, int fd, bool is_secure)
{
    char bytes[4096];

    if (!is_secure) /* over TLS nothing can be sent before the handshake */
        (void)send(fd, refusal, sizeof(refusal) - 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* if it can
                                                                                    */
    (void)shutdown(fd, SHUT_WR);
    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) == (ssize_t)sizeof(bytes))
        ;
    spares_close(&loop->spares, fd);
}

static void read_peer(const struct sockaddr_storage *address, struct peer *ret)
{
    *ret = (struct peer){ 0 };
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *ip4 = (const struct sockaddr_in *)(const void *)address;
        ret->address.s6_addr[10] = ret->address.s6_addr[11] = 0xff;
        memcpy(ret->address.s6_addr + 12, &ip4->sin_addr, 4);
        ret->port = ntohs(ip4->sin_port);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)(const void *)address;
        ret->address = ip6->sin6_addr;
        ret->port = ntohs(ip6->sin6_port);
    } else {
        ret->is_unix = true;
    }
}

/* Closes a connection of the reserve, which frees its descriptor. */
static bool make_room(struct http_loop *loop)
{
    struct conn *c = conn_silent(loop);

    if (c == NULL)
        return false;
    if (c->tls == NULL && c->state != CONN_LINGER)
        (void)conn_write(c, STR(refusal), STR_NONE); /* best effort */
    conn_close(c, "another one needed its place");
    return true;
}

/* @is_spare: a spare descriptor was given up for it. */
static void admit(struct listener *l,
                  int fd,
                  const struct sockaddr_storage *from,
                  bool is_spare)
{
    struct http_loop *loop = l->loop;
    struct http_server *s = loop->server;
    unsigned n = atomic_fetch_add(&s->n_connections, 1) + 1;
    bool is_over = is_spare || n > s->max_connections;
    bool has_room = !is_over || loop->n_reserve < LOOP_RESERVE || make_room(loop);
    struct peer peer;

    read_peer(from, &peer);
    counter_add(&loop->counts.accepted, 1);
    if (!has_room || (is_spare && loop->spares.n == 0)) {
        refuse(loop, fd, http_server_limits(s)->guard.is_secure && !peer.is_unix);
    } else if (!peer.is_unix && !addresses_enter(&s->addresses, &peer.address)) {
        refuse(loop, fd, http_server_limits(s)->guard.is_secure && !peer.is_unix);
    } else {
        conn_open(loop, fd, &peer, is_over);
        return;
    }
    counter_add(&loop->counts.refused, 1);
    atomic_fetch_sub(&s->n_connections, 1);
}

static bool is_shortage(int error)
{
    return error == UV_EMFILE || error == UV_ENFILE || error == UV_ENOBUFS ||
           error == UV_ENOMEM;
}

/* Stops polling until the next tick: the listener stays readable, and the loop would spin. */
static void rest(struct listener *l)
{
    l->is_resting = true;
    (void)uv_poll_stop(&l->poll); /* cannot fail */
    loop_want_tick(l->loop);
}

static void accept_with_spare(struct listener *l)
{
    struct spares *spares = &l->loop->spares;
    struct sockaddr_storage from;

    if (spares->n <= 1) /* the last one is only used to answer 503 */
        (void)make_room(l->loop);
    bool has_spare = spares->n > 0;
    int fd = spares_accept(spares, l->fd, has_spare, &from);

    if (fd >= 0)
        admit(l, fd, &from, has_spare);
    else if (is_shortage(fd))
        rest(l);
}

static void accept_some(struct listener *l, int most)
{
    struct sockaddr_storage from;

    for (int i = 0; i < most && !l->is_resting; i++) {
        int fd = spares_accept(&l->loop->spares, l->fd, false, &from);
        if (fd >= 0)
            admit(l, fd, &from, false);
        else if (is_shortage(fd))
            accept_with_spare(l);
        else if (fd == UV_EAGAIN)
            return;
        /* else: the peer has left already, or a signal came; there may be more */
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)events;
    (void)status; /* accept() reports the error */
    accept_some(poll->data, PER_TURN);
}

int listener_open(struct listener *l, struct http_loop *loop, int fd, bool is_unix)
{
    *l = (struct listener){ .loop = loop, .fd = fd, .is_unix = is_unix };
    int err = uv_poll_init(&loop->uv, &l->poll, fd);
    if (err != 0) {
        (void)close(fd); /* never listened on */
        return err;
    }
    l->poll.data = l;
    l->is_open = true;
    return uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

static void on_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;

    (void)close(l->fd); /* an error of close() cannot be handled */
}

void listener_close(struct listener *l)
{
    if (!l->is_open)
        return;
    /* The kernel has already accepted the connections in its queue: serve them too. */
    if (!l->loop->is_stopping)
        accept_some(l, PER_TURN * 16);
    l->is_open = l->is_resting = false;
    uv_close((uv_handle_t *)&l->poll, on_closed);
}

void listener_retry(struct listener *l)
{
    if (!l->is_open || !l->is_resting)
        return;
    l->is_resting = false;
    (void)uv_poll_start(&l->poll, UV_READABLE, on_readable); /* succeeded before, too */
}
