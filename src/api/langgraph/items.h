/* What the routes of /store share: places of items, their shape, and looks for them. */
#ifndef API_LANGGRAPH_ITEMS_H
#define API_LANGGRAPH_ITEMS_H

#include "api/api.h"
#include "store/items.h"

enum {
    ITEM_MAX_DEPTH = 100, /* of a value */
    ITEM_MAX_NS = 1024,
    ITEM_MAX_WORDS = 16
};

/* What a query looks for; its texts are in the query's memory. */
struct item_search {
    struct str job;           /* whose owner is meant; absent: `item.owner` is */
    struct lease_shown lease; /* of that job */
    struct item_row item;
    struct str filter; /* JSON; absent: all */
    struct str words[ITEM_MAX_WORDS];
    size_t n_words;
    size_t limit, offset;
    struct str suffix; /* of namespaces; item.ns is the prefix */
    size_t max_depth;
};

/* "a.b." of ["a", "b"] in @mem; false when it was answered.  Without a list: the empty one. */
bool items_read_ns(struct http_request *req,
                   struct arena *mem,
                   const yyjson_val *list,
                   struct str *ret);
/* ["a","b"] of "a.b.". */
void items_put_labels(struct buf *b, struct str ns);
/* Without its closing brace. */
void items_put(struct buf *b, const struct item_row *row);

/* A query with an empty search (its data) of the caller's; NULL when it was answered. */
struct store_query *items_search_new(struct http_request *req,
                                     void (*run)(struct thread_task *, struct store *));
/* On the pool: the owner of the job for which a worker asks, if it holds that job; else
 * query->status says why not. */
bool items_find_owner(struct store_query *query, struct store *store, struct item_search *s);

#endif
