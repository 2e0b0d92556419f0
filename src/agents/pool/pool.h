/* A pool: the processes of one agent, and which of them gets a job.
 *
 *     a job waits, and no pool process has a place ──▶ another pool process, up to `size`
 *     a pool process is gone, and fewer than `warm` are left ──▶ another one, after a pause if
 * it was not us who ended it
 *
 *     a file that it watches has changed ──▶ other pool processes in the place of all
 *
 * The pauses grow while nothing works, and end with the first job that is finished.
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
    /* A slot may be free, or no process is left.  Also from inside of pool_stop. */
    void (*changed)(void *arg);
    /* A process has answered a call; false when it was not asked. */
    bool (*answered)(void *arg, const struct pool_process *m, const struct report *report);
    /* A process is gone. */
    void (*gone)(void *arg, const struct pool_process *m);
    void *arg;
};

/* Begins with its warm pool processes when the loop runs. */
MUST_CHECK int pool_new(const struct pool_options *options, struct pool **ret);
/* After the loop has ended. */
void pool_free(struct pool *t);

bool pool_has_place(const struct pool *t);
/* ERR_BUSY: the place has gone, ERR_NOMEM.  Nothing was taken then. */
MUST_CHECK int pool_take(struct pool *t, const struct journal_request *lease);
/* Without a place: would more pool processes be started if jobs waited? */
bool pool_may_grow(const struct pool *t);
/* So many jobs wait. */
void pool_need(struct pool *t, uint64_t waiting);

/* The process that is asked next; NULL: none takes calls. */
struct pool_process *pool_callee(const struct pool *t);
/* Starts a process, if there is none. */
void pool_wake(struct pool *t);

/* False when it does not have that job. */
bool pool_cancel(struct pool *t, int64_t key, int64_t attempt);
/* Sends a heartbeat now, to get what the journal has for the worker. */
bool pool_ask(struct pool *t, int64_t key, int64_t attempt);

/* Processes that are not gone and jobs that are not. */
size_t pool_size(const struct pool *t);
/* No more pool processes; see pool_process_drain and pool_process_stop. */
void pool_drain(struct pool *t);
void pool_stop(struct pool *t);
/* When its size is 0 after a stop. */
void pool_close(struct pool *t);

#endif
