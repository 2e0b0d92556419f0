#define _GNU_SOURCE /* memrchr */
#include "agents/outbox.h"

#include "base/error.h"

enum {
    /* Lines stop arriving soon after the reader stops reading (task.c), and the sent part is
     * never larger than the rest; this limit only catches mistakes. */
    MAX_WAITING = 3 * OUTBOX_MAX_LINE,
    KEEP_CAPACITY = 4 * OUTBOX_BATCH, /* memory kept after a long line */
};

void outbox_init(struct outbox *o)
{
    *o = (struct outbox){ 0 };
    buf_init(&o->waiting, MAX_WAITING);
    buf_init(&o->batch, MAX_WAITING);
}

void outbox_done(struct outbox *o)
{
    buf_done(&o->waiting);
    buf_done(&o->batch);
}

static void clear(struct buf *b)
{
    if (b->cap > KEEP_CAPACITY)
        buf_done(b);
    else
        buf_clear(b);
}

void outbox_drop(struct outbox *o)
{
    clear(&o->waiting);
    o->head = o->whole = 0;
}

/* Removes the sent part, if that moves fewer bytes than it frees. */
static void compact(struct outbox *o)
{
    size_t left = o->waiting.n - o->head;

    if (o->head < left)
        return;
    if (left > 0)
        memmove(o->waiting.p, o->waiting.p + o->head, left);
    o->whole -= o->head;
    o->head = 0;
    if (left == 0)
        clear(&o->waiting);
    else
        buf_cut(&o->waiting, left);
}

int outbox_put(struct outbox *o, struct str bytes)
{
    size_t begun = o->waiting.n - o->whole, first = str_find(bytes, '\n');

    if (begun + first > OUTBOX_MAX_LINE)
        return ERR_TOO_LARGE;
    if (o->head > 0)
        compact(o);
    buf_str(&o->waiting, bytes);
    if (o->waiting.error != 0)
        return o->waiting.error;
    if (first < bytes.n) {
        const char *last = memrchr(bytes.p, '\n', bytes.n);

        o->whole = o->waiting.n - (bytes.n - (size_t)(last + 1 - bytes.p));
    }
    return 0;
}

int outbox_end(struct outbox *o)
{
    return o->whole < o->waiting.n ? outbox_put(o, STR("\n")) : 0;
}

/* The lines for one batch: as many as fit, at least one. */
static struct str pick(const struct outbox *o)
{
    struct str all = str_make(o->waiting.p + o->head, o->whole - o->head);

    if (all.n <= OUTBOX_BATCH)
        return all;
    const char *last = memrchr(all.p, '\n', OUTBOX_BATCH);
    return str_head(all, last != NULL ? (size_t)(last + 1 - all.p) : str_find(all, '\n') + 1);
}

int outbox_next(struct outbox *o)
{
    if (o->batch.n > 0)
        return 0;
    if (o->whole == o->head)
        return ERR_NOT_FOUND;
    struct str lines = pick(o);
    buf_clear(&o->batch);
    buf_str(&o->batch, lines);
    if (o->batch.error != 0) {
        buf_clear(&o->batch);
        return ERR_NOMEM;
    }
    o->head += lines.n;
    if (o->head == o->waiting.n)
        compact(o);
    return 0;
}

void outbox_stored(struct outbox *o)
{
    clear(&o->batch);
    o->seq++;
}
