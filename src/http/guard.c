#include "http/guard.h"

#include "base/error.h"
#include "http/header.h"
#include "http/router.h"

#include <stdlib.h>
#include <uv.h>

/* --- setting up --------------------------------------------------------------------- */

static void free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free(list[i]);
    free(list);
}

static int copy_list(const char *const *list, char ***ret)
{
    size_t n = 0;

    if (list == NULL)
        return 0;
    while (list[n] != NULL)
        n++;
    char **copy = calloc(n + 1, sizeof(copy[0]));
    if (copy == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = strlen(list[i]) + 1;
        copy[i] = malloc(bytes);
        if (copy[i] == NULL) {
            free_list(copy);
            return ERR_NOMEM;
        }
        memcpy(copy[i], list[i], bytes);
    }
    *ret = copy;
    return 0;
}

static bool listed(char *const *list, struct str text)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (header_eq(str_of(list[i]), text))
            return true;
    return false;
}

int guard_init(struct guard *g, const char *const *hosts, const char *const *origins)
{
    *g = (struct guard){ 0 };
    int err = copy_list(hosts, &g->hosts);
    if (err == 0)
        err = copy_list(origins, &g->origins);
    if (err != 0) {
        guard_done(g);
        return err;
    }
    g->any_host = listed(g->hosts, STR("*"));
    g->any_origin = listed(g->origins, STR("*"));
    return 0;
}

void guard_done(struct guard *g)
{
    free_list(g->hosts);
    free_list(g->origins);
    *g = (struct guard){ 0 };
}

/* --- addresses ---------------------------------------------------------------------- */

static void map_ip4(const struct in_addr *from, struct in6_addr *to)
{
    memset(to, 0, sizeof(*to));
    to->s6_addr[10] = to->s6_addr[11] = 0xff;
    memcpy(to->s6_addr + 12, from, 4);
}

static bool is_ip4(const struct in6_addr *a)
{
    return IN6_IS_ADDR_V4MAPPED(a);
}

static bool is_any(const struct in6_addr *a)
{
    static const uint8_t zeros[4];

    return IN6_IS_ADDR_UNSPECIFIED(a) || (is_ip4(a) && memcmp(a->s6_addr + 12, zeros, 4) == 0);
}

static bool is_loopback(const struct in6_addr *a)
{
    return IN6_IS_ADDR_LOOPBACK(a) || (is_ip4(a) && a->s6_addr[12] == 127);
}

void guard_set_address(struct guard *g, const struct sockaddr *address, uint16_t port)
{
    if (address->sa_family == AF_INET6)
        g->bound = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    else
        map_ip4(&((const struct sockaddr_in *)(const void *)address)->sin_addr, &g->bound);
    g->any_address = is_any(&g->bound);
    g->port = port;
}

void guard_copy_address(struct guard *g, const struct guard *from)
{
    g->any_address = from->any_address;
    g->bound = from->bound;
    g->port = from->port;
    g->is_secure = from->is_secure;
}

/* "127.0.0.1" or "[::1]"; false for a name. */
static bool parse_address(struct str text, struct in6_addr *ret)
{
    char copy[64];
    struct in_addr ip4;
    bool bracketed = text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']';

    if (bracketed)
        text = str_make(text.p + 1, text.n - 2);
    if (text.n == 0 || text.n >= sizeof(copy))
        return false;
    str_copy(copy, text);
    copy[text.n] = '\0';
    if (bracketed)
        return uv_inet_pton(AF_INET6, copy, ret) == 0;
    if (uv_inet_pton(AF_INET, copy, &ip4) != 0)
        return false;
    map_ip4(&ip4, ret);
    return true;
}

/* --- Host --------------------------------------------------------------------------- */

/* Cuts "name:8080" into its halves; without a port it is @otherwise.  False when malformed. */
static bool split_host(struct str host, uint32_t otherwise, struct str *name, uint32_t *port)
{
    size_t colon = host.n;

    while (colon > 0 && host.p[colon - 1] >= '0' && host.p[colon - 1] <= '9')
        colon--;
    *name = host;
    *port = otherwise;
    if (colon == 0 || host.p[colon - 1] != ':')
        return host.n > 0; /* "::1" without brackets has no match later */
    if (host.n - colon == 0 || host.n - colon > 5)
        return false;
    *port = 0;
    for (size_t i = colon; i < host.n; i++)
        *port = *port * 10 + (uint32_t)(host.p[i] - '0');
    *name = str_head(host, colon - 1);
    return name->n > 0;
}

bool guard_host_allowed(const struct guard *g, struct str host)
{
    struct str name;
    uint32_t port;
    struct in6_addr address;

    if (g->any_host || listed(g->hosts, host))
        return true;
    if (!split_host(host, g->is_secure ? 443 : 80, &name, &port) || port != g->port)
        return false;
    if (header_is(name, "localhost"))
        return true;
    /* An address cannot be rebound: rebinding needs a name. */
    return parse_address(name, &address) && (g->any_address || is_loopback(&address) ||
                                             memcmp(&address, &g->bound, sizeof(address)) == 0);
}

/* --- Origin ------------------------------------------------------------------------- */

enum guard_origin guard_origin(const struct guard *g, struct str origin, struct str host)
{
    struct str scheme = g->is_secure ? STR("https://") : STR("http://");

    if (str_absent(origin))
        return GUARD_NO_ORIGIN;
    if (header_eq(str_head(origin, scheme.n), scheme) && host.n > 0 &&
        header_eq(str_skip(origin, scheme.n), host))
        return GUARD_SAME;
    if (listed(g->origins, origin) && !str_is(origin, "*"))
        return GUARD_LISTED;
    return g->any_origin ? GUARD_ANY : GUARD_FOREIGN;
}

/* A page that may call us may send any header: clients have headers of their own, such as
 * X-Auth-Scheme of LangGraph's chat pages.  A "*" would not do, for it means no credentials. */
static void put_asked_headers(struct buf *b, struct str list)
{
    while (list.n > 0) {
        size_t comma = str_find(list, ',');
        struct str name = str_head(list, comma);

        list = str_skip(list, comma < list.n ? comma + 1 : list.n);
        while (name.n > 0 && name.p[0] == ' ')
            name = str_skip(name, 1);
        if (header_name_valid(name)) {
            buf_lit(b, ", ");
            buf_str(b, name);
        }
    }
}

static void put_preflight(struct buf *b, const struct guard_preflight *preflight)
{
    buf_lit(b, "Access-Control-Allow-Methods: ");
    router_put_methods(b, preflight->methods);
    buf_lit(b, "\r\nAccess-Control-Allow-Headers: Accept, Authorization, Content-Type, "
               "Idempotency-Key, Last-Event-ID, Prefer, X-Api-Key");
    put_asked_headers(b, preflight->headers);
    buf_lit(b, "\r\nAccess-Control-Max-Age: 600\r\n");
    if (preflight->is_to_private)
        buf_lit(b, "Access-Control-Allow-Private-Network: true\r\n");
}

void guard_put_headers(const struct guard *g,
                       struct buf *b,
                       enum guard_origin kind,
                       struct str origin,
                       const struct guard_preflight *preflight)
{
    if (g->origins != NULL)
        buf_lit(b, "Vary: Origin\r\n"); /* also without one: a cache must not mix them */
    if (kind != GUARD_LISTED && kind != GUARD_ANY)
        return;
    if (kind == GUARD_LISTED) {
        header_put(b, STR("Access-Control-Allow-Origin"), origin);
        buf_lit(b, "Access-Control-Allow-Credentials: true\r\n");
    } else {
        buf_lit(b, "Access-Control-Allow-Origin: *\r\n");
    }
    buf_lit(b, "Access-Control-Expose-Headers: Content-Location, Location, Retry-After, "
               "X-Pagination-Next, X-Pagination-Total, X-Request-Id\r\n");
    if (preflight->methods != 0)
        put_preflight(b, preflight);
}
