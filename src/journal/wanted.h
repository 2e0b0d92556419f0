/* What a turn wants from the store: a list of keys, read before its first request.
 *
 *     wants.c ──want_…──▶ list ──wanted_read──▶ store_read ──▶ known.h
 *
 * What is known or wanted already is not wanted again.  Rows may lead to others (an
 * Idempotency-Key to a job, the job to its run): then wants are collected once more, and read
 * in one more call.  How many calls that are depends on how far rows lead, never on the number
 * of requests.
 *
 * While the list is being checked, nothing is added to it: it is only noted that something is
 * not known.
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
    size_t n_read;    /* the first of them */
    bool has_more;    /* what is being read may lead to more */
    bool is_checking; /* nothing is added: is_missing says whether something would be */
    bool is_missing;
    int error;                    /* ERR_NOMEM: the turn fails */
    size_t n_new[STORE_KEYS_MAX]; /* rows that the turn may make, and that need keys */
};

void wanted_done(struct wanted *all);
/* A new turn. */
void wanted_clear(struct wanted *all);

/* Those that return a row return it if it is known by now; NULL: it is not there, or is being
 * read.  Who needs it to know what else to want calls want_more() then. */
const struct job_row *want_job(struct journal *j, struct str id);
const struct job_row *want_idempotency(struct journal *j, struct str key);
const struct thread_row *want_thread(struct journal *j, struct str id);
void want_more(struct journal *j);
void want_run(struct journal *j, int64_t job);
void want_questions(struct journal *j, int64_t job);
/* It has none. */
void want_no_questions(struct journal *j, int64_t job);
/* And its jobs. */
void want_thread_jobs(struct journal *j, struct str id);
void want_expired_threads(struct journal *j);
/* What the rows of a thread with open runs are needed for, unless they are in memory. */
void want_thread_of(struct active_job *job);
/* The newest that was saved of its thread. */
void want_state(struct active_job *job);
/* The values that its thread had before this run. */
void want_values(struct active_job *job);
/* Its fold, if it has to be rebuilt. */
void want_fold(struct active_job *job);
/* Of owner, ns and key. */
void want_item(struct journal *j, const struct item_row *row);
/* The version that counts; @version, or the newest (0). */
void want_assistant(struct journal *j, struct str id);
void want_assistant_version(struct journal *j, struct str id, int64_t version);
/* The turn may make one more row of this kind. */
void want_key(struct journal *j, enum store_keys kind);

/* Reads what the requests want, in one call; in one more when that leads to more wants. */
int wanted_read(struct journal *j, const struct journal_request *list);
/* Begins to check; wanted_check_end says whether everything that was wanted since is known. */
void wanted_check_begin(struct journal *j);
bool wanted_check_end(struct journal *j);
/* At the end of the turn: a fold that was rebuilt and not needed goes. */
void wanted_end_turn(struct journal *j);

#endif
