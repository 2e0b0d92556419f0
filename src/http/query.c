/* Percent-encoding.
 *
 * Decoding never makes text longer, so the caller reserves room once and the pieces stay
 * where they are.  What cannot be decoded is refused as a whole: guessing what a sender
 * meant by "%zz" is how two programs come to read one path differently. */
#include "http/query.h"

#include "base/utf8.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte of the escape at @p ("%41"), or -1. */
static int escaped_byte(const char *p, size_t n)
{
    if (n < 3)
        return -1;
    int high = hex_value(p[1]);
    int low = hex_value(p[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* How many bytes at the front stand for themselves. */
static size_t plain_bytes(struct str in, bool form)
{
    size_t i = 0;

    while (i < in.n && in.p[i] != '%' && in.p[i] != '\0' && !(in.p[i] == '+' && form))
        i++;
    return i;
}

static bool decode_bytes(struct str in, bool form, struct buf *out)
{
    while (in.n > 0) {
        size_t n = plain_bytes(in, form);

        buf_put(out, in.p, n);
        in = str_skip(in, n);
        if (in.n == 0)
            break;
        int byte = in.p[0] == '%' ? escaped_byte(in.p, in.n) : in.p[0] == '+' ? ' ' : 0;
        if (byte <= 0)
            return false;
        buf_char(out, (char)byte);
        in = str_skip(in, in.p[0] == '%' ? 3 : 1);
    }
    return true;
}

bool percent_decode(struct str in, bool form, struct buf *out)
{
    size_t from = out->n;

    if (decode_bytes(in, form, out) && utf8_valid(buf_since(out, from)) == out->n - from)
        return true;
    buf_cut(out, from);
    return false;
}

static bool is_dot_segment(struct str segment)
{
    return str_is(segment, ".") || str_is(segment, "..");
}

static bool has_dot_segment(struct str path)
{
    while (path.n > 0) {
        path = str_skip(path, 1); /* the slash */
        size_t end = str_find(path, '/');
        if (is_dot_segment(str_head(path, end)))
            return true;
        path = str_skip(path, end);
    }
    return false;
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return true;
    return false;
}

bool path_decode(struct str in, struct buf *out)
{
    size_t from = out->n;

    if (in.n == 0 || in.p[0] != '/' || !percent_decode(in, false, out))
        return false;
    struct str path = buf_since(out, from);
    if (!has_control(path) && !has_dot_segment(path))
        return true;
    buf_cut(out, from);
    return false;
}

size_t query_room(struct str in)
{
    return 2 * in.n + 2; /* worst: "a&b&c" becomes "a\0\0b\0\0c\0\0" */
}

static bool decode_pair(struct str pair, struct buf *out)
{
    size_t equals = str_find(pair, '=');

    if (!percent_decode(str_head(pair, equals), true, out))
        return false;
    buf_char(out, '\0');
    if (!percent_decode(str_skip(pair, equals + 1), true, out))
        return false;
    buf_char(out, '\0');
    return true;
}

bool query_decode(struct str in, struct buf *out)
{
    size_t from = out->n;

    while (in.n > 0) {
        size_t end = str_find(in, '&');
        if (end > 0 && !decode_pair(str_head(in, end), out)) {
            buf_cut(out, from);
            return false;
        }
        in = str_skip(in, end + 1);
    }
    return true;
}

/* Takes one "text\0" off the front. */
static struct str take_text(struct str *rest)
{
    struct str text = str_head(*rest, str_find(*rest, '\0'));

    *rest = str_skip(*rest, text.n + 1);
    return text;
}

struct str query_find(struct str decoded, struct str name)
{
    return query_find_nth(decoded, name, 0);
}

struct str query_find_nth(struct str decoded, struct str name, size_t i)
{
    while (decoded.n > 0) {
        struct str key = take_text(&decoded);
        struct str value = take_text(&decoded);
        if (str_eq(key, name) && i-- == 0)
            return value;
    }
    return STR_NONE;
}
