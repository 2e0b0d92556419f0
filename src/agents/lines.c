#include "agents/lines.h"

#include "base/error.h"

enum { KEEP_CAPACITY = 256 * 1024 }; /* memory kept after a long line */

void lines_init(struct lines *l, size_t max_bytes, lines_cb cb, void *arg)
{
    *l = (struct lines){ .cb = cb, .arg = arg };
    buf_init(&l->begun, max_bytes);
}

void lines_done(struct lines *l)
{
    buf_done(&l->begun);
}

static void end_begun(struct lines *l)
{
    l->cb(l->arg, buf_text(&l->begun));
    if (l->begun.cap > KEEP_CAPACITY)
        buf_done(&l->begun);
    else
        buf_clear(&l->begun);
}

int lines_put(struct lines *l, struct str bytes)
{
    while (bytes.n > 0) {
        size_t end = str_find(bytes, '\n');
        struct str piece = str_head(bytes, end);

        if (piece.n > l->begun.max)
            return ERR_TOO_LARGE;
        if (end < bytes.n && l->begun.n == 0) {
            l->cb(l->arg, piece);
        } else {
            buf_str(&l->begun, piece);
            if (l->begun.error != 0)
                return l->begun.error;
            if (end < bytes.n)
                end_begun(l);
        }
        bytes = str_skip(bytes, end + 1);
    }
    return 0;
}

void lines_end(struct lines *l)
{
    if (l->begun.n > 0)
        end_begun(l);
}
