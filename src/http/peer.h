/* The other end of a connection: its address. */
#ifndef HTTP_PEER_H
#define HTTP_PEER_H

#include "base/str.h"

#include <netinet/in.h>
#include <stdint.h>

struct peer {
    struct in6_addr address; /* IPv4 as ::ffff:1.2.3.4 */
    uint16_t port;
    bool is_unix;
};

/* "127.0.0.1:4711" or "unix" */
enum { PEER_TEXT = 64 };
struct str peer_text(const struct peer *peer, char out[PEER_TEXT]);

#endif
