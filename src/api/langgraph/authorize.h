/* The project's own authentication and authorization: see authorize.c. */
#ifndef API_LANGGRAPH_AUTHORIZE_H
#define API_LANGGRAPH_AUTHORIZE_H

#include "api/api.h"
#include "api/authorization.h"

struct item_row;

/* Do the handlers decide who may make requests to @route, unless the caller has a token of
 * ours?
 */
bool authorize_covers(const struct http_route *route);
/* The caller has no token of ours: its requests are the handlers' business. */
bool authorize_is_guest(struct http_request *req);
/* For http_options.unrouted: with handlers, callers that they do not know are refused whatever
 * the path, as LangGraph's servers do. */
const struct http_route *authorize_unrouted(struct http_request *req, void *app);
/* For http_options.hold. */
bool authorize_hold(struct http_request *req, const struct http_route *route, void *app);
/* The same for a command that came over a WebSocket; calls @then when it may go on. */
void authorize_command(struct http_request *req, http_handler *then);

/* The same for a run that is made for the request's caller, whom the handlers have
 * authenticated before.  The body is that of the run. */
void authorize_run(struct http_request *req, http_handler *then);

/* Adds who the caller is to a question: known already, such as whoever opened the WebSocket of
 * a command. */
void authorize_put_user(struct buf *b, struct http_request *req);

/* On the pool: does an item pass the handlers' filters? */
bool authorize_lets_item(struct str filters, const struct item_row *row);

#endif
