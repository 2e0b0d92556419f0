/* A token in the configuration: [OWNER@]SCOPE[+SCOPE…]:TOKEN.  Pure.
 *
 * TOKEN is one as a caller shows it, or spw_<id>_sha256:<64 hexadecimal digits> with the hash
 * of its secret, so that the file need not be secret. */
#ifndef AUTH_SPEC_H
#define AUTH_SPEC_H

#include "base/must_check.h"
#include "auth/secret.h"

struct error;
struct token_row;

/* The texts of a row that was read from one. */
struct spec {
    char scopes[64];
    unsigned char hash[SECRET_BYTES];
};

/* With @scopes, @text is the TOKEN alone.  *@ret points into @text and @mem.  ERR_REFUSED; the
 * error shows no secret. */
MUST_CHECK int spec_read(struct str scopes,
                         struct str text,
                         struct spec *mem,
                         struct token_row *ret,
                         struct error *err);

#endif
