/* Headers that the settings add to every webhook: texts of the form "Name: value". */
#ifndef WEBHOOKS_HEADERS_H
#define WEBHOOKS_HEADERS_H

#include "base/must_check.h"
#include "base/str.h"

struct buf;
struct error;

/* Is each a header that may be added?  Those that say what is sent (Content-Type, Host, …) and
 * those of the signature (webhook-…) may not.  ERR_SYNTAX, with the name but not the value. */
MUST_CHECK int webhook_headers_check(char *const *headers, struct error *err);

/* Puts @text, with the values of "${{ env.NAME }}": variables of the environment whose names
 * begin with @prefix.  Another name, and a variable that is not there, are ERR_REFUSED. */
MUST_CHECK int webhook_header_expand(struct buf *b,
                                     struct str text,
                                     struct str prefix,
                                     struct error *err);

#endif
