/* Base64 (RFC 4648): the standard alphabet, with padding, without line breaks or blanks. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

/* The most bytes that @n characters can stand for. */
static inline size_t base64_room(size_t n)
{
    return n / 4 * 3;
}

/* Writes into @out, which has that room; false when @text is not base64. */
bool base64_decode(struct str text, char *out, size_t *ret_n);
void base64_put(struct buf *b, struct str bytes);

#endif
