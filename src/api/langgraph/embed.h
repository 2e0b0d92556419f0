/* Vectors of what items and searches say, made by a worker of the agent in the option
 * `item_index`: it has the embedding model. */
#ifndef API_LANGGRAPH_EMBED_H
#define API_LANGGRAPH_EMBED_H

#include "api/api.h"

/* Is there such an agent? */
bool embed_is_on(struct http_request *req);

/* Reads vectors that a worker has made itself; false when it has answered. */
bool embed_read(struct http_request *req,
                const yyjson_val *vectors,
                struct arena *mem,
                struct str *ret);

/* The same for the one vector of a search. */
bool embed_read_one(struct http_request *req,
                    const yyjson_val *vector,
                    struct arena *mem,
                    struct str *ret);

/* Posts @put, an ITEM_PUT, when its item has vectors.  @index: the fields of which they are
 * made; null: the usual ones.  Takes @put. */
void embed_item(struct journal_call *put, const yyjson_val *index);
/* Posts @query, whose data is a struct item_search, when that has the vector of @text.  Takes
 * @query. */
void embed_query(struct store_query *query, struct str text);

#endif
