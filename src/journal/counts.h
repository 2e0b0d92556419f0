/* The journal's counters.  Its thread writes them; other threads may read them. */
#ifndef JOURNAL_COUNTS_H
#define JOURNAL_COUNTS_H

#include "base/histogram.h"
#include "jobs/job.h"
#include "record/record.h"

/* Why a job has failed; the journal itself decides all but the first. */
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
    struct counter missing_rows; /* rows that a turn needed and had not read: bugs */
    struct counter last_commit;  /* of a change; milliseconds since 1970, 0: none yet */
    /* On the clock of clock_monotonic_us(); 0: none yet. */
    struct counter last_commit_us;
    struct counter last_turn_us; /* several times a second */
    struct counter last_failure_us;
    struct counter lost; /* 1: commits fail: the database was deleted, moved or replaced */
    struct counter clock_steps; /* changes of the wall clock: see clock.c */

    /* Current values: */
    struct counter jobs, queued, running, set_aside, waiting_leases;
    struct counter oldest_queued_us; /* since when the oldest job waits, on the same clock */

    /* Since the start, committed only: */
    struct counter records[REC_KIND_MAX];
    struct counter submitted;
    struct counter succeeded, cancelled, failed[FAILURE_MAX];
    struct counter retried, given_up; /* lost leases: the job was requeued, or failed */
    struct counter repeated;          /* repeated batches */
    struct counter fenced;            /* requests of workers that no longer hold the lease */
    struct counter bad_lines;
    struct counter not_stored; /* batches; their workers were told to try again */
    struct counter expired;    /* rows that retention has deleted */

    struct histogram commit;     /* of one turn */
    struct histogram append;     /* from its arrival to its acknowledgement; each batch */
    struct histogram batch;      /* events of a batch */
    struct histogram queue_wait; /* until the first lease */
    struct histogram run;        /* from the first lease to the end */
    struct histogram cancel;     /* from the request to the end */
};

void journal_counts_init(struct journal_counts *counts);
/* Adds those of another journal, which another thread may be writing. */
void journal_counts_add(struct journal_counts *to, const struct journal_counts *from);
/* "run_deadline" */
const char *failure_name(enum failure failure);

/* --- internal to journal/ ----------------------------------------------------------- */

struct journal;
struct journal_request;

/* Counts of a turn: added only when it is committed. */
struct tally {
    uint64_t records[REC_KIND_MAX];
    uint64_t retried, given_up, repeated;
};

/* The turn is committed; @answered are its requests. */
void journal_count_committed(struct journal *j, const struct journal_request *answered);
/* The turn failed. */
void journal_count_failed(struct journal *j, const struct journal_request *answered);
/* At the end of a turn: updates the current values. */
void journal_count_look(struct journal *j);

#endif
