#include "http/peer.h"

#include "base/buf.h"

#include <uv.h>

/* Faster than inet_ntop: it is called for every line of the log. */
static void put_ip4(struct buf *b, const uint8_t address[4])
{
    for (int i = 0; i < 4; i++) {
        buf_str(b, i > 0 ? STR(".") : STR(""));
        buf_u64(b, address[i]);
    }
}

static void put_ip6(struct buf *b, const struct in6_addr *address)
{
    char text[INET6_ADDRSTRLEN] = "";

    (void)uv_inet_ntop(AF_INET6, address, text, sizeof(text)); /* fits */
    buf_char(b, '[');
    buf_str(b, str_of(text));
    buf_char(b, ']');
}

struct str peer_text(const struct peer *peer, char out[PEER_TEXT])
{
    /* Has room for all; it never grows. */
    struct buf b = { .p = out, .cap = PEER_TEXT, .max = PEER_TEXT };

    if (peer->is_unix)
        return STR("unix");
    if (IN6_IS_ADDR_V4MAPPED(&peer->address))
        put_ip4(&b, peer->address.s6_addr + 12);
    else
        put_ip6(&b, &peer->address);
    buf_char(&b, ':');
    buf_u64(&b, peer->port);
    return buf_text(&b);
}
