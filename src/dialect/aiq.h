/* The frames of `aiq` that are made for one connection, not from a record.
 *
 * Each appends one payload; none has an SSE id, nor an id of its own.  The name that
 * goes with it is the payload's `type`.  @ms is the time of sending. */
#ifndef DIALECT_AIQ_H
#define DIALECT_AIQ_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

enum aiq_status {
    AIQ_SUBMITTED,
    AIQ_RUNNING,
    AIQ_SUCCESS,
    AIQ_FAILURE,
    AIQ_INTERRUPTED, /* cancelled by the user */
    AIQ_STATUS_MAX
};

/* "SUCCESS"; in lower case when @compat. */
struct str aiq_status_name(enum aiq_status status, bool compat);

/* stream.mode: polling, live or pubsub. */
void aiq_put_stream_mode(struct buf *b, int64_t ms, struct str mode);

/* job.status.  @error may be absent; @reconnected is only said when it is so. */
void aiq_put_job_status(struct buf *b,
                        int64_t ms,
                        struct str status,
                        struct str error,
                        bool reconnected);

/* job.heartbeat. */
void aiq_put_heartbeat(struct buf *b, int64_t ms, uint64_t uptime_seconds);

/* job.shutdown. */
void aiq_put_shutdown(struct buf *b, int64_t ms);

#endif
