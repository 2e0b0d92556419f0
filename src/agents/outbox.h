/* An outbox: a worker's stdout on its way to the journal, as batches of whole lines.
 *
 *     waiting  [ gone | whole lines ........ | beginning of a line ]
 *                     ^head                  ^whole               ^n
 *     batch    [ whole lines that are being sent ]   stays until it is acknowledged
 *
 * A repeated batch is byte for byte the same one. */
#ifndef AGENTS_OUTBOX_H
#define AGENTS_OUTBOX_H

#include "base/buf.h"

enum {
    OUTBOX_BATCH = 64 * 1024,           /* bytes of a batch, unless one line is longer */
    OUTBOX_MAX_LINE = 16 * 1024 * 1024, /* without its newline */
};

struct outbox {
    struct buf waiting;
    size_t head, whole; /* offsets in `waiting` */
    struct buf batch;
    int64_t seq; /* of the batch, from 0 */
};

void outbox_init(struct outbox *o);
void outbox_done(struct outbox *o);

/* ERR_TOO_LARGE: a line over the limit; ERR_NOMEM.  After an error nothing can be added, but
 * the lines before it can be sent. */
int outbox_put(struct outbox *o, struct str bytes);
/* End of input: the rest is the last line, without a newline. */
int outbox_end(struct outbox *o);
/* Drops the waiting lines; the batch stays, because a request may refer to it. */
void outbox_drop(struct outbox *o);

/* Bytes of whole lines that wait behind the batch. */
static inline size_t outbox_waiting(const struct outbox *o)
{
    return o->whole - o->head;
}

/* Makes a batch if there is none.  0: `batch` is to be sent; ERR_NOT_FOUND: no whole line
 * waits; ERR_NOMEM: try again later. */
int outbox_next(struct outbox *o);
/* The batch is stored. */
void outbox_stored(struct outbox *o);

#endif
