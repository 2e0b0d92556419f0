/* Rows of jobs.
 *
 * The texts of a row are in SQLite's memory.  Lists pass them to the callback like that; the
 * two functions that return one job copy them, because SQLite's memory is valid only during the
 * read transaction, which ends with the call. */
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <inttypes.h>

/* --- rows ------------------------------------------------------------------------ */

/* In the order of SELECT_JOBS. */
static void read_row(sqlite3_stmt *stmt, struct job_row *row)
{
    int n = 7;

    row->key = sqlite3_column_int64(stmt, 0);
    row->input = column_text(stmt, 1);
    row->seq = (uint64_t)sqlite3_column_int64(stmt, 2);
    row->first_seq = (uint64_t)sqlite3_column_int64(stmt, 3);
    row->producer_seq = sqlite3_column_int64(stmt, 4);
    row->crashed = sqlite3_column_int64(stmt, 5); /* NULL is 0, here and in the next */
    row->set_aside = sqlite3_column_int64(stmt, 6);
    row->shard = 0;
#define READ_TEXT(column) row->column = column_text(stmt, n++);
#define READ_INT(column)  row->column = sqlite3_column_int64(stmt, n++);
    JOB_FIXED(READ_TEXT, READ_INT)
    JOB_INDEXED(READ_TEXT, READ_INT)
    JOB_PLAIN(READ_TEXT, READ_INT)
#undef READ_TEXT
#undef READ_INT
}

#define BIND_TEXT(column) bind_text(b, row->column);
#define BIND_INT(column)  bind_int(b, row->column);

static void bind_fixed(struct binder *b, const struct job_row *row)
{
    JOB_FIXED(BIND_TEXT, BIND_INT)
}

static void bind_indexed(struct binder *b, const struct job_row *row)
{
    JOB_INDEXED(BIND_TEXT, BIND_INT)
}

static void bind_plain(struct binder *b, const struct job_row *row)
{
    JOB_PLAIN(BIND_TEXT, BIND_INT)
}

/* --- writing --------------------------------------------------------------------- */

/* Recognises the unique columns by their names in SQLite's error message. */
static int taken(struct store *s, const struct job_row *row, struct error *err)
{
    const char *message = sqlite3_errmsg(sqlite_of(s)->db);

    if (strstr(message, "jobs.idempotency_key") != NULL)
        return error_set(err, ERR_REFUSED, "another job has the idempotency key \"%.*s\"",
                         STR_ARG(str_head(row->idempotency_key, 100)));
    return error_set(err, ERR_REFUSED, "another job has the id \"%.*s\"",
                     STR_ARG(str_head(row->id, 100)));
}

int sqlite_take_keys(struct store *s,
                     enum store_keys kind,
                     size_t n,
                     int64_t *ret_first,
                     struct error *err)
{
    struct sqlite_store *store = sqlite_of(s);
    int64_t last = 0;
    int code = statement_number(s, STATEMENT_LAST_JOB_KEY + kind, &last, err);

    if (code != 0)
        return code;
    if (last < store->taken[kind])
        last = store->taken[kind];
    store->taken[kind] = last + (int64_t)n;
    *ret_first = last + 1;
    return 0;
}

int sqlite_job_insert(struct store *s, struct job_row *row, struct error *err)
{
    assert(row->id.p != NULL && row->agent.p != NULL && row->state.p != NULL);
    int code = write_ready(s, err);
    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_JOB_INSERT);
    /* Bound before the job is inserted: if the input is too large, no job is left behind. */
    struct binder input = statement_bind(s, STATEMENT_INPUT_INSERT);
    bind_int(&input, 0);
    bind_text(&input, row->input);
    bind_key(&b, row->key);
    bind_int(&b, (int64_t)row->seq);
    bind_int(&b, (int64_t)row->first_seq);
    bind_int(&b, row->producer_seq);
    bind_fixed(&b, row);
    bind_indexed(&b, row);
    bind_plain(&b, row);
    if (input.rc != SQLITE_OK)
        return write_failed(s, input.rc, err);

    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    if (rc == SQLITE_CONSTRAINT_UNIQUE)
        code = taken(s, row, err);
    else if (rc != SQLITE_DONE)
        code = write_failed(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    if (code != 0)
        return code;
    int64_t key = sqlite3_last_insert_rowid(sqlite_of(s)->db);
    if (row->input.p != NULL) {
        input.n = 0;
        bind_int(&input, key);
        code = write_run(s, &input, NULL, err);
    }
    if (code == 0)
        row->key = key;
    return code;
}

int sqlite_job_update(struct store *s, const struct job_row *row, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_JOB_UPDATE_PLAIN);
    bind_int(&b, (int64_t)row->seq);
    bind_int(&b, row->producer_seq);
    bind_plain(&b, row);
    bind_int(&b, row->key);
    bind_indexed(&b, row);
    code = write_run(s, &b, &n, err);
    if (code != 0 || n > 0)
        return code;

    b = statement_bind(s, STATEMENT_JOB_UPDATE);
    bind_int(&b, (int64_t)row->seq);
    bind_int(&b, row->producer_seq);
    bind_plain(&b, row);
    bind_indexed(&b, row);
    bind_int(&b, row->key);
    code = write_run(s, &b, &n, err);
    if (code == 0 && n == 0)
        return error_set(err, ERR_NOT_FOUND, "there is no job %" PRId64, row->key);
    return code;
}

int sqlite_job_published(struct store *s, int64_t key, int64_t published, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_JOB_PUBLISHED);
    bind_int(&b, published);
    bind_int(&b, key);
    return write_run(s, &b, NULL, err);
}

/* --- reading --------------------------------------------------------------------- */

static int get(struct store *s,
               enum statement id,
               struct str value,
               struct job_row *ret,
               struct error *err)
{
    struct binder b = statement_bind(s, id);
    struct job_row row;
    int code;

    bind_text(&b, value);
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    if (rc == SQLITE_ROW) {
        read_row(b.stmt, &row);
        code = texts_keep(s, &job_texts, &row, "a job", err);
    } else if (rc == SQLITE_DONE) {
        code = error_set(err, ERR_NOT_FOUND, "there is no job \"%.*s\"",
                         STR_ARG(str_head(value, 100)));
    } else {
        code = fault(s, rc, err);
    }
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    if (code == 0)
        *ret = row;
    return code;
}

int sqlite_job_get(struct store *s, struct str id, struct job_row *ret, struct error *err)
{
    return get(s, STATEMENT_JOB_BY_ID, id, ret, err);
}

int sqlite_job_by_idempotency(struct store *s,
                              struct str key,
                              struct job_row *ret,
                              struct error *err)
{
    return get(s, STATEMENT_JOB_BY_IDEMPOTENCY, key, ret, err);
}

int jobs_each(struct store *s,
              struct binder *b,
              size_t limit,
              store_job_cb cb,
              void *arg,
              struct error *err)
{
    struct job_row row;
    int rc = b->rc;

    for (size_t n = 0; rc == SQLITE_OK && n < limit; n++) {
        int step = sqlite3_step(b->stmt);

        if (step == SQLITE_ROW) {
            read_row(b->stmt, &row);
            if (cb(arg, &row) != 0)
                break;
            continue;
        }
        if (step != SQLITE_DONE)
            rc = step;
        break;
    }
    int code = rc == SQLITE_OK ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    return code;
}

int sqlite_jobs(struct store *s,
                const struct job_filter *filter,
                store_job_cb cb,
                void *arg,
                struct error *err)
{
    bool of_state = !str_absent(filter->state);
    bool of_agent = !str_absent(filter->agent);
    bool of_owner = !str_absent(filter->owner);
    enum statement id = of_owner               ? STATEMENT_JOBS_OF_OWNER
                        : of_state && of_agent ? STATEMENT_JOBS_OF_AGENT_AND_STATE
                        : of_state             ? STATEMENT_JOBS_OF_STATE
                        : of_agent             ? STATEMENT_JOBS_OF_AGENT
                                               : STATEMENT_JOBS;
    struct binder b = statement_bind(s, id);

    bind_int(&b, filter->before != 0 ? filter->before : INT64_MAX);
    if (of_owner)
        bind_text(&b, filter->owner);
    if (of_state || of_owner)
        bind_text(&b, filter->state);
    if (of_agent || of_owner)
        bind_text(&b, filter->agent);
    return jobs_each(s, &b, filter->limit, cb, arg, err);
}

int sqlite_open_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_OPEN_JOBS);

    return jobs_each(s, &b, SIZE_MAX, cb, arg, err);
}

int sqlite_unpublished_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_UNPUBLISHED_JOBS);

    return jobs_each(s, &b, SIZE_MAX, cb, arg, err);
}

int sqlite_stats(struct store *s, struct store_stats *ret, struct error *err)
{
    sqlite3_stmt *counts = sqlite_of(s)->statements[STATEMENT_COUNTS];
    sqlite3_stmt *bytes = sqlite_of(s)->statements[STATEMENT_BYTES];
    struct store_stats stats = { 0 };
    int rc = sqlite3_step(counts);

    if (rc == SQLITE_ROW) {
        stats.jobs = sqlite3_column_int64(counts, 0);
        stats.records = sqlite3_column_int64(counts, 1);
        rc = sqlite3_step(bytes);
    }
    if (rc == SQLITE_ROW)
        stats.bytes = sqlite3_column_int64(bytes, 0);
    int code = rc == SQLITE_ROW ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(counts); /* both repeat the error */
    (void)sqlite3_reset(bytes);
    if (code == 0)
        *ret = stats;
    return code;
}
