#include "http/counts.h"

#include "base/error.h"
#include "http/loop.h"
#include "http/request.h"
#include "http/server.h"
#include "http/tls.h"

#include <stdlib.h>

static size_t route_number(const struct http_route *routes, const struct http_route *route)
{
    size_t n = 0;

    while (routes[n].method != NULL && &routes[n] != route)
        n++;
    return n;
}

int loop_counts_init(struct loop_counts *counts, const struct http_route *routes)
{
    size_t n = route_number(routes, NULL);

    *counts = (struct loop_counts){ .n_routes = n,
                                    .routes = calloc(n + 1, sizeof(struct http_route_counts)) };
    for (size_t i = 0; counts->routes != NULL && i <= n; i++)
        histogram_init(&counts->routes[i].duration, &scale_latency);
    return counts->routes != NULL ? 0 : ERR_NOMEM;
}

void loop_counts_done(struct loop_counts *counts)
{
    free(counts->routes);
    counts->routes = NULL;
}

static struct http_route_counts *counts_of(const struct http_request *req)
{
    const struct http_route *routes = req->loop->server->options.routes;
    const struct http_route *route = req->match.route;
    bool is_known = route != NULL && !req->is_unrouted;

    return &req->loop->counts
                .routes[is_known ? (size_t)(route - routes) : req->loop->counts.n_routes];
}

void loop_count_stream(const struct http_request *req)
{
    counter_add(&counts_of(req)->classes[req->status / 100 - 1], 1);
}

void loop_count_answer(const struct http_request *req, uint64_t us)
{
    if (req->status < 100 || req->status > 599)
        return; /* the peer left before its answer */
    loop_count_stream(req);
    histogram_add(&counts_of(req)->duration, us, 1);
}

void http_server_counts(struct http_server *s, struct http_counts *ret)
{
    *ret = (struct http_counts){ .connections = atomic_load(&s->n_connections) };
    for (unsigned i = 0; s->loops != NULL && i < s->options.n_loops; i++) {
        const struct loop_counts *counts = &s->loops[i].counts;

        ret->accepted += counter_get(&counts->accepted);
        ret->refused += counter_get(&counts->refused);
        ret->inflight += counter_get(&counts->inflight);
        ret->handshakes += counter_get(&counts->handshakes);
        ret->handshakes_failed += counter_get(&counts->handshakes_failed);
    }
    uv_mutex_lock(&s->identity_lock);
    if (s->identity != NULL)
        ret->tls_expiry = tls_identity_expiry(s->identity);
    uv_mutex_unlock(&s->identity_lock);
}

void http_server_route_counts(const struct http_server *s,
                              const struct http_route *route,
                              struct http_route_counts *ret)
{
    size_t n = route_number(s->options.routes, route);

    *ret = (struct http_route_counts){ 0 };
    histogram_init(&ret->duration, &scale_latency);
    for (unsigned i = 0; s->loops != NULL && i < s->options.n_loops; i++) {
        const struct http_route_counts *counts = &s->loops[i].counts.routes[n];

        for (int k = 0; k < HTTP_CLASSES; k++)
            counter_add(&ret->classes[k], counter_get(&counts->classes[k]));
        histogram_merge(&ret->duration, &counts->duration);
    }
}
