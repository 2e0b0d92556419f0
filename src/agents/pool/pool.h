/* A pool: the processes of one agent.  It decides which of them gets a job.
 *
 * When a job waits and no process has a free slot, it starts another process, up to `size`.
 * When a process has ended and fewer than `warm` are left, it starts another one, after a pause
 * if the process was not told to end. When a watched file has changed, it replaces all
 * processes.
 *
 * The pauses grow with each failure, and end with the first job that is finished.
 *
 * Loop thread only. */
#ifndef AGENTS_POOL_POOL_H
#define AGENTS_POOL_POOL_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct environment;
struct exec_agent;
struct host;
struct journal_request;
struct pool_process;
struct report;
struct pool;

struct pool_options {
    const struct host *host; /* borrowed; outlives it, like the next two */
    const struct exec_agent *agent;
    const struct environment *env;
    /* A slot may be free, or no process is left.  Also called from inside of pool_stop. */
    void (*changed)(void *arg);
    /* A process has answered a call; false when it did not have that call. */
    bool (*answered)(void *arg, const struct pool_process *m, const struct report *report);
    /* A process has ended. */
    void (*gone)(void *arg, const struct pool_process *m);
    void *arg;
};

/* Its warm processes are started when the loop runs. */
MUST_CHECK int pool_new(const struct pool_options *options, struct pool **ret);
/* After the loop has ended. */
void pool_free(struct pool *t);

bool pool_has_place(const struct pool *t);
/* ERR_BUSY: no slot is free, ERR_NOMEM.  The job was not taken then. */
MUST_CHECK int pool_take(struct pool *t, const struct journal_request *lease);
/* When no slot is free: would it start more processes if jobs waited? */
bool pool_may_grow(const struct pool *t);
/* Sets the number of waiting jobs. */
void pool_need(struct pool *t, uint64_t waiting);

/* The process that gets the next call; NULL: none takes calls. */
struct pool_process *pool_callee(const struct pool *t);
/* Starts a process, if there is none. */
void pool_wake(struct pool *t);

/* False when the pool does not have that job. */
bool pool_cancel(struct pool *t, int64_t key, int64_t attempt);
/* Sends a heartbeat now, to get the journal's news for the worker. */
bool pool_ask(struct pool *t, int64_t key, int64_t attempt);

/* The number of processes and jobs that have not ended. */
size_t pool_size(const struct pool *t);
/* Starts no more processes; see pool_process_drain and pool_process_stop. */
void pool_drain(struct pool *t);
void pool_stop(struct pool *t);
/* Only after a stop, when its size is 0. */
void pool_close(struct pool *t);

#endif
