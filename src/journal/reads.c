/* What a turn reads from the store while it is under way.
 *
 * The turn's writes are gathered until its end, so a read in its middle flushes them first: the
 * turn sees its own writes. */
#include "journal/active_job.h"

enum {
    KEY_BLOCK = 256, /* keys that are taken at a time */
    PAGE = 1000      /* records */
};

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
    return ERR_BUSY; /* whatever it was: nobody shall take it for an answer */
}

int journal_new_key(struct journal *j, enum store_keys kind, int64_t *ret)
{
    struct key_block *block = &j->keys[kind];

    if (block->left == 0) {
        int err = store_take_keys(j->opt.store, kind, KEY_BLOCK, &block->next, &j->failure);

        if (err != 0)
            return err;
        block->left = KEY_BLOCK;
    }
    block->left--;
    *ret = block->next++;
    return 0;
}

/* --- jobs -------------------------------------------------------------------- */

int read_job(struct journal *j, struct str id, struct job_row *ret, struct error *err)
{
    int code = journal_flush(j);

    return code == 0 ? store_job_get(j->opt.store, id, ret, err) : code;
}

int read_job_by_idempotency(struct journal *j,
                            struct str key,
                            struct job_row *ret,
                            struct error *err)
{
    int code = journal_flush(j);

    return code == 0 ? store_job_by_idempotency(j->opt.store, key, ret, err) : code;
}

int read_run(struct journal *j, int64_t job, struct run_row *ret, struct error *err)
{
    int code = journal_flush(j);

    return code == 0 ? store_run_get(j->opt.store, job, ret, err) : code;
}

int read_questions(struct journal *j, int64_t job, store_question_cb cb, void *arg)
{
    int code = journal_flush(j);

    return code == 0 ? store_questions(j->opt.store, job, cb, arg, &j->failure) : code;
}

int read_records(struct journal *j, int64_t job, uint64_t after, store_record_cb cb, void *arg)
{
    int code = journal_flush(j);

    return code == 0
               ? store_records(j->opt.store, job, after, PAGE, SIZE_MAX, cb, arg, &j->failure)
               : code;
}

int read_record(struct journal *j, int64_t job, uint64_t seq, struct str *ret)
{
    int code = journal_flush(j);

    return code == 0 ? store_record(j->opt.store, job, seq, ret, &j->failure) : code;
}

/* --- threads ----------------------------------------------------------------- */

int read_thread(struct journal *j, struct str id, struct thread_row *ret, struct error *err)
{
    int code = journal_flush(j);

    return code == 0 ? store_thread_get(j->opt.store, id, ret, err) : code;
}

int read_thread_by_key(struct journal *j, int64_t key, struct thread_row *ret)
{
    int code = journal_flush(j);

    return code == 0 ? store_thread_by_key(j->opt.store, key, ret, &j->failure) : code;
}

int read_thread_jobs(struct journal *j, int64_t thread, store_job_cb cb, void *arg)
{
    int code = journal_flush(j);

    return code == 0 ? store_thread_jobs(j->opt.store, thread, cb, arg, &j->failure) : code;
}

int read_threads_expired(struct journal *j, size_t limit, store_thread_cb cb, void *arg)
{
    int code = journal_flush(j);

    return code == 0 ? store_threads_expired(j->opt.store, j->now, limit, cb, arg, &j->failure)
                     : code;
}

int read_state(struct journal *j, struct str thread, store_state_cb cb, void *arg)
{
    const struct checkpoint_filter newest = { .thread = thread, .ns = STR("") };
    int code = journal_flush(j);

    return code == 0 ? store_states(j->opt.store, &newest, cb, arg, &j->failure) : code;
}
