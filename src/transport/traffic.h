/* Counters of the readers of one loop, for all transports.  The loop writes them; other threads
 * may read them. */
#ifndef TRANSPORT_TRAFFIC_H
#define TRANSPORT_TRAFFIC_H

#include "base/histogram.h"
#include "dialect/list.h"
#include "transport/stream_end.h"

struct dialect;

enum transport_kind {
    TRANSPORT_SSE,
    TRANSPORT_NDJSON,
    TRANSPORT_WEBSOCKET,
    TRANSPORT_POLL,
    TRANSPORT_MAX
};

/* Outcomes of a resume after a cursor. */
enum stream_resume {
    RESUME_OK,
    RESUME_GAP,   /* records after the cursor are deleted, or the cursor is not of this job */
    RESUME_EMPTY, /* nothing came after the cursor */
    RESUME_MAX
};

struct traffic {
    struct counter open[TRANSPORT_MAX][DIALECT_COUNT]; /* index: dialect_at */
    struct counter opened[TRANSPORT_MAX][DIALECT_COUNT];
    struct counter closed[STREAM_END_MAX];
    struct counter resumed[RESUME_MAX];
    struct counter replayed; /* events that were read from the store */
    struct counter bytes;
    struct histogram first_event; /* delay after the stream began */
    struct histogram lag;         /* records behind, when a further page is read */
};

const char *transport_name(enum transport_kind kind);
const char *stream_resume_name(enum stream_resume result);

void traffic_init(struct traffic *t);
/* Adds @from to @to. */
void traffic_merge(struct traffic *to, const struct traffic *from);
void traffic_opened(struct traffic *t, enum transport_kind kind, const struct dialect *dialect);
void traffic_closed(struct traffic *t,
                    enum transport_kind kind,
                    const struct dialect *dialect,
                    enum stream_end why);

#endif
