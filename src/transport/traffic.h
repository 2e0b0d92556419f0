/* What the readers of one loop are counted as, whatever their transport.  The loop changes
 * the numbers; any other thread may look at them. */
#ifndef TRANSPORT_TRAFFIC_H
#define TRANSPORT_TRAFFIC_H

#include "base/histogram.h"
#include "dialect/list.h"

struct dialect;

enum transport_kind {
    TRANSPORT_SSE,
    TRANSPORT_NDJSON,
    TRANSPORT_WEBSOCKET,
    TRANSPORT_POLL,
    TRANSPORT_MAX
};

/* Why a stream has ended. */
enum stream_end {
    STREAM_PEER,    /* the reader left */
    STREAM_DONE,    /* the job has ended, and all was sent */
    STREAM_SLOW,    /* the reader took nothing for too long */
    STREAM_SILENT,  /* it did not answer a ping */
    STREAM_REFUSED, /* it said what is not allowed */
    STREAM_DRAIN,
    STREAM_MAX_AGE,
    STREAM_DELETED,      /* the job was */
    STREAM_AUTH_EXPIRED, /* its token or ticket is good no longer */
    STREAM_FAILED,       /* memory or the store */
    STREAM_END_MAX
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
const char *stream_end_name(enum stream_end end);
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
