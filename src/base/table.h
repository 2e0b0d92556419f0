/* A hash table from 128-bit keys to pointers.
 *
 * Keys are hashes themselves: what is remembered of an id, however long, is sixteen
 * bytes.  The hash is keyed with random bytes of the process, so that nobody outside can choose
 * ids that share one.  Code that keeps the id beside its value compares it as well. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct key {
    uint64_t a, b;
};

/* The same for the same text in every process, for ids that are derived and digests that are
 * stored.  A sender that chooses the text can choose the key. */
struct key key_stable(uint64_t space, struct str text);

static inline bool key_eq(struct key x, struct key y)
{
    return x.a == y.a && x.b == y.b;
}

/* A UUID made of the key: "8-4-4-4-12" with version 8. */
enum { KEY_UUID_CHARS = 36 };
void key_uuid(struct key k, char out[KEY_UUID_CHARS]);

struct table_slot {
    struct key key;
    void *value; /* NULL: free */
};

struct table {
    struct key secret;        /* of the process */
    struct table_slot *slots; /* owned */
    size_t n;
    size_t cap; /* a power of two, or 0 */
};

void table_init(struct table *t);
void table_done(struct table *t);

/* The key of @text in the name space @space (so that one table holds many kinds); other tables
 * of this process give the same. */
struct key table_key(const struct table *t, uint64_t space, struct str text);

void *table_get(const struct table *t, struct key k);
/* Adds, or replaces (which cannot fail); @value is not NULL.  ERR_NOMEM leaves the table as
 * it was. */
MUST_CHECK int table_put(struct table *t, struct key k, void *value);
/* Does nothing when it is not there. */
void table_remove(struct table *t, struct key k);

#endif
