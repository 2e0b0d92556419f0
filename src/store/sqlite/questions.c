/* Rows of questions: what a job has asked, and the answers.
 *
 * A question is identified by the seq of its record; its id comes from the graph, and may be
 * used again later in the same job. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

int sqlite_question_insert(struct store *s, const struct question_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_QUESTION_INSERT);
    bind_int(&b, row->job);
    bind_int(&b, (int64_t)row->seq);
    bind_text(&b, row->id);
    bind_int(&b, row->attempt);
    bind_int(&b, row->asked);
    bind_int(&b, row->expires);
    bind_text(&b, row->on_expiry);
    bind_text(&b, row->fallback);
    bind_text(&b, row->schema);
    bind_text(&b, row->question);
    bind_text(&b, row->context);
    bind_text(&b, row->value);
    return write_run(s, &b, NULL, err);
}

int sqlite_question_answer(struct store *s,
                           int64_t job,
                           uint64_t seq,
                           struct str answer,
                           struct str by,
                           int64_t now,
                           struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_QUESTION_ANSWER);
    bind_text(&b, answer);
    bind_text(&b, by);
    bind_int(&b, now);
    bind_int(&b, job);
    bind_int(&b, (int64_t)seq);
    code = write_run(s, &b, &n, err);
    if (code == 0 && n == 0)
        return error_set(err, ERR_REFUSED, "this question has been answered");
    return code;
}

int sqlite_questions_resumed(struct store *s, int64_t job, uint64_t seq, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_QUESTIONS_RESUMED);
    bind_int(&b, (int64_t)seq);
    bind_int(&b, job);
    return write_run(s, &b, NULL, err);
}

/* --- reading --------------------------------------------------------------------- */

/* In the order of QUESTION_COLUMNS. */
static struct question_row question_of(sqlite3_stmt *stmt)
{
    return (struct question_row){
        .job = sqlite3_column_int64(stmt, 0),
        .seq = (uint64_t)sqlite3_column_int64(stmt, 1),
        .id = column_text(stmt, 2),
        .attempt = sqlite3_column_int64(stmt, 3),
        .asked = sqlite3_column_int64(stmt, 4),
        .expires = sqlite3_column_int64(stmt, 5),
        .on_expiry = column_text(stmt, 6),
        .fallback = column_text(stmt, 7),
        .schema = column_text(stmt, 8),
        .question = column_text(stmt, 9),
        .context = column_text(stmt, 10),
        .value = column_text(stmt, 11),
        .answer = column_text(stmt, 12),
        .answered_by = column_text(stmt, 13),
        .answered = sqlite3_column_int64(stmt, 14),
        .resumed = (uint64_t)sqlite3_column_int64(stmt, 15),
        .job_id = column_text(stmt, 16),
        .agent = column_text(stmt, 17),
        .owner = column_text(stmt, 18),
    };
}

static int each(struct store *s,
                struct binder *b,
                store_question_cb cb,
                void *arg,
                struct error *err)
{
    int rc = b->rc;

    while (rc == SQLITE_OK && (rc = sqlite3_step(b->stmt)) == SQLITE_ROW) {
        struct question_row row = question_of(b->stmt);

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    return code;
}

int sqlite_questions(struct store *s,
                     int64_t job,
                     store_question_cb cb,
                     void *arg,
                     struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_QUESTIONS);

    bind_int(&b, job);
    return each(s, &b, cb, arg, err);
}

int sqlite_open_questions(struct store *s,
                          int64_t after_job,
                          uint64_t after_seq,
                          store_question_cb cb,
                          void *arg,
                          struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_OPEN_QUESTIONS);

    bind_int(&b, after_job);
    bind_int(&b, (int64_t)after_seq);
    return each(s, &b, cb, arg, err);
}
