/* Chunks of a chunked response: "0000001a\r\n...\r\n".
 *
 * The size is written with leading zeros, so that its place is known before the size is. */
#include "http/http.h"

size_t http_chunk_begin(struct buf *b)
{
    size_t from = b->n;

    buf_lit(b, "00000000\r\n");
    return from;
}

void http_chunk_end(struct buf *b, size_t from)
{
    static const char digits[] = "0123456789abcdef";

    if (b->error != 0)
        return;
    size_t n = b->n - from - HTTP_CHUNK_ROOM;
    if (n == 0) { /* an empty chunk would be the last one */
        buf_cut(b, from);
        return;
    }
    for (size_t i = 8; i-- > 0; n >>= 4)
        b->p[from + i] = digits[n & 15];
    buf_lit(b, "\r\n");
}
