/* The shelf: sheets that were read from the store lately, for whoever wants the same.
 *
 * A thousand readers that come back after a restart want the same pages of the same job.
 * The first one that asks for a place reads it; those that ask meanwhile wait for it, and
 * those that come later find it.  A sheet never changes: one that is full stays true, and
 * one at the end of a job as long as the job has no further record.
 *
 * For the threads of the pool. */
#ifndef HUB_SHELF_H
#define HUB_SHELF_H

#include "base/buf.h"
#include "hub/render.h"

#include <stdatomic.h>

struct shelf;

struct place {
    int64_t key; /* of the job */
    struct way way;
    struct cursor after;
    size_t max_frames, max_bytes; /* when it is full; 0 frames: as many as fit */
};

/* What was read: shared by reference, and never changed once it is on the shelf. */
struct sheet {
    atomic_uint refs;
    uint64_t last_seq; /* of the last record that was looked at */
    size_t n_frames;
    bool ended;  /* the terminal record is in it */
    bool at_end; /* there was no more */
    struct buf bytes;
};

struct sheet *sheet_new(void); /* NULL: out of memory */
void sheet_unref(struct sheet *sheet);

/* Of at most so many bytes in all. */
int shelf_new(size_t max_bytes, struct shelf **ret);
void shelf_free(struct shelf *s);

/* A reference to the sheet of @place that holds for a job with @last_seq records; or NULL:
 * the caller reads it, and must say so with shelf_put. */
struct sheet *shelf_get(struct shelf *s, const struct place *place, uint64_t last_seq);
/* Takes a reference of its own.  NULL: it could not be read. */
void shelf_put(struct shelf *s, const struct place *place, struct sheet *sheet);

#endif
