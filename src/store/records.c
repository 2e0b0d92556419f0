/* Rows of records, and retention.
 *
 * A row is a run of one job's records, a line each.  Its id is the job's key and the seq of
 * its last record in one number, so that one B-tree keyed by a plain integer has each job's
 * records side by side and in order, and the first row from seq on has the record seq:
 *
 *     bit 62                     30 29                    0
 *      |  key: 8 thousand million  |  seq: 1 thousand million |
 *
 * Retention removes an expired job over several calls.  The first one withdraws it: its
 * first_seq goes past its last record, because from now on records may lack what earlier
 * ones gave them (their header), and a reader must not be shown such a rest. */
#include "store/sqlite.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static bool fits(int64_t key, uint64_t seq)
{
    return key > 0 && key <= RECORD_JOB_MAX && seq <= RECORD_SEQ_MAX;
}

static int64_t record_id(int64_t key, uint64_t seq)
{
    return (key << RECORD_SEQ_BITS) | (int64_t)seq;
}

/* --- appending ------------------------------------------------------------------- */

static int append_refused(int64_t key, uint64_t seq, struct error *err)
{
    if (seq > RECORD_SEQ_MAX)
        return error_set(err, ERR_TOO_LARGE,
                         "job %" PRId64 " has all the records that a job can have (%" PRIu64
                         ")",
                         key, RECORD_SEQ_MAX);
    return error_set(err, ERR_REFUSED, "record %" PRIu64 " of job %" PRId64 " cannot be", seq,
                     key);
}

int store_append(struct store *s,
                 int64_t key,
                 uint64_t last,
                 struct str stored,
                 int64_t batch,
                 struct error *err)
{
    assert(stored.p != NULL);
    int code = write_ready(s, err);
    if (code != 0)
        return code;
    if (!fits(key, last) || last == 0)
        return append_refused(key, last, err);
    struct binder b = statement_bind(s, STATEMENT_APPEND);
    bind_int(&b, record_id(key, last));
    bind_text(&b, stored);
    if (batch >= 0)
        bind_int(&b, batch);
    else
        bind_text(&b, STR_NONE);
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    if (rc == SQLITE_CONSTRAINT_PRIMARYKEY || rc == SQLITE_CONSTRAINT_ROWID)
        code = error_set(err, ERR_REFUSED,
                         "record %" PRIu64 " of job %" PRId64 " is there already", last, key);
    else if (rc != SQLITE_DONE)
        code = write_failed(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

/* --- reading --------------------------------------------------------------------- */

/* A damaged row may have none. */
static struct str column_run(sqlite3_stmt *stmt, int column)
{
    struct str run = column_text(stmt, column);

    return run.p != NULL ? run : STR("");
}

static uint64_t count_lines(struct str run)
{
    uint64_t n = 1;

    for (const char *p = run.p; (p = memchr(p, '\n', (size_t)(run.p + run.n - p))) != NULL; p++)
        n++;
    return n;
}

/* Cuts the first line off. */
static struct str take_line(struct str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    struct str line = { rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n };

    *rest = str_skip(*rest, end != NULL ? line.n + 1 : line.n);
    return line;
}

struct giving {
    uint64_t after;
    size_t n, limit;
    size_t bytes, max_bytes;
    store_record_cb cb;
    void *arg;
};

/* The records of one run that are wanted; false when it is enough. */
static bool give_run(struct giving *g, uint64_t last, struct str run)
{
    uint64_t seq = last - count_lines(run);

    while (seq < last) {
        struct str stored = take_line(&run);

        if (++seq <= g->after)
            continue;
        /* The first one is given whatever its size: else a reader could never pass it. */
        if (g->n == g->limit || (g->n > 0 && stored.n > g->max_bytes - g->bytes))
            return false;
        if (g->cb(g->arg, seq, stored) != 0 || stored.n >= g->max_bytes - g->bytes)
            return false;
        g->n++;
        g->bytes += stored.n;
    }
    return g->n < g->limit;
}

int store_records(struct store *s,
                  int64_t key,
                  uint64_t after,
                  size_t limit,
                  size_t max_bytes,
                  store_record_cb cb,
                  void *arg,
                  struct error *err)
{
    struct giving g = {
        .after = after, .limit = limit, .max_bytes = max_bytes, .cb = cb, .arg = arg
    };
    int rc;

    if (limit == 0 || after >= RECORD_SEQ_MAX || !fits(key, after))
        return 0;
    struct binder b = statement_bind(s, STATEMENT_RECORDS);
    bind_int(&b, record_id(key, after + 1));
    bind_int(&b, record_id(key, RECORD_SEQ_MAX));
    if (b.rc != SQLITE_OK)
        return fault(s, b.rc, err);
    do
        rc = sqlite3_step(b.stmt);
    while (rc == SQLITE_ROW &&
           give_run(&g, (uint64_t)sqlite3_column_int64(b.stmt, 0) & RECORD_SEQ_MAX,
                    column_run(b.stmt, 1)));
    int code = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

static int no_record(int64_t key, uint64_t seq, struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "job %" PRId64 " has no record %" PRIu64, key, seq);
}

/* Line @n of @run from its end, 0 being the last one; absent when there are not so many. */
static struct str line_from_end(struct str run, uint64_t n)
{
    uint64_t have = count_lines(run);
    struct str line = STR_NONE;

    for (; have > n; have--)
        line = take_line(&run);
    return line;
}

int store_record(struct store *s, int64_t key, uint64_t seq, struct str *ret, struct error *err)
{
    if (!fits(key, seq) || seq == 0)
        return no_record(key, seq, err);
    struct binder b = statement_bind(s, STATEMENT_RECORD);
    bind_int(&b, record_id(key, seq));
    bind_int(&b, record_id(key, RECORD_SEQ_MAX));
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    struct str stored = STR_NONE;
    int code = 0;
    if (rc == SQLITE_ROW)
        stored =
            line_from_end(column_run(b.stmt, 1),
                          ((uint64_t)sqlite3_column_int64(b.stmt, 0) & RECORD_SEQ_MAX) - seq);
    else if (rc != SQLITE_DONE)
        code = fault(s, rc, err);
    if (code == 0 && stored.p == NULL)
        code = no_record(key, seq, err);
    if (code == 0 && !texts_start(s, stored.n))
        code =
            error_set(err, s->texts.error, "record %" PRIu64 " does not fit into memory", seq);
    if (code == 0)
        buf_str(&s->texts, stored);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    if (code == 0)
        *ret = buf_text(&s->texts);
    return code;
}

/* --- removing -------------------------------------------------------------------- */

static int run_for_job(struct store *s,
                       enum statement id,
                       int64_t key,
                       size_t *ret_n,
                       struct error *err)
{
    struct binder b = statement_bind(s, id);

    bind_int(&b, key);
    return write_run(s, &b, ret_n, err);
}

static int delete_records(struct store *s,
                          int64_t from,
                          int64_t to,
                          size_t *ret_n,
                          struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_RECORDS_DELETE);

    bind_int(&b, from);
    bind_int(&b, to);
    return write_run(s, &b, ret_n, err);
}

/* The job's row, and what hangs on it but its records. */
static int delete_job(struct store *s, int64_t key, size_t *ret_n, struct error *err)
{
    int code = run_for_job(s, STATEMENT_INPUT_DELETE, key, NULL, err);

    return code == 0 ? run_for_job(s, STATEMENT_JOB_DELETE, key, ret_n, err) : code;
}

int store_job_delete(struct store *s, int64_t key, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    if (fits(key, 0))
        code = delete_records(s, record_id(key, 0), record_id(key, RECORD_SEQ_MAX), NULL, err);
    if (code == 0)
        code = delete_job(s, key, &n, err);
    if (code == 0 && n == 0)
        return error_set(err, ERR_NOT_FOUND, "there is no job %" PRId64, key);
    return code;
}

struct expired {
    int64_t key; /* 0: none */
    bool withdrawn;
};

/* The job that has been expired for the longest time. */
static int find_expired(struct store *s, int64_t now, struct expired *ret, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_EXPIRED_JOB);

    bind_int(&b, now);
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    int code = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : write_failed(s, rc, err);
    *ret = (struct expired){ 0 };
    if (rc == SQLITE_ROW)
        *ret = (struct expired){ .key = sqlite3_column_int64(b.stmt, 0),
                                 .withdrawn = sqlite3_column_int64(b.stmt, 2) >
                                              sqlite3_column_int64(b.stmt, 1) };
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    if (code == 0 && rc == SQLITE_ROW && !fits(ret->key, 0))
        return write_failed(s, SQLITE_CORRUPT, err);
    return code;
}

/* The row id of the job's first record that is still there; 0: none is. */
static int find_first(struct store *s, int64_t key, int64_t *ret, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_FIRST_RECORD);

    bind_int(&b, record_id(key, 0));
    bind_int(&b, record_id(key, RECORD_SEQ_MAX));
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    int code = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : write_failed(s, rc, err);
    *ret = rc == SQLITE_ROW ? sqlite3_column_int64(b.stmt, 0) : 0;
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

/* At most @room rows of one job. */
static int expire_some(struct store *s,
                       int64_t key,
                       size_t room,
                       size_t *ret_n,
                       struct error *err)
{
    int64_t first = 0;
    int64_t last = record_id(key, RECORD_SEQ_MAX);
    int code = find_first(s, key, &first, err);

    if (code != 0)
        return code;
    if (first == 0)
        return delete_job(s, key, ret_n, err);
    if (room < (size_t)(last - first))
        last = first + (int64_t)room - 1; /* one of each seq: so many rows at most */
    return delete_records(s, first, last, ret_n, err);
}

int store_expire(struct store *s, int64_t now, size_t limit, size_t *ret_n, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    while (code == 0 && n < limit) {
        struct expired job;
        size_t gone = 0;

        code = find_expired(s, now, &job, err);
        if (code != 0 || job.key == 0)
            break;
        if (!job.withdrawn)
            code = run_for_job(s, STATEMENT_JOB_WITHDRAW, job.key, NULL, err);
        if (code == 0)
            code = expire_some(s, job.key, limit - n, &gone, err);
        if (code == 0 && gone == 0) /* the index has what the table has not: never end here */
            code = write_failed(s, SQLITE_CORRUPT, err);
        n += gone;
    }
    if (code == 0)
        *ret_n = n;
    return code;
}
