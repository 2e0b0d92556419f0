/* Any bytes as the head of an answer of a project's app, in pieces of any size: its first byte
 * says how long they are.  Whatever the pieces are, the same bytes are passed on, with the
 * headers of ours in one place at most. */
#include "fuzz.h"

#include "companion/relay_head.h"

#include <stdlib.h>

static bool take_all(struct relay_head *h, struct str all, size_t piece, struct str cors)
{
    for (size_t at = 0; at < all.n && h->bytes.error == 0; at += piece) {
        size_t n = all.n - at < piece ? all.n - at : piece;

        if (relay_head_take(h, str_make(all.p + at, n), cors)) {
            buf_str(&h->bytes, str_skip(all, at + n)); /* what follows is passed on */
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_make((const char *)data + 1, size > 0 ? size - 1 : 0);
    struct str cors = STR("X-Ours: 1\r\n");
    struct relay_head once, pieces, plain;

    if (size == 0)
        return 0;
    relay_head_init(&once);
    relay_head_init(&pieces);
    relay_head_init(&plain);
    bool is_whole = take_all(&once, all, all.n + 1, cors);
    if (is_whole != take_all(&pieces, all, (size_t)data[0] + 1, cors) ||
        is_whole != take_all(&plain, all, all.n + 1, STR("")))
        abort();
    if (is_whole && (!str_eq(buf_text(&once.bytes), buf_text(&pieces.bytes)) ||
                     !str_eq(buf_text(&plain.bytes), all) ||
                     (once.bytes.n != all.n && once.bytes.n != all.n + cors.n)))
        abort();
    relay_head_done(&once);
    relay_head_done(&pieces);
    relay_head_done(&plain);
    return 0;
}
