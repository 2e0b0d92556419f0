/* A job of an ARQ queue as the executor of a task: somebody else's Python worker does it.
 *
 *     start ──enqueue──▶ waits in the queue ──▶ in progress ──▶ result ──▶ over
 *                             │                     │ no sign of its worker for as long as
 *                             └─ it has expired     └ a lease: lost
 *
 * What it does meanwhile comes over its channel (bus/), and so may its end; the result in Redis
 * is looked for besides.  Stopping it aborts the job, as Job.abort() does.  When the server
 * goes down it is left alone: the next one finds it under the same id. */
#ifndef AGENTS_ARQ_ARQ_H
#define AGENTS_ARQ_ARQ_H

#include "base/str.h"

struct executor;
struct redis;

/* The connection that all of them use.  Only one at a time may watch keys on it. */
struct arq_line {
    struct redis *redis;
    bool is_watching;
};

/* Takes over what @common says, but for its ops.  NULL: out of memory. */
struct executor *arq_new(const struct executor *common);

#endif
