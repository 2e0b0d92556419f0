/* The address that the server listens on, parsed.  Pure. */
#ifndef CONFIG_OPTIONS_LISTEN_H
#define CONFIG_OPTIONS_LISTEN_H

#include "base/str.h"

#include <stdint.h>

struct buf;

struct listen_address {
    char host[46];       /* numeric; empty: only a Unix socket */
    uint16_t port;       /* 0: any free one */
    char unix_path[108]; /* as in sockaddr_un; empty: only TCP */
    bool is_loopback;    /* reachable from this machine only */
};

/* "127.0.0.1:8400", "[::1]:8400", "localhost:8400", "unix:/run/spoolwire.sock", or two of
 * them as "127.0.0.1:8400,unix:/run/spoolwire.sock". */
bool listen_parse(struct str text, struct listen_address *ret);
bool listen_parse_port(struct str text, uint16_t *ret);
/* Appends it as listen_parse reads it. */
void listen_print(const struct listen_address *address, struct buf *out);

#endif
