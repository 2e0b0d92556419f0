/* Outlets: the jobs with something to publish, and how far that is.
 *
 *     published            sent              known
 *     ───┬──────────────────┬─────────────────┬──▶ seq
 *        │ a batch, flying  │ in the journal  │
 *
 * Those that are behind stand in a line, in which the publisher takes one after another. */
#ifndef BUS_OUTLET_H
#define BUS_OUTLET_H

#include "base/str.h"
#include "base/table.h"

#include <stdint.h>

struct job_row;

enum { OUTLET_MAX_ID = 64 };

struct outlet {
    struct outlet *prev, *next; /* all of them, oldest first */
    struct outlet *after;       /* in the line */
    int64_t key;
    uint64_t known, published;
    int64_t marked; /* what the store has; see job_row.published */
    bool is_final;
    bool is_silent; /* nothing of it is ours to publish */
    bool is_gone;   /* deleted */
    bool in_line, is_flying;
    unsigned lingers; /* ticks since it was over */
    size_t id_n;
    char id[OUTLET_MAX_ID];
};

struct outlets {
    struct table by_id;
    struct outlet all;            /* a ring */
    struct outlet *first, **last; /* the line */
};

void outlets_init(struct outlets *all);
/* Frees them all. */
void outlets_done(struct outlets *all);

static inline struct str outlet_id(const struct outlet *o)
{
    return str_make(o->id, o->id_n);
}

struct outlet *outlets_find(const struct outlets *all, struct str id);
/* As far as its row says; NULL without memory. */
struct outlet *outlets_add(struct outlets *all, const struct job_row *row);
/* Its id is another job's from now on. */
void outlets_disown(struct outlets *all, struct outlet *o);
/* Not while it is in the line. */
void outlets_discard(struct outlets *all, struct outlet *o);

/* To the end of the line, if it is behind and free to go. */
void outlets_line_up(struct outlets *all, struct outlet *o);
/* Takes the first out of the line, which is not empty. */
struct outlet *outlets_next(struct outlets *all);

/* All of the job is published. */
bool outlet_is_complete(const struct outlet *o);

#endif
