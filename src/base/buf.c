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
    char *p = realloc(b->p, cap);
    if (p == NULL) {
        b->error = ERR_NOMEM;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void buf_u64(struct buf *b, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
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
