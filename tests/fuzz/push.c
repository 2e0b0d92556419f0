/* Any bytes as what Redis pushes: what is read lies within them, and does not depend on how
 * much has come behind it. */
#include "fuzz.h"

#include "redis/push.h"

#include <stdlib.h>

static bool lies_in(struct str part, struct str all)
{
    return part.n == 0 || (part.p >= all.p && part.p + part.n <= all.p + all.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_make((const char *)data, size);
    struct push push, again;
    int64_t n;

    while ((n = push_read(all, &push)) > 0) {
        struct str bytes = str_head(all, (size_t)n);

        if ((size_t)n > all.n || !lies_in(push.channel, bytes) || !lies_in(push.payload, bytes))
            abort();
        if (push_read(bytes, &again) != n || again.kind != push.kind ||
            !str_eq(again.payload, push.payload))
            abort();
        if (push_read(str_head(all, (size_t)n - 1), &again) > 0)
            abort();
        all = str_skip(all, (size_t)n);
    }
    return 0;
}
