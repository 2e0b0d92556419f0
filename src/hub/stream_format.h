/* A stream format: dialect, variant, framing, and whether the connection uses chunked encoding.
 * Renders records to bytes; the frames of each record become one chunk. */
#ifndef HUB_STREAM_FORMAT_H
#define HUB_STREAM_FORMAT_H

#include "base/must_check.h"
#include "dialect/dialect.h"
#include "framing/framing.h"

#include <stdint.h>
#include <string.h>

struct stream_format {
    const struct dialect *dialect;
    const struct framing *framing;
    struct variant variant;
    bool chunked;
    bool wrap; /* not SSE: as {"id","event","data"}, even if the payload contains the event's
                  name */
    bool with_job; /* the envelope also has the job, for connections with several jobs */
};

/* A format as numbers, to compare formats. */
enum { STREAM_FORMAT_PARTS = 5 };
static inline void stream_format_parts(const struct stream_format *w,
                                       uint64_t parts[STREAM_FORMAT_PARTS])
{
    parts[0] = (uint64_t)(uintptr_t)w->dialect;
    parts[1] = (uint64_t)(uintptr_t)w->framing;
    parts[2] = w->variant.modes;
    parts[3] = (uint64_t)w->chunked | (uint64_t)w->wrap << 1 |
               (uint64_t)w->variant.subgraphs << 2 | (uint64_t)w->variant.aiq_compat << 3 |
               (uint64_t)w->variant.stored << 4 | (uint64_t)w->with_job << 5 |
               (uint64_t)w->variant.reconnected << 6;
    parts[4] = w->variant.run;
}

static inline bool stream_format_eq(const struct stream_format *a,
                                    const struct stream_format *b)
{
    uint64_t x[STREAM_FORMAT_PARTS], y[STREAM_FORMAT_PARTS];

    stream_format_parts(a, x);
    stream_format_parts(b, y);
    return memcmp(x, y, sizeof(x)) == 0;
}

/* Do its frames need data that is gathered from the job's earlier records? */
static inline bool stream_format_gathers(const struct stream_format *w)
{
    return (w->variant.modes & MODE_PARTIALS) != 0;
}

/* Are its frames in envelopes, {"id","event","data"}? */
bool stream_format_wraps(const struct stream_format *format);

/* Appends the frames of @rec after @after; returns their number. */
MUST_CHECK int stream_format_render(const struct stream_format *format,
                                    const struct record *rec,
                                    struct cursor after,
                                    struct frames *frames,
                                    struct buf *out,
                                    size_t *ret_n);

/* Appends stream.cursor, if frames do not carry their ids; else nothing. */
void stream_format_put_cursor(const struct stream_format *format,
                              uint64_t seq,
                              struct buf *out);
/* Appends a frame for the connection, without an id.  @job is included where it is needed. */
void stream_format_put(const struct stream_format *format,
                       struct str job,
                       struct str event,
                       struct str data,
                       struct buf *out);
/* The same in the dialect's form, using @frames as scratch; nothing if the dialect has no such
 * frame. */
MUST_CHECK int stream_format_put_connection(const struct stream_format *format,
                                            struct str job,
                                            const struct connection_frame *what,
                                            struct frames *frames,
                                            struct buf *out);
/* Appends stream.gap in place of @job's records after @after up to @lost, with the id of the
 * last one. */
void stream_format_put_gap(const struct stream_format *format,
                           struct str job,
                           uint64_t after,
                           uint64_t lost,
                           uint64_t tail,
                           struct buf *out);

#endif
