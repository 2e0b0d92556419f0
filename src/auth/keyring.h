/* A keyring: a snapshot of all tokens, by their ids.  Reference-counted; immutable once
 * built. */
#ifndef AUTH_KEYRING_H
#define AUTH_KEYRING_H

#include "base/must_check.h"
#include "auth/token.h"
#include "base/table.h"

struct keyring {
    atomic_uint refs;
    uint64_t generation; /* increases with every new keyring */
    struct token **all;  /* refs; in the order they were added */
    size_t n, cap;
    struct table by_id;
    unsigned char ticket_key[SECRET_BYTES];
};

MUST_CHECK int keyring_new(struct keyring **ret);
struct keyring *keyring_ref(struct keyring *k);
void keyring_unref(struct keyring *k); /* may be NULL */

/* Only while it is being built; takes its own reference. */
MUST_CHECK int keyring_add(struct keyring *k, struct token *t);

/* NULL when the id is unknown. */
struct token *keyring_find(const struct keyring *k, struct str id);

#endif
