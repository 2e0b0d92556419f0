/* The re-check: what hubs ask the store when hints may get lost.
 *
 * About once a second a hub takes the jobs that are read on its loop and of which nothing was
 * heard meanwhile, and has a thread of the pool read how far they are: one task at a time, each
 * of a bounded number of jobs, until all were asked for.  A job that has gone on is treated as
 * if its hint had come.  So the work depends on the number of quiet jobs with readers, not on
 * that of readers or connections.
 *
 * Internal to hub/. */
#ifndef HUB_RECHECK_H
#define HUB_RECHECK_H

#include "base/must_check.h"
#include "hub/hub.h"
#include "hub/thread_pool.h"

enum { RECHECK_JOBS = 128 }; /* in one task */

/* A job, and what the store says of it. */
struct recheck_job {
    char job[80]; /* its id */
    size_t job_n;
    int code; /* of reading it; ERR_NOT_FOUND: it is gone */
    int64_t key;
    uint64_t last_seq;
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
/* Begins a round; nothing while the last one goes on. */
void recheck_start(struct recheck *r, struct thread_pool *pool);

/* --- by hub.c -------------------------------------------------------------------- */

/* The next quiet jobs of this round, at most @max; returns how many. */
size_t hub_quiet_jobs(struct hub *h, struct recheck_job *ret, size_t max);
void hub_begin_round(struct hub *h);
/* What the store says of a job: news, or nothing. */
void hub_rechecked(struct hub *h, const struct recheck_job *job);

#endif
