/* A pool process: one long-lived process of a pool, and the jobs in it.
 *
 *     STARTING ──"ready"──▶ READY ──retire──▶ RETIRING ──its last job ended──▶ LEAVING ──▶ GONE
 *
 * Only a READY one takes jobs.  Its end in any state but LEAVING is a crash: its jobs are lost
 * and use up an attempt.  Jobs that we stop are requeued and do not use up an attempt.
 *
 * Loop thread only. */
#ifndef AGENTS_POOL_POOL_PROCESS_H
#define AGENTS_POOL_POOL_PROCESS_H

#include "base/must_check.h"
#include "agents/process/child.h"
#include "agents/lines.h"
#include "agents/pool/pool_job.h"
#include "agents/tail.h"

struct environment;
struct exec_agent;
struct host;
struct pool_process;
struct report;

enum pool_process_state {
    POOL_PROCESS_STARTING,
    POOL_PROCESS_READY,
    POOL_PROCESS_RETIRING,
    POOL_PROCESS_LEAVING,
    POOL_PROCESS_GONE,
    POOL_PROCESS_STATE_MAX
};

struct pool_process_events {
    /* Its state or its free slots have changed. */
    void (*changed)(struct pool_process *m);
    /* It has answered a call.  False when it did not have that call. */
    bool (*answered)(struct pool_process *m, const struct report *report);
    /* It has finished a job, so it works. */
    void (*worked)(struct pool_process *m);
    /* Called once: the process has ended.  @why is the reason for the log when we did not end
     * it, else absent. */
    void (*over)(struct pool_process *m, struct str why);
    /* Its memory may be freed. */
    void (*closed)(struct pool_process *m);
};

struct pool_process_options {
    const struct host *host; /* borrowed; outlives it, like all of these */
    const struct exec_agent *agent;
    const struct environment *env;
    const struct pool_process_events *events;
    void *owner;
};

struct pool_process {
    struct pool_process *next; /* in the owner's list */
    struct pool_process_options opt;
    enum pool_process_state state;
    struct child child;
    struct lines lines;
    struct tail tail;
    struct pool_job *jobs; /* owned; they free themselves */
    size_t n_jobs;         /* pool jobs that are not LEFT */
    uint64_t n_taken;
    uint64_t n_bad;    /* malformed lines */
    const char *fault; /* why we killed it, or NULL */
    uv_timer_t timer;
    int64_t started;  /* on the loop's clock, like the next two */
    int64_t deadline; /* STARTING: to become ready; RETIRING: for its jobs to end; LEAVING:
                         until SIGTERM */
    int64_t alarm;    /* when the timer fires; INT64_MAX: never */
    int start_error;  /* why it could not be started (a libuv code), or 0 */
    unsigned n_open;  /* open handles: child, timer */
    bool takes_calls; /* as its ready report said */
    bool is_outdated; /* retire it as soon as it is ready */
    bool requeues;    /* jobs that it does not finish are requeued */
};

/* Starts a process.  Calls no event from inside this call: if the process cannot be started,
 * `over` follows soon.  ERR_NOMEM: there is no pool process. */
MUST_CHECK int pool_process_new(const struct pool_process_options *options,
                                struct pool_process **ret);

/* Its number of free slots. */
size_t pool_process_places(const struct pool_process *m);
/* Milliseconds since its start. */
int64_t pool_process_age(const struct pool_process *m);

/* Only with a free slot.  ERR_NOMEM: the job was not taken. */
MUST_CHECK int pool_process_take(struct pool_process *m, const struct journal_request *lease);
/* NULL when it does not have that job. */
struct pool_job *pool_process_find(struct pool_process *m, struct str job, int64_t attempt);

/* It gets no more jobs, and ends after its last one; a starting one as soon as it is ready. */
void pool_process_outdate(struct pool_process *m);
/* SIGTERM, SIGKILL after the grace time; jobs that it has not finished by then are requeued. */
void pool_process_drain(struct pool_process *m);
/* The same with SIGKILL; requests that wait for a retry are sent at once, for the last time. */
void pool_process_stop(struct pool_process *m);

#endif
