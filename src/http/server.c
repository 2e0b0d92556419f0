/* The server: options, sockets, threads.
 *
 * Each loop has a TCP socket of its own on the same address (SO_REUSEPORT), and the kernel
 * spreads connections over them.  That option also lets any other program of the same user
 * join in silently, so with a given port it is first bound without it: a port that is taken
 * is an error, not half of the connections.  A Unix socket is the first loop's. */
#define _GNU_SOURCE /* SO_REUSEPORT */
#include "http/server.h"

#include "base/error.h"
#include "http/loop.h"
#include "http/router.h"
#include "http/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,
    MAX_HEAD = 1024 * 1024, /* the most that max_head may be */
    MAX_LOOPS = 1024,
    OTHER_FDS = 128, /* descriptors left for files, pipes and the like */
};

/* --- options ------------------------------------------------------------------------ */

static unsigned or_default(unsigned value, unsigned otherwise)
{
    return value != 0 ? value : otherwise;
}

static void set_defaults(struct http_options *o)
{
    if (o->n_loops == 0)
        o->n_loops = uv_available_parallelism();
    if (o->n_loops > MAX_LOOPS)
        o->n_loops = MAX_LOOPS;
    if (o->max_head == 0)
        o->max_head = 16 * 1024;
    if (o->max_head > MAX_HEAD)
        o->max_head = MAX_HEAD;
    for (size_t i = 0; i < HTTP_BODIES; i++)
        if (o->max_body[i] == 0)
            o->max_body[i] = 1024 * 1024;
    o->head_ms = or_default(o->head_ms, 10000);
    o->idle_ms = or_default(o->idle_ms, 75000);
    o->body_min_rate = or_default(o->body_min_rate, 1024);
    o->write_stall_ms = or_default(o->write_stall_ms, 60000);
    o->max_connections = or_default(o->max_connections, 20000);
}

static char *copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);

    return copy != NULL ? memcpy(copy, text, n) : NULL;
}

/* Replaces the caller's texts by copies. */
static int copy_texts(struct http_options *o)
{
    const char **texts[] = { &o->host, &o->unix_path, &o->tls_cert, &o->tls_key };
    bool ok = true;

    o->hosts = o->origins = NULL; /* struct http_limits has copies */
    if (o->host == NULL && o->unix_path == NULL)
        o->host = "127.0.0.1";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = *texts[i];

        *texts[i] = text != NULL ? copy_text(text) : NULL;
        ok = ok && (text == NULL || *texts[i] != NULL);
    }
    return ok ? 0 : ERR_NOMEM;
}

/* At most as many connections as there are descriptors for. */
static unsigned connection_limit(unsigned wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return wanted;
    if (limit.rlim_cur < 2 * OTHER_FDS)
        return wanted; /* a very small limit: the spare descriptors must be enough */
    return limit.rlim_cur - OTHER_FDS < wanted ? (unsigned)(limit.rlim_cur - OTHER_FDS)
                                               : wanted;
}

/* A route without required scopes would be open to everybody. */
static int check_access(const struct http_options *o, struct error *err)
{
    for (const struct http_route *r = o->routes; o->admit != NULL && r->pattern != NULL; r++)
        if (r->access == 0)
            return error_set(err, ERR_REFUSED, "the route %s %s does not say who may use it",
                             r->method, r->pattern);
    return 0;
}

/* @o has its defaults. */
static int limits_new(const struct http_options *o, struct http_limits **ret)
{
    struct http_limits *l = calloc(1, sizeof(*l));

    if (l == NULL || guard_init(&l->guard, o->hosts, o->origins) != 0) {
        free(l);
        return ERR_NOMEM;
    }
    memcpy(l->max_body, o->max_body, sizeof(l->max_body));
    l->body_min_rate = o->body_min_rate;
    l->head_ms = o->head_ms;
    l->idle_ms = o->idle_ms;
    l->write_stall_ms = o->write_stall_ms;
    l->log_text = o->log_text;
    l->log_off = o->log_off;
    *ret = l;
    return 0;
}

static void limits_free(struct http_limits *l)
{
    while (l != NULL) {
        struct http_limits *older = l->older;

        guard_done(&l->guard);
        free(l);
        l = older;
    }
}

int http_server_reload(struct http_server *s, const struct http_options *options)
{
    struct http_options o = *options;
    struct http_limits *now = atomic_load(&s->limits), *next = NULL;

    set_defaults(&o);
    int err = limits_new(&o, &next);
    if (err != 0)
        return err;
    guard_copy_address(&next->guard, &now->guard);
    next->older = now;
    atomic_store_explicit(&s->limits, next, memory_order_release);
    return 0;
}

static int init_locks(struct http_server *s)
{
    int err = uv_mutex_init(&s->identity_lock);

    if (err != 0)
        return err;
    err = uv_mutex_init(&s->spares_lock);
    if (err != 0)
        uv_mutex_destroy(&s->identity_lock);
    return err;
}

int http_server_new(const struct http_options *options,
                    struct http_server **ret,
                    struct error *err)
{
    struct http_server *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    struct http_limits *limits = NULL;
    if (init_locks(s) != 0) {
        free(s);
        return error_set(err, ERR_NOMEM, "out of memory");
    }
    s->options = *options;
    atomic_init(&s->n_connections, 0);
    set_defaults(&s->options);
    struct http_options given = s->options; /* with its lists */
    int code = copy_texts(&s->options);
    if (code == 0)
        code = limits_new(&given, &limits);
    atomic_init(&s->limits, limits);
    s->max_connections = connection_limit(s->options.max_connections);
    if (code == 0 && uv_random(NULL, NULL, &s->seed, sizeof(s->seed), 0, NULL) != 0)
        s->seed = uv_hrtime();
    /* Besides the reserve, each loop may have some that are closing. */
    size_t most = s->max_connections + (size_t)s->options.n_loops * 4 * LOOP_RESERVE;
    if (code == 0 &&
        addresses_init(&s->addresses, options->max_connections_per_address, most, s->seed) != 0)
        code = ERR_NOMEM;
    if (code != 0)
        code = error_set(err, code, "out of memory");
    else
        code = router_new(options->routes, &s->router, err);
    if (code == 0)
        code = check_access(options, err);
    if (code == 0 && options->tls_cert != NULL)
        code = tls_identity_new(options->tls_cert, options->tls_key, &s->identity, err);
    if (limits != NULL)
        limits->guard.is_secure = s->identity != NULL;
    if (code != 0) {
        http_server_free(s);
        return code;
    }
    *ret = s;
    return 0;
}

/* --- sockets ------------------------------------------------------------------------ */

struct bind_to {
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
        struct sockaddr_un local;
    } address;
    socklen_t n;
    mode_t mode; /* of a Unix socket; 0: not set */
};

static void close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd); /* an error of close() cannot be handled */
}

/* An empty @ret: no address at all. */
static int parse_host(const struct http_server *s, struct bind_to *ret, struct error *err)
{
    const struct http_options *o = &s->options;

    memset(ret, 0, sizeof(*ret));
    if (o->host == NULL)
        return 0;
    if (uv_ip4_addr(o->host, o->port, &ret->address.ip4) == 0) {
        ret->n = sizeof(ret->address.ip4);
        return 0;
    }
    if (uv_ip6_addr(o->host, o->port, &ret->address.ip6) == 0) {
        ret->n = sizeof(ret->address.ip6);
        return 0;
    }
    return error_set(err, ERR_SYNTAX, "not a numeric address: %s", o->host);
}

static int make_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* The errno of the first call that failed, or 0. */
static int try_bind(const struct bind_to *to, bool is_shared, bool listens, int *ret_fd)
{
    int on = 1;
    int fd = make_socket(to->address.any.sa_family);

    /* bind() makes the file with the socket's own mode, less the umask: so it is never open to
     * more than it shall be. */
    if (fd >= 0 && (to->mode == 0 || fchmod(fd, to->mode) == 0) &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        (!is_shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0) &&
        bind(fd, &to->address.any, to->n) == 0 && (!listens || listen(fd, BACKLOG) == 0)) {
        *ret_fd = fd;
        return 0;
    }
    int error = errno;
    close_fd(fd);
    return error;
}

static uint16_t port_of(const struct bind_to *to)
{
    return ntohs(to->address.any.sa_family == AF_INET6 ? to->address.ip6.sin6_port
                                                       : to->address.ip4.sin_port);
}

/* Binds one loop's socket; the first one of port 0 fixes the port for the others. */
static int bind_tcp(struct http_server *s, struct bind_to *to, int *ret, struct error *err)
{
    bool is_shared = s->options.n_loops > 1;

    if (to->n == 0)
        return 0;
    int error = try_bind(to, is_shared, true, ret);
    if (error != 0)
        return error_set(err, ERR_IO, "cannot listen on %s port %u: %s", s->options.host,
                         port_of(to), strerror(error));
    to->n = sizeof(to->address);
    if (getsockname(*ret, &to->address.any, &to->n) != 0) {
        error = errno;
        close_fd(*ret);
        return error_set(err, ERR_IO, "cannot read the bound address: %s", strerror(error));
    }
    s->port = port_of(to);
    return 0;
}

/* Is the port free? See the comment at the top. */
static int check_port_is_free(const struct http_server *s,
                              const struct bind_to *to,
                              struct error *err)
{
    int fd = -1;

    if (to->n == 0 || s->options.port == 0 || s->options.n_loops == 1)
        return 0;
    int error = try_bind(to, false, false, &fd);
    close_fd(fd);
    return error == 0 ? 0
                      : error_set(err, ERR_IO, "cannot listen on %s port %u: %s",
                                  s->options.host, s->options.port, strerror(error));
}

/* A socket's file outlives its server: remove it if nobody answers there. */
static bool remove_dead_socket(const struct bind_to *to)
{
    struct stat about;

    if (lstat(to->address.local.sun_path, &about) != 0 || !S_ISSOCK(about.st_mode))
        return false;
    int fd = make_socket(AF_UNIX);
    bool is_dead =
        fd >= 0 && connect(fd, &to->address.any, to->n) != 0 && errno == ECONNREFUSED;
    close_fd(fd);
    return is_dead && unlink(to->address.local.sun_path) == 0;
}

static int bind_unix(struct http_server *s, int *ret, struct error *err)
{
    const char *path = s->options.unix_path;
    struct bind_to to = { .address.local.sun_family = AF_UNIX,
                          .n = sizeof(to.address.local),
                          .mode = s->options.unix_mode };
    struct stat about = { 0 };

    if (path == NULL)
        return 0;
    if (strlen(path) >= sizeof(to.address.local.sun_path))
        return error_set(err, ERR_TOO_LARGE, "the socket's path is too long: %s", path);
    memcpy(to.address.local.sun_path, path, strlen(path) + 1);
    int error = try_bind(&to, false, true, ret);
    if (error == EADDRINUSE && remove_dead_socket(&to))
        error = try_bind(&to, false, true, ret);
    /* The umask may have removed permissions: set them. */
    if (error == 0 && to.mode != 0 && chmod(path, to.mode) != 0) {
        error = errno;
        close_fd(*ret);
        (void)unlink(path); /* the next start removes it */
    }
    if (error != 0)
        return error_set(err, ERR_IO, "cannot listen on %s: %s", path, strerror(error));
    s->has_unix = stat(path, &about) == 0;
    s->unix_dev = about.st_dev;
    s->unix_ino = about.st_ino;
    return 0;
}

static void remove_unix(struct http_server *s)
{
    struct stat about;

    if (s->has_unix && stat(s->options.unix_path, &about) == 0 && about.st_dev == s->unix_dev &&
        about.st_ino == s->unix_ino)
        (void)unlink(s->options.unix_path); /* the next start removes it */
    s->has_unix = false;
}

/* --- starting and stopping ---------------------------------------------------------- */

static int open_loop(struct http_server *s, unsigned i, struct bind_to *to, struct error *err)
{
    int tcp_fd = -1;
    int unix_fd = -1;
    int code = bind_tcp(s, to, &tcp_fd, err);

    if (code == 0 && i == 0)
        code = bind_unix(s, &unix_fd, err);
    if (code != 0) {
        close_fd(tcp_fd);
        return code;
    }
    code = loop_init(&s->loops[i], s, i);
    if (code != 0) {
        close_fd(tcp_fd);
        close_fd(unix_fd);
    } else {
        code = loop_listen(&s->loops[i], tcp_fd, unix_fd);
        if (code != 0)
            loop_done(&s->loops[i]);
    }
    return code == 0 ? 0
                     : error_set(err, code, "cannot make an event loop: %s", uv_strerror(code));
}

/* Undoes the first @n. */
static void abandon_loops(struct http_server *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        loop_done(&s->loops[i]);
    free(s->loops);
    s->loops = NULL;
    remove_unix(s);
}

static int open_loops(struct http_server *s, struct error *err)
{
    struct bind_to to;
    int code = parse_host(s, &to, err);

    if (code == 0)
        code = check_port_is_free(s, &to, err);
    if (code != 0)
        return code;
    s->loops = calloc(s->options.n_loops, sizeof(s->loops[0]));
    if (s->loops == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    for (unsigned i = 0; i < s->options.n_loops; i++) {
        code = open_loop(s, i, &to, err);
        if (code != 0) {
            abandon_loops(s, i);
            return code;
        }
    }
    if (to.n > 0)
        guard_set_address(&atomic_load(&s->limits)->guard, &to.address.any, s->port);
    return 0;
}

int http_server_start(struct http_server *s, struct error *err)
{
    int code =
        s->loops != NULL ? error_set(err, ERR_BUSY, "already started") : open_loops(s, err);

    for (unsigned i = 0; code == 0 && i < s->options.n_loops; i++) {
        code = loop_start(&s->loops[i]);
        if (code == 0)
            continue;
        code = error_set(err, code, "cannot start a thread: %s", uv_strerror(code));
        for (unsigned k = i; k < s->options.n_loops; k++)
            loop_done(&s->loops[k]);
        s->options.n_loops = i;
        http_server_stop(s);
    }
    return code;
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

int http_server_renew(struct http_server *s, struct error *err)
{
    struct tls_identity *id, *old;
    int code = tls_identity_new(s->options.tls_cert, s->options.tls_key, &id, err);

    if (code != 0)
        return code;
    uv_mutex_lock(&s->identity_lock);
    old = s->identity;
    s->identity = id;
    uv_mutex_unlock(&s->identity_lock);
    tls_identity_unref(old);
    return 0;
}

void http_server_drain(struct http_server *s)
{
    for (unsigned i = 0; s->loops != NULL && i < s->options.n_loops; i++)
        loop_send(&s->loops[i], LOOP_DRAIN);
}

void http_server_stop(struct http_server *s)
{
    if (s->loops == NULL)
        return;
    for (unsigned i = 0; i < s->options.n_loops; i++)
        loop_send(&s->loops[i], LOOP_STOP);
    for (unsigned i = 0; i < s->options.n_loops; i++)
        loop_join(&s->loops[i]);
    free(s->loops);
    s->loops = NULL;
    remove_unix(s);
}

void http_server_free(struct http_server *s)
{
    if (s == NULL)
        return;
    http_server_stop(s);
    router_free(s->router);
    limits_free(atomic_load(&s->limits));
    addresses_done(&s->addresses);
    tls_identity_unref(s->identity);
    uv_mutex_destroy(&s->identity_lock);
    uv_mutex_destroy(&s->spares_lock);
    free((char *)(uintptr_t)s->options.host);
    free((char *)(uintptr_t)s->options.unix_path);
    free((char *)(uintptr_t)s->options.tls_cert);
    free((char *)(uintptr_t)s->options.tls_key);
    free(s);
}
