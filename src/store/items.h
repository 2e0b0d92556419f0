/* Items: what graphs and their clients keep across threads, by owner, namespace and key.
 *
 * A namespace is a path of labels, here as a text with a dot behind each label: "users.ann.".
 * So all below a prefix lie side by side.  As store.h says: who may write, what is borrowed,
 * and for how long. */
#ifndef STORE_ITEMS_H
#define STORE_ITEMS_H

#include "base/must_check.h"
#include "store/store.h"

struct item_row {
    struct str owner; /* empty: nobody's */
    struct str ns;
    struct str key;
    struct str value; /* JSON */
    int64_t created, updated;
    int64_t ttl_ms;  /* 0: it stays */
    int64_t expires; /* 0: never */
};

/* --- inside begin and commit --- */

/* In the place of one that is there, of which `created` stays. */
MUST_CHECK int store_item_put(struct store *s, const struct item_row *row, struct error *err);
/* No error when there is none. */
MUST_CHECK int store_item_delete(struct store *s,
                                 const struct item_row *row,
                                 struct error *err);
/* It was read: restarts its time to live. */
MUST_CHECK int store_item_touch(struct store *s,
                                const struct item_row *row,
                                int64_t now,
                                struct error *err);

/* --- for every store: those whose time is not over at @now --- */

typedef int (*store_item_cb)(void *arg, const struct item_row *row);
/* The one of that owner, namespace and key, if it is there. */
MUST_CHECK int store_item(struct store *s,
                          const struct item_row *row,
                          int64_t now,
                          store_item_cb cb,
                          void *arg,
                          struct error *err);
/* All below a prefix, the last changed first; until the callback returns non-zero. */
MUST_CHECK int store_items(struct store *s,
                           struct str owner,
                           struct str prefix,
                           int64_t now,
                           store_item_cb cb,
                           void *arg,
                           struct error *err);
typedef int (*store_ns_cb)(void *arg, struct str ns);
/* The namespaces of an owner that have items, in order; the same. */
MUST_CHECK int store_namespaces(struct store *s,
                                struct str owner,
                                int64_t now,
                                store_ns_cb cb,
                                void *arg,
                                struct error *err);

#endif
