#include "config/options/listen.h"

#include "base/buf.h"
#include "base/text_format.h"
#include "config/options/amount.h"

#include <arpa/inet.h>

static bool copy_text(struct str text, char *out, size_t size)
{
    if (str_empty(text) || text.n >= size || str_has(text, '\0'))
        return false;
    str_copy(out, text);
    out[text.n] = '\0';
    return true;
}

bool listen_parse_port(struct str text, uint16_t *ret)
{
    int64_t port;

    if (!amount_parse(AMOUNT_COUNT, text, &port) || port > UINT16_MAX)
        return false;
    *ret = (uint16_t)port;
    return true;
}

static bool is_loopback(const struct in6_addr *a)
{
    if (IN6_IS_ADDR_V4MAPPED(a))
        return a->s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(a);
}

static bool parse_host(struct str host, bool brackets, struct listen_address *ret)
{
    struct in6_addr ip6;
    struct in_addr ip4;

    if (!copy_text(host, ret->host, sizeof(ret->host)))
        return false;
    if (brackets) {
        if (inet_pton(AF_INET6, ret->host, &ip6) != 1)
            return false;
        ret->is_loopback = is_loopback(&ip6);
        return true;
    }
    if (str_is(host, "localhost"))
        memcpy(ret->host, "127.0.0.1", sizeof("127.0.0.1"));
    if (inet_pton(AF_INET, ret->host, &ip4) != 1)
        return false;
    ret->is_loopback = ntohl(ip4.s_addr) >> 24 == 127;
    return true;
}

static bool parse_unix(struct str text, struct listen_address *ret)
{
    struct str prefix = STR("unix:");

    return str_starts(text, prefix) &&
           copy_text(str_skip(text, prefix.n), ret->unix_path, sizeof(ret->unix_path));
}

static bool parse_tcp(struct str text, struct listen_address *ret)
{
    bool brackets = text.n > 0 && text.p[0] == '[';
    struct str host = brackets ? str_skip(text, 1) : text;

    host = str_head(host, str_find(host, brackets ? ']' : ':'));
    struct str rest = str_skip(text, host.n + (brackets ? 2 : 0));
    return !str_empty(rest) && rest.p[0] == ':' &&
           listen_parse_port(str_skip(rest, 1), &ret->port) && parse_host(host, brackets, ret);
}

bool listen_parse(struct str text, struct listen_address *ret)
{
    struct listen_address a = { .is_loopback = true };

    if (!parse_unix(text, &a)) { /* a path may hold commas, an address does not */
        size_t comma = str_find(text, ',');

        if (!parse_tcp(str_head(text, comma), &a) ||
            (comma < text.n && !parse_unix(str_skip(text, comma + 1), &a)))
            return false;
    }
    *ret = a;
    return true;
}

void listen_print(const struct listen_address *address, struct buf *out)
{
    bool brackets = strchr(address->host, ':') != NULL;

    if (address->host[0] != '\0') {
        if (brackets)
            buf_char(out, '[');
        buf_str(out, str_of(address->host));
        if (brackets)
            buf_char(out, ']');
        text_format(out, ":%d", address->port);
    }
    if (address->unix_path[0] != '\0') {
        if (address->host[0] != '\0')
            buf_char(out, ',');
        text_format(out, "unix:%s", address->unix_path);
    }
}
