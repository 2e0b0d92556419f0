/* The network between gateways: cluster/link_socket.h on one side, a request of http/http.h on
 * the other.
 *
 *     link ──link_socket_send──▶ up ─ ─ ▶ served
 *     link ◀─ ─ ─ ─ ─ ─ ─ ─ ─ ─ down ◀── served
 *
 * Nothing moves by itself.  Bytes arrive late and in pieces, connections are cut, and each side
 * hears of it when it does: what was sent before may still come after what was sent again over
 * the next connection. */
#define _GNU_SOURCE /* memmem */
#include "gateways.h"

#include "base/error.h"
#include "cluster/served.h"

#include <stdio.h>
#include <stdlib.h>

/* A connection; freed when both sides are done with it. */
struct link_socket {
    struct link_socket *next;
    struct sim *sim;
    const uv_loop_t *loop; /* borrowed: the link's */
    struct link_socket_events events;
    unsigned to; /* the instance of a gateway */
    struct buf up, down;
    struct http_request *http; /* owned; NULL: not accepted yet */
    bool is_connected, is_sending;
    bool is_slow;        /* what is sent up takes long */
    bool is_slow_down;   /* and what is sent down */
    unsigned n_downs;    /* the other side's, when it was accepted */
    bool is_cut;         /* the client is to hear of it */
    bool is_closed;      /* by the client */
    bool is_server_over; /* the other side hears nothing any more */
};

static bool is_calm(const struct sim *s)
{
    return s->draining || s->is_calm;
}

static struct server *target(const struct link_socket *c)
{
    for (size_t i = 0; i < c->sim->p.n_gateways; i++) {
        struct server *g = &c->sim->servers[i];

        if (g->up && g->instance == c->to)
            return g;
    }
    return NULL;
}

const char *link_address_read(struct str url, struct link_address *ret)
{
    size_t colon = url.n;

    while (colon > 0 && url.p[colon - 1] != ':')
        colon--;
    (void)snprintf(ret->host, sizeof(ret->host), "%s", url.n > 0 ? "gateway" : "");
    (void)snprintf(ret->port, sizeof(ret->port), "%.*s", STR_ARG(str_skip(url, colon)));
    return NULL;
}

static struct sim *running; /* one simulator a process: sockets are opened without one */

void network_init(struct sim *s)
{
    running = s;
}

/* All addresses are http://. */
int tls_identity_new_client(struct tls_identity **ret, struct error *err)
{
    *ret = NULL;
    return error_set(err, ERR_REFUSED, "there is no TLS here");
}

void tls_identity_unref(struct tls_identity *id)
{
    (void)id;
}

struct link_socket *link_socket_open(uv_loop_t *loop,
                                     const struct link_address *to,
                                     struct tls_identity *tls,
                                     const struct link_socket_events *events)
{
    struct link_socket *c = disk_must(calloc(1, sizeof(*c)));

    (void)tls;
    c->sim = running;
    c->loop = loop;
    c->events = *events;
    c->to = (unsigned)strtoul(to->port, NULL, 10);
    c->is_slow =
        !is_calm(running) && running->p.cut_permille > 0 && chance_of(&running->chance, 150);
    c->is_slow_down =
        !is_calm(running) && running->p.cut_permille > 0 && chance_of(&running->chance, 250);
    buf_init(&c->up, SIZE_MAX / 4);
    buf_init(&c->down, SIZE_MAX / 4);
    c->next = running->sockets;
    running->sockets = c;
    return c;
}

void link_socket_close(struct link_socket *c)
{
    c->is_closed = true;
}

void link_socket_send(struct link_socket *c, struct buf *out)
{
    if (c->is_sending || out->n == 0)
        return;
    if (!c->is_cut)
        buf_str(&c->up, buf_text(out));
    buf_clear(out);
    c->is_sending = true;
}

/* --- what happens --------------------------------------------------------------- */

static void end_server_side(struct link_socket *c)
{
    c->is_server_over = true;
    buf_clear(&c->up);
    if (c->http != NULL && c->http->streaming)
        fake_http_close(c->http);
    if (c->http != NULL)
        buf_done(&c->http->got);
    free(c->http);
    c->http = NULL;
}

/* What the socket takes at once: the rest waits in the gateway. */
static size_t room_of(const struct link_socket *c)
{
    return c->is_slow_down ? 60 : SIZE_MAX / 4;
}

static void take_back(struct link_socket *c)
{
    if (c->http == NULL)
        return;
    buf_str(&c->down, buf_text(&c->http->got));
    buf_clear(&c->http->got);
    bool has_moved = target(c) == NULL || target(c)->n_downs != c->n_downs;
    if (c->http->cut && !c->is_closed && !has_moved)
        sim_fail(c->sim, "a gateway cuts another off: %s", c->http->reason);
}

/* Is the gateway frozen that has opened it? */
static bool is_frozen_here(const struct link_socket *c)
{
    for (size_t i = 0; i < c->sim->p.n_gateways; i++)
        if (c->sim->servers[i].up && c->sim->servers[i].link_loop == c->loop)
            return c->sim->servers[i].is_frozen;
    return false;
}

static void drop_front(struct buf *b, size_t n)
{
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

static struct str header(struct str head, const char *name)
{
    struct str at = head;

    while (at.n > 0 && !str_starts(at, str_of(name)))
        at = str_skip(at, 1);
    at = str_skip(at, strlen(name));
    return str_head(at, str_find(at, '\r'));
}

/* The head of the request has come. */
static void accept_it(struct link_socket *c, struct server *g)
{
    const char *end = c->up.n > 0 ? memmem(c->up.p, c->up.n, "\r\n\r\n", 4) : NULL;

    if (end == NULL)
        return;
    size_t n = (size_t)(end + 4 - c->up.p);
    struct str head = str_head(buf_text(&c->up), n);
    c->http = disk_must(calloc(1, sizeof(*c->http)));
    buf_init(&c->http->got, SIZE_MAX / 4);
    c->http->room = room_of(c);
    c->n_downs = g->n_downs;
    c->http->authorization = header(head, "Authorization: ");
    c->http->upgrade = header(head, "Upgrade: ");
    c->http->link = header(head, SERVED_LINK_HEADER ": ");
    buf_lit(&c->down, "HTTP/1.1 101 Switching Protocols\r\n\r\n");
    served_begin(c->http, gateways_secret, g->newest, g->journal, g->watchers, g->served);
    if (!c->http->streaming && c->http->status == 409 && c->is_closed) {
        end_server_side(c); /* the next one was faster */
        return;
    }
    if (!c->http->streaming)
        sim_fail(c->sim, "a gateway does not serve another: %s", c->http->reason);
    c->http->authorization = c->http->upgrade = c->http->link = STR_NONE;
    drop_front(&c->up, n);
}

static size_t some_of(struct link_socket *c, size_t n)
{
    if (is_calm(c->sim) || chance_of(&c->sim->chance, 800))
        return n;
    return 1 + chance_below(&c->sim->chance, n);
}

static void arrive_up(struct link_socket *c)
{
    struct server *g = target(c);

    if (g == NULL || g->is_frozen || c->up.n == 0)
        return;
    if (c->is_slow && c->http != NULL && !is_calm(c->sim) && chance_of(&c->sim->chance, 950))
        return;
    if (c->http != NULL && c->http->cut) {
        end_server_side(c);
        return;
    }
    if (c->http == NULL)
        accept_it(c, g);
    if (c->http == NULL || c->up.n == 0)
        return;
    size_t n = some_of(c, c->up.n);
    struct buf piece LOCAL_BUF(SIZE_MAX / 4);
    buf_put(&piece, c->up.p, n);
    drop_front(&c->up, n);
    c->http->stream.events->received(&c->http->stream, buf_text(&piece), c->http->stream.data);
    take_back(c);
}

static void arrive_down(struct link_socket *c)
{
    const struct server *g = target(c);

    if (c->is_slow_down && !is_calm(c->sim) && chance_of(&c->sim->chance, 950))
        return;
    take_back(c);
    if (c->http != NULL && c->http->streaming && g != NULL && !g->is_frozen)
        fake_http_drain(c->http, room_of(c) - c->http->room);
    if (c->is_closed || c->is_cut)
        return;
    if (c->down.n == 0 && c->http != NULL && c->http->cut)
        end_server_side(c);
    if (c->down.n == 0)
        return;
    size_t n = some_of(c, c->down.n);
    struct buf piece LOCAL_BUF(SIZE_MAX / 4);
    buf_put(&piece, c->down.p, n);
    drop_front(&c->down, n);
    c->events.received(c->events.arg, buf_text(&piece));
}

/* One thing that happens to this connection. */
static void move(struct link_socket *c)
{
    struct server *g = target(c);

    if (g == NULL && !c->is_server_over)
        end_server_side(c); /* it was killed */
    if (c->is_closed) {
        /* What was sent may still be read before the end of the connection is seen. */
        if (!c->is_server_over &&
            (c->up.n == 0 || chance_of(&c->sim->chance, c->is_slow ? 5 : 300)) &&
            (g == NULL || !g->is_frozen))
            end_server_side(c);
        else if (!c->is_server_over)
            arrive_up(c);
        return;
    }
    if (is_frozen_here(c)) {
        if (!c->is_server_over)
            arrive_up(c);
        return;
    }
    if ((c->is_cut || c->is_server_over) && chance_of(&c->sim->chance, 500)) {
        c->events.lost(c->events.arg, "the connection was cut");
        return;
    }
    if (!c->is_connected && !c->is_server_over) {
        c->is_connected = true;
        c->events.connected(c->events.arg);
        return;
    }
    if (c->is_sending && !c->is_cut) {
        c->is_sending = false;
        c->events.written(c->events.arg);
    }
    if (c->is_closed)
        return;
    if (chance_of(&c->sim->chance, 500) && !c->is_server_over)
        arrive_up(c);
    else if (!c->is_server_over)
        arrive_down(c);
}

static void free_closed(struct sim *s)
{
    for (struct link_socket **at = &s->sockets; *at != NULL;) {
        struct link_socket *c = *at;

        if (!c->is_closed || !c->is_server_over) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        buf_done(&c->up);
        buf_done(&c->down);
        free(c);
    }
}

void network_step(struct sim *s)
{
    for (struct link_socket *c = s->sockets, *next; c != NULL; c = next) {
        next = c->next;
        if (!is_calm(s) && chance_of(&s->chance, s->p.cut_permille)) {
            sim_note(s, "a connection to gateway %u is cut", c->to);
            c->is_cut = true;
        }
        if (is_calm(s) || chance_of(&s->chance, s->p.network_permille))
            move(c);
    }
    free_closed(s);
}

bool network_is_up(const struct sim *s, const struct server *g, const struct server *writer)
{
    for (const struct link_socket *c = s->sockets; c != NULL; c = c->next)
        if (c->loop == g->link_loop && c->to == writer->instance && !c->is_closed &&
            !c->is_cut && !c->is_server_over && c->http != NULL)
            return link_is_up(g->link);
    return false;
}

bool network_is_quiet(const struct sim *s)
{
    for (const struct link_socket *c = s->sockets; c != NULL; c = c->next)
        if (c->is_closed || c->is_cut || c->is_server_over || c->http == NULL || c->up.n > 0 ||
            c->down.n > 0 || c->http->got.n > 0 || c->http->n_pending > 0)
            return false;
    return true;
}

void network_read_rest(struct sim *s, const struct server *g)
{
    for (struct link_socket *c = s->sockets; c != NULL; c = c->next)
        if (c->to == g->instance && c->is_closed && !c->is_server_over)
            end_server_side(c);
}

void network_lose(struct sim *s, const struct server *g)
{
    for (struct link_socket *c = s->sockets; c != NULL; c = c->next)
        if (c->to == g->instance && !c->is_server_over)
            end_server_side(c);
    free_closed(s);
}
