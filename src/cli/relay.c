#define _DEFAULT_SOURCE /* struct linger */
#include "cli/relay.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "client/client.h"
#include "cli/redirect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PIECE = 16 * 1024, BACKLOG = 64, ARRIVE_MS = 1000 };

struct relay {
    struct relay_options opt;
    atomic_bool used[RELAY_MAX_FAULTS];
    _Atomic int64_t began_ms; /* 0: not yet */
    int fd;
    uint16_t port;
    pthread_t thread;
};

/* One connection; both descriptors are its own. */
struct pipe {
    struct relay *relay;
    int client, server;
    struct redirect requests;
    struct buf out;          /* of them, to be sent */
    char line[RELAY_ID + 8]; /* the beginning of the answer's line that is going out */
    size_t n_line;           /* of all of it */
    char id[RELAY_ID];       /* of the frame */
    bool is_last;            /* it is cut behind this frame */
};

/* --- bytes ----------------------------------------------------------------------------------
 */

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* A TCP reset, so that the client does not take it for a regular end; what was sent before
 * arrives. */
static void cut(struct pipe *p)
{
    struct linger hard = { .l_onoff = 1, .l_linger = 0 };
    int unsent = 1;

    for (int waited = 0; waited < ARRIVE_MS && unsent > 0; waited++) {
        if (ioctl(p->client, SIOCOUTQ, &unsent) != 0)
            break;
        clock_sleep_ms(unsent > 0 ? 1 : 0);
    }
    (void)setsockopt(p->client, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* best effort */
}

/* --- frames ---------------------------------------------------------------------------------
 */

static void wait_until(int64_t ms)
{
    int64_t left;

    while ((left = ms - clock_steady_ms()) > 0)
        clock_sleep_ms(left);
}

/* Waits until the record of this id is due. */
static void wait_for_time(struct pipe *p)
{
    const struct relay_options *o = &p->relay->opt;
    int64_t began = atomic_load(&p->relay->began_ms);
    size_t seq = strtoull(p->id, NULL, 10);

    if (o->speed <= 0 || seq == 0 || seq > o->n_made)
        return;
    if (began == 0) {
        int64_t now = clock_steady_ms();

        if (!atomic_compare_exchange_strong(&p->relay->began_ms, &began, now))
            now = began; /* another connection has set it */
        began = now;
    }
    wait_until(began + (int64_t)((double)(o->made_ms[seq - 1] - o->made_ms[0]) / o->speed));
}

static void take_faults(struct pipe *p)
{
    const struct relay_options *o = &p->relay->opt;

    for (size_t i = 0; i < o->n_faults; i++) {
        if (strcmp(o->faults[i].id, p->id) != 0 || atomic_exchange(&p->relay->used[i], true))
            continue;
        if (o->faults[i].stall_ms > 0)
            clock_sleep_ms(o->faults[i].stall_ms);
        else
            p->is_last = true;
    }
}

enum relay_line { LINE_OTHER, LINE_EMPTY, LINE_ID, LINE_FRAME };

/* A line of the answer has ended: `id: 57` begins a frame, and `{"id":"57",…` is one. */
static enum relay_line read_line(struct pipe *p)
{
    struct str line =
        str_make(p->line, p->n_line < sizeof(p->line) ? p->n_line : sizeof(p->line));
    struct str in_json = STR("{" JSON_KEY("id") "\""), in_sse = STR("id: ");
    bool is_json = str_starts(line, in_json);
    struct str id = str_skip(line, is_json ? in_json.n : in_sse.n);

    if (line.n == 0)
        return LINE_EMPTY;
    id = str_head(id, str_find(id, is_json ? '"' : '\r'));
    if ((!is_json && !str_starts(line, in_sse)) || id.n >= sizeof(p->id))
        return LINE_OTHER;
    str_copy(p->id, id);
    p->id[id.n] = '\0';
    return is_json ? LINE_FRAME : LINE_ID;
}

/* Passes a piece of the answer on, frame by frame; false when the connection is over. */
static bool pass_answer(struct pipe *p, const char *piece, size_t n)
{
    size_t from = 0, line = 0;

    for (size_t i = 0; i < n; i++) {
        if (piece[i] != '\n') {
            if (p->n_line < sizeof(p->line))
                p->line[p->n_line] = piece[i];
            p->n_line++;
            continue;
        }
        enum relay_line is = read_line(p);
        if (is == LINE_ID || is == LINE_FRAME) {
            if (!send_all(p->client, piece + from, line - from))
                return false;
            from = line;
            take_faults(p);
            wait_for_time(p);
        }
        if (p->is_last && (is == LINE_EMPTY || is == LINE_FRAME)) {
            (void)send_all(p->client, piece + from, i + 1 - from); /* it is over either way */
            cut(p);
            return false;
        }
        p->n_line = 0;
        line = i + 1;
    }
    return send_all(p->client, piece + from, n - from);
}

/* --- connections ----------------------------------------------------------------------------
 */

static int connect_upstream(const struct relay *r)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", r->opt.upstream); /* was checked */
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    (void)close(fd); /* it was never used */
    return -1;
}

static bool read_piece(int fd, char *piece, size_t *ret_n)
{
    ssize_t n;

    do
        n = recv(fd, piece, PIECE, 0);
    while (n < 0 && errno == EINTR);
    *ret_n = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static bool pass_request(struct pipe *p, struct str bytes)
{
    buf_clear(&p->out);
    redirect_feed(&p->requests, bytes, &p->out);
    return p->out.error == 0 && send_all(p->server, p->out.p, p->out.n);
}

/* Requests one way, answers the other, until one side is done. */
static void pump(struct pipe *p)
{
    struct pollfd fds[2] = { { .fd = p->client, .events = POLLIN },
                             { .fd = p->server, .events = POLLIN } };
    char piece[PIECE];
    size_t n;

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents != 0 &&
            (!read_piece(p->client, piece, &n) || !pass_request(p, str_make(piece, n))))
            return;
        if (fds[1].revents != 0 &&
            (!read_piece(p->server, piece, &n) || !pass_answer(p, piece, n)))
            return;
    }
}

static void *serve_one(void *arg)
{
    struct pipe *p = arg;

    redirect_init(&p->requests, str_of(p->relay->opt.job));
    buf_init(&p->out, SIZE_MAX / 4);
    p->server = connect_upstream(p->relay);
    if (p->server >= 0)
        pump(p);
    else
        cut(p);
    if (p->server >= 0)
        (void)close(p->server); /* nobody reads what may be left in it */
    (void)close(p->client);
    redirect_done(&p->requests);
    buf_done(&p->out);
    free(p);
    return NULL;
}

static void *serve_all(void *arg)
{
    struct relay *r = arg;

    for (;;) {
        struct pipe *p = NULL;
        pthread_t thread;
        int fd = accept(r->fd, NULL, NULL);

        if (fd < 0)
            continue; /* the client has left, or there are too many connections */
        p = calloc(1, sizeof(*p));
        if (p != NULL)
            *p = (struct pipe){ .relay = r, .client = fd, .server = -1 };
        if (p == NULL || pthread_create(&thread, NULL, serve_one, p) != 0) {
            (void)close(fd);
            free(p);
            continue;
        }
        (void)pthread_detach(thread); /* it ends by itself */
    }
    return NULL;
}

/* --- life -----------------------------------------------------------------------------------
 */

static int listen_on(struct relay *r, struct error *err)
{
    struct sockaddr_in ip4 = { .sin_family = AF_INET, .sin_port = htons(r->opt.port) };
    socklen_t n = sizeof(ip4);
    int on = 1;

    if (inet_pton(AF_INET, r->opt.host, &ip4.sin_addr) != 1)
        return error_set(err, ERR_REFUSED, "%s is not an IPv4 address", r->opt.host);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (r->fd >= 0)
        (void)setsockopt(r->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* for a restart */
    if (r->fd < 0 || bind(r->fd, (struct sockaddr *)&ip4, sizeof(ip4)) != 0 ||
        listen(r->fd, BACKLOG) != 0 || getsockname(r->fd, (struct sockaddr *)&ip4, &n) != 0)
        return error_set(err, ERR_IO, "cannot listen on %s port %u: %s", r->opt.host,
                         (unsigned)r->opt.port, strerror(errno));
    r->port = ntohs(ip4.sin_port);
    return 0;
}

int relay_new(const struct relay_options *options, struct relay **ret, struct error *err)
{
    struct relay *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    r->opt = *options;
    r->fd = -1;
    int code = listen_on(r, err);
    if (code != 0) {
        if (r->fd >= 0)
            (void)close(r->fd); /* it was never used */
        free(r);
        return code;
    }
    *ret = r;
    return 0;
}

uint16_t relay_port(const struct relay *r)
{
    return r->port;
}

int relay_start(struct relay *r, struct error *err)
{
    if (pthread_create(&r->thread, NULL, serve_all, r) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the relay's thread");
    return 0;
}
