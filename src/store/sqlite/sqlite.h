/* Internals of the SQLite backend, shared by its sources.  Everyone else includes store.h.
 *
 *     sqlite.c      opening, closing, transactions, WAL checkpoints
 *     wal.c         extending the WAL file ahead of the commits
 *     file.c        the path, creating the file, the lock beside it
 *     schema.c      checking and migrating the schema
 *     statements.c  every statement, with the reasons for the tables behind them
 *     jobs.c        rows of jobs
 *     suspects.c    jobs that the server was folding when it crashed
 *     copy.c        rows of any table, for copies of the whole
 *     breadcrumb.c  the mapped page that names the job being folded
 *     records.c     rows of records, and retention
 *     questions.c   rows of questions
 *     checkpoints.c rows of checkpoints
 *     items.c       rows of items
 *     assistants.c  rows of assistants
 *     crons.c       rows of crons
 *     webhooks.c    rows of deliveries
 *     threads.c     rows of threads and runs
 *     tokens.c      rows of tokens
 *     maintenance.c checks, copies, free space
 *     clock.c       stored times, when the wall clock is set
 *     fault.c       SQLite's codes, as our codes and messages */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include "base/must_check.h"
#include "base/buf.h"
#include "base/error.h"
#include "store/backend.h"
#include "store/rows.h"

#include <sqlite3.h>
#include <sys/types.h>
#include <time.h>

/* In the order of thread_of() in threads.c. */
#define THREAD_COLUMNS                                                                \
    "key, id, owner, status, metadata, config, interrupts, error, created, updated, " \
    "state_updated, n_runs, is_temporary, state, ttl_ms"

/* The row id of a record chunk is its job's key and the seq of its last record (records.c). */
#define RECORD_SEQ_BITS 30
#define RECORD_SEQ_MAX  (((uint64_t)1 << RECORD_SEQ_BITS) - 1)
#define RECORD_JOB_MAX  (((int64_t)1 << (63 - RECORD_SEQ_BITS)) - 1)

enum statement {
    /* reading */
    STATEMENT_JOB_BY_ID,
    STATEMENT_JOB_BY_IDEMPOTENCY,
    STATEMENT_JOBS,
    STATEMENT_JOBS_OF_STATE,
    STATEMENT_JOBS_OF_AGENT,
    STATEMENT_JOBS_OF_AGENT_AND_STATE,
    STATEMENT_JOBS_OF_OWNER,
    STATEMENT_OPEN_JOBS,
    STATEMENT_UNPUBLISHED_JOBS,
    STATEMENT_JOBS_SET_ASIDE,
    STATEMENT_RECORDS,
    STATEMENT_RECORD,
    STATEMENT_COUNTS,
    STATEMENT_BYTES,
    STATEMENT_QUESTIONS,
    STATEMENT_OPEN_QUESTIONS,
    STATEMENT_CHECKPOINT, /* checkpoints.c needs these three, and the next, in this order */
    STATEMENT_CHECKPOINTS_OF_NS,
    STATEMENT_CHECKPOINTS,
    STATEMENT_STATE,
    STATEMENT_STATES_OF_NS,
    STATEMENT_STATES,
    STATEMENT_STATES_AFTER,
    STATEMENT_CHANNELS,
    STATEMENT_ITEM,
    STATEMENT_ITEMS,
    STATEMENT_ITEMS_INDEXED,
    STATEMENT_NAMESPACES,
    STATEMENT_ASSISTANT,
    STATEMENT_ASSISTANTS,
    STATEMENT_ASSISTANT_VERSIONS,
    STATEMENT_CRON,
    STATEMENT_CRONS,
    STATEMENT_CRONS_DUE,
    STATEMENT_WEBHOOK,
    STATEMENT_WEBHOOKS,
    STATEMENT_WEBHOOKS_DUE,
    STATEMENT_WEBHOOKS_COUNT,
    STATEMENT_WRITES,
    STATEMENT_THREAD_BY_ID,
    STATEMENT_THREAD_BY_KEY,
    STATEMENT_THREADS_EXPIRED,
    STATEMENT_THREAD_JOBS,
    STATEMENT_RUN,
    STATEMENT_TOKENS,
    STATEMENT_TOKEN_CHANGES,
    STATEMENT_TOKENS_SEEN,
    STATEMENT_TIME_NOTED,
    STATEMENT_LAST_JOB_KEY, /* in the order of enum store_keys, with the next */
    STATEMENT_LAST_THREAD_KEY,
    /* writing */
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_APPEND,
    STATEMENT_JOB_INSERT,
    STATEMENT_INPUT_INSERT,
    STATEMENT_JOB_UPDATE_PLAIN,
    STATEMENT_JOB_UPDATE,
    STATEMENT_JOB_PUBLISHED,
    STATEMENT_JOB_WITHDRAW,
    STATEMENT_JOB_DELETE,
    STATEMENT_SUSPECT_PUT,
    STATEMENT_SUSPECT_DELETE,
    STATEMENT_INPUT_DELETE,
    STATEMENT_RECORDS_DELETE,
    STATEMENT_CHUNK_CUT,
    STATEMENT_WHOLE_JOB,
    STATEMENT_EXPIRED_JOB,
    STATEMENT_LEAVING_PUT,
    STATEMENT_LEAVING,
    STATEMENT_LEAVING_DELETE,
    STATEMENT_QUESTION_INSERT,
    STATEMENT_QUESTION_ANSWER,
    STATEMENT_QUESTIONS_RESUMED,
    STATEMENT_QUESTIONS_DELETE,
    STATEMENT_CHECKPOINT_PUT,
    STATEMENT_LARGE_PUT,
    STATEMENT_CHANNEL_PUT,
    STATEMENT_WRITE_KEEP,
    STATEMENT_WRITE_REPLACE,
    STATEMENT_STATE_DELETE,
    STATEMENT_STATE_PUT,
    STATEMENT_CHECKPOINTS_DELETE, /* these four, and the next, must be in this order */
    STATEMENT_CHANNELS_DELETE,
    STATEMENT_WRITES_DELETE,
    STATEMENT_STATES_DELETE,
    STATEMENT_CHECKPOINTS_COPY,
    STATEMENT_CHANNELS_COPY,
    STATEMENT_WRITES_COPY,
    STATEMENT_STATES_COPY,
    STATEMENT_CHECKPOINTS_OF_RUN_DELETE,
    STATEMENT_WRITES_OF_RUN_DELETE,
    STATEMENT_STATES_OF_RUN_DELETE,
    STATEMENT_CHECKPOINTS_OLD_DELETE,
    STATEMENT_CHANNELS_SWEEP, /* these three must be in this order */
    STATEMENT_WRITES_SWEEP,
    STATEMENT_STATES_SWEEP,
    STATEMENT_JOB_ID,
    STATEMENT_ITEM_PUT,
    STATEMENT_ITEM_INDEX,
    STATEMENT_ITEM_UNINDEX,
    STATEMENT_ITEM_DELETE,
    STATEMENT_ITEM_TOUCH,
    STATEMENT_ITEMS_EXPIRE,
    STATEMENT_ASSISTANT_INSERT,
    STATEMENT_ASSISTANT_CHOOSE,
    STATEMENT_ASSISTANT_DELETE,
    STATEMENT_CRON_INSERT,
    STATEMENT_CRON_UPDATE,
    STATEMENT_CRON_TICK,
    STATEMENT_CRON_DELETE,
    STATEMENT_CRONS_FORGET,
    STATEMENT_WEBHOOK_INSERT,
    STATEMENT_WEBHOOK_END,
    STATEMENT_WEBHOOK_MOVE,
    STATEMENT_WEBHOOK_FORGET,
    STATEMENT_WEBHOOKS_EXPIRE,
    STATEMENT_THREAD_INSERT,
    STATEMENT_THREAD_UPDATE,
    STATEMENT_THREAD_VALUES,
    STATEMENT_THREAD_DELETE,
    STATEMENT_THREAD_OF_RUN_DELETE,
    STATEMENT_RUN_INSERT,
    STATEMENT_RUN_READ,
    STATEMENT_RUN_FORGET,
    STATEMENT_RUN_DELETE,
    STATEMENT_TIME_NOTE,
    STATEMENT_MOVE_OPEN_JOBS, /* clock.c needs these eight in this order */
    STATEMENT_MOVE_FINAL_JOBS,
    STATEMENT_MOVE_QUESTIONS,
    STATEMENT_MOVE_ITEMS,
    STATEMENT_MOVE_WEBHOOKS,
    STATEMENT_MOVE_SUSPECTS,
    STATEMENT_MOVE_THREADS,
    STATEMENT_MOVE_TOKENS,
    STATEMENT_TOKEN_INSERT,
    STATEMENT_TOKEN_REVOKE,
    STATEMENT_SESSIONS_OF,
    STATEMENT_SESSION_DELETE,
    STATEMENT_SESSIONS_EXPIRE,
    STATEMENT_TOKENS_CHANGED,
    STATEMENT_TOKENS_SEE,
    STATEMENT_SECRET_INSERT,
    STATEMENT_SECRET,
    STATEMENT_MAX,
    STATEMENT_FIRST_WRITING = STATEMENT_BEGIN
};

enum transaction {
    TRANSACTION_NONE,
    TRANSACTION_OPEN,
    /* A write failed: nothing may be added, and commit returns the error again. */
    TRANSACTION_FAILED
};

/* The database files, their paths, and their identities. */
enum file { FILE_DATABASE, FILE_WAL, FILE_SHM, FILE_MAX };

struct file_id {
    char *path; /* owned; NULL: in memory */
    dev_t device;
    ino_t number; /* inode; 0: not known yet */
};

/* The folder of the files, as it was when the files were last checked. */
struct folder_state {
    char *path; /* owned; NULL: in memory */
    dev_t device;
    ino_t number;
    struct timespec changed;
    int64_t until_ms; /* it may be used until then; on the monotonic clock */
};

struct sqlite_store {
    struct store base;
    sqlite3 *db;                             /* owned */
    sqlite3_stmt *statements[STATEMENT_MAX]; /* owned; a reader has only those that read */
    struct sqlite_loading {
        const struct store_table *table;
        sqlite3_stmt *insert; /* owned */
    } loading;                /* the insert of the table that is being copied */
    char *path;               /* owned; absolute, no links; or ":memory:" */
    char name[112];           /* of the file, for messages: the path or its end */
    int lock_fd;              /* owned; -1: none */
    bool writes;
    bool beside;  /* opened by store_open_beside */
    bool relaxed; /* commits are not synced */
    unsigned busy_ms;
    enum transaction transaction;
    struct error failure;           /* while TRANSACTION_FAILED: why */
    struct file_id files[FILE_MAX]; /* their identities when they were opened */
    struct folder_state folder;
    int wal_frames;                     /* number after the last commit */
    int checkpoint_at;                  /* number of frames */
    int64_t wal_room;                   /* bytes; see wal.c */
    int64_t taken[STORE_KEYS_MAX];      /* the last reserved key; 0: none */
    struct buf texts;                   /* of the last returned row */
    struct breadcrumb_page *breadcrumb; /* mapped; NULL: not used yet */
};

static inline struct sqlite_store *sqlite_of(struct store *s)
{
    return (struct sqlite_store *)s;
}

#define SQLITE_OP(name) STORE_DECLARE(sqlite, name)
STORE_OPS(SQLITE_OP)
STORE_ADMIN(SQLITE_OP)
#undef SQLITE_OP

/* --- file.c ---------------------------------------------------------------------- */

/* Sets s->path and s->name. */
MUST_CHECK int file_name(struct sqlite_store *s, const char *path, struct error *err);
/* Frees what file_name() has set. */
void file_forget(struct sqlite_store *s);
/* Takes the lock beside the file; ERR_BUSY when another process has it. */
MUST_CHECK int file_lock(struct sqlite_store *s, struct error *err);
/* Creates it, empty and with mode 0600, unless it exists. */
MUST_CHECK int file_create(const struct sqlite_store *s, struct error *err);
/* Are they still the files that were opened?  If not, ERR_IO with the one that changed. */
MUST_CHECK int file_check(struct sqlite_store *s, struct error *err);
/* The same for each commit: checks only the folder, if that shows that nothing has changed. */
MUST_CHECK int file_check_folder(struct sqlite_store *s, struct error *err);
/* Syncs the folder, so that the names of new files are durable. */
void file_sync_folder(const struct sqlite_store *s);

/* --- breadcrumb.c ---------------------------------------------------------------- */

void breadcrumb_unmap(struct sqlite_store *s);

/* --- copy.c ---------------------------------------------------------------------- */

void copy_release(struct sqlite_store *s);

/* --- wal.c ----------------------------------------------------------------------- */

/* Between commits: extends the WAL file ahead of need. */
void wal_make_room(struct sqlite_store *s);

/* --- schema.c -------------------------------------------------------------------- */

/* Is the schema ours, and not newer than this program?  Changes nothing.  Sets *@ret_version, 0
 * for a new file. */
MUST_CHECK int schema_check(struct sqlite_store *s, int *ret_version, struct error *err);
/* Migrates it from @version to ours, in one transaction. */
MUST_CHECK int schema_migrate(struct sqlite_store *s, int version, struct error *err);
int schema_version(void);
/* Like fault(), for errors that only a missing table or column can cause: someone has changed
 * the schema. */
int schema_fault(struct sqlite_store *s, int rc, struct error *err);

/* --- statements.c ---------------------------------------------------------------- */

MUST_CHECK int statements_prepare(struct sqlite_store *s, struct error *err);
void statements_finalize(struct sqlite_store *s);

/* Steps a statement that returns no rows, and resets it. */
MUST_CHECK int statement_run(struct store *s, enum statement id, struct error *err);
/* The number that a statement without parameters returns. */
MUST_CHECK int statement_number(struct store *s,
                                enum statement id,
                                int64_t *ret,
                                struct error *err);

/* Binds parameters in the order of the question marks; the first error sticks. */
struct binder {
    sqlite3_stmt *stmt;
    int n;
    int rc;
};
struct binder statement_bind(struct store *s, enum statement id);
void bind_text(struct binder *b, struct str text);
void bind_int(struct binder *b, int64_t value);
/* The key of a new row; 0: SQLite chooses one. */
void bind_key(struct binder *b, int64_t key);
void bind_blob(struct binder *b, struct str bytes);

/* Empties s->texts; false when it cannot hold @n bytes. */
bool texts_start(struct store *s, size_t n);
/* Copies the texts of a row there; @what names the row in the error message. */
MUST_CHECK int texts_keep(struct store *s,
                          const struct row_texts *texts,
                          void *row,
                          const char *what,
                          struct error *err);
/* A text of the current row, in SQLite's memory. */
struct str column_text(sqlite3_stmt *stmt, int column);
struct str column_blob(sqlite3_stmt *stmt, int column);

/* --- sqlite.c -------------------------------------------------------------------- */

/* Checks before every write that there is a transaction and that it has not failed. */
MUST_CHECK int write_ready(struct store *s, struct error *err);
/* Steps a bound statement, if all parameters could be bound, and resets it; *@ret_n (@ret_n may
 * be NULL) is the number of changed rows. */
MUST_CHECK int write_run(struct store *s, struct binder *b, size_t *ret_n, struct error *err);
/* After a write failed with SQLite's @rc: like fault(), and marks the transaction as failed. */
int write_failed(struct store *s, int rc, struct error *err);

/* --- checkpoints.c --------------------------------------------------------------- */

/* A job without a thread uses its own id as thread id: deletes the checkpoints there. */
MUST_CHECK int checkpoints_forget_job(struct store *s, int64_t key, struct error *err);

/* --- items.c --------------------------------------------------------------------- */

/* Deletes at most @limit expired items; *@ret_n is their number. */
MUST_CHECK int items_expire(struct store *s,
                            int64_t now,
                            size_t limit,
                            size_t *ret_n,
                            struct error *err);

/* --- webhooks.c ------------------------------------------------------------------ */

/* The same for deliveries. */
MUST_CHECK int webhooks_expire(struct store *s,
                               int64_t now,
                               size_t limit,
                               size_t *ret_n,
                               struct error *err);

/* --- jobs.c ---------------------------------------------------------------------- */

/* Steps a bound statement that returns rows of jobs. */
int jobs_each(struct store *s,
              struct binder *b,
              size_t limit,
              store_job_cb cb,
              void *arg,
              struct error *err);

/* --- fault.c --------------------------------------------------------------------- */

/* Turns SQLite's @rc into our code, with a message that says what happened and what to do. */
int fault(struct store *s, int rc, struct error *err);

#endif
