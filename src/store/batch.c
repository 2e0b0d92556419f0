/* Gathers writes, and executes them one after another.
 *
 * A write is its kind, up to three numbers, and a row or two texts.  Rows and copied texts are
 * in the batch's arena; the lines of record chunks are in one buffer, which may move while it
 * grows, so a chunk is an offset in it. */
#include "store/batch.h"

#include "base/error.h"
#include "store/rows.h"

#include <stdlib.h>

enum {
    N_FIRST = 64,              /* writes */
    RECORDS_KEPT = 1024 * 1024 /* bytes of buffer that are kept for the next turn */
};

enum store_write_kind {
    WRITE_JOB_INSERT,
    WRITE_JOB_UPDATE,
    WRITE_JOB_DELETE,
    WRITE_JOB_PUBLISHED,
    WRITE_SUSPECT,
    WRITE_APPEND,
    WRITE_NOTE_TIME,
    WRITE_QUESTION_INSERT,
    WRITE_QUESTION_ANSWER,
    WRITE_QUESTIONS_RESUMED,
    WRITE_THREAD_INSERT,
    WRITE_THREAD_UPDATE,
    WRITE_THREAD_VALUES,
    WRITE_THREAD_DELETE,
    WRITE_THREAD_FORGET,
    WRITE_THREAD_COPY,
    WRITE_RUN_INSERT,
    WRITE_RUN_READ,
    WRITE_RUN_FORGET,
    WRITE_THREAD_THIN,
    WRITE_CHECKPOINT_PUT,
    WRITE_CHANNEL_PUT,
    WRITE_WRITE_PUT,
    WRITE_STATE_PUT,
    WRITE_ITEM_PUT,
    WRITE_ITEM_DELETE,
    WRITE_ITEM_TOUCH,
    WRITE_ASSISTANT_INSERT,
    WRITE_ASSISTANT_CHOOSE,
    WRITE_ASSISTANT_DELETE,
    WRITE_CRON_INSERT,
    WRITE_CRON_UPDATE,
    WRITE_CRON_TICK,
    WRITE_CRON_DELETE,
    WRITE_CRONS_FORGET,
    WRITE_WEBHOOK_INSERT,
    WRITE_WEBHOOK_END,
    WRITE_WEBHOOK_MOVE,
    WRITE_WEBHOOK_FORGET
};

struct store_write {
    enum store_write_kind kind;
    int64_t key; /* of the job or thread; a time */
    int64_t a, b;
    uint64_t seq;
    const struct checkpoint_row *of;
    union {
        const void *row; /* of the kind's type */
        struct str text[2];
        struct {
            size_t from, n;
        } lines;
    };
};

void store_batch_init(struct store_batch *b)
{
    *b = (struct store_batch){ 0 };
    arena_init(&b->mem);
    buf_init(&b->records, SIZE_MAX / 4);
}

void store_batch_done(struct store_batch *b)
{
    arena_done(&b->mem);
    buf_done(&b->records);
    free(b->writes);
    b->writes = NULL;
    b->n = b->cap = 0;
}

void store_batch_clear(struct store_batch *b)
{
    b->n = 0;
    if (b->mem.used > 0)
        arena_reset(&b->mem);
    if (b->records.cap > RECORDS_KEPT) {
        buf_done(&b->records);
        buf_init(&b->records, SIZE_MAX / 4);
    }
    buf_clear(&b->records);
}

/* --- gathering -------------------------------------------------------------------- */

static bool make_room(struct store_batch *b)
{
    size_t cap = b->cap > 0 ? b->cap * 2 : N_FIRST;
    struct store_write *writes = realloc(b->writes, cap * sizeof(*writes));

    if (writes == NULL)
        return false;
    b->writes = writes;
    b->cap = cap;
    return true;
}

static int put(struct store_batch *b, const struct store_write *write)
{
    if (b->n == b->cap && !make_room(b))
        return ERR_NOMEM;
    b->writes[b->n++] = *write;
    return 0;
}

/* Copies a row to the batch's memory; its texts are not copied. */
static int put_row_at(struct store_batch *b,
                      enum store_write_kind kind,
                      const void *row,
                      size_t size,
                      int64_t now)
{
    void *copy = arena_alloc(&b->mem, size);

    if (copy == NULL)
        return ERR_NOMEM;
    memcpy(copy, row, size);
    return put(b, &(struct store_write){ .kind = kind, .row = copy, .a = now });
}

static int put_row(struct store_batch *b,
                   enum store_write_kind kind,
                   const void *row,
                   size_t size)
{
    return put_row_at(b, kind, row, size, 0);
}

static int put_texts(struct store_batch *b,
                     const struct store_write *write,
                     struct str one,
                     struct str other)
{
    struct store_write copy = *write;

    if (!arena_copy(&b->mem, one, &copy.text[0]) || !arena_copy(&b->mem, other, &copy.text[1]))
        return ERR_NOMEM;
    return put(b, &copy);
}

int store_batch_job_insert(struct store_batch *b, const struct job_row *row)
{
    return put_row(b, WRITE_JOB_INSERT, row, sizeof(*row));
}

int store_batch_job_update(struct store_batch *b, const struct job_row *row)
{
    return put(b, &(struct store_write){ .kind = WRITE_JOB_UPDATE, .row = row });
}

int store_batch_job_delete(struct store_batch *b, int64_t key)
{
    return put(b, &(struct store_write){ .kind = WRITE_JOB_DELETE, .key = key });
}

int store_batch_job_published(struct store_batch *b, int64_t key, int64_t published)
{
    return put(
        b, &(struct store_write){ .kind = WRITE_JOB_PUBLISHED, .key = key, .a = published });
}

int store_batch_suspect(struct store_batch *b, int64_t job, int64_t crashed, int64_t set_aside)
{
    return put(b, &(struct store_write){
                      .kind = WRITE_SUSPECT, .key = job, .a = crashed, .b = set_aside });
}

int store_batch_append(struct store_batch *b,
                       int64_t key,
                       uint64_t last,
                       size_t from,
                       int64_t batch)
{
    return put(b, &(struct store_write){ .kind = WRITE_APPEND,
                                         .key = key,
                                         .seq = last,
                                         .a = batch,
                                         .lines = { from, b->records.n - from } });
}

int store_batch_note_time(struct store_batch *b, int64_t now)
{
    return put(b, &(struct store_write){ .kind = WRITE_NOTE_TIME, .a = now });
}

int store_batch_question_insert(struct store_batch *b, const struct question_row *row)
{
    struct question_row copy = *row;

    return row_copy(&b->mem, &question_texts, &copy)
               ? put_row(b, WRITE_QUESTION_INSERT, &copy, sizeof(copy))
               : ERR_NOMEM;
}

int store_batch_question_answer(struct store_batch *b,
                                int64_t job,
                                uint64_t seq,
                                struct str answer,
                                struct str by,
                                int64_t now)
{
    const struct store_write write = {
        .kind = WRITE_QUESTION_ANSWER, .key = job, .seq = seq, .a = now
    };

    return put_texts(b, &write, answer, by);
}

int store_batch_questions_resumed(struct store_batch *b, int64_t job, uint64_t seq)
{
    return put(
        b, &(struct store_write){ .kind = WRITE_QUESTIONS_RESUMED, .key = job, .seq = seq });
}

static int put_thread(struct store_batch *b,
                      enum store_write_kind kind,
                      const struct thread_row *row)
{
    struct thread_row copy = *row;

    if (kind == WRITE_THREAD_UPDATE)
        copy.values = STR_NONE; /* not written */
    return row_copy(&b->mem, &thread_texts, &copy) ? put_row(b, kind, &copy, sizeof(copy))
                                                   : ERR_NOMEM;
}

int store_batch_thread_insert(struct store_batch *b, const struct thread_row *row)
{
    return put_thread(b, WRITE_THREAD_INSERT, row);
}

int store_batch_thread_update(struct store_batch *b, const struct thread_row *row)
{
    return put_thread(b, WRITE_THREAD_UPDATE, row);
}

int store_batch_thread_values(struct store_batch *b,
                              int64_t key,
                              struct str values,
                              int64_t now)
{
    return put_texts(b,
                     &(struct store_write){ .kind = WRITE_THREAD_VALUES, .key = key, .a = now },
                     values, STR_NONE);
}

int store_batch_thread_delete(struct store_batch *b, int64_t key)
{
    return put(b, &(struct store_write){ .kind = WRITE_THREAD_DELETE, .key = key });
}

int store_batch_thread_forget(struct store_batch *b, struct str thread)
{
    return put_texts(b, &(struct store_write){ .kind = WRITE_THREAD_FORGET }, thread, STR_NONE);
}

int store_batch_thread_copy(struct store_batch *b, struct str from, struct str to)
{
    return put_texts(b, &(struct store_write){ .kind = WRITE_THREAD_COPY }, from, to);
}

int store_batch_run_insert(struct store_batch *b, const struct run_row *row)
{
    return put_row(b, WRITE_RUN_INSERT, row, sizeof(*row));
}

int store_batch_run_read(struct store_batch *b, int64_t job)
{
    return put(b, &(struct store_write){ .kind = WRITE_RUN_READ, .key = job });
}

int store_batch_run_forget(struct store_batch *b, struct str thread, struct str run)
{
    return put_texts(b, &(struct store_write){ .kind = WRITE_RUN_FORGET }, thread, run);
}

int store_batch_thread_thin(struct store_batch *b, struct str thread)
{
    return put_texts(b, &(struct store_write){ .kind = WRITE_THREAD_THIN }, thread, STR_NONE);
}

int store_batch_checkpoint_put(struct store_batch *b, const struct checkpoint_row *row)
{
    return put(b, &(struct store_write){ .kind = WRITE_CHECKPOINT_PUT, .of = row });
}

int store_batch_channel_put(struct store_batch *b,
                            const struct checkpoint_row *of,
                            const struct channel_row *row)
{
    return put(b, &(struct store_write){ .kind = WRITE_CHANNEL_PUT, .of = of, .row = row });
}

int store_batch_write_put(struct store_batch *b,
                          const struct checkpoint_row *of,
                          const struct write_row *row)
{
    return put(b, &(struct store_write){ .kind = WRITE_WRITE_PUT, .of = of, .row = row });
}

int store_batch_state_put(struct store_batch *b,
                          const struct checkpoint_row *of,
                          struct str state)
{
    return put(b,
               &(struct store_write){ .kind = WRITE_STATE_PUT, .of = of, .text = { state } });
}

int store_batch_item_put(struct store_batch *b, const struct item_row *row)
{
    return put_row(b, WRITE_ITEM_PUT, row, sizeof(*row));
}

int store_batch_item_delete(struct store_batch *b, const struct item_row *row)
{
    return put_row(b, WRITE_ITEM_DELETE, row, sizeof(*row));
}

int store_batch_item_touch(struct store_batch *b, const struct item_row *row, int64_t now)
{
    return put_row_at(b, WRITE_ITEM_TOUCH, row, sizeof(*row), now);
}

int store_batch_assistant_insert(struct store_batch *b, const struct assistant_row *row)
{
    return put_row(b, WRITE_ASSISTANT_INSERT, row, sizeof(*row));
}

int store_batch_assistant_choose(struct store_batch *b, struct str id, int64_t version)
{
    return put(b, &(struct store_write){
                      .kind = WRITE_ASSISTANT_CHOOSE, .a = version, .text = { id } });
}

int store_batch_assistant_delete(struct store_batch *b, struct str id)
{
    return put(b, &(struct store_write){ .kind = WRITE_ASSISTANT_DELETE, .text = { id } });
}

int store_batch_cron_insert(struct store_batch *b, const struct cron_row *row)
{
    return put_row(b, WRITE_CRON_INSERT, row, sizeof(*row));
}

int store_batch_cron_update(struct store_batch *b, const struct cron_row *row)
{
    return put_row(b, WRITE_CRON_UPDATE, row, sizeof(*row));
}

int store_batch_cron_tick(struct store_batch *b,
                          struct str id,
                          int64_t due,
                          int64_t next,
                          int64_t now)
{
    return put(b,
               &(struct store_write){
                   .kind = WRITE_CRON_TICK, .key = now, .a = due, .b = next, .text = { id } });
}

int store_batch_cron_delete(struct store_batch *b, struct str id)
{
    return put(b, &(struct store_write){ .kind = WRITE_CRON_DELETE, .text = { id } });
}

int store_batch_crons_forget(struct store_batch *b, struct str thread, struct str assistant)
{
    return put(
        b, &(struct store_write){ .kind = WRITE_CRONS_FORGET, .text = { thread, assistant } });
}

int store_batch_webhook_insert(struct store_batch *b, const struct webhook_row *row)
{
    return put_row(b, WRITE_WEBHOOK_INSERT, row, sizeof(*row));
}

int store_batch_webhook_end(struct store_batch *b, const struct webhook_end *end)
{
    return put_row(b, WRITE_WEBHOOK_END, end, sizeof(*end));
}

int store_batch_webhook_move(struct store_batch *b, const struct webhook_row *row)
{
    return put_row(b, WRITE_WEBHOOK_MOVE, row, sizeof(*row));
}

int store_batch_webhook_forget(struct store_batch *b, int64_t job)
{
    return put(b, &(struct store_write){ .kind = WRITE_WEBHOOK_FORGET, .key = job });
}

/* --- executing -------------------------------------------------------------------- */

static int insert_job(struct store *s, const struct job_row *row, struct error *err)
{
    struct job_row copy = *row; /* the store sets its key, to the same value */

    return store_job_insert(s, &copy, err);
}

static int insert_thread(struct store *s, const struct thread_row *row, struct error *err)
{
    struct thread_row copy = *row;

    return store_thread_insert(s, &copy, err);
}

/* The thread may have been deleted with its last run, or earlier in this turn: no error. */
static int unless_gone(int code)
{
    return code == ERR_NOT_FOUND ? 0 : code;
}

static int put_item(struct store *s, const struct item_row *row, struct error *err)
{
    int code = store_item_put(s, row, err);

    return code != 0 || str_absent(row->vectors) ? code : store_item_index(s, row, err);
}

static int write_one(struct store *s,
                     const struct store_batch *b,
                     const struct store_write *w,
                     struct error *err)
{
    switch (w->kind) {
    case WRITE_JOB_INSERT:
        return insert_job(s, w->row, err);
    case WRITE_JOB_UPDATE:
        return store_job_update(s, w->row, err);
    case WRITE_JOB_DELETE:
        return store_job_delete(s, w->key, err);
    case WRITE_JOB_PUBLISHED:
        return store_job_published(s, w->key, w->a, err);
    case WRITE_SUSPECT:
        return store_suspect(s, w->key, w->a, w->b, err);
    case WRITE_APPEND:
        return store_append(s, w->key, w->seq,
                            str_make(b->records.p + w->lines.from, w->lines.n), w->a, err);
    case WRITE_NOTE_TIME:
        return store_note_time(s, w->a, err);
    case WRITE_QUESTION_INSERT:
        return store_question_insert(s, w->row, err);
    case WRITE_QUESTION_ANSWER:
        return store_question_answer(s, w->key, w->seq, w->text[0], w->text[1], w->a, err);
    case WRITE_QUESTIONS_RESUMED:
        return store_questions_resumed(s, w->key, w->seq, err);
    case WRITE_THREAD_INSERT:
        return insert_thread(s, w->row, err);
    case WRITE_THREAD_UPDATE:
        return unless_gone(store_thread_update(s, w->row, err));
    case WRITE_THREAD_VALUES:
        return unless_gone(store_thread_values(s, w->key, w->text[0], w->a, err));
    case WRITE_THREAD_DELETE:
        return unless_gone(store_thread_delete(s, w->key, err));
    case WRITE_THREAD_FORGET:
        return store_thread_forget(s, w->text[0], err);
    case WRITE_THREAD_COPY:
        return store_thread_copy(s, w->text[0], w->text[1], err);
    case WRITE_RUN_INSERT:
        return store_run_insert(s, w->row, err);
    case WRITE_RUN_READ:
        return unless_gone(store_run_read(s, w->key, err));
    case WRITE_RUN_FORGET:
        return store_run_forget(s, w->text[0], w->text[1], err);
    case WRITE_THREAD_THIN:
        return store_thread_thin(s, w->text[0], err);
    case WRITE_CHECKPOINT_PUT:
        return store_checkpoint_put(s, w->of, err);
    case WRITE_CHANNEL_PUT:
        return store_channel_put(s, w->of, w->row, err);
    case WRITE_WRITE_PUT:
        return store_write_put(s, w->of, w->row, err);
    case WRITE_STATE_PUT:
        return store_state_put(s, w->of, w->text[0], err);
    case WRITE_ITEM_PUT:
        return put_item(s, w->row, err);
    case WRITE_ITEM_DELETE:
        return store_item_delete(s, w->row, err);
    case WRITE_ITEM_TOUCH:
        return store_item_touch(s, w->row, w->a, err);
    case WRITE_ASSISTANT_INSERT:
        return store_assistant_insert(s, w->row, err);
    case WRITE_ASSISTANT_CHOOSE:
        return store_assistant_choose(s, w->text[0], w->a, err);
    case WRITE_ASSISTANT_DELETE:
        return store_assistant_delete(s, w->text[0], err);
    case WRITE_CRON_INSERT:
        return store_cron_insert(s, w->row, err);
    case WRITE_CRON_UPDATE:
        return unless_gone(store_cron_update(s, w->row, err));
    case WRITE_CRON_TICK:
        return store_cron_tick(s, w->text[0], w->a, w->b, w->key, err);
    case WRITE_CRON_DELETE:
        return store_cron_delete(s, w->text[0], err);
    case WRITE_CRONS_FORGET:
        return store_crons_forget(s, w->text[0], w->text[1], err);
    case WRITE_WEBHOOK_INSERT:
        return store_webhook_insert(s, w->row, err);
    case WRITE_WEBHOOK_END:
        return store_webhook_end(s, w->row, err);
    case WRITE_WEBHOOK_MOVE:
        return store_webhook_move(s, w->row, err);
    case WRITE_WEBHOOK_FORGET:
        return store_webhook_forget(s, w->key, err);
    }
    return ERR_TYPE; /* not reached: all kinds are handled */
}

int store_flush_each(struct store *s, struct store_batch *b, struct error *err)
{
    int code = 0;

    for (size_t i = 0; i < b->n && code == 0; i++)
        code = write_one(s, b, &b->writes[i], err);
    store_batch_clear(b);
    return code;
}
