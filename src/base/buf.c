#include "base/buf.h"

#include "base/error.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 256 };

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){ .max = max };
}

void buf_done(struct buf *b)
{
    free(b->p);
    *b = (struct buf){ .max = b->max };
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->error = 0;
}

bool buf_reserve_slow(struct buf *b, size_t n)
{
    size_t cap = b->cap > 0 ? b->cap : FIRST_CAPACITY;

    if (b->error != 0)
        return false;
    if (b->cap - b->n >= n)
        return true;
    if (n > b->max || b->n > b->max - n) {
        b->error = ERR_TOO_LARGE;
        return false;
    }
    while (cap - b->n < n)
        cap *= 2;
    if (cap > b->max) /* so that the limit holds without being looked at on each append */
        cap = b->max;
    char *p = realloc(b->p, cap);
    if (p == NULL) {
        b->error = ERR_NOMEM;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

/* "00" to "99". */
static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

void buf_u64(struct buf *b, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    while (value >= 10) {
        const char *pair = pairs + value % 100 * 2;

        digits[--at] = pair[1]; /* memcpy() would be a call, because its place is checked */
        digits[--at] = pair[0];
        value /= 100;
    }
    if (value > 0 || at == sizeof(digits))
        digits[--at] = (char)('0' + value);
    buf_put(b, digits + at, sizeof(digits) - at);
}

void buf_i64(struct buf *b, int64_t value)
{
    if (value < 0) {
        buf_char(b, '-');
        buf_u64(b, (uint64_t)0 - (uint64_t)value);
    } else {
        buf_u64(b, (uint64_t)value);
    }
}
