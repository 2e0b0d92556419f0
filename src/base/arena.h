/* An arena: pieces of memory that live until it is reset, and never move.
 *
 * A reset keeps one block as large as everything that was used before, so that
 * work which repeats itself soon allocates nothing at all. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/must_check.h"
#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* owned; the newest first */
    size_t used;                /* bytes handed out since the last reset */
};

void arena_init(struct arena *a);
void arena_done(struct arena *a);
void arena_reset(struct arena *a);

/* Aligned for anything; NULL when memory ran out. */
void *arena_alloc(struct arena *a, size_t n);

/* A copy of @s; false when memory ran out.  Absent stays absent. */
MUST_CHECK bool arena_copy(struct arena *a, struct str s, struct str *ret);

#endif
