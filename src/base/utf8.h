/* UTF-8, and its one extension that real streams need: a surrogate half on its
 * own (WTF-8), because some senders split one emoji over two tokens. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

#include <stdint.h>

/* Length of the valid UTF-8 at the start of @s: s.n when all of it is. */
size_t utf8_valid(struct str s);

/* The first @n_points code points of @s, never a part of one. */
struct str utf8_head(struct str s, size_t n_points);

/* The same, but at most @n_bytes bytes. */
struct str utf8_head_bytes(struct str s, size_t n_bytes);

/* Writes one code point (also a surrogate half); returns its 1 to 4 bytes. */
size_t utf8_put(char out[4], uint32_t point);

/* The surrogate half (0xD800..0xDFFF) that starts at @s, or 0. */
uint32_t utf8_half_first(struct str s);
/* The surrogate half that ends @s, or 0. */
uint32_t utf8_half_last(struct str s);

static inline bool utf8_is_high(uint32_t half)
{
    return half >= 0xD800 && half <= 0xDBFF;
}

static inline bool utf8_is_low(uint32_t half)
{
    return half >= 0xDC00 && half <= 0xDFFF;
}

#endif
