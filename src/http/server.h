/* The server: what its loops share.  Nothing here changes while they run, except the two
 * counters and the certificate. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/addresses.h"
#include "http/guard.h"
#include "http/http.h"

#include <stdatomic.h>
#include <sys/types.h>

struct router;
struct tls_identity;

struct http_server {
    struct http_options options; /* with their defaults; host and unix_path are ours */
    struct router *router;       /* owned */
    struct guard guard;
    uv_mutex_t identity_lock;
    struct tls_identity *identity; /* ref; under the lock; NULL: no TLS, which never changes */
    struct addresses addresses;
    unsigned max_connections;
    atomic_uint n_connections;
    uint64_t seed;
    uint16_t port;
    struct http_loop *loops; /* owned; NULL before the start and after the end */
    dev_t unix_dev;          /* the socket's file, to remove no other one */
    ino_t unix_ino;
    bool has_unix;
};

#endif
