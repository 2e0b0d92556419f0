/* Who may talk to us from a browser: Host (DNS rebinding) and Origin (other sites).  Pure.
 *
 * A page of a stranger can make its visitor's browser send requests to any address that
 * the visitor reaches, loopback too.  The browser says in Host which name it asked for and
 * in Origin where the page came from.  Programs that are not browsers can send any value:
 * authentication keeps them out. */
#ifndef HTTP_GUARD_H
#define HTTP_GUARD_H

#include "base/must_check.h"
#include "base/buf.h"
#include "base/str.h"

#include <netinet/in.h>
#include <stdint.h>

struct guard {
    char **hosts;   /* owned; NULL-terminated, or NULL */
    char **origins; /* owned; NULL-terminated, or NULL */
    bool any_host;
    bool any_origin;
    bool is_secure;        /* https */
    bool any_address;      /* bound to all addresses of the machine */
    struct in6_addr bound; /* our address; IPv4 as ::ffff:1.2.3.4 */
    uint16_t port;
};

enum guard_origin {
    GUARD_NO_ORIGIN,
    GUARD_SAME,    /* our own page */
    GUARD_LISTED,  /* answers carry CORS headers and may be read with credentials */
    GUARD_ANY,     /* "*": readable by all, without credentials */
    GUARD_FOREIGN, /* no CORS headers; only GET and HEAD */
};

/* Copies the lists; ERR_NOMEM. */
MUST_CHECK int guard_init(struct guard *g,
                          const char *const *hosts,
                          const char *const *origins);
void guard_done(struct guard *g);
/* Where we listen: known only after binding. */
void guard_set_address(struct guard *g, const struct sockaddr *address, uint16_t port);
/* The same as @from. */
void guard_copy_address(struct guard *g, const struct guard *from);

bool guard_host_allowed(const struct guard *g, struct str host);
enum guard_origin guard_origin(const struct guard *g, struct str origin, struct str host);

/* What a browser asks before a page's request. */
struct guard_preflight {
    unsigned methods;   /* of the route; 0: it is no preflight */
    struct str headers; /* names of the request's headers, with commas */
    bool is_to_private; /* a page of a public address asks for one of a private network */
};

/* The CORS headers of any answer. */
void guard_put_headers(const struct guard *g,
                       struct buf *b,
                       enum guard_origin kind,
                       struct str origin,
                       const struct guard_preflight *preflight);

#endif
