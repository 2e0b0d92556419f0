#include "config/options/amount.h"

#include "base/buf.h"

enum { MAX_UNITS = 5 };

struct unit {
    const char *name;
    int64_t factor;
};

/* The smallest first. */
static const struct unit units[][MAX_UNITS] = {
    [AMOUNT_COUNT] = { { "", 1 } },
    [AMOUNT_BYTES] = { { "", 1 },
                       { "K", 1024 },
                       { "M", 1024 * 1024 },
                       { "G", 1024 * 1024 * 1024 },
                       { "T", (int64_t)1024 * 1024 * 1024 * 1024 } },
    [AMOUNT_MS] = { { "ms", 1 },
                    { "s", 1000 },
                    { "m", 60 * 1000 },
                    { "h", 60 * 60 * 1000 },
                    { "d", 24 * 60 * 60 * 1000 } },
};

static const struct unit *find_unit(enum amount_kind kind, struct str name)
{
    for (size_t i = 0; i < MAX_UNITS && units[kind][i].name != NULL; i++)
        if (str_eq(name, str_of(units[kind][i].name)))
            return &units[kind][i];
    return NULL;
}

/* Decimal digits and nothing else: 0x10, 010 and 1_000 mean different things to different
 * readers. */
static size_t parse_digits(struct str s, int64_t *ret)
{
    int64_t value = 0;
    size_t i = 0;

    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++) {
        int64_t digit = s.p[i] - '0';
        value = value > (INT64_MAX - digit) / 10 ? INT64_MAX : value * 10 + digit;
    }
    *ret = value;
    return i > 1 && s.p[0] == '0' ? 0 : i;
}

bool amount_parse(enum amount_kind kind, struct str text, int64_t *ret)
{
    int64_t value;
    size_t n = parse_digits(text, &value);
    const struct unit *unit = find_unit(kind, str_skip(text, n));

    if (n == 0)
        return false;
    if (unit == NULL) {
        *ret = 0;
        return str_is(text, "0");
    }
    *ret = value > INT64_MAX / unit->factor ? INT64_MAX : value * unit->factor;
    return true;
}

void amount_print(enum amount_kind kind, int64_t value, struct buf *out)
{
    size_t i = MAX_UNITS - 1;

    if (value == 0) {
        buf_char(out, '0');
        return;
    }
    while (i > 0 && (units[kind][i].name == NULL || value % units[kind][i].factor != 0))
        i--;
    buf_i64(out, value / units[kind][i].factor);
    buf_str(out, str_of(units[kind][i].name));
}
