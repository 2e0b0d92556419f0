/* Requests of one connection that were handed on before the ones ahead were answered.
 *
 * The newest request of a connection is its `req`; the line of those ahead of it moves
 * along from each to the next.  Their handlers may answer in any order: the answers are
 * kept as text, and leave in the order of the requests, as many as can at once.
 *
 * Only routes that say so (HTTP_ROUTE_PIPELINE) take part; any other request waits, read
 * but not begun, until the line ahead of it is gone. */
#ifndef HTTP_PIPELINE_H
#define HTTP_PIPELINE_H

#include "base/str.h"

#include <stdbool.h>

struct conn;
struct http_request;

struct pipeline {
    struct http_request *first, *last; /* owned; oldest first */
    unsigned n;
};

/* May the next request be parsed before the newest one is answered? */
bool pipeline_can_pass(const struct conn *c);
/* If so, puts the newest request into the line and makes a new one; else returns false. */
bool pipeline_pass(struct conn *c);
/* May the newest request be handled now, before the line is gone?  If not, it waits. */
bool pipeline_lets(struct http_request *req);
/* The newest request waits for the line, and the line is gone. */
bool pipeline_is_free(const struct conn *c);

/* The answer of @req has to wait for others, or leaves with them. */
bool pipeline_has(const struct http_request *req);
/* Can answers be sent? */
bool pipeline_is_ready(const struct conn *c);
/* Sends those that can be sent. */
void pipeline_send(struct conn *c);

/* The connection closes: logs the requests that are lost. */
void pipeline_log(struct conn *c, struct str why);
/* After that: tells the handlers of all requests in the line. */
void pipeline_leave(struct conn *c);

#endif
