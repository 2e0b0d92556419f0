/* A token that is being made: by the command line, or by an administrator over HTTP. */
#ifndef AUTH_DRAFT_H
#define AUTH_DRAFT_H

#include "base/must_check.h"
#include "auth/secret.h"
#include "store/store.h"

struct error;

struct draft {
    char text[TOKEN_CHARS + 1];       /* what its holder gets to see, once */
    unsigned char hash[SECRET_BYTES]; /* what is kept of it */
    struct token_row row;             /* its id and hash are in here */
};

/* Owned by itself, with the server's limits; the rest of the row is the caller's to fill.
 * ERR_IO. */
MUST_CHECK int draft_init(struct draft *d, int64_t now, struct error *err);
/* Overwrites what is secret. */
void draft_done(struct draft *d);

#endif
