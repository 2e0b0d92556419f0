/* Any bytes as requests to a relay: in one piece or byte by byte, the same goes on. */
#include "fuzz.h"

#include "cli/redirect.h"

#include <stdlib.h>

static void pass(struct str bytes, size_t step, struct buf *out)
{
    struct redirect r;

    redirect_init(&r, STR("job-1"));
    for (; bytes.n > 0; bytes = str_skip(bytes, step))
        redirect_feed(&r, str_head(bytes, step), out);
    redirect_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_make((const char *)data, size);
    struct buf once, single;

    buf_init(&once, SIZE_MAX / 4);
    buf_init(&single, SIZE_MAX / 4);
    pass(bytes, size, &once);
    pass(bytes, 1, &single);
    if (!str_eq(buf_text(&once), buf_text(&single)))
        abort();
    buf_done(&once);
    buf_done(&single);
    return 0;
}
