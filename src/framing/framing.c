/* The framings there are, and cursors: places in a stream as readers name them.
 *
 * A cursor has the form of our ids and nothing else: any other text is a foreign id, and is
 * refused. */
#include "framing/framing.h"

#include "base/error.h"

static const struct framing *const framings[] = { &framing_sse, &framing_ndjson };

const struct framing *framing_find(struct str name)
{
    for (size_t i = 0; i < sizeof(framings) / sizeof(framings[0]); i++) {
        if (str_eq(name, str_of(framings[i]->name)))
            return framings[i];
    }
    return NULL;
}

/* A decimal number without leading zeros, at most @max. */
static int parse_number(struct str text, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;

    if (text.n == 0 || (text.n > 1 && text.p[0] == '0'))
        return ERR_SYNTAX;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return ERR_SYNTAX;
        uint64_t digit = (uint64_t)(text.p[i] - '0');
        if (value > (max - digit) / 10)
            return ERR_SYNTAX;
        value = value * 10 + digit;
    }
    *ret = value;
    return 0;
}

int cursor_parse(struct str text, struct cursor *ret)
{
    size_t dot = str_find(text, '.');
    uint64_t seq = 0;
    uint64_t k = 0;
    int err = parse_number(str_head(text, dot), UINT64_MAX, &seq);

    if (err != 0)
        return err;
    if (dot < text.n) {
        err = parse_number(str_skip(text, dot + 1), UINT32_MAX, &k);
        if (err != 0)
            return err;
        /* Frames and records are counted from 1. */
        if (k == 0 || seq == 0)
            return ERR_SYNTAX;
    }
    *ret = (struct cursor){ .seq = seq, .k = (uint32_t)k };
    return 0;
}

int cursor_read(struct str text, struct cursor *ret)
{
    *ret = (struct cursor){ 0 };
    if (text.n == 0 || str_is(text, "0") || str_is(text, "-1") || str_is(text, "-"))
        return 0;
    if (cursor_parse(text, ret) == 0)
        return 0;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return ERR_SYNTAX;
    ret->seq = INT64_MAX;
    return text.n > 19 && text.p[0] != '0' ? 0 : ERR_SYNTAX;
}

bool cursor_before(struct cursor c, uint64_t seq, uint32_t k)
{
    if (seq != c.seq)
        return seq > c.seq;
    return c.k != 0 && k > c.k;
}
