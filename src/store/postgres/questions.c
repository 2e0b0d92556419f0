/* Rows of questions: what a job has asked, and the answers. */
#include "store/postgres/postgres.h"

int postgres_question_insert(struct store *s, const struct question_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_QUESTION_INSERT);
    params_int(&p, row->job);
    params_int(&p, (int64_t)row->seq);
    params_text(&p, row->id);
    params_int(&p, row->attempt);
    params_int(&p, row->asked);
    params_int(&p, row->expires);
    params_text(&p, row->on_expiry);
    params_text(&p, row->fallback);
    params_text(&p, row->schema);
    params_text(&p, row->question);
    params_text(&p, row->context);
    params_text(&p, row->value);
    int code = write_row(&p, err);
    return code == ERR_NOT_FOUND
               ? error_set(err, ERR_REFUSED, "the job has asked with this record before")
               : code;
}

int postgres_question_answer(struct store *s,
                             int64_t job,
                             uint64_t seq,
                             struct str answer,
                             struct str by,
                             int64_t now,
                             struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_QUESTION_ANSWER);
    params_text(&p, answer);
    params_text(&p, by);
    params_int(&p, now);
    params_int(&p, job);
    params_int(&p, (int64_t)seq);
    int code = write_row(&p, err);
    return code == ERR_NOT_FOUND
               ? error_set(err, ERR_REFUSED, "this question has been answered")
               : code;
}

int postgres_questions_resumed(struct store *s, int64_t job, uint64_t seq, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_QUESTIONS_RESUMED);
    params_int(&p, (int64_t)seq);
    params_int(&p, job);
    return write_rows(&p, NULL, err);
}

/* --- reading --------------------------------------------------------------------- */

/* In the order of SQL_SELECT_QUESTIONS. */
struct question_row question_row_at(const PGresult *r, int i)
{
    return (struct question_row){
        .job = cell_int(r, i, 0),
        .seq = (uint64_t)cell_int(r, i, 1),
        .id = cell_text(r, i, 2),
        .attempt = cell_int(r, i, 3),
        .asked = cell_int(r, i, 4),
        .expires = cell_int(r, i, 5),
        .on_expiry = cell_text(r, i, 6),
        .fallback = cell_text(r, i, 7),
        .schema = cell_text(r, i, 8),
        .question = cell_text(r, i, 9),
        .context = cell_text(r, i, 10),
        .value = cell_text(r, i, 11),
        .answer = cell_text(r, i, 12),
        .answered_by = cell_text(r, i, 13),
        .answered = cell_int(r, i, 14),
        .resumed = (uint64_t)cell_int(r, i, 15),
        .job_id = cell_text(r, i, 16),
        .agent = cell_text(r, i, 17),
        .owner = cell_text(r, i, 18),
    };
}

static int give(struct postgres_params *p, store_question_cb cb, void *arg, struct error *err)
{
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    for (int i = 0; i < PQntuples(r); i++) {
        struct question_row row = question_row_at(r, i);

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_questions(struct store *s,
                       int64_t job,
                       store_question_cb cb,
                       void *arg,
                       struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_QUESTIONS);
    params_int(&p, job);
    return give(&p, cb, arg, err);
}

int postgres_open_questions(struct store *s,
                            int64_t after_job,
                            uint64_t after_seq,
                            store_question_cb cb,
                            void *arg,
                            struct error *err)
{
    struct postgres_params p;
    bool by_time;
    int code = postgres_is_by_time(s, &by_time, err);

    if (code != 0)
        return code;
    params_init(&p, s, by_time ? SQL_OPEN_QUESTIONS_BY_TIME : SQL_OPEN_QUESTIONS);
    params_int(&p, after_job);
    params_int(&p, (int64_t)after_seq);
    return give(&p, cb, arg, err);
}
