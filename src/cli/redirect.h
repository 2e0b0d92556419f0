/* Rewrites requests to a server that has one job: a submission gets that job.
 *
 *     POST /v1/jobs                ─▶ GET /v1/jobs/JOB
 *     POST /v1/jobs/async/submit   ─▶ GET /v1/jobs/async/job/JOB
 *
 * All else passes unchanged; what cannot be parsed (a body without a length, another protocol
 * after an upgrade) does so until the connection ends.  Pure, one connection each. */
#ifndef CLI_REDIRECT_H
#define CLI_REDIRECT_H

#include "base/buf.h"

#include <stdint.h>

struct redirect {
    struct str job;     /* borrowed; its id, fit for a path */
    struct buf head;    /* of the request that is coming in */
    uint64_t body_left; /* of the one before */
    bool drops;         /* that body */
    bool passes;        /* everything, from here on */
};

void redirect_init(struct redirect *r, struct str job);
void redirect_done(struct redirect *r);

/* Appends what to forward of the next @bytes to @out, whose error says if memory ran out. */
void redirect_feed(struct redirect *r, struct str bytes, struct buf *out);

#endif
