/* The socket of a link: connects, sends and receives, with or without TLS, on the loop of the
 * link. */
#ifndef CLUSTER_LINK_SOCKET_H
#define CLUSTER_LINK_SOCKET_H

#include "base/buf.h"
#include "http/tls.h"

#include <uv.h>

struct link_socket;

struct link_socket_events {
    void (*connected)(void *arg);
    void (*received)(void *arg, struct str bytes);
    void (*written)(void *arg);               /* the next link_socket_send() is welcome */
    void (*lost)(void *arg, const char *why); /* close it; there is no other event */
    void *arg;
};

/* Where a gateway is. */
struct link_address {
    char host[200], port[8];
    bool is_secure; /* https */
};
/* http://HOST:PORT or https://HOST:PORT, with brackets around an IPv6 address.  NULL, or what
 * is wrong with it. */
const char *link_address_read(struct str url, struct link_address *ret);

/* @tls: of a client; NULL: without.  NULL: out of memory.  No event comes before this has
 * returned. */
struct link_socket *link_socket_open(uv_loop_t *loop,
                                     const struct link_address *to,
                                     struct tls_identity *tls,
                                     const struct link_socket_events *events);
/* No event comes from now on.  It is freed when libuv is done with it. */
void link_socket_close(struct link_socket *s);

/* Sends *@out, which is empty afterwards; unless something is on its way: then nothing happens,
 * and `written` comes.  An error comes as `lost`. */
void link_socket_send(struct link_socket *s, struct buf *out);

#endif
