/* A borrowed piece of text: pointer and length, not terminated, never owned.
 *
 * `p == NULL` means "absent"; an empty text has a pointer and length 0. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
#define STR_NONE     ((struct str){ NULL, 0 })
/* For printf: "%.*s". */
#define STR_ARG(s) (int)(s).n, ((s).p != NULL ? (s).p : "")

static inline struct str str_of(const char *z)
{
    return z != NULL ? (struct str){ z, strlen(z) } : STR_NONE;
}

static inline struct str str_make(const char *p, size_t n)
{
    return (struct str){ p, n };
}

static inline bool str_absent(struct str s)
{
    return s.p == NULL;
}

static inline bool str_empty(struct str s)
{
    return s.n == 0;
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* Compares with a string literal: str_is(s, "on_chain_start"). */
#define str_is(s, literal) str_eq((s), STR(literal))

/* What follows the first @n bytes. */
static inline struct str str_skip(struct str s, size_t n)
{
    if (s.p == NULL)
        return s; /* no arithmetic on NULL, not even + 0 */
    return n <= s.n ? (struct str){ s.p + n, s.n - n } : (struct str){ s.p + s.n, 0 };
}

/* Index of the first @c, or s.n when there is none. */
static inline size_t str_find(struct str s, char c)
{
    const char *hit = s.n > 0 ? memchr(s.p, c, s.n) : NULL;

    return hit != NULL ? (size_t)(hit - s.p) : s.n;
}

static inline struct str str_head(struct str s, size_t n)
{
    return (struct str){ s.p, n < s.n ? n : s.n };
}

static inline bool str_has(struct str s, char c)
{
    return str_find(s, c) < s.n;
}

/* Copies the bytes to @to, without a terminator.  memcpy must not get NULL, not even for no
 * bytes; an absent text may come here. */
static inline void str_copy(void *to, struct str s)
{
    if (s.n > 0)
        memcpy(to, s.p, s.n);
}

/* 1 to 18 decimal digits and nothing else. */
static inline bool str_number(struct str s, int64_t *ret)
{
    int64_t value = 0;

    if (s.n == 0 || s.n > 18)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        value = value * 10 + (s.p[i] - '0');
    }
    *ret = value;
    return true;
}

#endif
