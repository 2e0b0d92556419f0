#include "base/utf8.h"

/* Length of the sequence at @p (1 to 4), or 0 when it is not valid UTF-8. */
static size_t sequence(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    size_t len = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (n < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies above U+10FFFF. */
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
        (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return len;
}

static bool are_ascii(const unsigned char p[8])
{
    uint64_t bytes;

    memcpy(&bytes, p, sizeof(bytes));
    return (bytes & 0x8080808080808080u) == 0;
}

size_t utf8_valid(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t at = 0;

    while (at < s.n) {
        if (s.n - at >= 8 && are_ascii(p + at)) {
            at += 8;
            continue;
        }
        size_t len = sequence(p + at, s.n - at);

        if (len == 0)
            break;
        at += len;
    }
    return at;
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

struct str utf8_head(struct str s, size_t n_points)
{
    size_t at = 0;

    while (at < s.n && n_points > 0) {
        at++;
        while (at < s.n && continues(s.p[at]))
            at++;
        n_points--;
    }
    return str_head(s, at);
}

struct str utf8_head_bytes(struct str s, size_t n_bytes)
{
    if (s.n <= n_bytes)
        return s;
    while (n_bytes > 0 && continues(s.p[n_bytes]))
        n_bytes--;
    return str_head(s, n_bytes);
}

size_t utf8_put(char out[4], uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

static uint32_t half_at(const unsigned char *p)
{
    if (p[0] != 0xED || p[1] < 0xA0 || p[1] > 0xBF)
        return 0;
    return 0xD000u | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3Fu);
}

uint32_t utf8_half_first(struct str s)
{
    return s.n >= 3 ? half_at((const unsigned char *)s.p) : 0;
}

uint32_t utf8_half_last(struct str s)
{
    return s.n >= 3 ? half_at((const unsigned char *)s.p + s.n - 3) : 0;
}
