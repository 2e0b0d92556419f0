/* Any two JSON values, a line each: a value is the same as itself and contains itself, and a
 * filter of any shape does no harm. */
#include "fuzz.h"

#include "base/json_match.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_make((const char *)data, size);
    struct str line = str_head(all, str_find(all, '\n'));
    struct json_reader one, other;
    struct json a, b;

    json_reader_init(&one, SIZE_MAX / 64, 64);
    json_reader_init(&other, SIZE_MAX / 64, 64);
    if (json_read(&one, line, &a, NULL) == 0) {
        if (json_read(&other, line, &b, NULL) != 0)
            abort();
        /* Of members with the same name only the first is found. */
        (void)json_same(a.root, b.root);
        if (!yyjson_is_ctn(a.root) &&
            !(json_same(a.root, b.root) && json_contains(a.root, b.root)))
            abort();
        if (json_read(&other, str_skip(all, line.n + 1), &b, NULL) == 0) {
            (void)json_contains(a.root, b.root);
            (void)json_matches(a.root, b.root);
            (void)json_filter_fault(b.root);
        }
    }
    json_reader_done(&one);
    json_reader_done(&other);
    return 0;
}
