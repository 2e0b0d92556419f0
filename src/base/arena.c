#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 4096 };

struct arena_block {
    struct arena_block *next;
    size_t n;
    size_t cap;
    alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *a)
{
    *a = (struct arena){ 0 };
}

void arena_done(struct arena *a)
{
    while (a->blocks != NULL) {
        struct arena_block *next = a->blocks->next;

        free(a->blocks);
        a->blocks = next;
    }
    a->used = 0;
}

static struct arena_block *add_block(struct arena *a, size_t cap)
{
    struct arena_block *b = cap < SIZE_MAX / 2 ? malloc(sizeof(*b) + cap) : NULL;

    if (b == NULL)
        return NULL;
    *b = (struct arena_block){ .next = a->blocks, .cap = cap };
    a->blocks = b;
    return b;
}

void arena_reset(struct arena *a)
{
    if (a->blocks != NULL && a->blocks->next != NULL) {
        size_t all = a->used;

        arena_done(a);
        (void)add_block(a, all); /* on failure, the next alloc adds one */
    }
    if (a->blocks != NULL)
        a->blocks->n = 0;
    a->used = 0;
}

void *arena_alloc(struct arena *a, size_t n)
{
    struct arena_block *b = a->blocks;
    size_t size = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);

    if (size < n)
        return NULL;
    if (b == NULL || b->cap - b->n < size) {
        size_t cap = b != NULL ? b->cap * 2 : FIRST_BLOCK;

        b = add_block(a, cap > size ? cap : size);
        if (b == NULL)
            return NULL;
    }
    void *p = b->bytes + b->n;
    b->n += size;
    a->used += size;
    return p;
}

bool arena_copy(struct arena *a, struct str s, struct str *ret)
{
    if (s.p == NULL) {
        *ret = STR_NONE;
        return true;
    }
    char *p = arena_alloc(a, s.n > 0 ? s.n : 1);
    if (p == NULL)
        return false;
    str_copy(p, s);
    *ret = str_make(p, s.n);
    return true;
}
