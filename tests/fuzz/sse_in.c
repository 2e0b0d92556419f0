/* The input framing: whatever comes, a message is never larger than the limit, holds no
 * line end in its name, and the parser goes on. */
#include "fuzz.h"

#include "ingest/sse.h"

#include <stdlib.h>

enum { MAX_BYTES = 256 };

static void check(const struct sse_message *m)
{
    if (m->event.n + m->data.n > MAX_BYTES || str_find(m->event, '\n') < m->event.n)
        abort();
    /* Reads every byte, so that a checker sees a text that is gone. */
    static volatile unsigned char sink;
    for (size_t i = 0; i < m->data.n; i++)
        sink = (unsigned char)(sink ^ (unsigned char)m->data.p[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_make((const char *)data, size);
    struct sse_message m;
    struct sse s;

    sse_init(&s, MAX_BYTES);
    while (rest.n > 0) {
        struct str line = str_head(rest, str_find(rest, '\n'));
        int got = sse_line(&s, line, &m);

        if (got == 1)
            check(&m);
        else if (got != 0 && (s.error.code != got || s.error.text[0] == '\0'))
            abort();
        rest = str_skip(rest, line.n + 1);
    }
    if (sse_end(&s, &m) == 1)
        check(&m);
    /* Whatever was before, after a blank line it is as good as new. */
    (void)sse_line(&s, STR(""), &m);
    if (sse_line(&s, STR("data: {}"), &m) != 0 || sse_line(&s, STR(""), &m) != 1 ||
        !str_is(m.data, "{}"))
        abort();
    sse_done(&s);
    return 0;
}
