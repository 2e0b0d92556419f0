/* A store is one connection to one SQLite file in WAL mode.
 *
 * The one that writes holds the lock file, and all that writes, migrates and checkpoints;
 * readers are read-only connections.  A commit appends pages to the WAL and syncs it; a
 * checkpoint moves them into the file.  Only the writer does that, between commits, so
 * nothing else ever waits for it:
 *
 *     commit ─▶ WAL ─(store_compact)─▶ file          readers: WAL if there, else file
 *
 * When all of the WAL is in the file and no reader is inside it, the next commit starts it
 * anew.  Readers that are always there can keep it from that; past RESTART_FRAMES the
 * checkpoint waits for them a little.
 *
 * Failing: a transaction is in one of three states.
 *
 *     NONE ──begin──▶ OPEN ──commit──▶ NONE     a commit that fails has rolled back
 *                      │
 *        write failed  │
 *                      ▼
 *                     FAILED ──commit──▶ NONE   gives the error again, stores nothing
 *
 * FAILED is what keeps half a transaction from being stored: on some errors SQLite rolls
 * back by itself, and what came after would each be a transaction of its own.  A row that
 * is refused (ERR_REFUSED, ERR_TOO_LARGE) has changed nothing and does not lead there. */
#include "store/sqlite/sqlite.h"

#include "store/list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITER_CACHE_BYTES = 32 * 1024 * 1024 };

/* With pages of 4 KiB: 16 MiB, in which a page that is written often is found many times
 * and moved once, and 64 MiB.  Moving 16 MiB takes the writer some 10 ms and a sync. */
enum { CHECKPOINT_FRAMES = 4000, RESTART_FRAMES = 16384, RESTART_WAIT_MS = 20 };

/* The largest text that SQLite takes. */
#define TEXT_MAX_BYTES ((size_t)1000 * 1000 * 1000)

/* --- opening --------------------------------------------------------------------- */

/* page_size first, it counts only for an empty file.  Freed pages are used again, never
 * given back.  The content of deleted rows is overwritten where it costs no writing (Debian's
 * default is everywhere).  No mmap: it makes replays about 1.4 times faster, which
 * are at 2 million rows/s without it, and it makes a bad sector end the process. */
#define SETTINGS_OF_ALL "PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF; PRAGMA mmap_size=0;"
#define SETTINGS_OF_WRITER                                    \
    "PRAGMA wal_autocheckpoint=0; PRAGMA secure_delete=FAST;" \
    "PRAGMA journal_size_limit=67108864;" SETTINGS_OF_ALL
#define SETTINGS_OF_READER \
    "PRAGMA cache_size=-4096; PRAGMA wal_autocheckpoint=0;" SETTINGS_OF_ALL

static int set(struct sqlite_store *s, const char *pragmas, struct error *err)
{
    int rc = sqlite3_exec(s->db, pragmas, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : fault(&s->base, rc, err);
}

static int set_cache(struct sqlite_store *s, size_t bytes, struct error *err)
{
    char pragma[64];

    if (bytes == 0)
        bytes = WRITER_CACHE_BYTES;
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA cache_size=-%zu", bytes / 1024);
    return set(s, pragma, err);
}

static int on_wal_commit(void *arg, sqlite3 *db, const char *database, int n_frames)
{
    struct sqlite_store *s = arg;

    (void)db;
    (void)database;
    if (n_frames < s->wal_frames) { /* the WAL was started anew, */
        s->checkpoint_at = CHECKPOINT_FRAMES;
        s->wal_room = 0; /* and may have been cut */
    }
    s->wal_frames = n_frames;
    return SQLITE_OK;
}

static bool in_memory(const struct sqlite_store *s)
{
    return strcmp(s->path, ":memory:") == 0;
}

/* Puts the file into WAL mode, which it keeps; the mode that it then has is the answer. */
static int set_wal(struct sqlite_store *s, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode=WAL", -1, &stmt, NULL);
    int code = 0;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW)
        code = fault(&s->base, rc, err);
    else if (!str_is(column_text(stmt, 0), "wal") && !in_memory(s))
        code = error_set(
            err, ERR_IO,
            "the file system of %s cannot share memory between connections (a network "
            "file system?): give a path on a local disk",
            s->name);
    (void)sqlite3_finalize(stmt); /* repeats the error */
    return code;
}

/* A file that is refused is left as it is, with its WAL; a reader never moves pages. */
static int keep_wal(struct sqlite_store *s, bool keep, struct error *err)
{
    int rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)keep, NULL);

    return rc == SQLITE_OK ? 0 : fault(&s->base, rc, err);
}

static void checkpoint(struct sqlite_store *s, int mode)
{
    /* A full disk fails the next commit; until then the WAL holds everything. */
    (void)sqlite3_wal_checkpoint_v2(s->db, NULL, mode, NULL, NULL);
}

static int connect_to(struct sqlite_store *s, int flags, struct error *err)
{
    int rc = sqlite3_open_v2(s->path, &s->db,
                             flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

    if (s->db == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    if (rc != SQLITE_OK)
        return fault(&s->base, rc, err);
    (void)sqlite3_busy_timeout(s->db, (int)s->busy_ms); /* fails for a NULL db only */
    return keep_wal(s, true, err);
}

static int open_writer(struct sqlite_store *s, const struct store_options *o, struct error *err)
{
    int version = 0;
    int code = in_memory(s) ? 0 : file_lock(s, err);

    if (code == 0 && !in_memory(s))
        code = file_create(s, err);
    if (code == 0)
        code = connect_to(s, SQLITE_OPEN_READWRITE, err);
    if (code == 0 && sqlite3_db_readonly(s->db, "main") == 1) /* SQLite had to fall back to it
                                                               */
        code = fault(&s->base, SQLITE_READONLY, err);
    if (code == 0)
        code = schema_check(s, &version, err);
    if (code == 0)
        code = set(s, "PRAGMA page_size=4096; PRAGMA auto_vacuum=NONE", err);
    if (code == 0)
        code = set_wal(s, err);
    if (code == 0)
        code =
            set(s, o->relaxed ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", err);
    if (code == 0)
        code = set(s, SETTINGS_OF_WRITER, err);
    if (code == 0)
        code = set_cache(s, o->cache_bytes, err);
    if (code == 0)
        code = schema_migrate(s, version, err);
    if (code == 0)
        code = statements_prepare(s, err);
    if (code == 0)
        code = keep_wal(s, false, err);
    if (code != 0)
        return code;
    (void)sqlite3_wal_hook(s->db, on_wal_commit, s); /* gives the hook before: none */
    checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);        /* what a crash has left */
    wal_make_room(s);
    file_sync_folder(s);
    return 0;
}

static int too_old(struct sqlite_store *s, int version, struct error *err)
{
    return error_set(err, ERR_REFUSED,
                     "%s is of an older spoolwire (schema %d, this one has %d): start the "
                     "server with it once, which brings it up to date",
                     s->name, version, schema_version());
}

/* To a file that another has made what it should be. */
static int join(struct sqlite_store *s, struct error *err)
{
    int version = 0;
    int code = set(s, SETTINGS_OF_READER, err);

    if (code == 0)
        code = schema_check(s, &version, err);
    if (code == 0 && version != schema_version())
        code = too_old(s, version, err);
    return code == 0 ? statements_prepare(s, err) : code;
}

static int open_reader(struct sqlite_store *s, struct error *err)
{
    if (in_memory(s))
        return error_set(err, ERR_REFUSED, "a store in memory has no readers");
    int code = connect_to(s, SQLITE_OPEN_READONLY, err);
    return code == 0 ? join(s, err) : code;
}

static int open_beside(struct sqlite_store *s, bool relaxed, struct error *err)
{
    int code = in_memory(s) ? error_set(err, ERR_REFUSED, "a store in memory is alone")
                            : connect_to(s, SQLITE_OPEN_READWRITE, err);

    if (code == 0)
        code = set(s, relaxed ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", err);
    return code == 0 ? join(s, err) : code;
}

#define ENTRY(name) STORE_ENTRY(sqlite, name)
static const struct store_ops ops = { .max_seq = RECORD_SEQ_MAX, STORE_OPS(ENTRY) };
static const struct store_admin admin = { STORE_ADMIN(ENTRY) };
#undef ENTRY

static int open_store(const char *path,
                      const struct store_options *options,
                      enum store_role role,
                      struct store **ret,
                      struct error *err)
{
    struct sqlite_store *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    /* Counting what SQLite allocates takes a lock each time.  Refused when it is already at
     * work, which does no harm. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    s->base = (struct store){ .ops = &ops, .admin = &admin };
    s->lock_fd = -1;
    s->writes = role != STORE_READER;
    s->beside = role == STORE_BESIDE;
    s->relaxed = options->relaxed;
    s->busy_ms = options->busy_ms;
    s->checkpoint_at = CHECKPOINT_FRAMES;
    buf_init(&s->texts, TEXT_MAX_BYTES);
    int code = file_name(s, path, err);
    if (code == 0)
        code = role == STORE_WRITER   ? open_writer(s, options, err)
               : role == STORE_BESIDE ? open_beside(s, options->relaxed, err)
                                      : open_reader(s, err);
    if (code != 0) {
        sqlite_close(&s->base);
        return code;
    }
    (void)file_check(s, NULL); /* from now on they must be these */
    *ret = &s->base;
    return 0;
}

const struct store_backend store_backend_sqlite = { .scheme = "sqlite",
                                                    .form = "sqlite:PATH",
                                                    .open = open_store };

void sqlite_close(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);

    if (s->transaction != TRANSACTION_NONE)
        sqlite_rollback(store);
    statements_finalize(s);
    copy_release(s);
    /* The last connection moves the WAL into the file; what it cannot move stays there. */
    (void)sqlite3_close(s->db);
    if (s->lock_fd >= 0)
        (void)close(s->lock_fd); /* after the database: now another server may have it */
    breadcrumb_unmap(s);
    buf_done(&s->texts);
    file_forget(s);
    free(s);
}

/* --- transactions ---------------------------------------------------------------- */

int sqlite_begin(struct store *store, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);

    assert(s->writes && s->transaction == TRANSACTION_NONE);
    if (sqlite3_get_autocommit(s->db) == 0)
        sqlite_rollback(store); /* for which there was no memory then */
    int code = statement_run(store, STATEMENT_BEGIN, err);
    if (code == 0)
        s->transaction = TRANSACTION_OPEN;
    return code;
}

void sqlite_rollback(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);

    if (sqlite3_get_autocommit(s->db) == 0)
        (void)statement_run(store, STATEMENT_ROLLBACK, NULL); /* ends it, also when it complains
                                                               */
    s->transaction = TRANSACTION_NONE;
}

int sqlite_commit(struct store *store, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);

    assert(s->transaction != TRANSACTION_NONE);
    int code = s->failure.code;
    if (s->transaction == TRANSACTION_FAILED)
        (void)error_set(err, code, "%s", s->failure.text);
    else
        code = file_check_folder(s, err);
    if (code == 0)
        code = statement_run(store, STATEMENT_COMMIT, err);
    if (code == 0) {
        s->transaction = TRANSACTION_NONE;
        return 0;
    }
    sqlite_rollback(store);
    /* What is in a WAL that was deleted is saved by this.  On a full disk it may make room:
     * what is in the file need not be in the WAL, which is then written from its start again.
     */
    if (code == ERR_IO)
        checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
    return code;
}

/* A statement costs no round trip here: each by itself is as good as all at once. */
int sqlite_flush(struct store *s, struct store_batch *b, struct error *err)
{
    return store_flush_each(s, b, err);
}

int sqlite_read(struct store *s,
                const struct store_want *wants,
                size_t n,
                store_found_cb cb,
                void *arg,
                struct error *err)
{
    return store_read_each(s, wants, n, cb, arg, err);
}

int write_ready(struct store *store, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);

    assert(s->transaction != TRANSACTION_NONE);
    return s->transaction == TRANSACTION_FAILED
               ? error_set(err, s->failure.code, "%s", s->failure.text)
               : 0;
}

int write_failed(struct store *store, int rc, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    int code = fault(store, rc, err);

    if ((code != ERR_REFUSED && code != ERR_TOO_LARGE) || sqlite3_get_autocommit(s->db) != 0) {
        s->transaction = TRANSACTION_FAILED;
        (void)fault(store, rc, &s->failure);
    }
    return code;
}

int write_run(struct store *store, struct binder *b, size_t *ret_n, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    int rc = b->rc == SQLITE_OK ? sqlite3_step(b->stmt) : b->rc;
    int code = rc == SQLITE_DONE ? 0 : write_failed(store, rc, err);

    (void)sqlite3_reset(b->stmt); /* repeats the error */
    if (code == 0 && ret_n != NULL)
        *ret_n = (size_t)sqlite3_changes64(s->db);
    return code;
}

/* --- checkpoints ----------------------------------------------------------------- */

/* Without waiting for readers, or 20 ms at most, when they have let the WAL grow past 64 MiB.
 */
void sqlite_compact(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);

    if (s->transaction != TRANSACTION_NONE)
        return;
    wal_make_room(s);
    if (s->wal_frames < s->checkpoint_at)
        return;
    /* A reader in an old part of the WAL keeps some of it; the next try is a while away. */
    s->checkpoint_at = s->wal_frames + CHECKPOINT_FRAMES;
    checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
    if (s->wal_frames < RESTART_FRAMES)
        return;
    (void)sqlite3_busy_timeout(s->db, RESTART_WAIT_MS); /* fails for a NULL db only */
    checkpoint(s, SQLITE_CHECKPOINT_RESTART);
    (void)sqlite3_busy_timeout(s->db, (int)s->busy_ms);
}
