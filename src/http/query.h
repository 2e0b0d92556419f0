/* Decodes percent-encoding in paths and query strings.  Pure. */
#ifndef HTTP_QUERY_H
#define HTTP_QUERY_H

#include "base/buf.h"
#include "base/str.h"

/* Appends @in decoded to @out.  False for a broken escape, a NUL or text that is not
 * UTF-8; then @out is as before.  @form: '+' is a space. */
bool percent_decode(struct str in, bool form, struct buf *out);

/* The same for a whole path, which must also start with '/' and have neither control
 * characters nor dot segments, encoded or not. */
bool path_decode(struct str in, struct buf *out);

/* A query string as "key\0value\0key\0value\0"; false when a part cannot be decoded.
 * Appends at most query_room(in) bytes. */
bool query_decode(struct str in, struct buf *out);
size_t query_room(struct str in);

/* The first value of @name in what query_decode made; absent when missing. */
struct str query_find(struct str decoded, struct str name);
/* The @i-th of them, from 0. */
struct str query_find_nth(struct str decoded, struct str name, size_t i);

#endif
