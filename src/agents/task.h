/* A task: one leased job and the executor that runs it.
 *
 * Loop thread only.  It ends by itself: when the executor has ended and the journal has stored
 * everything, `ended` is called and the memory is freed. */
#ifndef AGENTS_TASK_H
#define AGENTS_TASK_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct environment;
struct exec_agent;
struct host;
struct journal_request;
struct task;

struct task_options {
    const struct host *host; /* borrowed; outlives it, as do the next two */
    const struct exec_agent *agent;
    const struct environment *env;
    void (*ended)(void *arg, struct task *w);
    void *arg;
};

/* Starts the job of @lease.  If the executor cannot start, the job fails, not this call; only
 * ERR_NOMEM is returned. */
MUST_CHECK int task_new(const struct task_options *options,
                        const struct journal_request *lease,
                        struct task **ret);

bool task_is(const struct task *w, int64_t key, int64_t attempt);

/* A cancel was requested. */
void task_cancel(struct task *w);
/* Stops the executor, and then requeues the job. */
void task_drain(struct task *w);
/* The same at once; a request that waits for a retry is sent at once, for the last time. */
void task_stop(struct task *w);
/* Sends a heartbeat now, to get the journal's news for the worker. */
void task_ask(struct task *w);

#endif
