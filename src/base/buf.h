/* A byte buffer that grows up to its limit.
 *
 * Appending never returns an error: the first failure (memory, limit) sticks in
 * `error`, later appends do nothing, and the one who made the buffer looks once
 * at the end.  So rendering code reads like the text that it renders. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"

#include <stdint.h>

struct buf {
    char *p; /* owned */
    size_t n;
    size_t cap;
    size_t max; /* bytes */
    int error;  /* 0, ERR_NOMEM or ERR_TOO_LARGE */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);

/* For a local buffer, which is done with when its scope ends, whatever the way out:
 *
 *     struct buf out LOCAL_BUF(MAX_OUT); */
#define LOCAL_BUF(max_bytes) __attribute__((cleanup(buf_done))) = { .max = (max_bytes) }

/* Empties it and forgets its error; keeps the memory. */
void buf_clear(struct buf *b);

/* Makes room for @n more bytes; false when that failed (the error is set). */
bool buf_reserve_slow(struct buf *b, size_t n);

static inline bool buf_reserve(struct buf *b, size_t n)
{
    return (b->cap - b->n >= n && b->error == 0) || buf_reserve_slow(b, n);
}

static inline void buf_put(struct buf *b, const void *p, size_t n)
{
    if (n > 0 && buf_reserve(b, n)) {
        memcpy(b->p + b->n, p, n);
        b->n += n;
    }
}

static inline void buf_str(struct buf *b, struct str s)
{
    buf_put(b, s.p, s.n);
}

static inline void buf_char(struct buf *b, char c)
{
    if (buf_reserve(b, 1))
        b->p[b->n++] = c;
}

#define buf_lit(b, literal) buf_put((b), (literal), sizeof(literal) - 1)

void buf_u64(struct buf *b, uint64_t value);
void buf_i64(struct buf *b, int64_t value);

/* Drops everything after the first @n bytes. */
static inline void buf_cut(struct buf *b, size_t n)
{
    if (n < b->n)
        b->n = n;
}

static inline struct str buf_text(const struct buf *b)
{
    return (struct str){ b->p != NULL ? b->p : "", b->n };
}

/* What was appended since the buffer had @from bytes. */
static inline struct str buf_since(const struct buf *b, size_t from)
{
    return (struct str){ b->p != NULL ? b->p + from : "", b->n - from };
}

#endif
