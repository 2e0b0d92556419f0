/* The fold: turns a job's events into its records, once.
 *
 * It decides everything that needs memory: execution, agent id, node, depth, section,
 * message id, first and last delta, the tool call of a tool run, durations, cards,
 * previews, artifacts, and what must be closed and how.
 *
 * It is a cache of the log (ARCHITECTURE.md, law 7).  Deciding what an event means only reads
 * the state; the state changes only when a finished record is applied.  So a fold that is
 * thrown away after record N and rebuilt from records 1..N goes on exactly as before.
 *
 * One fold, one job, one thread.  After an error other than ERR_CLOSED throw it away
 * and rebuild it. */
#ifndef INGEST_FOLD_H
#define INGEST_FOLD_H

#include "base/must_check.h"
#include "base/str.h"
#include "ingest/agent.h"
#include "ingest/event.h"
#include "record/record.h"

#include <stdint.h>

struct fold;

/* Takes one record; it and all it points to are borrowed for the call. */
typedef int (*fold_emit_cb)(void *arg, const struct record *rec);

struct fold_options {
    struct str job;            /* copied */
    const struct agent *agent; /* borrowed; outlives the fold */
    size_t field_limit;        /* bytes of one field; 0: the default, 64 KiB */
    int64_t attempt;
    fold_emit_cb emit;
    void *arg;
};

struct fold_stats {
    uint64_t records[REC_KIND_MAX];
    uint64_t repeats; /* tokens that only repeated another run's */
    uint64_t orphans; /* ends and streams of runs that were never announced or are closed */
    uint64_t lossy;   /* records whose encoding had lost something */
    uint64_t late;    /* events after the job's end */
    size_t open_runs;
    size_t open_questions;
};

MUST_CHECK int fold_new(const struct fold_options *options, struct fold **ret);
void fold_free(struct fold *f);

/* Takes one event of the line it was read from.  ERR_CLOSED after the job's end. */
MUST_CHECK int fold_event(struct fold *f,
                          const struct json *line,
                          const struct event *ev,
                          int64_t ts);

/* The first record, when the job exists before any event does. */
MUST_CHECK int fold_begin(struct fold *f, int64_t ts);
/* A client asked to cancel the job; fold_finish() records that it has stopped. */
MUST_CHECK int fold_cancel_requested(struct fold *f, struct str reason, int64_t ts);
/* The job is tried again: what the old attempt left open is closed as retried. */
MUST_CHECK int fold_new_attempt(struct fold *f, int64_t attempt, struct str why, int64_t ts);
/* Something happened outside of the worker that readers should know. */
MUST_CHECK int fold_warn(struct fold *f, struct str text, int64_t ts);
/* How many questions (and pauses) are open. */
size_t fold_open_questions(const struct fold *f);
/* Has the job ever asked a question or been paused? */
bool fold_has_asked(const struct fold *f);
bool fold_is_paused(const struct fold *f);
/* Pauses the job: it waits without a question. */
MUST_CHECK int fold_pause(struct fold *f, int64_t ts);
/* Resumes it: all open questions and pauses are resolved. */
MUST_CHECK int fold_resume(struct fold *f, int64_t ts);
/* The job starts with answers to questions of an earlier job: @ids is a JSON list. */
MUST_CHECK int fold_answered(struct fold *f, struct str ids, int64_t ts);

/* The worker's stream ended without an end of the job: decides between succeeded, waiting (no
 * record) and failed by what is open. */
MUST_CHECK int fold_end_of_stream(struct fold *f, int64_t ts);

/* How a job ends. */
struct job_ending {
    enum job_end end;
    struct str error, error_type; /* why; absent for a success */
    const yyjson_val *output;     /* of a success; NULL: none was given */
    struct str outcome;           /* of a success: "interrupted", or absent */
    struct str details;           /* of a failure: JSON, what else is known of it; or absent */
    struct str phase; /* of a failure: queue, worker, node, server; absent: by what ran */
};
/* Ends the job from outside. */
MUST_CHECK int fold_finish(struct fold *f, const struct job_ending *ending, int64_t ts);

/* Takes in a stored record, to rebuild the state; emits nothing.  The record's header need not
 * be set: the fold finds it. */
MUST_CHECK int fold_replay(struct fold *f, const struct record *rec);

uint64_t fold_seq(const struct fold *f); /* of the last record */
bool fold_ended(const struct fold *f);
/* How it ended; the texts are the fold's. */
struct fold_end {
    enum job_end end;
    struct str error, error_type;
};
void fold_end(const struct fold *f, struct fold_end *ret);
void fold_stats(const struct fold *f, struct fold_stats *ret);

#endif
