/* Any bytes as a path, as a query string and as a cursor: what is decoded is clean text that
 * fits where it must, and a cursor that is taken is written as it was read. */
#include "fuzz.h"

#include "framing/framing.h"
#include "http/query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_cursor(struct str in)
{
    struct cursor c = { 0 };
    char text[48];

    if (cursor_parse(in, &c) != 0)
        return;
    int n = c.k > 0 ? snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu32, c.seq, c.k)
                    : snprintf(text, sizeof(text), "%" PRIu64, c.seq);
    /* Leading zeros, and ".0", are the only other ways to write one. */
    check(in.n >= (size_t)n);
    for (size_t i = 0; i < in.n; i++)
        check((in.p[i] >= '0' && in.p[i] <= '9') || in.p[i] == '.');
    if (in.n == (size_t)n)
        check(memcmp(in.p, text, in.n) == 0);
    if (c.seq < UINT64_MAX)
        check(cursor_before(c, c.seq + 1, 1));
    check(!cursor_before(c, c.seq, c.k > 0 ? c.k : 1));
}

static void check_query(struct str in)
{
    struct buf out;

    buf_init(&out, query_room(in));
    if (query_decode(in, &out)) {
        check(out.error == 0 && out.n <= query_room(in));
        check(out.n == 0 || out.p[out.n - 1] == '\0');
        struct str after = query_find(buf_text(&out), STR("after"));
        if (after.p != NULL) {
            check(after.p >= out.p && after.p + after.n < out.p + out.n);
            check(memchr(after.p, '\0', after.n) == NULL);
            check_cursor(after);
        }
    }
    buf_done(&out);
}

static void check_path(struct str in)
{
    struct buf out;

    buf_init(&out, in.n + 1);
    if (path_decode(in, &out)) {
        check(out.n > 0 && out.p[0] == '/' && out.n <= in.n);
        for (size_t i = 0; i < out.n; i++)
            check((unsigned char)out.p[i] >= 0x20 && out.p[i] != 0x7f);
    } else {
        check(out.n == 0);
    }
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str in = str_make((const char *)data, size);

    check_cursor(in);
    check_query(in);
    check_path(in);
    return 0;
}
