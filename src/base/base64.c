#include "base/base64.h"

#include <stdint.h>

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { NO_LETTER = 64 };

static uint32_t value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : NO_LETTER;
}

/* Four characters, of which the last @padding are '='; false when they are not. */
static bool read_four(const char *p, unsigned padding, uint32_t *ret)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < 4; i++) {
        bool is_padding = i >= 4 - padding;
        uint32_t value = is_padding ? 0 : value_of(p[i]);

        if (value == NO_LETTER || (is_padding && p[i] != '='))
            return false;
        bits = bits << 6 | value;
    }
    *ret = bits;
    /* Unused bits before the padding must be zero, so that every value has one encoding. */
    return padding == 0 || (bits & (padding == 1 ? 0xFFu : 0xFFFFu)) == 0;
}

bool base64_decode(struct str text, char *out, size_t *ret_n)
{
    size_t n = 0;

    if (text.n % 4 != 0)
        return false;
    for (size_t i = 0; i < text.n; i += 4) {
        bool is_last = i + 4 == text.n;
        unsigned padding = !is_last || text.p[i + 3] != '=' ? 0 : text.p[i + 2] != '=' ? 1 : 2;
        uint32_t bits = 0;

        if (!read_four(text.p + i, padding, &bits))
            return false;
        for (unsigned k = 0; k < 3 - padding; k++)
            out[n++] = (char)(bits >> (16 - 8 * k) & 0xFF);
    }
    *ret_n = n;
    return true;
}

void base64_put(struct buf *b, struct str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;

    if (bytes.n == 0 || !buf_reserve(b, (bytes.n + 2) / 3 * 4))
        return;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        uint32_t bits = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                        (left > 2 ? p[i + 2] : 0);

        for (unsigned k = 0; k < 4; k++)
            b->p[b->n++] = k > left ? '=' : letters[bits >> (18 - 6 * k) & 63];
    }
}
