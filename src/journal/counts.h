/* What the journal counts.  Its thread changes the numbers; any other may look at them. */
#ifndef JOURNAL_COUNTS_H
#define JOURNAL_COUNTS_H

#include "base/histogram.h"
#include "jobs/job.h"
#include "record/record.h"

/* Why a job has failed, as far as the journal itself decided it. */
enum failure {
    FAILURE_WORKER, /* reported by the worker, or its process failed */
    FAILURE_RUN_DEADLINE,
    FAILURE_QUEUE_DEADLINE,
    FAILURE_ANSWER_DEADLINE,
    FAILURE_LEASE_EXPIRED,
    FAILURE_SERVER_RESTART,
    FAILURE_MAX
};

struct journal_counts {
    struct counter requests, commits, failed_commits;
    struct counter missing_rows; /* that a turn needed and had not read: mistakes of ours */
    struct counter last_commit;  /* of a change; milliseconds since 1970, 0: none yet */
    /* As clock_monotonic_us() tells it; 0: none yet. */
    struct counter last_commit_us;
    struct counter last_turn_us; /* there are several a second */
    struct counter last_failure_us;
    struct counter lost;        /* 1: because the database was deleted, moved or replaced */
    struct counter clock_steps; /* that were followed: see clock.c */

    /* Now: */
    struct counter jobs, queued, running, set_aside, waiting_leases;
    struct counter oldest_queued_us; /* since when; the same */

    /* Since the start, of what was committed: */
    struct counter records[REC_KIND_MAX];
    struct counter submitted;
    struct counter succeeded, cancelled, failed[FAILURE_MAX];
    struct counter retried, given_up; /* leases that were lost, and what became of the job */
    struct counter repeated;          /* batches that had come before */
    struct counter fenced;            /* requests of workers that no longer hold the job */
    struct counter bad_lines;
    struct counter not_stored; /* batches; their workers were told to try again */
    struct counter expired;    /* rows that retention has removed */

    struct histogram commit;     /* of one turn */
    struct histogram append;     /* from its arrival to its acknowledgement; each batch */
    struct histogram batch;      /* events of a batch */
    struct histogram queue_wait; /* until the first lease */
    struct histogram run;        /* from the first lease to the end */
    struct histogram cancel;     /* from the request to the end */
};

/* "run_deadline" */
const char *failure_name(enum failure failure);

/* --- internal to journal/ ----------------------------------------------------------- */

struct journal;
struct journal_request;

/* What a turn did: counted only when it is committed. */
struct tally {
    uint64_t records[REC_KIND_MAX];
    uint64_t retried, given_up, repeated;
};

void journal_counts_init(struct journal_counts *counts);
/* The turn is committed; @answered are its requests. */
void journal_count_committed(struct journal *j, const struct journal_request *answered);
/* It is not. */
void journal_count_failed(struct journal *j, const struct journal_request *answered);
/* The end of a turn: how things are now. */
void journal_count_look(struct journal *j);

#endif
