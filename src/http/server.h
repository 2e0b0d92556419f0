/* The server: what its loops share.  Nothing here changes while they run, except counters, the
 * certificate, and the limits as a whole. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/addresses.h"
#include "http/guard.h"
#include "http/http.h"

#include <stdatomic.h>
#include <sys/types.h>

struct router;
struct tls_identity;

/* What may be replaced while the loops run.  One that was replaced stays until the end: a loop
 * may be looking at it, and there are not many. */
struct http_limits {
    struct http_limits *older; /* owned */
    struct guard guard;
    size_t max_body[HTTP_BODIES];
    unsigned body_min_rate, head_ms, idle_ms, write_stall_ms;
    bool log_text, log_off;
};

struct http_server {
    struct http_options options;          /* with their defaults; host and unix_path are ours */
    _Atomic(struct http_limits *) limits; /* owned */
    struct router *router;                /* owned */
    uv_mutex_t identity_lock;
    struct tls_identity *identity; /* ref; under the lock; NULL: no TLS, which never changes */
    struct addresses addresses;
    unsigned max_connections;
    atomic_uint n_connections;
    uv_mutex_t spares_lock; /* see spares.h */
    uint64_t seed;
    uint16_t port;
    struct http_loop *loops; /* owned; NULL before the start and after the end */
    dev_t unix_dev;          /* the socket's file, to remove no other one */
    ino_t unix_ino;
    bool has_unix;
};

/* The current limits; valid until the server's end. */
static inline const struct http_limits *http_server_limits(const struct http_server *s)
{
    return atomic_load_explicit(&s->limits, memory_order_acquire);
}

#endif
