/* A token in the configuration: [OWNER@]SCOPE[+SCOPE…]:TOKEN.  Pure.
 *
 * TOKEN is the token itself, or spw_<id>_sha256:<64 hexadecimal digits> with the hash of its
 * secret, so that the file need not be kept secret. */
#ifndef AUTH_SPEC_H
#define AUTH_SPEC_H

#include "base/must_check.h"
#include "auth/secret.h"

struct error;
struct token_row;

/* Memory for the texts of a row that is parsed from a spec. */
struct spec {
    char scopes[64];
    unsigned char hash[SECRET_BYTES];
};

/* With @scopes, @text is only the TOKEN.  *@ret points into @text and @mem.  ERR_REFUSED; the
 * error message contains no secret. */
MUST_CHECK int spec_read(struct str scopes,
                         struct str text,
                         struct spec *mem,
                         struct token_row *ret,
                         struct error *err);

#endif
