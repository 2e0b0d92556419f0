/* Any bytes, shown: nothing but text comes out, and shown again it is the same. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "base/visible.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;

    buf_init(&once, SIZE_MAX / 4);
    buf_init(&twice, SIZE_MAX / 4);
    visible_put(&once, str_make((const char *)data, size));
    visible_put(&twice, buf_text(&once));
    if (utf8_valid(buf_text(&once)) != once.n || !str_eq(buf_text(&once), buf_text(&twice)))
        abort();
    for (struct str rest = buf_text(&once); rest.n > 0;)
        if (!visible_point(visible_next(&rest)))
            abort();
    buf_done(&once);
    buf_done(&twice);
    return 0;
}
