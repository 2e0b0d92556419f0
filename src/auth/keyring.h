/* All tokens of one moment, by their ids.  Counted references; never changes once it is made.
 */
#ifndef AUTH_KEYRING_H
#define AUTH_KEYRING_H

#include "base/must_check.h"
#include "auth/token.h"
#include "base/table.h"

struct keyring {
    atomic_uint refs;
    uint64_t generation; /* rises with every new one */
    struct token **all;  /* refs; in the order they were added */
    size_t n, cap;
    struct table by_id;
    unsigned char ticket_key[SECRET_BYTES];
};

MUST_CHECK int keyring_new(struct keyring **ret);
struct keyring *keyring_ref(struct keyring *k);
void keyring_unref(struct keyring *k); /* may be NULL */

/* While it is being made: takes a reference of its own. */
MUST_CHECK int keyring_add(struct keyring *k, struct token *t);

/* NULL when there is none. */
struct token *keyring_find(const struct keyring *k, struct str id);

#endif
