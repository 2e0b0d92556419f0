/* Publish cursors: the jobs with something to publish, and how much of each is published.
 *
 *     published            sent              known
 *     ───┬──────────────────┬─────────────────┬──▶ seq
 *        │ a batch, in flight  │ in the journal  │
 *
 * Cursors that are behind are in a queue, from which the publisher takes one after another. */
#ifndef REDIS_PUBLISH_CURSOR_H
#define REDIS_PUBLISH_CURSOR_H

#include "base/str.h"
#include "base/table.h"

#include <stdint.h>

struct job_row;

enum { PUBLISH_CURSOR_MAX_ID = 64 };

struct publish_cursor {
    struct publish_cursor *prev, *next; /* list of all, oldest first */
    struct publish_cursor *after;       /* in the queue */
    int64_t key, shard;
    uint64_t known, published;
    int64_t marked; /* the value in the store; see job_row.published */
    bool is_final;
    bool is_silent; /* this server does not publish the job */
    bool is_gone;   /* deleted */
    bool in_line, is_flying;
    unsigned lingers; /* ticks since it was complete */
    size_t id_n;
    char id[PUBLISH_CURSOR_MAX_ID];
};

struct publish_cursors {
    struct table by_id;
    struct publish_cursor all;            /* a ring */
    struct publish_cursor *first, **last; /* the queue */
};

void publish_cursors_init(struct publish_cursors *all);
/* Frees them all. */
void publish_cursors_done(struct publish_cursors *all);

static inline struct str publish_cursor_id(const struct publish_cursor *cursor)
{
    return str_make(cursor->id, cursor->id_n);
}

struct publish_cursor *publish_cursors_find(const struct publish_cursors *all, struct str id);
/* Starts where its row says; NULL: out of memory. */
struct publish_cursor *publish_cursors_add(struct publish_cursors *all,
                                           const struct job_row *row);
/* The id now belongs to a newer job: the cursor can no longer be found by it. */
void publish_cursors_disown(struct publish_cursors *all, struct publish_cursor *cursor);
/* Not while it is in the queue. */
void publish_cursors_discard(struct publish_cursors *all, struct publish_cursor *cursor);

/* Appends it to the queue, if it has records to publish and no batch in flight. */
void publish_cursors_line_up(struct publish_cursors *all, struct publish_cursor *cursor);
/* Removes the first from the queue, which must not be empty. */
struct publish_cursor *publish_cursors_next(struct publish_cursors *all);

/* Is all of the ended job published? */
bool publish_cursor_is_complete(const struct publish_cursor *cursor);

#endif
