/* Long poll: a page of a job's events as one JSON document, at once when there are some, else
 * when there are, or when the time is over. */
#ifndef TRANSPORT_POLL_H
#define TRANSPORT_POLL_H

#include "transport/streams.h"

struct permit;

struct poll_request {
    struct str job;
    struct stream_format format; /* framing and wrapping are the document's */
    struct cursor after;
    size_t limit; /* events; those of one record stay together */
    int64_t wait_ms;
    struct permit *permit; /* is taken; NULL: may read all */
};

/* Answers @req, sooner or later: 200, 304, 404, 410 when what comes after the cursor is not to
 * be had. */
void poll_open(struct streams *l, struct http_request *req, const struct poll_request *what);

/* The server shuts down: answers all that wait. */
void polls_drain(struct streams *l);

#endif
