/* Small rules about header text.  Pure. */
#ifndef HTTP_HEADER_H
#define HTTP_HEADER_H

#include "base/buf.h"
#include "base/str.h"

/* ASCII letters compare without case. */
bool header_eq(struct str a, struct str b);
#define header_is(s, literal) header_eq((s), STR(literal))

/* Is @word an item of a comma-separated list?  Case and parameters are ignored. */
bool header_lists(struct str list, struct str word);

/* A name as RFC 9110 allows it (token). */
bool header_name_valid(struct str name);

/* The token of "Bearer <token>" ("bearer" too); absent when the value has another form. */
struct str header_bearer(struct str value);
/* The value of one of the cookies; absent when it is not there. */
struct str header_cookie(struct str value, struct str name);

/* ^[A-Za-z0-9._-]{1,64}$ */
enum { REQUEST_ID_MAX = 64 };
bool request_id_valid(struct str id);

/* "name: value\r\n" without the bytes of @value that are not printable ASCII; nothing at
 * all when @name is not a name. */
void header_put(struct buf *b, struct str name, struct str value);

/* "Not Found"; never NULL. */
const char *status_text(int status);

/* A response with this status never has a body (RFC 9110, 6.4.1). */
static inline bool status_has_no_body(int status)
{
    return status == 204 || status == 304 || status < 200;
}

#endif
