/* A pool job: one job in a process of a pool.
 *
 *     WORKING ──cancel, lost──▶ TOLD ("cancel" on stdin) ──▶ LEFT ──session over──▶ closed
 *        └──────────────── finish, return ────────────────────▲
 *
 * The process has the job until the pool job is LEFT: it said so, or it is gone, or it did not
 * stop within the grace time.  What is still to be sent to the journal is sent after that.
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
    /* Once: the process no longer has it; @finished: it reported the end itself. */
    void (*left)(struct pool_job *s, bool finished);
    /* Lines are stored: there is room. */
    void (*stored)(struct pool_job *s);
    /* Its memory goes. */
    void (*closed)(struct pool_job *s);
};

struct pool_job {
    struct pool_job *next; /* the owner's */
    void *owner;
    const struct pool_job_events *events;
    struct child *child; /* borrowed: the process */
    struct lease_session session;
    enum pool_job_state state;
    int64_t grace_ms;
    int64_t heard; /* the last sign of life; on the loop's clock, like the next */
    int64_t stop_by;
    bool is_cancelled;
    bool is_paused;  /* and was told so */
    bool is_doubted; /* its lease has run out, and what is in the pipe is read first */
};

/* Gives the job of @lease to the process.  The pool job is LEFT already when the job was
 * cancelled before, or could not be given.  ERR_NOMEM: there is no pool job. */
MUST_CHECK int pool_job_new(const struct host *host,
                            struct str agent,
                            struct child *child,
                            int64_t grace_ms,
                            const struct journal_request *lease,
                            const struct pool_job_events *events,
                            void *owner,
                            struct pool_job **ret);

/* Reports of the process about it. */
void pool_job_hear(struct pool_job *s, const struct report *report);
/* A cancel was requested. */
void pool_job_cancel(struct pool_job *s);

/* Timer: the lease had no sign of life.  @is_heard: we have read from the process, so the
 * silence is its own. */
void pool_job_look(struct pool_job *s, bool is_heard);
/* It did not stop within the grace time: pool_job_desert is next. */
bool pool_job_is_stuck(const struct pool_job *s);
/* When one of these two is to be called, on the loop's clock; INT64_MAX: never. */
int64_t pool_job_next(const struct pool_job *s);

/* The process is gone, or no longer waited for; @word is the result for the job, unless it was
 * cancelled or has its final request. */
void pool_job_desert(struct pool_job *s, const struct last_report *word);

#endif
