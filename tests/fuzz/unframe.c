/* Any bytes as the answer of a remote endpoint: the lines that come out do not depend on how
 * the bytes were cut, and each is one line.
 *
 * The first byte says how long the pieces are. */
#include "fuzz.h"

#include "agents/http/unframe.h"
#include "base/error.h"

#include <stdlib.h>

enum { MAX_BYTES = 400 };

static void on_line(void *arg, struct str line)
{
    if (line.n == 0 || str_find(line, '\n') != line.n - 1)
        abort();
    buf_str(arg, line);
}

static int take(struct str bytes, size_t piece, struct buf *out)
{
    struct unframe u;
    int err = 0;

    buf_init(out, SIZE_MAX / 4);
    unframe_init(&u, MAX_BYTES, on_line, out);
    for (size_t i = 0; err == 0 && i < bytes.n; i += piece)
        err = unframe_put(&u, str_head(str_skip(bytes, i), piece));
    if (err == 0)
        err = unframe_end(&u);
    unframe_done(&u);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_make((const char *)data, size);
    struct buf whole, pieces;

    if (size == 0)
        return 0;
    int first = take(str_skip(all, 1), size, &whole);
    int second = take(str_skip(all, 1), (size_t)data[0] % 16 + 1, &pieces);
    if (first == 0 && (second != 0 || !str_eq(buf_text(&whole), buf_text(&pieces))))
        abort();
    if (first != 0 && second == 0)
        abort();
    buf_done(&whole);
    buf_done(&pieces);
    return 0;
}
