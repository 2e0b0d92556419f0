/* The rows that a turn wants from the store: a list of keys, read before its first request.
 *
 *     wants.c ──want_…──▶ list ──wanted_read──▶ store_read ──▶ known.h
 *
 * A row that is known or already wanted is not added again.  Rows may refer to others (an
 * Idempotency-Key to a job, the job to its run): then wants are collected again, and read in
 * one more call.  The number of calls depends on the length of such chains, never on the number
 * of requests.
 *
 * While checking, nothing is added to the list: it is only recorded whether a row is unknown.
 *
 * Internal to journal/; the journal's thread only. */
#ifndef JOURNAL_WANTED_H
#define JOURNAL_WANTED_H

#include "store/read.h"

struct active_job;
struct journal;
struct journal_request;

struct wanted {
    struct store_want *list; /* owned */
    size_t n, cap;
    size_t n_read;    /* how many of these were read */
    bool has_more;    /* the rows being read may refer to others */
    bool is_checking; /* only checks: is_missing tells whether a row is unknown */
    bool is_missing;
    int error;                    /* ERR_NOMEM: the turn fails */
    size_t n_new[STORE_KEYS_MAX]; /* rows that the turn may create, which need keys */
};

void wanted_done(struct wanted *all);
/* Begins a turn. */
void wanted_clear(struct wanted *all);

/* Functions that return a row return it if it is known; NULL: it does not exist, or is being
 * read.  A caller that needs it to find further wants then calls want_more(). */
const struct job_row *want_job(struct journal *j, struct str id);
const struct job_row *want_idempotency(struct journal *j, struct str key);
const struct thread_row *want_thread(struct journal *j, struct str id);
void want_more(struct journal *j);
void want_run(struct journal *j, int64_t job);
void want_questions(struct journal *j, int64_t job);
/* The job has no questions. */
void want_no_questions(struct journal *j, int64_t job);
/* The thread and its jobs. */
void want_thread_jobs(struct journal *j, struct str id);
void want_expired_threads(struct journal *j);
/* The row of the job's thread, unless it is in memory. */
void want_thread_of(struct active_job *job);
/* The newest saved state of its thread. */
void want_state(struct active_job *job);
/* The values that its thread had before this run. */
void want_values(struct active_job *job);
/* Its fold, if it has to be rebuilt. */
void want_fold(struct active_job *job);
/* By owner, ns and key. */
void want_item(struct journal *j, const struct item_row *row);
/* The current version; the second: @version, or the newest (0). */
void want_assistant(struct journal *j, struct str id);
void want_assistant_version(struct journal *j, struct str id, int64_t version);
void want_cron(struct journal *j, struct str id);
void want_webhook(struct journal *j, struct str id);
/* The open jobs of the owner in other shards, if there are any. */
void want_owner(struct journal *j, struct str owner);
/* The turn may create one more row of this kind. */
void want_key(struct journal *j, enum store_keys kind);

/* Reads the rows that the requests want, in one call; in further calls if these lead to more
 * wants. */
int wanted_read(struct journal *j, const struct journal_request *list);
/* Begins a check; wanted_check_end says whether everything that was wanted since then is
 * known. */
void wanted_check_begin(struct journal *j);
bool wanted_check_end(struct journal *j);
/* At the end of the turn: frees folds that were rebuilt and not needed. */
void wanted_end_turn(struct journal *j);

#endif
