#include "base/visible.h"

#include "base/buf.h"
#include "base/utf8.h"

enum { REPLACEMENT = 0xFFFD };

bool visible_point(uint32_t p)
{
    if (p < 0x20 || (p >= 0x7F && p < 0xA0))
        return false; /* controls, C0 and C1 */
    if (p == 0x61C || p == 0x200E || p == 0x200F || (p >= 0x2028 && p <= 0x202E) ||
        (p >= 0x2066 && p <= 0x2069))
        return false; /* line and paragraph separators, and text direction */
    return p != 0xFEFF && (p < 0xE0000 || p > 0xE007F); /* invisible: BOM and tags */
}

/* How many bytes the code point has that begins with @c. */
static size_t length_of(unsigned char c)
{
    return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

uint32_t visible_next(struct str *s)
{
    unsigned char first = (unsigned char)s->p[0];
    size_t n = length_of(first);
    uint32_t point = first;

    if (utf8_valid(str_head(*s, n)) < n) {
        n = utf8_half_first(*s) != 0 ? 3 : 1;
        *s = str_skip(*s, n);
        return REPLACEMENT;
    }
    if (n > 1)
        point = first & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++)
        point = point << 6 | ((unsigned char)s->p[i] & 0x3F);
    *s = str_skip(*s, n);
    return point;
}

static void put(struct buf *b, struct str s, bool lines)
{
    char bytes[4];

    while (s.n > 0) {
        uint32_t point = visible_next(&s);
        bool stays = visible_point(point) || (lines && (point == '\n' || point == '\t'));

        if (stays)
            buf_put(b, bytes, utf8_put(bytes, point));
        else if (!lines || point != '\r')
            buf_char(b, ' ');
    }
}

void visible_put(struct buf *b, struct str s)
{
    put(b, s, false);
}

void visible_put_lines(struct buf *b, struct str s)
{
    put(b, s, true);
}
