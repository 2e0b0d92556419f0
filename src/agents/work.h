/* A work: one leased job and the hands that do it.
 *
 * Loop thread only.  It ends by itself: when the hands are over and the journal has all
 * of its words, `ended` is called and the memory is gone. */
#ifndef AGENTS_WORK_H
#define AGENTS_WORK_H

#include "base/str.h"

#include <stdint.h>

struct environment;
struct exec_agent;
struct host;
struct journal_request;
struct work;

struct work_options {
    const struct host *host; /* borrowed; outlives it, as do the next two */
    const struct exec_agent *agent;
    const struct environment *env;
    void (*ended)(void *arg, struct work *w);
    void *arg;
};

/* Starts the job that @lease brought.  Hands that cannot begin are the job's failure, not this
 * call's: ERR_NOMEM is. */
int work_new(const struct work_options *options,
             const struct journal_request *lease,
             struct work **ret);

bool work_is(const struct work *w, int64_t key, int64_t attempt);

/* A cancel was requested. */
void work_cancel(struct work *w);
/* Hands the job back when the hands have stopped. */
void work_drain(struct work *w);
/* The same at once; what waits to be tried again is tried at once, for the last time. */
void work_stop(struct work *w);
/* A heartbeat now: there may be news. */
void work_ask(struct work *w);

#endif
