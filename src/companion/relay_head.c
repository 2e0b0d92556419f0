#include "companion/relay_head.h"

#include "http/header.h"

void relay_head_init(struct relay_head *h)
{
    buf_init(&h->bytes, RELAY_MAX_HEAD);
    h->seen = 0;
}

void relay_head_done(struct relay_head *h)
{
    buf_done(&h->bytes);
}

/* Where the head ends, behind its blank line; 0: not yet.  Looks at no byte twice, but those of
 * a blank line that may have begun. */
static size_t find_end(struct relay_head *h)
{
    struct str all = buf_text(&h->bytes);

    for (size_t i = h->seen > 3 ? h->seen : 3; i < all.n; i++)
        if (memcmp(all.p + i - 3, "\r\n\r\n", 4) == 0)
            return i + 1;
    h->seen = all.n;
    return 0;
}

static bool has_cors(struct str head)
{
    while (head.n > 0) {
        struct str line = str_head(head, str_find(head, '\n'));

        if (header_is(str_head(line, str_find(line, ':')), "access-control-allow-origin"))
            return true;
        head = str_skip(head, line.n + 1);
    }
    return false;
}

static void add_cors(struct relay_head *h, struct str cors)
{
    struct str all = buf_text(&h->bytes);
    size_t line = str_find(all, '\n') + 1;
    struct buf whole;

    buf_init(&whole, 2 * RELAY_MAX_HEAD);
    buf_str(&whole, str_head(all, line));
    buf_str(&whole, cors);
    buf_str(&whole, str_skip(all, line));
    buf_done(&h->bytes);
    h->bytes = whole;
}

bool relay_head_take(struct relay_head *h, struct str piece, struct str cors)
{
    buf_str(&h->bytes, piece);
    size_t end = h->bytes.error == 0 ? find_end(h) : 0;
    if (end == 0)
        return false;
    if (cors.n > 0 && !has_cors(str_head(buf_text(&h->bytes), end)))
        add_cors(h, cors);
    return h->bytes.error == 0;
}
