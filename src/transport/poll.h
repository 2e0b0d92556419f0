/* Long poll: answers with a page of a job's events as one JSON document: at once if there are
 * any, else when there are some or when the time is over. */
#ifndef TRANSPORT_POLL_H
#define TRANSPORT_POLL_H

#include "transport/streams.h"

struct permit;

struct poll_request {
    struct str job;
    struct stream_format format; /* framing and wrapping are set by the poll */
    struct cursor after;
    size_t limit; /* number of events; the events of one record stay together */
    int64_t wait_ms;
    struct permit *permit; /* taken over; NULL: may read all jobs */
};

/* Answers @req, at once or later: 200, 304, 404, or 410 when the events after the cursor are
 * gone. */
void poll_open(struct streams *l, struct http_request *req, const struct poll_request *what);

/* The server shuts down: answers all waiting polls. */
void polls_drain(struct streams *l);

#endif
