/* Questions on the disk. */
#include "memory_store.h"

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

int store_question_insert(struct store *s, const struct question_row *row, struct error *err)
{
    int code = store_begin_write(s, DISK_QUESTION, err);

    if (code == 0)
        questions_add(&s->disk->questions, row);
    return code;
}

int store_question_answer(struct store *s,
                          int64_t job,
                          uint64_t seq,
                          struct str answer,
                          struct str by,
                          int64_t now,
                          struct error *err)
{
    struct disk_questions *q = &s->disk->questions;
    int code = store_begin_write(s, DISK_QUESTION, err);

    for (size_t i = 0; code == 0 && i < q->n; i++) {
        if (q->rows[i].job != job || q->rows[i].seq != seq)
            continue;
        store_demand(q->rows[i].answered == 0, "an answer to what was answered");
        q->rows[i].answer = disk_copy_text(answer);
        q->rows[i].answered_by = disk_copy_text(by);
        q->rows[i].answered = now;
        return 0;
    }
    store_demand(code != 0, "an answer to no question");
    return code;
}

int store_questions_resumed(struct store *s, int64_t job, uint64_t seq, struct error *err)
{
    struct disk_questions *q = &s->disk->questions;
    int code = store_begin_write(s, DISK_QUESTION, err);

    for (size_t i = 0; code == 0 && i < q->n; i++)
        if (q->rows[i].job == job && q->rows[i].answered != 0 && q->rows[i].resumed == 0)
            q->rows[i].resumed = seq;
    return code;
}

int store_questions(struct store *s,
                    int64_t job,
                    store_question_cb cb,
                    void *arg,
                    struct error *err)
{
    const struct disk_questions *q = &s->disk->questions;
    int code = store_fault(s, DISK_QUESTIONS, err);

    for (size_t i = 0; code == 0 && i < q->n; i++)
        if (q->rows[i].job == job && cb(arg, &q->rows[i]) != 0)
            break;
    return code;
}
