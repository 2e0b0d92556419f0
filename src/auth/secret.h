/* The texts of tokens and tickets: their format, how they are made, and what is stored.
 *
 *     spw_<id>_<secret>           a token: the secret is 256 random bits
 *     spt_<expires>_<id>_<mac>    a stream ticket, signed for one job by the server's key;
 *                                 expires is in seconds since 1970, the id its token's
 *
 * Ids, secrets and signatures are digits and lower-case letters without i, l, o and u, so that
 * a double click selects the whole text, and spw_[0-9a-z]{12}_[0-9a-z]{52} finds leaked tokens
 * in logs.  Only the SHA-256 of a secret is stored: it is random, so the hash does not reveal
 * it. */
#ifndef AUTH_SECRET_H
#define AUTH_SECRET_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct error;

enum {
    SECRET_ID = 12,    /* characters */
    SECRET_CHARS = 52, /* for 256 bits */
    SECRET_BYTES = 32, /* of a hash or a key */
    TOKEN_CHARS = 4 + SECRET_ID + 1 + SECRET_CHARS,
    TICKET_CHARS = 4 + 12 + 1 + SECRET_ID + 1 + SECRET_CHARS, /* at most */
};

/* Pieces of the text that was read. */
struct token_text {
    struct str id;
    struct str secret;
};

struct ticket_text {
    int64_t expires; /* seconds since 1970 */
    struct str id;
    struct str mac;
};

bool secret_valid_id(struct str id);
bool token_text_read(struct str text, struct token_text *ret);
/* ERR_IO when the system has no random numbers. */
MUST_CHECK int token_text_make(char ret[TOKEN_CHARS + 1], struct error *err);

MUST_CHECK int secret_random(unsigned char ret[SECRET_BYTES], struct error *err);
/* Takes the same time for any secret; false when OpenSSL fails: nothing may match then. */
bool secret_hash(struct str secret, unsigned char ret[SECRET_BYTES]);
/* Compares in constant time. */
bool secret_equal(const void *a, const void *b, size_t n);
/* Overwrites it; the compiler cannot optimise that away. */
void secret_forget(void *p, size_t n);

/* 64 hexadecimal digits. */
bool secret_read_hex(struct str hex, unsigned char ret[SECRET_BYTES]);

bool ticket_text_read(struct str text, struct ticket_text *ret);
/* Returns its length, 0 when OpenSSL fails. */
size_t ticket_text_make(const unsigned char key[SECRET_BYTES],
                        int64_t expires,
                        struct str id,
                        struct str job,
                        char ret[TICKET_CHARS + 1]);
/* Is it a ticket for @job, signed with @key?  0; ERR_REFUSED: no; ERR_NOMEM: OpenSSL failed. */
MUST_CHECK int ticket_text_check(const unsigned char key[SECRET_BYTES],
                                 const struct ticket_text *ticket,
                                 struct str job);

#endif
