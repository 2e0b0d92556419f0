/* A signature by one of the server's keys: HMAC-SHA256, cut to 128 bits, in hexadecimal digits.
 *
 * The first word of the text that is signed says what it is for, so that a signature of one
 * thing is none of another. */
#ifndef JOBS_MAC_H
#define JOBS_MAC_H

#include "base/str.h"

enum { MAC_KEY = 32 /* bytes */, MAC_CHARS = 32 };

/* False when OpenSSL cannot: then nothing may be taken for signed. */
bool mac_make(const unsigned char key[MAC_KEY], struct str text, char ret[MAC_CHARS]);
/* Is @mac the signature of @text?  Takes the same time wherever it differs.  0, ERR_REFUSED: it
 * is not, or ERR_NOMEM: OpenSSL cannot say. */
int mac_check(const unsigned char key[MAC_KEY], struct str text, struct str mac);
/* Are they the same?  Takes the same time wherever they differ. */
bool mac_eq(const char own[MAC_CHARS], struct str mac);
/* Does it look like one? */
bool mac_valid(struct str mac);

#endif
