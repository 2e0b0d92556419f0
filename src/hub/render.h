/* Records as the bytes of one way to read them: a dialect, a variant, a framing, and
 * whether the connection wants chunks.  Each record's frames become one chunk. */
#ifndef HUB_RENDER_H
#define HUB_RENDER_H

#include "dialect/dialect.h"
#include "framing/framing.h"

#include <stdint.h>
#include <string.h>

struct way {
    const struct dialect *dialect;
    const struct framing *framing;
    struct variant variant;
    bool chunked;
    bool wrap;     /* not SSE: as {"id","event","data"}, also where the payload has its name */
    bool with_job; /* wrapped: the job too, where several share a connection */
};

/* A way as numbers: two are the same when these are. */
enum { WAY_PARTS = 4 };
static inline void way_parts(const struct way *w, uint64_t parts[WAY_PARTS])
{
    parts[0] = (uint64_t)(uintptr_t)w->dialect;
    parts[1] = (uint64_t)(uintptr_t)w->framing;
    parts[2] = w->variant.modes;
    parts[3] = (uint64_t)w->chunked | (uint64_t)w->wrap << 1 |
               (uint64_t)w->variant.subgraphs << 2 | (uint64_t)w->variant.aiq_compat << 3 |
               (uint64_t)w->variant.stored << 4 | (uint64_t)w->with_job << 5 |
               (uint64_t)w->variant.reconnected << 6;
}

static inline bool way_eq(const struct way *a, const struct way *b)
{
    uint64_t x[WAY_PARTS], y[WAY_PARTS];

    way_parts(a, x);
    way_parts(b, y);
    return memcmp(x, y, sizeof(x)) == 0;
}

/* Do its frames take what was gathered from the job's earlier records? */
static inline bool way_gathers(const struct way *w)
{
    return (w->variant.modes & MODE_PARTIALS) != 0;
}

/* Its frames are in envelopes: {"id","event","data"}. */
bool way_wraps(const struct way *way);

/* Appends what comes after @after of @rec's frames; says how many frames that were. */
int way_render(const struct way *way,
               const struct record *rec,
               struct cursor after,
               struct frames *frames,
               struct buf *out,
               size_t *ret_n);

/* Appends stream.cursor, where frames do not carry their ids; nothing elsewhere. */
void way_put_cursor(const struct way *way, uint64_t seq, struct buf *out);
/* Appends a frame that is made for the connection: no id.  @job is named where it has to be. */
void way_put(const struct way *way,
             struct str job,
             struct str event,
             struct str data,
             struct buf *out);
/* Appends stream.gap in the place of @job's records behind @after up to @lost, with the id of
 * the last of them. */
void way_put_gap(const struct way *way,
                 struct str job,
                 uint64_t after,
                 uint64_t lost,
                 uint64_t tail,
                 struct buf *out);
/* Appends raw bytes (a comment, a retry line) as one chunk. */
void way_put_raw(const struct way *way, struct str bytes, struct buf *out);

#endif
