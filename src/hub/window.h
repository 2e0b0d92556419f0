/* A window: the bytes of a channel's recent records.
 *
 *     base              last
 *      ├── block ──┬── block ──┤      ◀── window_add()
 *       the oldest one goes first
 *
 * They are in blocks that all readers share: a reader holds the block from which it is sending,
 * also when the window has left it behind. */
#ifndef HUB_WINDOW_H
#define HUB_WINDOW_H

#include "base/must_check.h"
#include "base/buf.h"

/* A block of rendered bytes, shared by reference. */
struct block {
    unsigned refs;
    bool left; /* no longer in the window */
    struct block *next;
    struct buf bytes;
    struct window_mark *marks; /* one per record that gave bytes (or frame without id), or run
                           of records that gave none */
    size_t n_marks, cap_marks;
};

struct window_mark {
    size_t end;   /* offset behind it */
    uint64_t seq; /* the record that ends here, or the one before for a frame without id */
    bool last;    /* the terminal record */
};

struct window {
    bool known;    /* its place is known */
    uint64_t base; /* it holds (base, last] */
    uint64_t last;
    struct block *first, *tail; /* refs */
    size_t n_bytes;
};

void block_unref(struct block *b);

/* It is empty and stands at @seq: readers behind that read the store. */
void window_reset(struct window *w, uint64_t seq);
/* Appends @bytes, which end with record @seq; w->last is the caller's to move. */
MUST_CHECK int window_add(struct window *w, struct str bytes, uint64_t seq, bool last);
/* A block with room for @want bytes; NULL: out of memory. */
struct block *window_open(struct window *w, size_t want);
/* The block with what follows record @seq, from @ret_offset on; NULL: it is not there. */
struct block *window_find(const struct window *w, uint64_t seq, size_t *ret_offset);

#endif
