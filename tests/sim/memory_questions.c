/* Questions on the disk. */
#include "memory_store.h"

#include "base/error.h"

#include <stdlib.h>

static void questions_add(struct disk_questions *q, const struct question_row *row)
{
    q->rows = disk_must(realloc(q->rows, (q->n + 1) * sizeof(*q->rows)));
    q->rows[q->n] = *row;
    disk_own(&question_texts, &q->rows[q->n++]);
}

void disk_questions_free(struct disk_questions *q)
{
    for (size_t i = 0; i < q->n; i++)
        row_disown(&question_texts, &q->rows[i]);
    free(q->rows);
    *q = (struct disk_questions){ 0 };
}

void disk_questions_copy(struct disk_questions *to, const struct disk_questions *from)
{
    disk_questions_free(to);
    for (size_t i = 0; i < from->n; i++)
        questions_add(to, &from->rows[i]);
}

void disk_forget_questions(struct disk *d, int64_t job)
{
    struct disk_questions *q = &d->questions;
    size_t left = 0;

    for (size_t i = 0; i < q->n; i++)
        if (q->rows[i].job == job)
            row_disown(&question_texts, &q->rows[i]);
        else
            q->rows[left++] = q->rows[i];
    q->n = left;
}

int memory_question_insert(struct store *s, const struct question_row *row, struct error *err)
{
    int code = memory_begin_write(s, DISK_QUESTION, err);

    if (code == 0)
        questions_add(&disk_of(s)->questions, row);
    return code;
}

int memory_question_answer(struct store *s,
                           int64_t job,
                           uint64_t seq,
                           struct str answer,
                           struct str by,
                           int64_t now,
                           struct error *err)
{
    struct disk_questions *q = &disk_of(s)->questions;
    int code = memory_begin_write(s, DISK_QUESTION, err);

    for (size_t i = 0; code == 0 && i < q->n; i++) {
        if (q->rows[i].job != job || q->rows[i].seq != seq)
            continue;
        if (q->rows[i].answered != 0 && disk_of(s)->lenient)
            return error_set(err, ERR_REFUSED, "this question has been answered");
        memory_demand(q->rows[i].answered == 0, "an answer to what was answered");
        q->rows[i].answer = disk_copy_text(answer);
        q->rows[i].answered_by = disk_copy_text(by);
        q->rows[i].answered = now;
        return 0;
    }
    memory_demand(code != 0, "an answer to no question");
    return code;
}

int memory_questions_resumed(struct store *s, int64_t job, uint64_t seq, struct error *err)
{
    struct disk_questions *q = &disk_of(s)->questions;
    int code = memory_begin_write(s, DISK_QUESTION, err);

    for (size_t i = 0; code == 0 && i < q->n; i++)
        if (q->rows[i].job == job && q->rows[i].answered != 0 && q->rows[i].resumed == 0)
            q->rows[i].resumed = seq;
    return code;
}

/* With what is its job's; false when that is gone. */
static bool fill_in(struct store *s, struct question_row *row)
{
    const struct disk_job *job = disk_find_key(disk_of(s), row->job);

    if (job == NULL)
        return false;
    row->job_id = job->row.id;
    row->agent = job->row.agent;
    row->owner = job->row.owner;
    return true;
}

int memory_questions(struct store *s,
                     int64_t job,
                     store_question_cb cb,
                     void *arg,
                     struct error *err)
{
    const struct disk_questions *q = &disk_of(s)->questions;
    int code = memory_fault(s, DISK_QUESTIONS, err);

    for (size_t i = 0; code == 0 && i < q->n; i++) {
        struct question_row row = q->rows[i];

        if (row.job == job && fill_in(s, &row) && cb(arg, &row) != 0)
            break;
    }
    return code;
}

static bool is_at_work(struct store *s, int64_t key)
{
    struct str state = disk_find_key(disk_of(s), key)->row.state;

    return str_is(state, "running") || str_is(state, "waiting");
}

static bool is_behind(const struct question_row *row, int64_t job, uint64_t seq)
{
    return row->job > job || (row->job == job && row->seq > seq);
}

int memory_open_questions(struct store *s,
                          int64_t after_job,
                          uint64_t after_seq,
                          store_question_cb cb,
                          void *arg,
                          struct error *err)
{
    const struct disk_questions *q = &disk_of(s)->questions;
    int code = memory_fault(s, DISK_QUESTIONS, err);

    while (code == 0) { /* the next one behind the last */
        struct question_row next = { 0 };

        for (size_t i = 0; i < q->n; i++) {
            struct question_row row = q->rows[i];

            if (row.answered == 0 && is_behind(&row, after_job, after_seq) &&
                (next.job == 0 || !is_behind(&row, next.job, next.seq)) && fill_in(s, &row) &&
                is_at_work(s, row.job))
                next = row;
        }
        if (next.job == 0 || cb(arg, &next) != 0)
            break;
        after_job = next.job;
        after_seq = next.seq;
    }
    return code;
}
