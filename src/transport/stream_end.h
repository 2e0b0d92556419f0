/* Why a stream ends, and what is said of it: one table for the wire, the log and the metrics.
 */
#ifndef TRANSPORT_STREAM_END_H
#define TRANSPORT_STREAM_END_H

#include <stdbool.h>

enum stream_end {
    STREAM_PEER,    /* the reader left */
    STREAM_DONE,    /* the job has ended, and all was sent */
    STREAM_SLOW,    /* the reader took nothing for too long */
    STREAM_SILENT,  /* it did not answer a ping */
    STREAM_REFUSED, /* it said what is not allowed */
    STREAM_DRAIN,
    STREAM_MAX_AGE,
    STREAM_DELETED, /* the job was */
    STREAM_AUTH_EXPIRED,
    STREAM_FAILED,    /* the store cannot be read */
    STREAM_NO_MEMORY, /* counted as failed */
    STREAM_END_MAX
};

struct stream_end_info {
    const char *name;        /* in the metrics; NULL: counted under `counted` */
    enum stream_end counted; /* as which it is counted */
    const char *reason;      /* in words, in the log and in a WebSocket's close frame */
    unsigned code;           /* of that frame */
    bool may_return;         /* the reader is told when to connect again */
};

const struct stream_end_info *stream_end_info(enum stream_end end);

#endif
