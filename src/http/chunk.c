#include "http/chunk.h"

#include <string.h>

enum { SIZE_DIGITS = 8, ROOM = SIZE_DIGITS + 2 }; /* CR and LF */

size_t http_chunk_begin(struct buf *b, bool is_chunked)
{
    size_t from = b->n;

    if (is_chunked && buf_reserve(b, ROOM))
        b->n += ROOM;
    return from;
}

void http_chunk_end(struct buf *b, size_t from, bool is_chunked)
{
    static const char digits[] = "0123456789abcdef";

    if (!is_chunked || b->error != 0)
        return;
    size_t n = b->n - from - ROOM;
    if (n == 0) { /* an empty chunk would be the last one */
        buf_cut(b, from);
        return;
    }
    for (size_t i = SIZE_DIGITS; i-- > 0; n >>= 4)
        b->p[from + i] = digits[n & 15];
    memcpy(b->p + from + SIZE_DIGITS, "\r\n", 2);
    buf_lit(b, "\r\n");
}

void http_chunk_put(struct buf *b, struct str bytes, bool is_chunked)
{
    size_t from = http_chunk_begin(b, is_chunked);

    buf_str(b, bytes);
    http_chunk_end(b, from, is_chunked);
}
