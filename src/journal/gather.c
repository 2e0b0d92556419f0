/* See gather.h.  Adding a write to the batch also updates the known row. */
#include "journal/active_job.h"

enum { KEY_BLOCK = 256 }; /* keys that are reserved at a time, if a store is asked for each */

int journal_flush(struct journal *j)
{
    int err = j->turn_failed ? ERR_BUSY : journal_end_chunk(j);

    if (err == ERR_NOMEM)
        (void)error_set(&j->failure, ERR_NOMEM, "out of memory");
    if (err == 0)
        err = store_flush(j->opt.store, &j->batch, &j->failure);
    if (err == 0)
        return 0;
    journal_fail_turn(j, NULL);
    return ERR_BUSY; /* always this code: it must not be taken for a request's answer */
}

/* --- keys of new rows ---------------------------------------------------------- */

static int take_keys(struct journal *j, enum store_keys kind)
{
    struct key_block *block = &j->keys[kind];
    /* A store that is remote reserves blocks itself. */
    size_t n = j->wanted.n_new[kind] + (store_is_remote(j->opt.store) ? 0 : KEY_BLOCK);
    int64_t first = 0;

    if (j->wanted.n_new[kind] <= block->left)
        return 0;
    int err = store_take_keys(j->opt.store, kind, n, &first, &j->failure);
    if (err != 0)
        return err;
    if (first != block->next + (int64_t)block->left)
        *block = (struct key_block){ .next = first };
    block->left += n;
    return 0;
}

int gather_take_keys(struct journal *j)
{
    int err = 0;

    for (int kind = 0; kind < STORE_KEYS_MAX && err == 0; kind++)
        err = take_keys(j, (enum store_keys)kind);
    return err;
}

void gather_drop_keys(struct journal *j)
{
    if (store_is_remote(j->opt.store))
        j->keys[STORE_JOB_KEYS] = (struct key_block){ 0 };
}

static int new_key(struct journal *j, enum store_keys kind, int64_t *ret)
{
    struct key_block *block = &j->keys[kind];

    if (block->left == 0) {
        j->wanted.n_new[kind] = 1;
        int err = take_keys(j, kind);
        if (err != 0)
            return err;
    }
    block->left--;
    *ret = block->next++;
    return 0;
}

/* --- jobs, runs and questions ------------------------------------------------- */

int gather_job(struct journal *j, struct job_row *row)
{
    int err = new_key(j, STORE_JOB_KEYS, &row->key);

    if (err == 0)
        err = known_new_job(j, row);
    return err == 0 ? store_batch_job_insert(&j->batch, row) : err;
}

int gather_job_deletion(struct journal *j, struct str id, int64_t key, int64_t thread)
{
    struct known_thread *t = known_find_thread(j, thread);
    int err = known_forget_job(j, id);

    if (t != NULL && t->row.is_temporary)
        t->is_there = false; /* it is deleted with its run */
    if (err == 0)
        err = store_batch_job_delete(&j->batch, key);
    return err == 0 && thread != 0 ? store_batch_webhook_forget(&j->batch, key) : err;
}

int gather_run(struct journal *j, const struct run_row *row)
{
    int err = known_new_run(j, row);

    return err == 0 ? store_batch_run_insert(&j->batch, row) : err;
}

int gather_question(struct journal *j, const struct question_row *row)
{
    struct known_questions *q = known_find_questions(j, row->job);
    int err = q != NULL ? known_add_question(j, q, row) : 0;

    return err == 0 ? store_batch_question_insert(&j->batch, row) : err;
}

int gather_answer(struct journal *j,
                  int64_t job,
                  uint64_t seq,
                  struct str answer,
                  struct str by)
{
    struct known_questions *q = known_find_questions(j, job);
    int err = 0;

    for (size_t i = 0; q != NULL && i < q->n; i++) {
        struct question_row *row = &q->rows[i];

        if (row->seq != seq)
            continue;
        if (!arena_copy(&j->mem, answer, &row->answer) ||
            !arena_copy(&j->mem, by, &row->answered_by))
            err = ERR_NOMEM;
        row->answered = j->now;
    }
    return err == 0 ? store_batch_question_answer(&j->batch, job, seq, answer, by, j->now)
                    : err;
}

int gather_resumed(struct journal *j, int64_t job, uint64_t seq)
{
    struct known_questions *q = known_find_questions(j, job);

    for (size_t i = 0; q != NULL && i < q->n; i++)
        if (q->rows[i].answered != 0 && q->rows[i].resumed == 0)
            q->rows[i].resumed = seq;
    return store_batch_questions_resumed(&j->batch, job, seq);
}

/* --- threads ------------------------------------------------------------------ */

int gather_new_thread(struct journal *j, struct thread_row *row)
{
    int err = new_key(j, STORE_THREAD_KEYS, &row->key);
    struct known_thread *known = err == 0 ? known_new_thread(j, row->id) : NULL;

    if (known == NULL)
        return err != 0 ? err : ERR_NOMEM;
    err = known_put_thread(j, known, row);
    return err == 0 ? store_batch_thread_insert(&j->batch, row) : err;
}

int gather_thread(struct journal *j, const struct thread_row *row)
{
    struct known_thread *known = known_find_thread(j, row->key);
    struct thread *t = runs_thread(j, row->key);
    int err = 0;

    if (known != NULL) {
        struct thread_row next = *row;
        bool is_there = known->is_there;

        next.id = known->row.id;
        next.owner = known->row.owner;
        next.values = known->row.values;
        next.created = known->row.created;
        next.is_temporary = known->row.is_temporary;
        err = known_put_thread(j, known, &next);
        known->is_there = is_there;
    }
    if (err == 0 && t != NULL && t->has_row)
        err = thread_keep_row(t, row);
    return err == 0 ? store_batch_thread_update(&j->batch, row) : err;
}

int gather_thread_values(struct journal *j, int64_t key, struct str values)
{
    struct known_thread *known = known_find_thread(j, key);
    struct thread *t = runs_thread(j, key);

    if (known != NULL) {
        if (!arena_copy(&j->mem, values, &known->row.values))
            return ERR_NOMEM;
        known->row.updated = known->row.state_updated = j->now;
    }
    if (t != NULL && t->has_row)
        t->row.updated = t->row.state_updated = j->now;
    return store_batch_thread_values(&j->batch, key, values, j->now);
}

int gather_thread_forgetting(struct journal *j, struct str id)
{
    known_forget_state(j, id);
    return store_batch_thread_forget(&j->batch, id);
}

int gather_run_forgetting(struct journal *j, struct str thread, struct str run)
{
    known_forget_state(j, thread);
    return store_batch_run_forget(&j->batch, thread, run);
}

int gather_thread_deletion(struct journal *j, int64_t key)
{
    struct known_thread *known = known_find_thread(j, key);

    if (known != NULL)
        known->is_there = false;
    return store_batch_thread_delete(&j->batch, key);
}

/* --- items and assistants ------------------------------------------------------- */

int gather_item(struct journal *j, const struct item_row *row)
{
    known_forget_item(j, row); /* the store decides `created` */
    return store_batch_item_put(&j->batch, row);
}

int gather_item_deletion(struct journal *j, const struct item_row *row)
{
    known_forget_item(j, row);
    return store_batch_item_delete(&j->batch, row);
}

int gather_assistant(struct journal *j, const struct assistant_row *row)
{
    known_forget_assistant(j, row->id);
    return store_batch_assistant_insert(&j->batch, row);
}

int gather_assistant_choice(struct journal *j, struct str id, int64_t version)
{
    known_forget_assistant(j, id);
    return store_batch_assistant_choose(&j->batch, id, version);
}

/* Its crons go with it. */
int gather_assistant_deletion(struct journal *j, struct str id)
{
    known_forget_assistant(j, id);
    int err = store_batch_assistant_delete(&j->batch, id);
    return err == 0 ? store_batch_crons_forget(&j->batch, STR_NONE, id) : err;
}

int gather_new_cron(struct journal *j, const struct cron_row *row)
{
    known_forget_cron(j, row->id);
    return store_batch_cron_insert(&j->batch, row);
}

int gather_cron(struct journal *j, const struct cron_row *row)
{
    known_forget_cron(j, row->id);
    return store_batch_cron_update(&j->batch, row);
}

int gather_cron_tick(struct journal *j, struct str id, int64_t due, int64_t next)
{
    known_forget_cron(j, id);
    return store_batch_cron_tick(&j->batch, id, due, next, j->now);
}

int gather_cron_deletion(struct journal *j, struct str id)
{
    known_forget_cron(j, id);
    return store_batch_cron_delete(&j->batch, id);
}

int gather_webhook(struct journal *j, const struct webhook_row *row)
{
    known_forget_webhook(j, row->id);
    return store_batch_webhook_move(&j->batch, row);
}
