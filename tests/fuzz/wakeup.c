/* Any text as the hints of another gateway: what is taken is written again as a line that means
 * the same. */
#include "fuzz.h"

#include "cluster/wakeup.h"

#include <stdlib.h>

static void expect_same(struct str line)
{
    struct wakeup w, again;
    struct buf out, twice;

    buf_init(&out, SIZE_MAX / 4);
    buf_init(&twice, SIZE_MAX / 4);
    if (!wakeup_take(&line, &w))
        abort();
    wakeup_put(&out, &w);
    struct str text = buf_text(&out);
    if (!wakeup_take(&text, &again) || text.n != 0)
        abort();
    wakeup_put(&twice, &again);
    if (!str_eq(buf_text(&out), buf_text(&twice)))
        abort();
    buf_done(&out);
    buf_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);

    while (text.n > 0) {
        struct str line = text;
        struct wakeup w;

        if (!wakeup_take(&text, &w))
            return 0;
        expect_same(str_head(line, line.n - text.n));
    }
    return 0;
}
