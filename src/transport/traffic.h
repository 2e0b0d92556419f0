/* What the readers of one loop are counted as, whatever their transport.  The loop changes
 * the numbers; any other thread may look at them. */
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

/* How asking for what comes after a cursor went. */
enum stream_resume {
    RESUME_OK,
    RESUME_GAP,   /* what follows the cursor is gone, or was never there */
    RESUME_EMPTY, /* there was nothing more */
    RESUME_MAX
};

struct traffic {
    struct counter open[TRANSPORT_MAX][DIALECT_COUNT]; /* by the number of dialect_at */
    struct counter opened[TRANSPORT_MAX][DIALECT_COUNT];
    struct counter closed[STREAM_END_MAX];
    struct counter resumed[RESUME_MAX];
    struct counter replayed; /* events that came from the store */
    struct counter bytes;
    struct histogram first_event; /* after the stream began */
    struct histogram lag;         /* records behind, when a page is read on the way */
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
