/* Items: values that graphs and their clients keep across threads, by owner, namespace and key.
 *
 * A namespace is a path of labels, stored as a text with a dot after each label: "users.ann.".
 * So all namespaces below a prefix are adjacent.  store.h says who may write, what is borrowed,
 * and for how long. */
#ifndef STORE_ITEMS_H
#define STORE_ITEMS_H

#include "base/must_check.h"
#include "store/store.h"

struct item_row {
    struct str owner; /* empty: none */
    struct str ns;
    struct str key;
    struct str value; /* JSON */
    int64_t created, updated;
    int64_t ttl_ms;  /* 0: it does not expire */
    int64_t expires; /* 0: never */
    /* Of its text, for searches by meaning (store/vectors.h).  PUT: absent: as they were;
     * empty: none.  Only store_items_indexed() reads them. */
    struct str vectors;
};

/* The most items that one search reads, those that were changed last; for SQL. */
#define STORE_ITEMS_MAX "20000"
enum { STORE_MAX_ITEMS = 20000 }; /* the same */

/* --- inside begin and commit --- */

/* Replaces an existing one, but keeps its `created`; its vectors are set by the next one. */
MUST_CHECK int store_item_put(struct store *s, const struct item_row *row, struct error *err);
/* Sets the vectors of an item that exists; none when they are empty.  They go with it. */
MUST_CHECK int store_item_index(struct store *s, const struct item_row *row, struct error *err);
/* Not an error when it does not exist. */
MUST_CHECK int store_item_delete(struct store *s,
                                 const struct item_row *row,
                                 struct error *err);
/* It was read: restarts its time to live. */
MUST_CHECK int store_item_touch(struct store *s,
                                const struct item_row *row,
                                int64_t now,
                                struct error *err);

/* --- in every store; only items that have not expired at @now --- */

typedef int (*store_item_cb)(void *arg, const struct item_row *row);
/* The item with that owner, namespace and key, if it exists. */
MUST_CHECK int store_item(struct store *s,
                          const struct item_row *row,
                          int64_t now,
                          store_item_cb cb,
                          void *arg,
                          struct error *err);
/* All items below a prefix, the last changed first, at most STORE_ITEMS_MAX; stops when the
 * callback returns non-zero. */
MUST_CHECK int store_items(struct store *s,
                           struct str owner,
                           struct str prefix,
                           int64_t now,
                           store_item_cb cb,
                           void *arg,
                           struct error *err);
/* The same for those that have vectors, with these. */
MUST_CHECK int store_items_indexed(struct store *s,
                                   struct str owner,
                                   struct str prefix,
                                   int64_t now,
                                   store_item_cb cb,
                                   void *arg,
                                   struct error *err);
typedef int (*store_ns_cb)(void *arg, struct str ns);
/* The namespaces of an owner that have items, in order; stops the same way. */
MUST_CHECK int store_namespaces(struct store *s,
                                struct str owner,
                                int64_t now,
                                store_ns_cb cb,
                                void *arg,
                                struct error *err);

#endif
