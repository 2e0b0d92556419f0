/* Rows of threads, and the additional columns of runs.
 *
 * Texts of a single row are copied, as those of a job are; lists pass them in SQLite's
 * memory. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

/* --- rows ------------------------------------------------------------------------ */

/* In the order of THREAD_COLUMNS. */
static struct thread_row thread_of(sqlite3_stmt *stmt)
{
    return (struct thread_row){
        .key = sqlite3_column_int64(stmt, 0),
        .id = column_text(stmt, 1),
        .owner = column_text(stmt, 2),
        .status = column_text(stmt, 3),
        .metadata = column_text(stmt, 4),
        .config = column_text(stmt, 5),
        .interrupts = column_text(stmt, 6),
        .error = column_text(stmt, 7),
        .created = sqlite3_column_int64(stmt, 8),
        .updated = sqlite3_column_int64(stmt, 9),
        .state_updated = sqlite3_column_int64(stmt, 10),
        .n_runs = sqlite3_column_int64(stmt, 11),
        .is_temporary = sqlite3_column_int64(stmt, 12),
        .values = column_text(stmt, 13),
        .ttl_ms = sqlite3_column_int64(stmt, 14),
    };
}

static struct run_row run_of(sqlite3_stmt *stmt)
{
    return (struct run_row){
        .job = sqlite3_column_int64(stmt, 0),
        .assistant = column_text(stmt, 1),
        .metadata = column_text(stmt, 2),
        .kwargs = column_text(stmt, 3),
        .strategy = column_text(stmt, 4),
        .modes = sqlite3_column_int64(stmt, 5),
        .subgraphs = sqlite3_column_int64(stmt, 6),
        .thread = column_text(stmt, 7),
    };
}

/* --- writing --------------------------------------------------------------------- */

int sqlite_thread_insert(struct store *s, struct thread_row *row, struct error *err)
{
    int code = write_ready(s, err);

    assert(row->id.p != NULL && row->status.p != NULL);
    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_THREAD_INSERT);
    bind_key(&b, row->key);
    bind_text(&b, row->id);
    bind_text(&b, row->owner);
    bind_text(&b, row->status);
    bind_text(&b, row->metadata);
    bind_text(&b, row->config);
    bind_text(&b, row->interrupts);
    bind_text(&b, row->error);
    bind_int(&b, row->created);
    bind_int(&b, row->updated);
    bind_int(&b, row->state_updated);
    bind_int(&b, row->n_runs);
    bind_int(&b, row->is_temporary);
    bind_text(&b, row->values);
    bind_int(&b, row->ttl_ms);
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    if (rc == SQLITE_CONSTRAINT_UNIQUE)
        code = error_set(err, ERR_REFUSED, "another thread has the id \"%.*s\"",
                         STR_ARG(str_head(row->id, 100)));
    else if (rc != SQLITE_DONE)
        code = write_failed(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    if (code == 0)
        row->key = sqlite3_last_insert_rowid(sqlite_of(s)->db);
    return code;
}

static int write_one(struct store *s, struct binder *b, struct error *err)
{
    size_t n = 0;
    int code = write_run(s, b, &n, err);

    return code == 0 && n == 0 ? error_set(err, ERR_NOT_FOUND, "there is no such thread")
                               : code;
}

int sqlite_thread_update(struct store *s, const struct thread_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_THREAD_UPDATE);
    bind_text(&b, row->status);
    bind_text(&b, row->metadata);
    bind_text(&b, row->config);
    bind_text(&b, row->interrupts);
    bind_text(&b, row->error);
    bind_int(&b, row->updated);
    bind_int(&b, row->state_updated);
    bind_int(&b, row->n_runs);
    bind_int(&b, row->ttl_ms);
    bind_int(&b, row->key);
    return write_one(s, &b, err);
}

int sqlite_thread_values(struct store *s,
                         int64_t key,
                         struct str values,
                         int64_t now,
                         struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_THREAD_VALUES);
    bind_text(&b, values);
    bind_int(&b, now);
    bind_int(&b, now);
    bind_int(&b, key);
    return write_one(s, &b, err);
}

int sqlite_thread_delete(struct store *s, int64_t key, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_THREAD_DELETE);
    bind_int(&b, key);
    return write_one(s, &b, err);
}

int sqlite_run_insert(struct store *s, const struct run_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_RUN_INSERT);
    bind_int(&b, row->job);
    bind_text(&b, row->assistant);
    bind_text(&b, row->metadata);
    bind_text(&b, row->kwargs);
    bind_text(&b, row->strategy);
    bind_int(&b, row->modes);
    bind_int(&b, row->subgraphs);
    return write_run(s, &b, NULL, err);
}

int sqlite_run_read(struct store *s, int64_t job, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_RUN_READ);
    bind_int(&b, RUN_IS_READ);
    bind_int(&b, job);
    return write_one(s, &b, err);
}

/* --- reading --------------------------------------------------------------------- */

/* One row, or ERR_NOT_FOUND. */
static int step_one(struct store *s, const struct binder *b, struct error *err)
{
    int rc = b->rc == SQLITE_OK ? sqlite3_step(b->stmt) : b->rc;

    return rc == SQLITE_ROW    ? 0
           : rc == SQLITE_DONE ? error_set(err, ERR_NOT_FOUND, "there is no such thread or run")
                               : fault(s, rc, err);
}

static int get_thread(struct store *s,
                      const struct binder *b,
                      struct thread_row *ret,
                      struct error *err)
{
    struct thread_row row = { 0 };
    int code = step_one(s, b, err);

    if (code == 0) {
        row = thread_of(b->stmt);
        code = texts_keep(s, &thread_texts, &row, "a thread", err);
    }
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    if (code == 0)
        *ret = row;
    return code;
}

int sqlite_thread_get(struct store *s, struct str id, struct thread_row *ret, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_THREAD_BY_ID);

    bind_text(&b, id);
    return get_thread(s, &b, ret, err);
}

int sqlite_thread_by_key(struct store *s,
                         int64_t key,
                         struct thread_row *ret,
                         struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_THREAD_BY_KEY);

    bind_int(&b, key);
    return get_thread(s, &b, ret, err);
}

int sqlite_run_get(struct store *s, int64_t job, struct run_row *ret, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_RUN);
    struct run_row row = { 0 };

    bind_int(&b, job);
    int code = step_one(s, &b, err);
    if (code == 0) {
        row = run_of(b.stmt);
        code = texts_keep(s, &run_texts, &row, "a thread", err);
    }
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    if (code == 0)
        *ret = row;
    return code;
}

int sqlite_thread_jobs(struct store *s,
                       int64_t thread,
                       store_job_cb cb,
                       void *arg,
                       struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_THREAD_JOBS);

    bind_int(&b, thread);
    return jobs_each(s, &b, SIZE_MAX, cb, arg, err);
}

int sqlite_threads_expired(struct store *s,
                           int64_t now,
                           size_t limit,
                           store_thread_cb cb,
                           void *arg,
                           struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_THREADS_EXPIRED);

    bind_int(&b, now);
    bind_int(&b, (int64_t)limit);
    int rc = b.rc;
    while (rc == SQLITE_OK && (rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct thread_row row = thread_of(b.stmt);

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

/* Lists are rare and have many orders: each is prepared when it is used. */

#define THREADS                               \
    "SELECT " THREAD_COLUMNS " FROM threads " \
    "WHERE is_temporary = 0 AND (?1 IS NULL OR owner = ?1) ORDER BY "

static const char *const orders[][2] = {
    [THREADS_BY_UPDATED] = { THREADS "updated DESC, key DESC", THREADS "updated, key" },
    [THREADS_BY_CREATED] = { THREADS "key DESC", THREADS "key" },
    [THREADS_BY_ID] = { THREADS "id DESC", THREADS "id" },
    [THREADS_BY_STATUS] = { THREADS "status DESC, key DESC", THREADS "status, key" },
};

int sqlite_threads(struct store *s,
                   enum thread_order order,
                   bool ascending,
                   struct str owner,
                   store_thread_cb cb,
                   void *arg,
                   struct error *err)
{
    struct binder b = { 0 };
    int rc = sqlite3_prepare_v2(sqlite_of(s)->db, orders[order][ascending], -1, &b.stmt, NULL);

    if (rc == SQLITE_OK) {
        bind_text(&b, owner);
        rc = b.rc;
    }
    while (rc == SQLITE_OK && (rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct thread_row row = thread_of(b.stmt);

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_finalize(b.stmt); /* repeats the error */
    return code;
}
