/* Any bytes as base64: what is taken comes out again as it was. */
#include "fuzz.h"

#include "base/base64.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);
    char *out = malloc(base64_room(size) + 1);
    size_t n = 0;
    struct buf again;

    if (out == NULL)
        return 0;
    buf_init(&again, SIZE_MAX / 4);
    if (base64_decode(text, out, &n)) {
        base64_put(&again, str_make(out, n));
        if (!str_eq(buf_text(&again), text))
            abort();
    }
    buf_done(&again);
    free(out);
    return 0;
}
