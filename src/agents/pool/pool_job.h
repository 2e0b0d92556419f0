/* A pool job: one job in a process of a pool.
 *
 *     WORKING ──cancel, lost──▶ TOLD ("cancel" on stdin) ──▶ LEFT ──session over──▶ closed
 *        └──────────────── finish, return ────────────────────▲
 *
 * The process has the job until the pool job is LEFT: the process reported that, or it ended,
 * or it did not stop the job within the grace time.  Waiting lines and the final request are
 * sent to the journal after that.
 *
 * Loop thread only. */
#ifndef AGENTS_POOL_POOL_JOB_H
#define AGENTS_POOL_POOL_JOB_H

#include "base/must_check.h"
#include "agents/lease_session.h"

struct child;
struct last_report;
struct report;
struct pool_job;

enum pool_job_state { POOL_JOB_WORKING, POOL_JOB_TOLD, POOL_JOB_LEFT, POOL_JOB_STATE_MAX };

struct pool_job_events {
    /* The process was asked to stop it: pool_job_next has changed. */
    void (*told)(struct pool_job *s);
    /* Called once: the process no longer has the job; @finished: it reported the end itself. */
    void (*left)(struct pool_job *s, bool finished);
    /* Lines were stored: there is room for more. */
    void (*stored)(struct pool_job *s);
    /* Its memory may be freed. */
    void (*closed)(struct pool_job *s);
};

struct pool_job {
    struct pool_job *next; /* in the owner's list */
    void *owner;
    const struct pool_job_events *events;
    struct child *child; /* borrowed: the process */
    struct lease_session session;
    enum pool_job_state state;
    int64_t grace_ms;
    int64_t heard; /* the last sign of life; on the loop's clock, like the next */
    int64_t stop_by;
    bool is_cancelled;
    bool is_paused;  /* the process was told to pause it */
    bool is_doubted; /* its lease has run out: lost unless the pipe has a sign of life */
};

/* Sends the job of @lease to the process.  The pool job is LEFT at once when the job was
 * cancelled before, or could not be sent.  ERR_NOMEM: there is no pool job. */
MUST_CHECK int pool_job_new(const struct host *host,
                            struct str agent,
                            struct child *child,
                            int64_t grace_ms,
                            const struct journal_request *lease,
                            const struct pool_job_events *events,
                            void *owner,
                            struct pool_job **ret);

/* Handles a report of the process about the job. */
void pool_job_hear(struct pool_job *s, const struct report *report);
/* A cancel was requested. */
void pool_job_cancel(struct pool_job *s);

/* Timer: there was no sign of life for the time of the lease.  @is_heard: we were reading from
 * the process, so the silence is its fault. */
void pool_job_look(struct pool_job *s, bool is_heard);
/* It did not stop within the grace time: call pool_job_desert next. */
bool pool_job_is_stuck(const struct pool_job *s);
/* When to call one of these two, on the loop's clock; INT64_MAX: never. */
int64_t pool_job_next(const struct pool_job *s);

/* The process has ended, or we no longer wait for it; @word is the job's final request, unless
 * it was cancelled or has one already. */
void pool_job_desert(struct pool_job *s, const struct last_report *word);

#endif
