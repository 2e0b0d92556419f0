/* Why a stream ends: one table with the texts and codes for the wire, the log and the
 * metrics. */
#ifndef TRANSPORT_STREAM_END_H
#define TRANSPORT_STREAM_END_H

#include <stdbool.h>

enum stream_end {
    STREAM_PEER,    /* the reader disconnected */
    STREAM_DONE,    /* the job has ended, and all was sent */
    STREAM_SLOW,    /* the reader took nothing for too long */
    STREAM_SILENT,  /* it did not answer a ping */
    STREAM_REFUSED, /* it sent something that is not allowed */
    STREAM_DRAIN,
    STREAM_MAX_AGE,
    STREAM_DELETED, /* the job was deleted */
    STREAM_AUTH_EXPIRED,
    STREAM_FAILED,    /* the store cannot be read */
    STREAM_NO_MEMORY, /* counted as failed */
    STREAM_END_MAX
};

struct stream_end_info {
    const char *name;        /* in the metrics; NULL: counted as `counted` */
    enum stream_end counted; /* as which it is counted */
    const char *reason;      /* in the log and in a WebSocket close frame */
    unsigned code;           /* of the WebSocket close frame */
    bool may_return;         /* tell the reader when to reconnect */
};

const struct stream_end_info *stream_end_info(enum stream_end end);

#endif
