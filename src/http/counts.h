/* What a loop counts of its connections and requests; see http_server_counts. */
#ifndef HTTP_COUNTS_H
#define HTTP_COUNTS_H

#include "base/must_check.h"
#include "http/http.h"

struct http_request;

struct loop_counts {
    struct counter accepted;
    struct counter refused;
    struct counter inflight;
    struct counter handshakes, handshakes_failed; /* of TLS */
    size_t n_routes;
    struct http_route_counts *routes; /* owned; n_routes, and one for requests without one */
};

/* ERR_NOMEM. */
MUST_CHECK int loop_counts_init(struct loop_counts *counts, const struct http_route *routes);
void loop_counts_done(struct loop_counts *counts);

void loop_count_answer(const struct http_request *req, uint64_t us);
/* Counts a request that became a stream, which has no duration. */
void loop_count_stream(const struct http_request *req);

#endif
