/* The server: what its loops share.  Nothing here changes while they run, except the two
 * counters. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/addresses.h"
#include "http/guard.h"
#include "http/http.h"

#include <stdatomic.h>
#include <sys/types.h>

struct router;

struct http_server {
    struct http_options options; /* with their defaults; host and unix_path are ours */
    struct router *router;       /* owned */
    struct guard guard;
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
