/* Routes: which handler a method and a path belong to.  Pure.
 *
 * A literal segment goes before {name}, and that before {rest...}; the order in the
 * caller's table does not matter. */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H

#include "base/must_check.h"
#include "base/buf.h"
#include "base/str.h"

struct error;
struct http_route;
struct router;

enum {
    ROUTER_MAX_PARAMS = 8,
    ROUTER_MAX_SEGMENTS = 24,
    ROUTER_ALL_METHODS = (1 << 7) - 1, /* as bits */
};

struct router_match {
    const struct http_route *route; /* NULL: see methods */
    unsigned methods;               /* methods of the path, as bits; 0: no such path */
    unsigned flags;                 /* of a route of that path */
    size_t n_params;
    struct str names[ROUTER_MAX_PARAMS];  /* of the route's pattern */
    struct str values[ROUTER_MAX_PARAMS]; /* of @path, not decoded */
};

/* @routes ends with a zeroed one and outlives the router. */
MUST_CHECK int router_new(const struct http_route *routes,
                          struct router **ret,
                          struct error *err);
void router_free(struct router *r);

/* @path is as received, so that an encoded slash is no separator. */
void router_find(const struct router *r,
                 struct str method,
                 struct str path,
                 struct router_match *ret);

/* "GET, HEAD, POST, OPTIONS" */
void router_put_methods(struct buf *b, unsigned methods);

#endif
