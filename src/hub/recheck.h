/* The re-check: hubs ask the store for changes that may have been lost.
 *
 * In a round, a thread of the pool reads the rows of the jobs that have readers on this loop:
 * one task at a time, each with a bounded number of jobs, until all were read.  A job that had
 * a change since the last round, or was read in it, is left out.  A job with new records is
 * treated as if its change had arrived.  With two rounds a second, a change that is lost is
 * noticed within a second, and a quiet job is read once a second.  So the work depends on the
 * number of quiet jobs with readers, not on that of readers or connections.
 *
 * Internal to hub/. */
#ifndef HUB_RECHECK_H
#define HUB_RECHECK_H

#include "base/must_check.h"
#include "hub/hub.h"
#include "hub/thread_pool.h"

enum { RECHECK_JOBS = 128 }; /* in one task */

/* A job, and its state in the store. */
struct recheck_job {
    char job[80]; /* its id */
    size_t job_n;
    int code; /* of reading it; ERR_NOT_FOUND: it was deleted */
    int64_t key;
    uint64_t last_seq;
    int64_t attempt;
    enum job_state state;
};

struct recheck {
    struct thread_task task;
    struct hub *hub;          /* borrowed */
    struct thread_pool *pool; /* borrowed */
    size_t n;
    struct recheck_job jobs[RECHECK_JOBS];
};

MUST_CHECK int recheck_new(struct hub *h, struct mailbox *box, struct recheck **ret);
/* Starts a round; does nothing while the last one is running. */
void recheck_start(struct recheck *r, struct thread_pool *pool);
/* A job was put at the beginning of the list: asks for it, if nothing is on its way; else the
 * next task does. */
void recheck_go_on(struct recheck *r);

/* --- by hub.c -------------------------------------------------------------------- */

/* The next jobs of this round that are to be read, at most @max; returns how many. */
size_t hub_quiet_jobs(struct hub *h, struct recheck_job *ret, size_t max);
void hub_begin_round(struct hub *h);
/* Handles what the store says of a job: maybe a missed change. */
void hub_rechecked(struct hub *h, const struct recheck_job *job);

#endif
