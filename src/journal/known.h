/* The rows that a turn knows: those that were read before it began, with the turn's own
 * changes, so that a turn sees its own writes.
 *
 *     wants.c asks ──▶ store_read ──▶ known ◀── gather.c: the turn's writes
 *                                       │
 *                                       └──▶ read_job, read_thread, …
 *
 * Nothing is read from the store in the middle of a turn.  A request whose rows are not all
 * known is put off to the next turn, with all requests after it (journal.c).  A write whose
 * outcome only the store knows (a newer state of a thread, an item's creation) makes the row
 * unknown: later requests that need it are put off.
 *
 * Internal to journal/; the journal's thread only.  Texts live until the next turn. */
#ifndef JOURNAL_KNOWN_H
#define JOURNAL_KNOWN_H

#include "base/arena.h"
#include "base/table.h"
#include "store/read.h"

struct active_job;
struct journal;
struct thread;

/* Kinds of known rows: the namespaces of the table. */
enum known_kind {
    KNOWN_JOB,         /* struct known_job */
    KNOWN_IDEMPOTENCY, /* struct known_job */
    KNOWN_RUN,         /* struct known_run_row */
    KNOWN_QUESTIONS,   /* struct known_questions */
    KNOWN_THREAD,      /* struct known_thread */
    KNOWN_THREAD_KEY,  /* struct known_thread */
    KNOWN_THREAD_OF,   /* wanted only: the row is in the thread itself */
    KNOWN_FOLD,        /* wanted only: the fold is in the job itself */
    KNOWN_STATE,       /* struct known_text, by the thread's id */
    KNOWN_VALUES,      /* struct known_text, by the run's key */
    KNOWN_ITEM,        /* struct known_item */
    KNOWN_ASSISTANT,   /* struct known_assistant */
    KNOWN_ASSISTANT_VERSION,
    KNOWN_CRON,    /* struct known_cron */
    KNOWN_WEBHOOK, /* struct known_webhook */
    KNOWN_OWNER    /* struct owner_counts: of other shards */
};

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
    bool has_jobs;                     /* `jobs` has all that existed before the turn */
    bool takes_jobs;                   /* its jobs are read with the expired threads */
    struct known_run *jobs;            /* oldest first */
    struct known_thread *next_expired; /* list of threads that had expired before the turn */
};

struct known_run_row {
    struct run_row row;
    bool is_there;
};

struct known_questions {
    struct question_row *rows;
    size_t n, cap;
};

struct known_text {
    struct str text; /* absent: none */
    struct str job;  /* VALUES: of this job, which the turn may delete */
    int64_t key;     /* of the same job */
};

struct known_item {
    struct item_row row;
    bool is_there;
};

struct known_assistant {
    struct assistant_row row;
    bool is_there;
};

struct known_cron {
    struct cron_row row;
    bool is_there;
};

struct known_webhook {
    struct webhook_row row; /* without run and values */
    bool is_there;
};

struct known {
    struct table rows; /* by kind, and id or key; allocated in the journal's `mem` */
    struct known_thread *expired;
};

void known_init(struct known *k);
void known_done(struct known *k);
/* Begins a turn: nothing is known. */
void known_clear(struct known *k);

/* --- entries: for wanted.c -----------------------------------------------------------------
 */

struct key known_key(enum known_kind kind, int64_t key);
struct key known_text_key(const struct journal *j, enum known_kind kind, struct str text);
struct key known_item_key(const struct journal *j, const struct item_row *row);
struct key known_version_key(const struct journal *j, struct str id, int64_t version);
/* A new zeroed entry; NULL: out of memory. */
void *known_add(struct journal *j, struct key k, size_t size);
/* The row that was read is no longer valid. */
void known_forget(struct journal *j, struct key k);
/* The current row of a thread, from memory or from the known rows; ERR_NOT_FOUND. */
int known_thread_row(const struct journal *j, int64_t key, struct thread_row *ret);

/* --- looked up in the turn -----------------------------------------------------------------
 */

/* Each row must have been wanted before the turn, else it is a bug: ERR_BUSY, and an abort in
 * builds for tests. */
/* ERR_NOT_FOUND when there is none; any other error fails the turn. */
int read_job(struct journal *j, struct str id, struct job_row *ret, struct error *err);
int read_job_by_idempotency(struct journal *j,
                            struct str key,
                            struct job_row *ret,
                            struct error *err);
int read_run(struct journal *j, int64_t job, struct run_row *ret, struct error *err);
int read_questions(struct journal *j, int64_t job, store_question_cb cb, void *arg);
int read_thread(struct journal *j, struct str id, struct thread_row *ret, struct error *err);
/* For a thread with open runs; without its values. */
int read_thread_by_key(struct journal *j, int64_t key, struct thread_row *ret);
/* The jobs that it had before the turn. */
int read_thread_jobs(struct journal *j, struct str id, const struct known_run **ret);
/* A state as it was saved; absent: none. */
int read_state(struct journal *j, struct str thread, struct str *ret);
/* The record with the thread's values before this run; absent: there were none.  ERR_NOT_FOUND:
 * it was deleted. */
int read_values(struct active_job *job, struct str *ret);
int read_item(struct journal *j, const struct item_row *row, struct item_row *ret);
int read_assistant(struct journal *j, struct str id, struct assistant_row *ret);
int read_assistant_version(struct journal *j,
                           struct str id,
                           int64_t version,
                           struct assistant_row *ret);
int read_cron(struct journal *j, struct str id, struct cron_row *ret);
int read_webhook(struct journal *j, struct str id, struct webhook_row *ret);
/* Reports a row that was not wanted: a bug. */
int known_miss(struct journal *j, struct error *err, const char *what);

/* Has this turn deleted this job, which had ended? */
bool known_is_gone(const struct journal *j, struct str id, int64_t key);

/* --- changed by the turn: for gather.c ------------------------------------------------------
 */

/* NULL: not known. */
struct known_thread *known_find_thread(const struct journal *j, int64_t key);
struct known_questions *known_find_questions(const struct journal *j, int64_t job);
/* Adds rows that the turn creates; ERR_NOMEM.  The texts of jobs and runs are borrowed until
 * the end of the turn. */
int known_new_job(struct journal *j, const struct job_row *row);
int known_new_run(struct journal *j, const struct run_row *row);
struct known_thread *known_new_thread(struct journal *j, struct str id); /* NULL: no memory */
/* The job was deleted. */
int known_forget_job(struct journal *j, struct str id);
/* These copy the texts. */
int known_put_thread(struct journal *j, struct known_thread *to, const struct thread_row *row);
int known_add_question(struct journal *j,
                       struct known_questions *q,
                       const struct question_row *row);
void known_forget_state(struct journal *j, struct str thread);
void known_forget_item(struct journal *j, const struct item_row *row);
void known_forget_assistant(struct journal *j, struct str id);
void known_forget_cron(struct journal *j, struct str id);
void known_forget_webhook(struct journal *j, struct str id);
/* Gives @t the row of the thread with this key, if it is known. */
void known_keep_thread(struct journal *j, struct thread *t, int64_t key);

#endif
