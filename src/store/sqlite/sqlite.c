/* A store is one connection to one SQLite file in WAL mode.
 *
 * The writer holds the lock file, and alone writes, migrates and checkpoints; readers are
 * read-only connections.  A commit appends pages to the WAL and syncs it; a checkpoint moves
 * them into the file.  Only the writer does that, between commits, so nobody else waits for it:
 *
 *     commit ─▶ WAL ─(store_compact)─▶ file          readers: WAL if there, else file
 *
 * When all of the WAL is copied to the file and no reader uses it, the next commit writes from
 * its start again.  Constant readers can prevent that; past RESTART_FRAMES the checkpoint waits
 * for them for a short time.
 *
 * Errors: a transaction is in one of three states.
 *
 *     NONE ──begin──▶ OPEN ──commit──▶ NONE     a commit that fails has rolled back
 *                      │
 *        write failed  │
 *                      ▼
 *                     FAILED ──commit──▶ NONE   gives the error again, stores nothing
 *
 * FAILED prevents that half a transaction is stored: on some errors SQLite rolls back by
 * itself, and each later statement would be a transaction of its own.  A row that is refused
 * (ERR_REFUSED, ERR_TOO_LARGE) has changed nothing and does not lead to FAILED. */
#include "store/sqlite/sqlite.h"

#include "store/list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITER_CACHE_BYTES = 32 * 1024 * 1024 };

/* In pages of 4 KiB.  16 MiB: a page that is written often is in the WAL many times, and copied
 * once; copying 16 MiB takes the writer some 10 ms and a sync.  The restart is at 64 MiB. */
enum { CHECKPOINT_FRAMES = 4000, RESTART_FRAMES = 16384, RESTART_WAIT_MS = 20 };

/* The largest text that SQLite accepts. */
#define TEXT_MAX_BYTES ((size_t)1000 * 1000 * 1000)

/* --- opening --------------------------------------------------------------------- */

/* page_size comes first, because it only works on an empty file.  Freed pages are reused, never
 * returned to the system.  The content of deleted rows is overwritten only where that costs no
 * extra write (Debian's default is always).  No mmap: it makes replays, which reach 2 million
 * rows/s without it, about 1.4 times faster, but a bad sector would kill the process. */
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
    if (n_frames < s->wal_frames) { /* the WAL was restarted, */
        s->checkpoint_at = CHECKPOINT_FRAMES;
        s->wal_room = 0; /* and may have been truncated */
    }
    s->wal_frames = n_frames;
    return SQLITE_OK;
}

static bool in_memory(const struct sqlite_store *s)
{
    return strcmp(s->path, ":memory:") == 0;
}

/* Switches the file to WAL mode, which is permanent; SQLite returns the mode that it has
 * then. */
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

/* No checkpoint on close: a file that we refuse stays unchanged, with its WAL; and readers
 * never checkpoint. */
static int keep_wal(struct sqlite_store *s, bool keep, struct error *err)
{
    int rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)keep, NULL);

    return rc == SQLITE_OK ? 0 : fault(&s->base, rc, err);
}

static void checkpoint(struct sqlite_store *s, int mode)
{
    /* Errors are ignored: on a full disk the next commit fails; until then the WAL holds
     * everything. */
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
    if (code == 0 && sqlite3_db_readonly(s->db, "main") == 1) /* SQLite could only open it
                                                                 read-only */
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
    (void)sqlite3_wal_hook(s->db, on_wal_commit, s); /* returns the old hook: none */
    checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);        /* the WAL that a crash has left */
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

/* Joins a database that another store has set up. */
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
    /* Memory statistics would take a lock for each allocation.  Fails if SQLite is already
     * initialised, which does no harm. */
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
    (void)file_check(s, NULL); /* records the identity of the files, for later checks */
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
    /* The last connection checkpoints the WAL; what it cannot copy stays in the WAL. */
    (void)sqlite3_close(s->db);
    if (s->lock_fd >= 0)
        (void)close(s->lock_fd); /* last: now another server may open the database */
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
        sqlite_rollback(store); /* the last rollback failed for lack of memory */
    int code = statement_run(store, STATEMENT_BEGIN, err);
    if (code == 0)
        s->transaction = TRANSACTION_OPEN;
    return code;
}

void sqlite_rollback(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);

    if (sqlite3_get_autocommit(s->db) == 0)
        (void)statement_run(store, STATEMENT_ROLLBACK, NULL); /* ends the transaction even if it
                                                                 returns an error */
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
    /* A checkpoint saves the content of a WAL that was deleted.  On a full disk it may make
     * room: the WAL is then written from its start again. */
    if (code == ERR_IO)
        checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
    return code;
}

/* Without round trips, executing the statements one by one is as fast. */
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

/* Does not wait for readers, except for 20 ms at most when the WAL has grown past 64 MiB. */
void sqlite_compact(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);

    if (s->transaction != TRANSACTION_NONE)
        return;
    wal_make_room(s);
    if (s->wal_frames < s->checkpoint_at)
        return;
    /* A reader in an old part of the WAL may have kept some of it; try again later. */
    s->checkpoint_at = s->wal_frames + CHECKPOINT_FRAMES;
    checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
    if (s->wal_frames < RESTART_FRAMES)
        return;
    (void)sqlite3_busy_timeout(s->db, RESTART_WAIT_MS); /* fails for a NULL db only */
    checkpoint(s, SQLITE_CHECKPOINT_RESTART);
    (void)sqlite3_busy_timeout(s->db, (int)s->busy_ms);
}
