/* The store's functions: each calls the function of the store's backend.
 *
 * Each line is one operation: its name, its parameters without the store and the error, which
 * all have, and their names as arguments. */
#include "store/era.h"
#include "store/backend.h"

#include "base/error.h"

#define LIST(...) __VA_ARGS__
#define CALL(name, params, args)                                      \
    int store_##name(struct store *s, LIST params, struct error *err) \
    {                                                                 \
        assert_owner(&s->owner);                                      \
        return s->ops->name(s, LIST args, err);                       \
    }
#define CALL_0(name)                                     \
    int store_##name(struct store *s, struct error *err) \
    {                                                    \
        assert_owner(&s->owner);                         \
        return s->ops->name(s, err);                     \
    }

/* clang-format off */
CALL_0(begin)
CALL(read, (const struct store_want *wants, size_t n, store_found_cb cb, void *arg),
     (wants, n, cb, arg))
CALL(flush, (struct store_batch *b), (b))
CALL_0(commit)
CALL(take_keys, (enum store_keys kind, size_t n, int64_t *ret_first), (kind, n, ret_first))
CALL(job_insert, (struct job_row *row), (row))
CALL(job_update, (const struct job_row *row), (row))
CALL(job_published, (int64_t key, int64_t published), (key, published))
CALL(job_delete, (int64_t key), (key))
CALL(suspect, (int64_t job, int64_t crashed, int64_t set_aside), (job, crashed, set_aside))
CALL(append, (int64_t key, uint64_t last, struct str stored, int64_t batch),
     (key, last, stored, batch))
CALL(expire, (int64_t now, int64_t keep_ms, size_t limit, size_t *ret_n),
     (now, keep_ms, limit, ret_n))
CALL(note_time, (int64_t now), (now))
CALL(move_times, (int64_t by, int64_t now), (by, now))
CALL(time_noted, (int64_t *ret), (ret))
CALL(job_get, (struct str id, struct job_row *ret), (id, ret))
CALL(job_by_idempotency, (struct str key, struct job_row *ret), (key, ret))
CALL(jobs, (const struct job_filter *filter, store_job_cb cb, void *arg), (filter, cb, arg))
CALL(open_jobs, (store_job_cb cb, void *arg), (cb, arg))
CALL(unpublished_jobs, (store_job_cb cb, void *arg), (cb, arg))
CALL(jobs_set_aside, (store_job_cb cb, void *arg), (cb, arg))
CALL(records,
     (int64_t key, uint64_t after, size_t limit, size_t max_bytes, store_record_cb cb, void *arg),
     (key, after, limit, max_bytes, cb, arg))
CALL(record, (int64_t key, uint64_t seq, struct str *ret), (key, seq, ret))
CALL(stats, (struct store_stats *ret), (ret))
CALL(question_insert, (const struct question_row *row), (row))
CALL(question_answer, (int64_t job, uint64_t seq, struct str answer, struct str by, int64_t now),
     (job, seq, answer, by, now))
CALL(questions_resumed, (int64_t job, uint64_t seq), (job, seq))
CALL(questions, (int64_t job, store_question_cb cb, void *arg), (job, cb, arg))
CALL(open_questions, (int64_t after_job, uint64_t after_seq, store_question_cb cb, void *arg),
     (after_job, after_seq, cb, arg))
CALL(thread_insert, (struct thread_row *row), (row))
CALL(thread_update, (const struct thread_row *row), (row))
CALL(thread_values, (int64_t key, struct str values, int64_t now), (key, values, now))
CALL(thread_delete, (int64_t key), (key))
CALL(thread_get, (struct str id, struct thread_row *ret), (id, ret))
CALL(thread_by_key, (int64_t key, struct thread_row *ret), (key, ret))
CALL(threads,
     (enum thread_order order, bool ascending, struct str owner, store_thread_cb cb, void *arg),
     (order, ascending, owner, cb, arg))
CALL(threads_expired, (int64_t now, size_t limit, store_thread_cb cb, void *arg),
     (now, limit, cb, arg))
CALL(thread_jobs, (int64_t thread, store_job_cb cb, void *arg), (thread, cb, arg))
CALL(run_insert, (const struct run_row *row), (row))
CALL(run_read, (int64_t job), (job))
CALL(run_get, (int64_t job, struct run_row *ret), (job, ret))
CALL(checkpoint_put, (const struct checkpoint_row *row), (row))
CALL(channel_put, (const struct checkpoint_row *of, const struct channel_row *row), (of, row))
CALL(write_put, (const struct checkpoint_row *of, const struct write_row *row), (of, row))
CALL(state_put, (const struct checkpoint_row *of, struct str state), (of, state))
CALL(thread_forget, (struct str thread), (thread))
CALL(run_forget, (struct str thread, struct str run), (thread, run))
CALL(thread_thin, (struct str thread), (thread))
CALL(thread_copy, (struct str from, struct str to), (from, to))
CALL(checkpoints, (const struct checkpoint_filter *filter, store_checkpoint_cb cb, void *arg),
     (filter, cb, arg))
CALL(channels, (const struct checkpoint_row *of, store_channel_cb cb, void *arg), (of, cb, arg))
CALL(writes, (const struct checkpoint_row *of, store_write_cb cb, void *arg), (of, cb, arg))
CALL(states, (const struct checkpoint_filter *filter, store_state_cb cb, void *arg),
     (filter, cb, arg))
CALL(states_after, (const struct checkpoint_row *of, store_state_cb cb, void *arg),
     (of, cb, arg))
CALL(item_put, (const struct item_row *row), (row))
CALL(item_index, (const struct item_row *row), (row))
CALL(item_delete, (const struct item_row *row), (row))
CALL(item_touch, (const struct item_row *row, int64_t now), (row, now))
CALL(item, (const struct item_row *row, int64_t now, store_item_cb cb, void *arg),
     (row, now, cb, arg))
CALL(items, (struct str owner, struct str prefix, int64_t now, store_item_cb cb, void *arg),
     (owner, prefix, now, cb, arg))
CALL(items_indexed,
     (struct str owner, struct str prefix, int64_t now, store_item_cb cb, void *arg),
     (owner, prefix, now, cb, arg))
CALL(namespaces, (struct str owner, int64_t now, store_ns_cb cb, void *arg),
     (owner, now, cb, arg))
CALL(assistant_insert, (const struct assistant_row *row), (row))
CALL(assistant_choose, (struct str id, int64_t version), (id, version))
CALL(assistant_delete, (struct str id), (id))
CALL(assistants, (struct str id, store_assistant_cb cb, void *arg), (id, cb, arg))
CALL(assistant, (struct str id, store_assistant_cb cb, void *arg), (id, cb, arg))
CALL(cron_insert, (const struct cron_row *row), (row))
CALL(cron_update, (const struct cron_row *row), (row))
CALL(cron_tick, (struct str id, int64_t due, int64_t next, int64_t now), (id, due, next, now))
CALL(cron_delete, (struct str id), (id))
CALL(crons_forget, (struct str thread, struct str assistant), (thread, assistant))
CALL(cron, (struct str id, store_cron_cb cb, void *arg), (id, cb, arg))
CALL(crons, (store_cron_cb cb, void *arg), (cb, arg))
CALL(crons_due, (int64_t now, size_t limit, store_cron_cb cb, void *arg), (now, limit, cb, arg))
CALL(webhook_insert, (const struct webhook_row *row), (row))
CALL(webhook_end, (const struct webhook_end *end), (end))
CALL(webhook_move, (const struct webhook_row *row), (row))
CALL(webhook_forget, (int64_t job), (job))
CALL(webhook, (struct str id, store_webhook_cb cb, void *arg), (id, cb, arg))
CALL(webhooks,
     (struct str state, int64_t n, struct str id, size_t limit, store_webhook_cb cb, void *arg),
     (state, n, id, limit, cb, arg))
CALL(webhooks_due, (int64_t now, size_t limit, store_webhook_cb cb, void *arg),
     (now, limit, cb, arg))
CALL(webhooks_count, (struct webhook_counts *ret), (ret))
CALL(token_insert, (const struct token_row *row), (row))
CALL(token_revoke, (struct str id, int64_t now), (id, now))
CALL(session_delete, (struct str id), (id))
CALL(sessions_expire, (int64_t now), (now))
CALL(tokens, (store_token_cb cb, void *arg), (cb, arg))
CALL(token_changes, (int64_t *ret), (ret))
CALL(tokens_see, (int64_t n), (n))
CALL(tokens_seen, (int64_t *ret), (ret))
CALL(secret, (struct str name, struct str fresh, unsigned char ret[STORE_SECRET_BYTES]),
     (name, fresh, ret))
/* clang-format on */

void store_take(struct store *s)
{
    thread_owner_take(&s->owner);
}

void store_rollback(struct store *s)
{
    assert_owner(&s->owner);
    s->ops->rollback(s);
}

void store_compact(struct store *s)
{
    assert_owner(&s->owner);
    s->ops->compact(s);
}

void store_close(struct store *s)
{
    if (s != NULL)
        s->ops->close(s);
}

uint64_t store_max_seq(const struct store *s)
{
    return s->ops->max_seq;
}

bool store_is_remote(const struct store *s)
{
    return s->ops->is_remote;
}

/* --- operations that a backend may not offer -------------------------------------- */

static int not_offered(const char *what, struct error *err)
{
    return error_set(err, ERR_REFUSED, "this kind of store does not offer %s", what);
}

#define ADMIN(name, params, args)                                                             \
    int store_##name(struct store *s, LIST params, struct error *err)                         \
    {                                                                                         \
        return s->admin != NULL && s->admin->name != NULL ? s->admin->name(s, LIST args, err) \
                                                          : not_offered(#name, err);          \
    }

/* clang-format off */
ADMIN(check, (store_finding_cb cb, void *arg), (cb, arg))
ADMIN(backup, (const char *path), (path))
ADMIN(dump, (const struct store_table *table, store_row_cb cb, void *arg), (table, cb, arg))
ADMIN(load, (const struct store_table *table, const struct store_cell *cells, size_t n),
      (table, cells, n))
ADMIN(last_key, (enum store_keys kind, int64_t *ret), (kind, ret))
ADMIN(skip_keys, (enum store_keys kind, int64_t last), (kind, last))
ADMIN(disk, (struct store_disk *ret), (ret))
ADMIN(identity, (char ret[STORE_IDENTITY_BYTES]), (ret))
ADMIN(breadcrumb, (struct breadcrumb *ret), (ret))
ADMIN(operation_put, (struct str id, struct str answer), (id, answer))
ADMIN(operation, (struct str id, struct str *ret), (id, ret))
ADMIN(shards, (int64_t *ret), (ret))
/* clang-format on */

int store_vacuum(struct store *s, struct error *err)
{
    return s->admin != NULL && s->admin->vacuum != NULL ? s->admin->vacuum(s, err)
                                                        : not_offered("vacuum", err);
}

int store_make_shards(struct store *s, int64_t n, struct error *err)
{
    return s->admin != NULL && s->admin->make_shards != NULL ? s->admin->make_shards(s, n, err)
                                                             : not_offered("shards", err);
}

bool store_lists_by_time(const struct store *s)
{
    return s->lists_by_time;
}

bool store_is_lost(struct store *s)
{
    return s->admin != NULL && s->admin->is_lost != NULL && s->admin->is_lost(s);
}

uint64_t store_era(const struct store *s)
{
    return s->era;
}

void store_hurry(struct store *s)
{
    if (s->admin != NULL && s->admin->hurry != NULL)
        s->admin->hurry(s);
}

void store_left_behind(struct store *s, struct store_left *ret)
{
    *ret = (struct store_left){ 0 };
    if (s->admin != NULL && s->admin->left_behind != NULL)
        s->admin->left_behind(s, ret);
}

int store_name_suspect(struct store *s, int64_t job, struct error *err)
{
    return s->admin != NULL && s->admin->name_suspect != NULL
               ? s->admin->name_suspect(s, job, err)
               : not_offered("names of suspects", err);
}

struct str store_unmigrated(struct store *s)
{
    return s->admin != NULL && s->admin->unmigrated != NULL ? s->admin->unmigrated(s)
                                                            : STR_NONE;
}

/* --- operations made of others ----------------------------------------------------- */

static int keep_version(void *arg, const struct assistant_row *row)
{
    *(int64_t *)arg = row->version;
    return 1;
}

int store_assistant_versions(struct store *s, struct str id, int64_t *ret, struct error *err)
{
    *ret = 0;
    return store_assistants(s, id, keep_version, ret, err);
}
