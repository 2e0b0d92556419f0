#include "jobs/lease.h"

void lease_put(struct buf *b, int64_t key, int64_t attempt)
{
    buf_i64(b, key);
    buf_char(b, '.');
    buf_i64(b, attempt);
}

bool lease_parse(struct str text, int64_t *ret_key, int64_t *ret_attempt)
{
    size_t dot = str_find(text, '.');

    return dot < text.n && str_number(str_head(text, dot), ret_key) &&
           str_number(str_skip(text, dot + 1), ret_attempt);
}
