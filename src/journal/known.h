/* The rows that a turn has at hand: what was read before it began, and what it has changed of
 * that since, so that a turn sees its own writes.
 *
 *     wants.c asks ──▶ store_read ──▶ known ◀── the turn's writes
 *                                       │
 *                                       └──▶ read_job, read_thread, …
 *
 * Whatever is looked up and was not asked for is read in the middle of the turn, behind a flush
 * of what was gathered.  read_in_turn() is the one way to do that: its comment names those who
 * always do, and journal_counts.mid_turn_reads counts all.
 *
 * Internal to journal/; the journal's thread only.  Texts live until the next turn. */
#ifndef JOURNAL_KNOWN_H
#define JOURNAL_KNOWN_H

#include "base/arena.h"
#include "base/table.h"
#include "store/checkpoints.h"
#include "store/read.h"

struct active_job;
struct journal;
struct thread;

struct known_job {
    struct job_row row;
    bool is_there;
};

/* A job of a thread. */
struct known_run {
    struct known_run *next;
    struct str id;
    int64_t key;
};

struct known_thread {
    struct thread_row row;
    bool is_there;
    bool has_jobs;                     /* `jobs` are all that were there before the turn */
    bool takes_jobs;                   /* they come with those whose time has come */
    struct known_run *jobs;            /* oldest first */
    struct known_thread *next_expired; /* of those whose time had come before the turn */
};

struct known_run_row {
    struct run_row row;
    bool is_there;
};

struct known_questions {
    struct question_row *rows;
    size_t n, cap;
};

struct known {
    struct table rows; /* by kind, and id or key; in the journal's `mem` */
    struct known_thread *expired;
    struct store_want *wants; /* owned; what is to be read before the turn */
    size_t n_wants, cap_wants;
    int error;                    /* of collecting wants: ERR_NOMEM; the turn fails */
    size_t n_new[STORE_KEYS_MAX]; /* rows that the turn may make, and that need keys */
};

void known_init(struct known *k);
void known_done(struct known *k);
/* A new turn: nothing is known. */
void known_clear(struct known *k);

/* --- wanted before the turn: each is read once -------------------------------------------- */

void want_job(struct journal *j, struct str id);
void want_idempotency(struct journal *j, struct str key);
void want_run(struct journal *j, int64_t job);
void want_questions(struct journal *j, int64_t job);
void want_thread(struct journal *j, struct str id);
/* And its jobs. */
void want_thread_jobs(struct journal *j, struct str id);
void want_expired_threads(struct journal *j);
/* What the rows of a thread with open runs are needed for, unless they are in memory. */
void want_thread_of(struct active_job *l);
/* Its fold, if it has to be rebuilt. */
void want_fold(struct active_job *l);
/* Reads all of it, in one call. */
int known_read(struct journal *j);
/* At the end of the turn: a fold that was rebuilt and not needed goes. */
void known_end_turn(struct journal *j);

/* --- looked up in the turn -----------------------------------------------------------------
 */

/* ERR_NOT_FOUND when there is none; any other error is the turn's. */
int read_job(struct journal *j, struct str id, struct job_row *ret, struct error *err);
int read_job_by_idempotency(struct journal *j,
                            struct str key,
                            struct job_row *ret,
                            struct error *err);
int read_run(struct journal *j, int64_t job, struct run_row *ret, struct error *err);
int read_questions(struct journal *j, int64_t job, store_question_cb cb, void *arg);
int read_thread(struct journal *j, struct str id, struct thread_row *ret, struct error *err);
/* Of a thread with open runs; without its values. */
int read_thread_by_key(struct journal *j, int64_t key, struct thread_row *ret);
/* Its jobs, as known_run, in @mem unless they are known: those that there were before the turn
 * and that it has not deleted. */
int read_thread_jobs(struct journal *j,
                     struct str id,
                     int64_t key,
                     struct arena *mem,
                     struct known_run **ret);

/* Has the turn deleted this job, which had ended? */
bool known_is_gone(const struct journal *j, struct str id, int64_t key);

/* --- always read in the middle of the turn -------------------------------------------------
 */

/* The records of a job whose fold was not wanted before the turn. */
int read_records(struct journal *j, int64_t job, uint64_t after, store_record_cb cb, void *arg);
/* For a run that never was: the earlier runs of its thread, and a record of one of them. */
int read_earlier_runs(struct journal *j, int64_t thread, store_job_cb cb, void *arg);
int read_record(struct journal *j, int64_t job, uint64_t seq, struct str *ret);
/* For a run that ends with a question: the newest that was saved of its thread. */
int read_state(struct journal *j, struct str thread, store_state_cb cb, void *arg);
/* Before anything is read in the middle of a turn: writes what was gathered.  These always do:
 * the three above, whose need shows only when a run has come to its end; items whose time
 * begins anew, and assistants (items.c, assistants.c), which few requests are about; and
 * questions of a job that asks in a later attempt. */
int read_in_turn(struct journal *j);
/* --- changed by the turn: for gather.c ------------------------------------------------------
 */

/* NULL: nothing is known of it. */
struct known_job *known_find_job(const struct journal *j, struct str id);
struct known_thread *known_find_thread(const struct journal *j, int64_t key);
struct known_questions *known_find_questions(const struct journal *j, int64_t job);
/* Rows that the turn makes; ERR_NOMEM.  The texts of jobs and runs are borrowed until its end.
 */
int known_new_job(struct journal *j, const struct job_row *row);
int known_new_run(struct journal *j, const struct run_row *row);
struct known_thread *known_new_thread(struct journal *j, struct str id); /* NULL: no memory */
/* The job is gone. */
int known_forget_job(struct journal *j, struct str id);
/* These copy the texts. */
int known_put_thread(struct journal *j, struct known_thread *to, const struct thread_row *row);
int known_add_question(struct journal *j,
                       struct known_questions *q,
                       const struct question_row *row);
/* Gives @t the row of the thread of this key, if that is known. */
void known_keep_thread(struct journal *j, struct thread *t, int64_t key);

#endif
