/* A window: the bytes of a channel's recent records.
 *
 *     base              last
 *      ├── block ──┬── block ──┤      ◀── window_add()
 *       the oldest block is dropped first
 *
 * The bytes are in blocks that all readers share: a reader holds a reference to the block that
 * it is sending, even after the window has dropped it. */
#ifndef HUB_WINDOW_H
#define HUB_WINDOW_H

#include "base/must_check.h"
#include "base/buf.h"

/* A block of rendered bytes, shared by reference. */
struct block {
    unsigned refs;
    bool left; /* dropped from the window */
    struct block *next;
    struct buf bytes;
    struct window_mark *marks; /* one per record with bytes (or frame without id), or per run of
                                  records without bytes */
    size_t n_marks, cap_marks;
};

struct window_mark {
    size_t end;   /* offset after it */
    uint64_t seq; /* the record that ends here; for a frame without id, the record before it */
    bool last;    /* the terminal record */
};

struct window {
    bool known;    /* its position is known */
    uint64_t base; /* it covers records (base, last] */
    uint64_t last;
    struct block *first, *tail; /* refs */
    size_t n_bytes;
};

void block_unref(struct block *b);

/* Empties it and sets its position to @seq: readers before that read the store. */
void window_reset(struct window *w, uint64_t seq);
/* Appends @bytes, which end with record @seq; the caller updates w->last. */
MUST_CHECK int window_add(struct window *w, struct str bytes, uint64_t seq, bool last);
/* A block with room for @want bytes; NULL: out of memory. */
struct block *window_open(struct window *w, size_t want);
/* The block with the bytes after record @seq, which start at @ret_offset; NULL: not in the
 * window. */
struct block *window_find(const struct window *w, uint64_t seq, size_t *ret_offset);

#endif
