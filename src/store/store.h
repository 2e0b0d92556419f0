/* The store: the database of jobs and their records.
 *
 * Synchronous.  A `struct store` is used by one thread at a time: the journal's thread has the
 * writer; each reading thread has its own reader (store_open_reader), which sees committed data
 * and holds no transaction between calls.
 *
 * Returned texts are valid until the next call on the same store; those that a callback gets,
 * until it returns.  A callback may call other functions of the store, but not the one that is
 * calling it. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct store;

/* One job, as stored.  Times are milliseconds since 1970; 0: not (yet). */
struct job_row {
    int64_t key;   /* given by the store, never reused */
    struct str id; /* unique */
    struct str agent;
    struct str state;  /* queued running waiting succeeded failed cancelled */
    struct str input;  /* JSON */
    struct str owner;  /* of the token that submitted it; absent: none */
    struct str worker; /* name of the lease's holder, for people */
    struct str holder; /* the holder, as its token's owner (jobs/lease.h); absent: the server */
    struct str request_id; /* of the lease request; absent: none */
    struct str error;
    struct str error_type;
    struct str outcome;
    struct str idempotency_key; /* absent: none; unique */
    struct str request_hash;    /* of the request's body */
    int64_t attempt;            /* the fence: rises with every lease */
    int64_t unsigned_attempt;   /* the attempt leased before leases were signed; 0: none */
    int64_t attempts_left;      /* leases that may still be lost */
    int64_t created, updated, started, finished;
    int64_t lease_until;
    int64_t queue_deadline;   /* 0: none */
    int64_t run_deadline;     /* 0: none; absolute, set at the first lease */
    int64_t run_seconds;      /* how long it may run; 0: no limit */
    int64_t expiry_seconds;   /* how long it is kept after its end */
    int64_t cancel_requested; /* when; 0: not */
    int64_t max_running; /* may begin only with fewer running jobs of its owner; 0: no limit */
    int64_t pause_requested; /* when; 0: not; negative: it was paused in the queue */
    int64_t resumed;         /* the record with which it last resumed; 0: it never did */
    int64_t answer_by;       /* the first deadline of its open questions; 0: none */
    int64_t thread;          /* the key of its thread; 0: none */
    int64_t ordinal;         /* number among the runs of its thread, from 1 */
    int64_t not_before;      /* it may not begin earlier; 0: at once */
    int64_t values_seq;      /* the last record with the graph's whole state; 0: none yet */
    int64_t producer_seq;    /* of the last batch of this attempt; -1: none */
    int64_t published;       /* the last record that was published to Redis; -1: nothing more to
                                publish */
    int64_t crashed;         /* out: when the server last crashed while folding it; 0: never */
    int64_t set_aside;       /* out: since when it is set aside; 0: it is not */
    int64_t shard;           /* out: the shard that it belongs to; 0 without shards */
    uint64_t seq;            /* of its last record */
    uint64_t first_seq;      /* the oldest record that is left: 1, or the begin of its ending */
};

struct store_options {
    const char *url;      /* of the database: sqlite:PATH, or the path alone (open.c) */
    bool relaxed;         /* not synced: a power failure may lose the last commits */
    unsigned busy_ms;     /* how long a call waits for a locked database */
    size_t cache_bytes;   /* page cache of the writer; 0: the default */
    const char *read_url; /* for the pages of readers, through a pooler; NULL: the same */
    /* Of a database that several gateways share: */
    const char *gateway;      /* the id of this one; NULL: none, and all shards are locked */
    int64_t shard;            /* the one that it writes */
    const atomic_bool *waits; /* while it is true, store_open waits for the gateway that writes
                                 to end; NULL: it does not wait */
};

/* Findings about a database, one sentence each, and what to do (NULL: nothing, or the sentence
 * says it). */
enum store_verdict { STORE_GOOD, STORE_DOUBTFUL, STORE_BAD };
typedef void (*store_examine_cb)(void *arg,
                                 enum store_verdict verdict,
                                 const char *check,
                                 const char *what,
                                 const char *advice);
/* Could a server use it?  Changes nothing, and works while a server runs. */
void store_examine(const struct store_options *options, store_examine_cb cb, void *arg);

/* Opens the writer: creates the database and its schema, migrates an older one; refuses a newer
 * one, a database that is not ours, and one that another server has open.  The error's text
 * says what to do. */
MUST_CHECK int store_open(const struct store_options *options,
                          struct store **ret,
                          struct error *err);
MUST_CHECK int store_open_reader(const struct store_options *options,
                                 struct store **ret,
                                 struct error *err);
/* A second connection that writes tokens only, while a server, in this process or another, has
 * the database.  The database must exist and be up to date. */
MUST_CHECK int store_open_beside(const struct store_options *options,
                                 struct store **ret,
                                 struct error *err);
void store_close(struct store *s);
/* Only the calling thread uses it from now on: asserted in builds for tests. */
void store_take(struct store *s);

/* --- writing: inside begin and commit ---------------------------------------- */

MUST_CHECK int store_begin(struct store *s, struct error *err);
/* After an error the transaction is rolled back: nothing of it is stored.  Only after
 * ERR_UNKNOWN it may be stored: the answer was lost, and the database has not come back in
 * time.  Then the store is lost, and must be opened again. */
MUST_CHECK int store_commit(struct store *s, struct error *err);
void store_rollback(struct store *s);

/* After ERR_REFUSED, ERR_TOO_LARGE and ERR_NOT_FOUND a write has changed nothing, and the
 * transaction can continue.  After any other error it can no longer be committed: the commit
 * returns the error again. */

enum store_keys { STORE_JOB_KEYS, STORE_THREAD_KEYS, STORE_KEYS_MAX };
/* Reserves @n keys for new rows: *@ret_first and the following ones.  They are not given out
 * again while the store is open, used or not.  Needs no transaction.  If the store is remote,
 * keys of jobs are valid until the transaction fails or store_expire() is called. */
MUST_CHECK int store_take_keys(struct store *s,
                               enum store_keys kind,
                               size_t n,
                               int64_t *ret_first,
                               struct error *err);

/* Uses row->key, or sets it when it is 0.  ERR_REFUSED when the id or the idempotency key is
 * taken. */
MUST_CHECK int store_job_insert(struct store *s, struct job_row *row, struct error *err);
/* All columns but id, agent, owner, input, idempotency key, created, max_running, published,
 * thread, ordinal, first_seq.  ERR_NOT_FOUND. */
MUST_CHECK int store_job_update(struct store *s, const struct job_row *row, struct error *err);
/* Sets `published`.  Not an error when the job does not exist. */
MUST_CHECK int store_job_published(struct store *s,
                                   int64_t key,
                                   int64_t published,
                                   struct error *err);
/* The server crashed while folding the job at @crashed (0: it did not), and the job is set
 * aside since @set_aside (0: it is not). */
MUST_CHECK int store_suspect(struct store *s,
                             int64_t job,
                             int64_t crashed,
                             int64_t set_aside,
                             struct error *err);
/* Deletes the job at once; store_expire deletes its records.  ERR_NOT_FOUND. */
MUST_CHECK int store_job_delete(struct store *s, int64_t key, struct error *err);
/* Appends a record chunk: the records of a job after its last one, up to @last, one per line,
 * separated by newlines.  @batch is the number of the producer's last batch, or -1.
 *
 * The job's row need not be stored with every chunk: when a row is read, its seq is that of the
 * last stored record, and its batch that of the last chunk after the seq with which the row was
 * stored.
 *
 * ERR_REFUSED when a chunk that ends there exists; ERR_TOO_LARGE past store_max_seq(). */
MUST_CHECK int store_append(struct store *s,
                            int64_t key,
                            uint64_t last,
                            struct str stored,
                            int64_t batch,
                            struct error *err);
/* The highest number of a job's record. */
uint64_t store_max_seq(const struct store *s);
/* Is it behind a network? */
bool store_is_remote(const struct store *s);
/* The wall clock was set: moves all stored future times (leases, deadlines, retention, tokens)
 * by @by milliseconds, to the clock of @now. */
MUST_CHECK int store_move_times(struct store *s, int64_t by, int64_t now, struct error *err);
/* Stores the current time. */
MUST_CHECK int store_note_time(struct store *s, int64_t now, struct error *err);
/* Retention.  An expired job loses its input and all its records but its ending: job.end, and
 * what says why it failed or was cancelled.  @keep_ms later it is deleted.  Handles about
 * @limit rows, and returns how many; 0: nothing is left to do. */
MUST_CHECK int store_expire(struct store *s,
                            int64_t now,
                            int64_t keep_ms,
                            size_t limit,
                            size_t *ret_n,
                            struct error *err);
/* Checkpoints the database after commits, if there is enough to do, without waiting long for
 * readers.  May be called after every commit. */
void store_compact(struct store *s);

/* --- reading ----------------------------------------------------------------- */

/* ERR_NOT_FOUND when there is none. */
MUST_CHECK int store_job_get(struct store *s,
                             struct str id,
                             struct job_row *ret,
                             struct error *err);
MUST_CHECK int store_job_by_idempotency(struct store *s,
                                        struct str key,
                                        struct job_row *ret,
                                        struct error *err);

struct job_filter {
    struct str state, agent, owner; /* absent: any */
    int64_t before;  /* only jobs behind the one with this key; 0: from the newest */
    int64_t created; /* of that one; needed with several shards */
    size_t limit;
};

typedef int (*store_job_cb)(void *arg, const struct job_row *row);
/* Jobs in the order of their keys, newest first; with several shards, in the order of (created,
 * key).  Stops after the limit or when the callback
 * returns non-zero. */
MUST_CHECK int store_jobs(struct store *s,
                          const struct job_filter *filter,
                          store_job_cb cb,
                          void *arg,
                          struct error *err);
/* Has store_jobs() listed by time, so that the next page needs `created` too? */
bool store_lists_by_time(const struct store *s);
/* All jobs that are not final, oldest first: for recovery at start-up. */
MUST_CHECK int store_open_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err);

/* The latest stored time, or the latest write of an open job; 0: none. */
MUST_CHECK int store_time_noted(struct store *s, int64_t *ret, struct error *err);

/* All jobs that have, or may get, something to publish; oldest first. */
MUST_CHECK int store_unpublished_jobs(struct store *s,
                                      store_job_cb cb,
                                      void *arg,
                                      struct error *err);

/* All jobs that are set aside, oldest first. */
MUST_CHECK int store_jobs_set_aside(struct store *s,
                                    store_job_cb cb,
                                    void *arg,
                                    struct error *err);

typedef int (*store_record_cb)(void *arg, uint64_t seq, struct str stored);
/* Records with seq > @after in order, until @limit rows, @max_bytes, or until the callback
 * returns non-zero, which is not an error.  The first one is returned whatever its size.  No
 * transaction is left open. */
MUST_CHECK int store_records(struct store *s,
                             int64_t key,
                             uint64_t after,
                             size_t limit,
                             size_t max_bytes,
                             store_record_cb cb,
                             void *arg,
                             struct error *err);
/* One record; ERR_NOT_FOUND. */
MUST_CHECK int store_record(struct store *s,
                            int64_t key,
                            uint64_t seq,
                            struct str *ret,
                            struct error *err);

/* --- questions ----------------------------------------------------------------- */

/* A question that a job has asked.  Texts but the id are JSON. */
struct question_row {
    int64_t job;                         /* its key */
    uint64_t seq;                        /* of the record that asks */
    struct str id;                       /* from the graph */
    int64_t attempt;                     /* the attempt that asked */
    int64_t asked;                       /* milliseconds since 1970, as the others */
    int64_t expires;                     /* 0: never */
    struct str on_expiry;                /* fail, default, cancel */
    struct str fallback;                 /* the answer of `default` */
    struct str schema;                   /* of the answer; absent: anything */
    struct str question, context, value; /* as in the record */
    struct str answer;                   /* absent: not answered */
    struct str answered_by;              /* the token's owner; "expiry"; absent: no owner */
    int64_t answered;                    /* 0: not yet */
    uint64_t resumed;                    /* the record with which the job resumed; 0: not yet */
    struct str job_id, agent, owner;     /* out: of its job */
};

/* Inside begin and commit. */
MUST_CHECK int store_question_insert(struct store *s,
                                     const struct question_row *row,
                                     struct error *err);
/* ERR_REFUSED when it has been answered. */
MUST_CHECK int store_question_answer(struct store *s,
                                     int64_t job,
                                     uint64_t seq,
                                     struct str answer,
                                     struct str by,
                                     int64_t now,
                                     struct error *err);
/* The job resumes, with record @seq: marks all answers that were not used before. */
MUST_CHECK int store_questions_resumed(struct store *s,
                                       int64_t job,
                                       uint64_t seq,
                                       struct error *err);

typedef int (*store_question_cb)(void *arg, const struct question_row *row);
/* All questions of a job, in the order in which they were asked; stops when the callback
 * returns non-zero. */
MUST_CHECK int store_questions(struct store *s,
                               int64_t job,
                               store_question_cb cb,
                               void *arg,
                               struct error *err);
/* Unanswered questions of all jobs that run or wait, in the same way; after a given
 * position. */
MUST_CHECK int store_open_questions(struct store *s,
                                    int64_t after_job,
                                    uint64_t after_seq,
                                    store_question_cb cb,
                                    void *arg,
                                    struct error *err);

/* --- threads and their runs ------------------------------------------------------ */

/* A thread: runs of a graph that share a state.  Texts but id, owner and status are JSON. */
struct thread_row {
    int64_t key;   /* given by the store, never reused */
    struct str id; /* unique */
    struct str owner;
    struct str status; /* idle busy interrupted error */
    struct str metadata, config;
    struct str interrupts; /* {task: [{id, value}], …}: the questions of its last run */
    struct str error;      /* of its last run; absent: none */
    struct str values;     /* the graph's state; absent: none yet */
    int64_t created, updated;
    int64_t state_updated; /* 0: never */
    int64_t n_runs;        /* number of runs so far, the last ordinal */
    int64_t is_temporary;  /* deleted with its run, and not in lists */
    int64_t ttl_ms;        /* deleted when it was not changed for so long; 0: never */
    int64_t shard;         /* out: the shard that it belongs to; 0 without shards */
};

/* The additional columns of a job that is a run of a thread. */
/* In run_row.modes, above those of MODE_…: somebody has read the run's stream. */
#define RUN_IS_READ (INT64_C(1) << 40)

struct run_row {
    int64_t job; /* its key */
    struct str assistant;
    struct str metadata; /* JSON */
    struct str kwargs;   /* JSON: its arguments, without its input */
    struct str strategy; /* its multitask strategy: what happened to running ones */
    int64_t modes;       /* MODE_…: the default modes of its stream; RUN_IS_READ */
    int64_t subgraphs;   /* the default of its stream: 0 or 1 */
    struct str thread;   /* out: the id */
};

/* Inside begin and commit.  Uses row->key, or sets it when it is 0.  ERR_REFUSED when the id is
 * taken. */
MUST_CHECK int store_thread_insert(struct store *s, struct thread_row *row, struct error *err);
/* All columns but id, owner, values, created and is_temporary.  ERR_NOT_FOUND. */
MUST_CHECK int store_thread_update(struct store *s,
                                   const struct thread_row *row,
                                   struct error *err);
MUST_CHECK int store_thread_values(struct store *s,
                                   int64_t key,
                                   struct str values,
                                   int64_t now,
                                   struct error *err);
/* The caller deletes its jobs. */
MUST_CHECK int store_thread_delete(struct store *s, int64_t key, struct error *err);
MUST_CHECK int store_run_insert(struct store *s, const struct run_row *row, struct error *err);
/* Adds RUN_IS_READ.  ERR_NOT_FOUND. */
MUST_CHECK int store_run_read(struct store *s, int64_t job, struct error *err);

/* ERR_NOT_FOUND when there is none. */
MUST_CHECK int store_thread_get(struct store *s,
                                struct str id,
                                struct thread_row *ret,
                                struct error *err);
MUST_CHECK int store_thread_by_key(struct store *s,
                                   int64_t key,
                                   struct thread_row *ret,
                                   struct error *err);
MUST_CHECK int store_run_get(struct store *s,
                             int64_t job,
                             struct run_row *ret,
                             struct error *err);

enum thread_order { THREADS_BY_UPDATED, THREADS_BY_CREATED, THREADS_BY_ID, THREADS_BY_STATUS };

typedef int (*store_thread_cb)(void *arg, const struct thread_row *row);
/* All threads but temporary ones, of @owner unless it is absent; stops when the callback
 * returns non-zero. */
MUST_CHECK int store_threads(struct store *s,
                             enum thread_order order,
                             bool ascending,
                             struct str owner,
                             store_thread_cb cb,
                             void *arg,
                             struct error *err);
/* Expired threads without a running run. */
MUST_CHECK int store_threads_expired(struct store *s,
                                     int64_t now,
                                     size_t limit,
                                     store_thread_cb cb,
                                     void *arg,
                                     struct error *err);
/* The runs of a thread, newest first. */
MUST_CHECK int store_thread_jobs(struct store *s,
                                 int64_t thread,
                                 store_job_cb cb,
                                 void *arg,
                                 struct error *err);

/* --- tokens: each call is a transaction of its own -------------------------------- */

enum { STORE_SECRET_BYTES = 32 };

/* A token, or a session of a token. */
struct token_row {
    struct str id;     /* unique */
    struct str parent; /* of a session: its token; else absent */
    struct str hash;   /* STORE_SECRET_BYTES */
    struct str name;   /* for people */
    struct str scopes, owner, jobs, agents;
    /* 0: no limit; -1: the server's default */
    int64_t max_jobs, max_queued, max_running, max_streams, max_events;
    int64_t created, expires, revoked; /* milliseconds since 1970; 0: not */
};

/* For store_open and store_open_beside.  ERR_REFUSED when the id is taken. */
MUST_CHECK int store_token_insert(struct store *s,
                                  const struct token_row *row,
                                  struct error *err);
/* Keeps the row, so that lists show it; deletes its sessions.  Revoking again keeps the first
 * time.  ERR_NOT_FOUND. */
MUST_CHECK int store_token_revoke(struct store *s,
                                  struct str id,
                                  int64_t now,
                                  struct error *err);
/* Removes a session; ERR_NOT_FOUND. */
MUST_CHECK int store_session_delete(struct store *s, struct str id, struct error *err);
/* The server confirms that it has read the changes up to @n. */
MUST_CHECK int store_tokens_see(struct store *s, int64_t n, struct error *err);
/* Removes sessions that have expired. */
MUST_CHECK int store_sessions_expire(struct store *s, int64_t now, struct error *err);
/* A permanent random secret of STORE_SECRET_BYTES: stores @fresh, if there is none yet. */
MUST_CHECK int store_secret(struct store *s,
                            struct str name,
                            struct str fresh,
                            unsigned char ret[STORE_SECRET_BYTES],
                            struct error *err);

/* In every store. */
typedef int (*store_token_cb)(void *arg, const struct token_row *row);
/* Oldest first, parents before their sessions; stops when the callback returns non-zero. */
MUST_CHECK int store_tokens(struct store *s, store_token_cb cb, void *arg, struct error *err);
/* A number that rises with every change of tokens; the second: the number that the server has
 * confirmed. */
MUST_CHECK int store_token_changes(struct store *s, int64_t *ret, struct error *err);
MUST_CHECK int store_tokens_seen(struct store *s, int64_t *ret, struct error *err);

/* Counts for the operator.  Records are computed from the stored rows of jobs: seq - first_seq
 * + 1. */
struct store_stats {
    int64_t jobs, records, bytes;
};
MUST_CHECK int store_stats(struct store *s, struct store_stats *ret, struct error *err);

/* --- administration ------------------------------------------------------------ */

/* A backend may not offer some of these: ERR_REFUSED, with a message. */

typedef void (*store_finding_cb)(void *arg, struct str what);
/* Checks the database with its own tools; calls back for each problem. */
MUST_CHECK int store_check(struct store *s, store_finding_cb cb, void *arg, struct error *err);
/* Copies the database to a new file, also while a server writes.  ERR_REFUSED when the file
 * exists. */
MUST_CHECK int store_backup(struct store *s, const char *path, struct error *err);
/* Returns free space to the file system; writer only. */
MUST_CHECK int store_vacuum(struct store *s, struct error *err);

/* Was the database deleted, moved or replaced since it was opened?  Then commits fail. */
bool store_is_lost(struct store *s);
/* From any thread: the server is going down.  A call that waits for a database that is away
 * gives up soon. */
void store_hurry(struct store *s);

/* The disk space that it uses, and the free space; does not read the database. */
struct store_figure {
    const char *name; /* one lower-case word */
    const char *help; /* a sentence */
    uint64_t bytes;
};

enum { STORE_MAX_FIGURES = 4 };

struct store_disk {
    struct store_figure figures[STORE_MAX_FIGURES]; /* the data itself first */
    size_t n;
    uint64_t free, total; /* of the file system; free for us */
};

/* Even after an error, *@ret has the names of the figures, with 0 bytes. */
MUST_CHECK int store_disk(struct store *s, struct store_disk *ret, struct error *err);

enum { STORE_IDENTITY_BYTES = 40 };
/* A short text that identifies this database on the machine. */
MUST_CHECK int store_identity(struct store *s,
                              char ret[STORE_IDENTITY_BYTES],
                              struct error *err);

/* Of a database that several gateways share: what one was answered, so that it is answered the
 * same again.  Kept for ten minutes.  Inside begin and commit. */
MUST_CHECK int store_operation_put(struct store *s,
                                   struct str id,
                                   struct str answer,
                                   struct error *err);
/* ERR_NOT_FOUND. */
MUST_CHECK int store_operation(struct store *s,
                               struct str id,
                               struct str *ret,
                               struct error *err);

enum { STORE_MAX_SHARDS = 64 };
/* How many shards the database has: shares of the jobs, each written by one gateway at a time.
 */
MUST_CHECK int store_shards(struct store *s, int64_t *ret, struct error *err);
/* Gives a database without jobs this many; ERR_REFUSED. */
MUST_CHECK int store_make_shards(struct store *s, int64_t n, struct error *err);
/* Of a store that writes: why the schema could not be brought to the newest version when it was
 * opened, so that the older one is used; absent: it was, or an older gateway lives. */
struct str store_unmigrated(struct store *s);

/* What the gateway that wrote before has left behind, which may have been on another machine.
 */
struct store_left {
    bool has_crashed; /* it did not end in good order */
    int64_t suspect;  /* the job that it had named; 0: none, or the breadcrumb says more */
};
/* Of a store that writes, after store_breadcrumb(). */
void store_left_behind(struct store *s, struct store_left *ret);
/* Inside begin and commit: names the job that is folded next, for the next writer; 0: none. */
MUST_CHECK int store_name_suspect(struct store *s, int64_t job, struct error *err);

#endif
