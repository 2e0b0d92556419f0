/* Between the two forms stands the magnitude, in limbs of 32 bits, the lowest first.  Decimal
 * digits go in and out nine at a time. */
#include "pickle/number.h"

#include "base/error.h"

#include <stdio.h>

enum { LIMBS = NUMBER_MAX_BYTES / 4 + 2, GROUP = 9, GROUP_SIZE = 1000000000 };

struct magnitude {
    uint32_t limb[LIMBS];
    size_t n;
};

static void multiply_add(struct magnitude *m, uint32_t factor, uint32_t more)
{
    uint64_t carry = more;

    for (size_t i = 0; i < m->n; i++) {
        carry += (uint64_t)m->limb[i] * factor;
        m->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry > 0)
        m->limb[m->n++] = (uint32_t)carry;
}

static uint32_t divide(struct magnitude *m, uint32_t by)
{
    uint64_t rest = 0;

    for (size_t i = m->n; i > 0; i--) {
        rest = rest << 32 | m->limb[i - 1];
        m->limb[i - 1] = (uint32_t)(rest / by);
        rest %= by;
    }
    while (m->n > 0 && m->limb[m->n - 1] == 0)
        m->n--;
    return (uint32_t)rest;
}

/* The byte at @i of the number with its sign, which goes on for ever to the left. */
static unsigned char byte_at(const struct magnitude *m, size_t i)
{
    return i / 4 < m->n ? (unsigned char)(m->limb[i / 4] >> 8 * (i % 4)) : 0;
}

static void negate(unsigned char *bytes, size_t n)
{
    unsigned carry = 1;

    for (size_t i = 0; i < n; i++) {
        carry += (unsigned char)~bytes[i];
        bytes[i] = (unsigned char)carry;
        carry >>= 8;
    }
}

int number_put_bytes(struct buf *out, struct str decimal)
{
    bool negative = decimal.n > 0 && decimal.p[0] == '-';
    struct str digits = str_skip(decimal, negative ? 1 : 0);
    struct magnitude m = { .n = 0 };
    unsigned char bytes[4 * LIMBS + 1];

    if (digits.n > NUMBER_MAX_DIGITS)
        return ERR_TOO_LARGE;
    for (size_t at = 0; at < digits.n;) {
        uint32_t group = 0, factor = 1;
        for (size_t end = at + GROUP; at < end && at < digits.n; at++, factor *= 10)
            group = group * 10 + (uint32_t)(digits.p[at] - '0');
        multiply_add(&m, factor, group);
    }
    size_t n = 4 * m.n + 1; /* one more than needed, for the sign */
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(&m, i);
    if (negative)
        negate(bytes, n);
    /* The last byte is redundant when the one before has the same sign. */
    unsigned char sign = (unsigned char)(bytes[n - 1] >= 0x80 ? 0xff : 0);
    while (n > 1 && bytes[n - 1] == sign && (bytes[n - 2] >= 0x80) == (sign != 0))
        n--;
    buf_put(out, bytes, n == 1 && bytes[0] == 0 ? 0 : n);
    return 0;
}

int number_put_text(struct buf *out, struct str bytes)
{
    bool negative = bytes.n > 0 && (unsigned char)bytes.p[bytes.n - 1] >= 0x80;
    unsigned char copy[NUMBER_MAX_BYTES + 4] = { 0 };
    struct magnitude m = { .n = 0 };
    uint32_t groups[NUMBER_MAX_DIGITS / GROUP + 4];
    size_t n_groups = 0;
    char text[GROUP + 1];

    if (bytes.n > NUMBER_MAX_BYTES)
        return ERR_TOO_LARGE;
    str_copy(copy, bytes);
    if (negative)
        negate(copy, bytes.n);
    for (size_t i = 0; i < bytes.n; i++) {
        if (i % 4 == 0)
            m.limb[m.n++] = 0;
        m.limb[m.n - 1] |= (uint32_t)copy[i] << 8 * (i % 4);
    }
    do
        groups[n_groups++] = divide(&m, GROUP_SIZE);
    while (m.n > 0);
    if (negative)
        buf_char(out, '-');
    buf_u64(out, groups[--n_groups]);
    while (n_groups > 0) {
        (void)snprintf(text, sizeof(text), "%09u", (unsigned)groups[--n_groups]); /* fits */
        buf_put(out, text, GROUP);
    }
    return 0;
}
