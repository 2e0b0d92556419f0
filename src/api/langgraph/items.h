/* What the routes of /store share: an item's namespace and key, its JSON, and searches. */
#ifndef API_LANGGRAPH_ITEMS_H
#define API_LANGGRAPH_ITEMS_H

#include "api/api.h"
#include "store/items.h"

enum {
    ITEM_MAX_DEPTH = 100, /* of a value */
    ITEM_MAX_NS = 1024,
    ITEM_MAX_WORDS = 16
};

/* What a query searches for; its texts are in the query's memory. */
struct item_search {
    struct str job;           /* the job whose owner is meant; absent: `item.owner` */
    struct lease_shown lease; /* for that job */
    struct item_row item;
    struct str filter; /* JSON; absent: all */
    struct str words[ITEM_MAX_WORDS];
    size_t n_words;
    struct str vector; /* of what is searched for; absent: by words */
    size_t limit, offset;
    bool refreshes;        /* what is found starts its time to live anew */
    struct item_row *read; /* those that do, in the query's memory */
    size_t n_read;
    struct str suffix; /* of namespaces; item.ns is the prefix */
    size_t max_depth;
};

/* Makes "a.b." from ["a", "b"] in @mem; false when it was answered.  Without a list: the empty
 * namespace. */
bool items_read_ns(struct http_request *req,
                   struct arena *mem,
                   const yyjson_val *list,
                   struct str *ret);
/* Writes "a.b." as ["a","b"]. */
void items_put_labels(struct buf *b, struct str ns);
/* Writes the item without its closing brace. */
void items_put(struct buf *b, const struct item_row *row);

/* A query of the caller with an empty search as its data; NULL when it was answered. */
struct store_query *items_search_new(struct http_request *req,
                                     void (*run)(struct thread_task *, struct store *));
/* On the pool: finds the owner of the job for which a worker asks, if the worker holds its
 * lease; on false, query->status says why. */
bool items_find_owner(struct store_query *query, struct store *store, struct item_search *s);

#endif
