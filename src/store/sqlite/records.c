/* Rows of records, and retention.
 *
 * A row is a record chunk: several records of one job, a line each.  Its id is the job's key
 * and the seq of its last record in one number, so that one B-tree keyed by a plain integer has
 * each job's records adjacent and in order, and the first row with an id from seq on has the
 * record seq:
 *
 *     bit 62                     30 29                    0
 *      |  key: 8 thousand million  |  seq: 1 thousand million |
 *
 * Nothing is deleted in one go, because a job may have a million records and a long transaction
 * delays all others.  First the records become invisible (of a deleted job; of an expired one,
 * by its first_seq) and are listed in `leavings`; store_expire deletes them in small steps.  A
 * job's records become invisible all at once, since later ones refer to earlier ones (their
 * headers); its ending refers to none. */
#include "store/chunk.h"
#include "store/sqlite/sqlite.h"

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

int sqlite_append(struct store *s,
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

/* A damaged row may have no chunk. */
static struct str column_chunk(sqlite3_stmt *stmt, int column)
{
    struct str chunk = column_text(stmt, column);

    return chunk.p != NULL ? chunk : STR("");
}

int sqlite_records(struct store *s,
                   int64_t key,
                   uint64_t after,
                   size_t limit,
                   size_t max_bytes,
                   store_record_cb cb,
                   void *arg,
                   struct error *err)
{
    struct chunk_page g = {
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
           chunk_give(&g, (uint64_t)sqlite3_column_int64(b.stmt, 0) & RECORD_SEQ_MAX,
                      column_chunk(b.stmt, 1)));
    int code = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

static int no_record(int64_t key, uint64_t seq, struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "job %" PRId64 " has no record %" PRIu64, key, seq);
}

/* Copies a chunk from record @seq on to s->texts, and returns the id of its row.  SQLITE_DONE
 * when it does not exist, SQLITE_OK, or another code of SQLite. */
static int copy_chunk(struct store *s, int64_t key, uint64_t seq, int64_t *ret_id)
{
    struct binder b = statement_bind(s, STATEMENT_RECORD);

    bind_int(&b, record_id(key, seq));
    bind_int(&b, record_id(key, RECORD_SEQ_MAX));
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    if (rc == SQLITE_ROW) {
        struct str chunk = column_chunk(b.stmt, 1);
        uint64_t n = chunk_count(chunk);

        *ret_id = sqlite3_column_int64(b.stmt, 0);
        uint64_t wanted = ((uint64_t)*ret_id & RECORD_SEQ_MAX) - seq + 1;
        for (; n > wanted; n--)
            (void)chunk_take(&chunk);
        rc = n < wanted ? SQLITE_DONE : texts_start(s, chunk.n) ? SQLITE_OK : SQLITE_NOMEM;
        if (rc == SQLITE_OK)
            buf_str(&sqlite_of(s)->texts, chunk);
    }
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return rc;
}

int sqlite_record(struct store *s,
                  int64_t key,
                  uint64_t seq,
                  struct str *ret,
                  struct error *err)
{
    int64_t id;
    int rc = fits(key, seq) && seq > 0 ? copy_chunk(s, key, seq, &id) : SQLITE_DONE;

    if (rc == SQLITE_DONE)
        return no_record(key, seq, err);
    if (rc != SQLITE_OK)
        return fault(s, rc, err);
    struct str chunk = buf_text(&sqlite_of(s)->texts);
    *ret = chunk_take(&chunk);
    return 0;
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

static int run_with_two(struct store *s,
                        enum statement id,
                        int64_t first,
                        int64_t second,
                        size_t *ret_n,
                        struct error *err)
{
    struct binder b = statement_bind(s, id);

    bind_int(&b, first);
    bind_int(&b, second);
    return write_run(s, &b, ret_n, err);
}

/* Records up to @upto are invisible from now on: adds them to `leavings`. */
static int leave_records(struct store *s, int64_t key, int64_t upto, struct error *err)
{
    return run_with_two(s, STATEMENT_LEAVING_PUT, key, upto, NULL, err);
}

int sqlite_job_delete(struct store *s, int64_t key, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code == 0)
        code = run_for_job(s, STATEMENT_INPUT_DELETE, key, NULL, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_QUESTIONS_DELETE, key, NULL, err);
    if (code == 0)
        code = checkpoints_forget_job(s, key, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_THREAD_OF_RUN_DELETE, key, NULL, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_RUN_DELETE, key, NULL, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_SUSPECT_DELETE, key, NULL, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_JOB_DELETE, key, &n, err);
    if (code == 0 && n == 0)
        return error_set(err, ERR_NOT_FOUND, "there is no job %" PRId64, key);
    return code == 0 ? leave_records(s, key, (int64_t)RECORD_SEQ_MAX, err) : code;
}

/* --- retention ------------------------------------------------------------------- */

/* A job, and a number that belongs to it. */
struct found_record {
    int64_t key; /* 0: none */
    int64_t n;
};

/* Steps a bound statement that returns one row or none, and resets it. */
static int find(struct store *s, struct binder *b, struct found_record *ret, struct error *err)
{
    int rc = b->rc == SQLITE_OK ? sqlite3_step(b->stmt) : b->rc;
    int code = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : write_failed(s, rc, err);

    *ret = (struct found_record){ 0 };
    if (rc == SQLITE_ROW)
        *ret = (struct found_record){ sqlite3_column_int64(b->stmt, 0),
                                      sqlite3_column_int64(b->stmt, 1) };
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    if (code == 0 && rc == SQLITE_ROW && !fits(ret->key, (uint64_t)ret->n))
        return write_failed(s, SQLITE_CORRUPT, err);
    return code;
}

/* Deletes at most @room invisible chunks. */
static int sweep(struct store *s, size_t room, size_t *ret_n, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_LEAVING);
    struct found_record leaving;
    size_t n = 0, noted = 0;
    int code = find(s, &b, &leaving, err);

    if (code != 0 || leaving.key == 0)
        return code;
    b = statement_bind(s, STATEMENT_RECORDS_DELETE);
    bind_int(&b, record_id(leaving.key, 0));
    bind_int(&b, record_id(leaving.key, (uint64_t)leaving.n));
    bind_int(&b, (int64_t)room);
    code = write_run(s, &b, &n, err);
    if (code == 0 && n < room)
        code = run_for_job(s, STATEMENT_LEAVING_DELETE, leaving.key, &noted, err);
    *ret_n = n + noted;
    return code;
}

/* Cuts the chunk that contains @seq, so that it begins with it. */
static int cut_chunk(struct store *s, int64_t key, uint64_t seq, struct error *err)
{
    int64_t id;
    int rc = copy_chunk(s, key, seq, &id);

    if (rc != SQLITE_OK)
        return rc == SQLITE_DONE ? 0 : write_failed(s, rc, err);
    struct binder b = statement_bind(s, STATEMENT_CHUNK_CUT);
    bind_text(&b, buf_text(&sqlite_of(s)->texts));
    bind_int(&b, id);
    return write_run(s, &b, NULL, err);
}

/* An expired job keeps only its ending, never its job.start. */
static int withdraw(struct store *s, int64_t now, size_t *ret_n, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_WHOLE_JOB);
    struct found_record job;

    bind_int(&b, now);
    int code = find(s, &b, &job, err);
    if (code != 0 || job.key == 0)
        return code;
    code = run_with_two(s, STATEMENT_JOB_WITHDRAW, job.n, job.key, ret_n, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_INPUT_DELETE, job.key, NULL, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_QUESTIONS_DELETE, job.key, NULL, err);
    if (code == 0)
        code = checkpoints_forget_job(s, job.key, err);
    if (code == 0)
        code = run_for_job(s, STATEMENT_RUN_FORGET, job.key, NULL, err);
    if (code == 0)
        code = cut_chunk(s, job.key, (uint64_t)job.n, err);
    return code == 0 ? leave_records(s, job.key, job.n - 1, err) : code;
}

static int forget(struct store *s, int64_t before, size_t *ret_n, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_EXPIRED_JOB);
    struct found_record job;

    bind_int(&b, before);
    int code = find(s, &b, &job, err);
    if (code != 0 || job.key == 0)
        return code;
    *ret_n = 1;
    return sqlite_job_delete(s, job.key, err);
}

int sqlite_expire(struct store *s,
                  int64_t now,
                  int64_t keep_ms,
                  size_t limit,
                  size_t *ret_n,
                  struct error *err)
{
    size_t n = 0, done = 1;
    int code = write_ready(s, err);

    while (code == 0 && n < limit && done > 0) {
        done = 0;
        code = sweep(s, limit - n, &done, err);
        if (code == 0 && done == 0)
            code = withdraw(s, now, &done, err);
        if (code == 0 && done == 0)
            code = forget(s, now - keep_ms, &done, err);
        if (code == 0 && done == 0)
            code = items_expire(s, now, limit - n, &done, err);
        if (code == 0 && done == 0)
            code = webhooks_expire(s, now, limit - n, &done, err);
        n += done;
    }
    if (code == 0)
        *ret_n = n;
    return code;
}
