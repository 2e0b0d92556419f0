/* Items in a store of the project's own: a worker of the agent in the option `item_store` has
 * it, and answers requests to /store instead of our store. */
#ifndef API_LANGGRAPH_ITEMS_CALL_H
#define API_LANGGRAPH_ITEMS_CALL_H

#include "api/api.h"

/* Is there such an agent? */
bool items_are_elsewhere(struct http_request *req);
/* Asks for @op with the request's body; answers the request. */
void items_call(struct http_request *req, const char *op);
/* The same for the item in the query. */
void items_call_get(struct http_request *req, struct str ns, struct str key);

#endif
