#include "hub/window.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>

enum {
    FIRST_BLOCK_BYTES = 4096, /* most windows never need more */
    BLOCK_BYTES = 64 * 1024,
    WINDOW_BYTES = 512 * 1024,
};

void block_unref(struct block *b)
{
    if (b == NULL || --b->refs > 0)
        return;
    buf_done(&b->bytes);
    free(b->marks);
    free(b);
}

static struct block *block_new(void)
{
    struct block *b = calloc(1, sizeof(*b));

    if (b != NULL) {
        b->refs = 1;
        buf_init(&b->bytes, SIZE_MAX / 4);
    }
    return b;
}

/* Does its last mark stand for records without bytes? */
static bool ends_silent(const struct block *b)
{
    size_t n = b->n_marks;

    return n > 0 && b->marks[n - 1].end == (n > 1 ? b->marks[n - 2].end : 0);
}

static int block_mark(struct block *b, uint64_t seq, bool last)
{
    if (ends_silent(b) && b->marks[b->n_marks - 1].end == b->bytes.n)
        b->n_marks--; /* one mark for a whole run of them */
    if (!array_grow(&b->marks, b->n_marks, &b->cap_marks, sizeof(*b->marks)))
        return ERR_NOMEM;
    b->marks[b->n_marks++] = (struct window_mark){ b->bytes.n, seq, last };
    return 0;
}

static void drop_first(struct window *w)
{
    struct block *b = w->first;

    w->base = b->n_marks > 0 ? b->marks[b->n_marks - 1].seq : w->base;
    w->n_bytes -= b->bytes.n;
    w->first = b->next;
    if (w->first == NULL)
        w->tail = NULL;
    b->left = true;
    b->next = NULL;
    block_unref(b);
}

void window_reset(struct window *w, uint64_t seq)
{
    while (w->first != NULL)
        drop_first(w);
    w->base = w->last = seq;
    w->known = true;
}

/* A block's bytes are reserved once and never moved, because readers may be sending from it. */
struct block *window_open(struct window *w, size_t want)
{
    struct block *b = w->tail;

    if (b != NULL && b->bytes.cap - b->bytes.n >= want)
        return b;
    b = block_new();
    size_t size = w->tail == NULL ? FIRST_BLOCK_BYTES : BLOCK_BYTES;
    if (b == NULL || !buf_reserve(&b->bytes, want > size ? want : size)) {
        block_unref(b);
        return NULL;
    }
    b->bytes.max = b->bytes.cap;
    if (w->tail != NULL)
        w->tail->next = b;
    else
        w->first = b;
    w->tail = b;
    return b;
}

int window_add(struct window *w, struct str bytes, uint64_t seq, bool last)
{
    struct block *b = window_open(w, bytes.n);

    if (b == NULL)
        return ERR_NOMEM;
    buf_str(&b->bytes, bytes);
    w->n_bytes += bytes.n;
    int err = block_mark(b, seq, last);
    while (w->n_bytes > WINDOW_BYTES && w->first != w->tail)
        drop_first(w);
    return err;
}

struct block *window_find(const struct window *w, uint64_t seq, size_t *ret_offset)
{
    for (struct block *b = w->first; b != NULL; b = b->next) {
        size_t offset = 0;

        for (size_t i = 0; i < b->n_marks && b->marks[i].seq <= seq; i++)
            offset = b->marks[i].end;
        if (b->n_marks > 0 && b->marks[b->n_marks - 1].seq > seq) {
            *ret_offset = offset;
            return b;
        }
    }
    return NULL;
}
