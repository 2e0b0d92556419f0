/* A relay: one request that the companion's app answers instead of us, byte by byte both ways.
 *
 *     client ──▶ http_tunnel ──▶ http.sock ──▶ app
 *            ◀──            ◀──           ◀──
 *
 * The head of the request is written anew, with "Connection: close" unless it asks for another
 * protocol; its body and the answer are passed on as they come, and neither side is read faster
 * than the other takes it.  So uploads, streams and WebSockets pass.  A connection is for one
 * request.
 *
 * Loop thread only; a relay frees itself. */
#ifndef COMPANION_RELAY_H
#define COMPANION_RELAY_H

#include "base/str.h"

#include <stdbool.h>

struct http_request;

/* From http_options.divert.  @prefix: what to take off the beginning of the path, or empty.
 * False: out of memory; the request goes on here. */
bool relay_begin(struct http_request *req, const char *path, struct str prefix);

#endif
