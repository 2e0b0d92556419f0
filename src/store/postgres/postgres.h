/* Internals of the PostgreSQL backend, shared by its sources.  Everyone else includes store.h.
 *
 *     postgres.c    opening, closing, transactions, commits whose answer was lost
 *     libpq.c       the client library, loaded when it is needed
 *     connection.c  connecting and reconnecting
 *     shard.c       who may write: the lock, the epoch, the turn
 *     schema.c      the schema, and its versions
 *     migration.c   checking the schema, and bringing it to the newest version
 *     statements.h  every statement
 *     statements.c  preparing them, parameters
 *     pipeline.c    sending statements, reading results
 *     jobs.c        rows of jobs, and of suspects (journal/suspects.c)
 *     records.c     rows of records
 *     read.c        the rows that a turn needs, in one round trip
 *     arrays.c      parameters that are arrays
 *     retention.c   deleting expired jobs and records
 *     partitions.c  the partitions of records, made ahead and dropped
 *     questions.c   rows of questions
 *     checkpoints.c rows of checkpoints
 *     items.c       rows of items
 *     assistants.c  rows of assistants
 *     crons.c       rows of crons
 *     webhooks.c    rows of deliveries
 *     threads.c     rows of threads and runs
 *     tokens.c      rows of tokens
 *     admin.c       its identity, the breadcrumb
 *     clock.c       stored times, when the wall clock is set
 *     copy.c        rows of any table, for copies of the whole
 *     pooler.c      detecting poolers that share sessions
 *     examine.c     examining a database before it is used
 *     gateways.c    the gateways that share the database
 *     operations.c  rows of operations of other gateways
 *     fault.c       PostgreSQL's errors, as our codes and messages */
#ifndef STORE_POSTGRES_H
#define STORE_POSTGRES_H

#include "base/buf.h"
#include "base/error.h"
#include "store/backend.h"
#include "store/postgres/statements.h"
#include "store/rows.h"

#include <libpq-fe.h>
#include <stdatomic.h>

/* The same limit as with SQLite's row ids, so that a database can be copied to either. */
#define POSTGRES_MAX_SEQ (((uint64_t)1 << 30) - 1)

/* Keys are reserved in blocks of this size, the increment of the sequence. */
#define POSTGRES_KEY_BLOCK 1024

/* --- arrays.c: a column of many rows, as one parameter --------------------------------- */

enum array_type { ARRAY_INT8 = 20, ARRAY_BYTEA = 17 }; /* PostgreSQL's OIDs of these types */

struct postgres_array {
    enum array_type type;
    struct buf bytes; /* in PostgreSQL's binary format */
    uint32_t n;
    bool has_null;
};

void array_init(struct postgres_array *a, enum array_type type);
void array_done(struct postgres_array *a);
void array_clear(struct postgres_array *a);
/* params_array() reports an error if memory ran out here. */
void array_int(struct postgres_array *a, int64_t value);
void array_text(struct postgres_array *a, struct str text);
void array_null(struct postgres_array *a);

/* The record chunks of a turn, until they are sent. */
struct postgres_chunks {
    struct postgres_array job, last, batch, stored;
};

/* The operations of a turn, until they are sent: operations.c. */
struct postgres_operations {
    struct postgres_array id, answer;
};

void operations_init(struct postgres_operations *o);
void operations_done(struct postgres_operations *o);
void operations_clear(struct postgres_operations *o);

/* The application name of sessions that may write begins so; the gateway's id follows. */
#define POSTGRES_SESSION "spoolwire/"
/* The same of the session with which a gateway says that it is there. */
#define MEMBER_SESSION "spoolwire:"
/* Does PostgreSQL have a session of `g`, a row of `gateways`? */
#define GATEWAY_IS_CONNECTED                                                           \
    "EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.datname = current_database() "   \
    "AND (a.application_name = '" MEMBER_SESSION "' || g.id OR (a.application_name = " \
    "'" POSTGRES_SESSION "' || g.id AND a.wait_event_type IS DISTINCT FROM 'Lock')))"

struct postgres_store {
    struct store base;
    PGconn *conn;   /* owned; in pipeline mode; NULL or broken: reconnect before the next use */
    char *url;      /* owned; may contain a password, so messages never show it */
    char name[112]; /* for messages: database and host */
    enum store_role role;
    bool relaxed;             /* commits do not wait for the disk */
    bool is_pooled;           /* through a pooler: nothing is kept in the session */
    unsigned busy_ms;         /* how long to wait for the lock of our own last session */
    char gateway[40];         /* the id of this gateway; "": none, it writes all shards */
    int64_t shard;            /* the one that it writes */
    int64_t n_shards;         /* of the database, once it was asked for; 0: not yet */
    const atomic_bool *waits; /* borrowed while it is opened; NULL: do not wait for the lock */
    bool in_transaction;
    bool gathering;                        /* writes are sent without waiting for results */
    const struct store_table *loading;     /* the table whose insert is prepared: copy.c */
    struct postgres_chunks chunks;         /* gathered and not sent yet */
    struct postgres_operations operations; /* the same */
    struct error failure;                  /* of the transaction; code 0: it may be committed */
    unsigned n_unread;                     /* statements whose results were not read yet */
    PGresult *kept;                        /* owned; holds the texts of the last returned row */
    int64_t rows_taken;        /* by the last reader of records that had enough; or 0 */
    struct row_stream *stream; /* borrowed; NULL: no statement's rows are being read */
    struct postgres_record {
        int64_t key;
        uint64_t seq; /* 0: none */
        struct buf text;
    } last_record;         /* the one that was last read alone, by a reader */
    int64_t epoch;         /* of the shard, while we hold it; 0: we never did */
    long version;          /* of the schema, when it was last connected */
    char unmigrated[240];  /* why it could not be brought to the newest; or "" */
    int64_t turn;          /* the last stored turn of this epoch */
    char holder[40];       /* our name as the writer, set when it is opened; "": none yet */
    atomic_bool is_fenced; /* another gateway has taken the shard: we must not write any more */
    atomic_bool is_hurried;
    char origin[80]; /* which server and which history of it: shard.c; "": not known yet */
    struct postgres_keys {
        int64_t next, left;
    } keys[STORE_KEYS_MAX];      /* reserved and not given out */
    int64_t reached;             /* while loading: lower keys have a partition: copy.c */
    _Atomic int64_t *breadcrumb; /* mapped; NULL: not used yet: admin.c */
    struct store_left left;      /* by the writer before */
    int64_t left_epoch;          /* of that writer */
    int backend;                 /* process id of our last session; 0: none */
    char backend_start[40];      /* when that session began, which tells it from a later one */
};

static inline struct postgres_store *postgres_of(struct store *s)
{
    return (struct postgres_store *)s;
}

#define POSTGRES_OP(name) STORE_DECLARE(postgres, name)
STORE_OPS(POSTGRES_OP)
POSTGRES_OP(check)
POSTGRES_OP(dump)
POSTGRES_OP(load)
POSTGRES_OP(last_key)
POSTGRES_OP(skip_keys)
POSTGRES_OP(identity)
POSTGRES_OP(is_lost)
POSTGRES_OP(operation_put)
POSTGRES_OP(operation)
POSTGRES_OP(shards)
POSTGRES_OP(make_shards)
POSTGRES_OP(breadcrumb)
POSTGRES_OP(hurry)
POSTGRES_OP(unmigrated)
POSTGRES_OP(left_behind)
POSTGRES_OP(name_suspect)
#undef POSTGRES_OP

/* --- admin.c ---------------------------------------------------------------------- */

void breadcrumb_release(struct postgres_store *s);
/* The breadcrumb is of this epoch from now on. */
void breadcrumb_sign(struct postgres_store *s);

/* --- libpq.c ------------------------------------------------------------------------ */

/* Must be called first.  ERR_NOT_FOUND, with what to install. */
int libpq_load(struct error *err);

/* --- connection.c ---------------------------------------------------------------- */

/* Sets s->name, without a password.  ERR_SYNTAX: not a PostgreSQL URL. */
int connection_name(struct postgres_store *s, const char *url, struct error *err);
/* Connects if necessary: settings, lock and epoch, statements. */
int connection_ready(struct postgres_store *s, struct error *err);
/* Only the first step: connects, and checks version and encoding. */
int connection_open(struct postgres_store *s, struct error *err);
/* Makes another connection, which the caller closes. */
PGconn *connection_dial(const struct postgres_store *s);
/* Makes a connection without lock, epoch and statements, for connection_exec() and others. */
int connection_plain(struct postgres_store *s, struct error *err);
void connection_close(struct postgres_store *s);
bool connection_lost(const struct postgres_store *s);
/* Before pipeline mode: runs @sql and returns its rows (unless @ret is NULL). */
int connection_exec(struct postgres_store *s,
                    const char *sql,
                    PGresult **ret,
                    struct error *err);

/* --- shard.c --------------------------------------------------------------------- */

/* Takes the lock of the shard for this session; ERR_BUSY when another gateway has it. */
int shard_lock(struct postgres_store *s, struct error *err);
/* Increments the epoch.  ERR_IO when another gateway has done that since. */
int shard_take(struct postgres_store *s, struct error *err);
/* Says that the shard was left in good order. */
void shard_leave(struct postgres_store *s);
/* Is PostgreSQL the same server as before, with all that it had?  ERR_IO for a writer.  Sets
 * the era of the store. */
int shard_check_origin(struct postgres_store *s, struct error *err);
/* For a program that is no gateway: also takes the locks of all other shards; ERR_BUSY. */
int shard_lock_rest(struct postgres_store *s, struct error *err);

/* --- schema.c -------------------------------------------------------------------- */

/* The versions on which this program can work. */
long schema_newest(void);
long schema_oldest(void);
/* What brings version @i to the next. */
const char *schema_step(long i);
enum {
    SCHEMA_WITH_SUSPECT = 5, /* the column of `shards` */
    SCHEMA_WITH_CRONS = 6,
    SCHEMA_WITH_VECTORS = 7, /* the table item_vectors */
    SCHEMA_WITH_WEBHOOKS = 8,
    SCHEMA_WITH_LARGE = 9, /* the table large_values */
};

/* --- migration.c ----------------------------------------------------------------- */

/* Is the schema ours, and can we work on it?  The writer creates or migrates it.  Sets
 * s->version. */
int schema_ready(struct postgres_store *s, struct error *err);
/* The version of the schema, 0 when it is empty; errors as in schema_ready(), for any role. */
int schema_look(struct postgres_store *s, long *ret, struct error *err);
enum { SCHEMA_GATEWAY_BYTES = 200 };
/* A gateway that lives and does not know the newest schema, for messages; "": none. */
int schema_older_gateway(struct postgres_store *s,
                         long version,
                         char ret[SCHEMA_GATEWAY_BYTES],
                         struct error *err);
/* ERR_REFUSED, if a migration is needed and waits for an older gateway. */
int schema_refuse_older(struct postgres_store *s, struct error *err);
int schema_refuse_newer(const struct postgres_store *s, long version, struct error *err);

/* --- pooler.c, examine.c ---------------------------------------------------------- */

/* ERR_REFUSED when a pooler gives our session to other clients. */
int pooler_check(struct postgres_store *s, struct error *err);
void postgres_examine(const struct store_options *options, store_examine_cb cb, void *arg);

/* --- statements.c ---------------------------------------------------------------- */

enum { POSTGRES_MAX_PARAMS = 48 };

/* The parameters of a statement, in the order of the question marks; texts are borrowed until
 * it is sent. */
struct postgres_params {
    struct postgres_store *s;
    enum postgres_statement id;
    int n;
    bool is_too_large;
    const char *values[POSTGRES_MAX_PARAMS];
    int lengths[POSTGRES_MAX_PARAMS];
    int64_t numbers[POSTGRES_MAX_PARAMS]; /* in network byte order */
};

/* Queues the preparation of all statements that this role uses. */
int statements_send(struct postgres_store *s);
/* The name of a statement, or of its variant that fails unless it changes a row. */
/* Does it need a newer schema than the session has begun with?  Then it is not prepared. */
bool statement_is_newer(const struct postgres_store *s, enum postgres_statement id);
const char *statement_name(enum postgres_statement id, bool must, char buffer[16]);
/* Sends it without having prepared it; 1, or 0 as libpq does. */
int statement_send_unnamed(struct postgres_params *p, const int *formats);

void params_init(struct postgres_params *p, struct store *s, enum postgres_statement id);
void params_text(struct postgres_params *p, struct str text);
void params_int(struct postgres_params *p, int64_t value);
/* Borrowed until it is sent; false: out of memory. */
bool params_array(struct postgres_params *p, struct postgres_array *a);

/* --- pipeline.c ------------------------------------------------------------------ */

/* Sends a statement that reads, and returns its rows; also settles the statements before it.
 * The caller clears *@ret. */
int rows_get(struct postgres_params *p, PGresult **ret, struct error *err);
/* The same for one row, which is kept until the next call on the store; ERR_NOT_FOUND, without
 * a message. */
int row_get(struct postgres_params *p, PGresult **ret, struct error *err);
/* The number that a statement without parameters returns. */
int number_get(struct store *s, enum postgres_statement id, int64_t *ret, struct error *err);

/* Sends many statements that read, in one round trip: begin, send each, read all @n results.
 * The caller clears @ret, also after an error; it must be filled with NULL before. */
int reading_begin(struct postgres_store *s, struct error *err);

/* --- rows while PostgreSQL sends them ------------------------------------------- */

/* The rows of one statement, outside of a transaction.  Other statements may be executed
 * between two rows: the rest of the rows is read and kept first. */
struct row_stream {
    struct postgres_store *s;
    PGresult *row;   /* owned; the current one */
    PGresult **kept; /* owned; read before their turn */
    size_t n_kept, next;
    bool has_ended; /* all rows were read, or reading has failed */
    int code;       /* of a failure */
    struct error why;
};
int row_stream_begin(struct row_stream *st, struct postgres_params *p, struct error *err);
/* The next row, as a result with one row, valid until the next call; NULL: the end, or a
 * failure. */
const PGresult *row_stream_next(struct row_stream *st);
/* Reads what is left; the first failure. */
int row_stream_end(struct row_stream *st, struct error *err);
/* Before another statement. */
void row_stream_keep(struct postgres_store *s);

int reading_send(struct postgres_params *p, struct error *err);
int reading_end(struct postgres_store *s, PGresult **ret, size_t n, struct error *err);

/* Sends a statement that writes.  *@ret_n (unless NULL) is the number of changed rows; 1 while
 * gathering, when it is not known yet. */
int write_rows(struct postgres_params *p, size_t *ret_n, struct error *err);
/* The same for a statement that must change a row: ERR_NOT_FOUND without a message.  While
 * gathering, the commit fails instead. */
int write_row(struct postgres_params *p, struct error *err);
/* Sends a statement, or its variant that fails unless it changes a row; the result is read
 * later. */
int send_params(struct postgres_params *p, bool must, struct error *err);
/* The same for a statement that prepare_text() has prepared under a name. */
int send_named(struct postgres_params *p, const char *name, struct error *err);
/* Queues the preparation of a statement that is not in the list. */
int prepare_text(struct postgres_store *s,
                 const char *name,
                 const char *sql,
                 struct error *err);
/* Runs a statement that is not prepared, and settles those before it.  The caller clears *@ret;
 * @ret may be NULL. */
int run_text(struct postgres_store *s, const char *sql, PGresult **ret, struct error *err);
/* The same without parameters. */
int send_plain(struct postgres_store *s, enum postgres_statement id, struct error *err);
/* Reads all results.  The last one is *@ret_last (unless NULL), which the caller clears. */
int settle(struct postgres_store *s, PGresult **ret_last, struct error *err);

static inline int64_t cell_int(const PGresult *r, int row, int column)
{
    uint64_t n = 0;
    const char *p = PQgetvalue(r, row, column);

    for (int i = 0; i < PQgetlength(r, row, column); i++) /* length 0, for NULL, gives 0 */
        n = n << 8 | (unsigned char)p[i];
    return (int64_t)n;
}

static inline struct str cell_text(const PGresult *r, int row, int column)
{
    return PQgetisnull(r, row, column)
               ? STR_NONE
               : str_make(PQgetvalue(r, row, column), (size_t)PQgetlength(r, row, column));
}

/* --- rows of results, by the sources that write them ------------------------------- */

void job_row_at(const PGresult *r, int i, struct job_row *row);
struct thread_row thread_row_at(const PGresult *r, int i);
struct run_row run_row_at(const PGresult *r, int i);
struct question_row question_row_at(const PGresult *r, int i);
struct item_row item_row_at(const PGresult *r, int i, struct str owner);
struct assistant_row assistant_row_at(const PGresult *r, int i);
struct cron_row cron_row_at(const PGresult *r, int i);
struct webhook_row webhook_row_at(const PGresult *r, int i);

/* --- operations.c ------------------------------------------------------------------ */

/* Inside a transaction: sends those that were gathered. */
int operations_send(struct postgres_store *s, struct error *err);

/* --- webhooks.c ------------------------------------------------------------------ */

/* Deletes at most @limit expired deliveries; *@ret_n is their number. */
int postgres_webhooks_expire(struct store *s,
                             int64_t now,
                             size_t limit,
                             size_t *ret_n,
                             struct error *err);

/* --- jobs.c ---------------------------------------------------------------------- */

/* Calls back for each row that the statement returns; they are rows of jobs. */
int jobs_give(struct postgres_params *p, store_job_cb cb, void *arg, struct error *err);

/* --- records.c ------------------------------------------------------------------- */

void chunks_init(struct postgres_chunks *c);
void chunks_done(struct postgres_chunks *c);
/* Sends the gathered chunks. */
int chunks_send(struct postgres_store *s, struct error *err);
/* Cuts a chunk that ends with @last so that it begins with @seq; false: it does not contain it.
 */
bool chunk_cut(struct str *chunk, uint64_t last, uint64_t seq);
/* The chunk with record @seq, cut so that it begins with it, in *@ret, kept as in row_get();
 * the seq of its last record in *@ret_last.  ERR_NOT_FOUND without a message. */
int chunk_from(struct store *s,
               int64_t key,
               uint64_t seq,
               struct str *ret,
               int64_t *ret_last,
               struct error *err);

/* --- partitions.c ---------------------------------------------------------------- */

extern const char partitions_step[]; /* of the schema */
/* Inside a transaction: makes partitions ahead, begins the next one when it is time, and drops
 * one whose jobs have all expired.  The keys that are left of an older one are given up. */
int partitions_tend(struct postgres_store *s, struct error *err);
/* Inside a transaction: makes the partitions that are needed for the records of job @key. */
int partitions_reach(struct postgres_store *s, int64_t key, struct error *err);
/* Inside a transaction: puts the endings of expired jobs where they outlive their partition. */
int partitions_keep_endings(struct postgres_store *s, struct error *err);

/* --- jobs.c ---------------------------------------------------------------------- */

/* Are lists in the order of time, since keys of several shards are in none? */
int postgres_is_by_time(struct store *s, bool *ret, struct error *err);

/* --- fault.c --------------------------------------------------------------------- */

/* Turns an error of the result or the connection into our code and message. */
int postgres_fault(struct postgres_store *s, const PGresult *result, struct error *err);
int postgres_cannot_connect(struct postgres_store *s, const PGconn *conn, struct error *err);
/* For ERR_NOT_FOUND, adds the message that @what was not found; returns other codes
 * unchanged. */
int not_found(int code, const char *what, struct error *err);

#endif
