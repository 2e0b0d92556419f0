/* A draft: a token that is being created, by the command line or by an administrator over
 * HTTP. */
#ifndef AUTH_DRAFT_H
#define AUTH_DRAFT_H

#include "base/must_check.h"
#include "auth/secret.h"
#include "store/store.h"

struct error;

struct draft {
    char text[TOKEN_CHARS + 1];       /* the token, shown to its holder once */
    unsigned char hash[SECRET_BYTES]; /* the hash of its secret, which is stored */
    struct token_row row;             /* its id and hash are in here */
};

/* The token is its own owner and has the server's default limits; the caller fills in the rest
 * of the row.  ERR_IO. */
MUST_CHECK int draft_init(struct draft *d, int64_t now, struct error *err);
/* Overwrites the secret. */
void draft_done(struct draft *d);

#endif
