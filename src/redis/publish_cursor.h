/* Publish cursors: the jobs with something to publish, and how far that is.
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
    struct publish_cursor *prev, *next; /* all of them, oldest first */
    struct publish_cursor *after;       /* in the line */
    int64_t key;
    uint64_t known, published;
    int64_t marked; /* what the store has; see job_row.published */
    bool is_final;
    bool is_silent; /* nothing of it is ours to publish */
    bool is_gone;   /* deleted */
    bool in_line, is_flying;
    unsigned lingers; /* ticks since it was over */
    size_t id_n;
    char id[PUBLISH_CURSOR_MAX_ID];
};

struct publish_cursors {
    struct table by_id;
    struct publish_cursor all;            /* a ring */
    struct publish_cursor *first, **last; /* the line */
};

void publish_cursors_init(struct publish_cursors *all);
/* Frees them all. */
void publish_cursors_done(struct publish_cursors *all);

static inline struct str publish_cursor_id(const struct publish_cursor *cursor)
{
    return str_make(cursor->id, cursor->id_n);
}

struct publish_cursor *publish_cursors_find(const struct publish_cursors *all, struct str id);
/* As far as its row says; NULL without memory. */
struct publish_cursor *publish_cursors_add(struct publish_cursors *all,
                                           const struct job_row *row);
/* Its id is another job's from now on. */
void publish_cursors_disown(struct publish_cursors *all, struct publish_cursor *cursor);
/* Not while it is in the queue. */
void publish_cursors_discard(struct publish_cursors *all, struct publish_cursor *cursor);

/* To the end of the queue, if it is behind and no batch of it is in flight. */
void publish_cursors_line_up(struct publish_cursors *all, struct publish_cursor *cursor);
/* Takes the first out of the queue, which is not empty. */
struct publish_cursor *publish_cursors_next(struct publish_cursors *all);

/* All of the job is published. */
bool publish_cursor_is_complete(const struct publish_cursor *cursor);

#endif
