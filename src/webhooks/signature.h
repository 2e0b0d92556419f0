/* The signature of a webhook, as https://www.standardwebhooks.com describes it.
 *
 *     v1,BASE64(HMAC-SHA256(key, "ID.TIMESTAMP.BODY"))
 *
 * With several secrets there are several, separated by blanks: so that a secret can be replaced
 * while receivers know the old one. */
#ifndef WEBHOOKS_SIGNATURE_H
#define WEBHOOKS_SIGNATURE_H

#include "base/buf.h"
#include "base/must_check.h"

struct error;

/* Is each a secret: "whsec_" (or nothing) and 16 to 64 bytes in base64?  ERR_SYNTAX, with the
 * name of the setting but not the secret. */
MUST_CHECK int signature_check_secrets(char *const *secrets, struct error *err);
/* Writes the value of the header.  ERR_NOMEM: OpenSSL cannot, or there is no memory. */
MUST_CHECK int signature_put(struct buf *b,
                             char *const *secrets,
                             struct str id,
                             int64_t timestamp,
                             struct str body);

#endif
