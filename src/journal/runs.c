/* Open runs of threads: which one may run, and what a run changes in its thread.
 *
 *     run 1 ──────running──────▶ ended
 *     run 2      queued, in no queue ─┴─▶ in its agent's queue ──▶ running
 *
 * One run of a thread runs at a time, in the order of their ordinals; a run that may not begin
 * yet (not_before) lets others pass.  A run that must wait is in no queue, and enters one when
 * another run ends, or when its time has come.
 *
 * What a thread shows (status, values, questions) is written in the transaction of the run
 * that changed it. */
#include "base/json.h"
#include "journal/active_job.h"
#include "record/record.h"
#include "store/rows.h"

#include <stdlib.h>

/* --- which run may begin ----------------------------------------------------- */

/* Not keyed with the random key: the store makes these numbers, so nobody can choose them. */
static struct key key_of_thread(int64_t thread)
{
    return (struct key){ (uint64_t)thread * 0x9E3779B97F4A7C15u, (uint64_t)thread };
}

static struct thread *thread_for(struct journal *j, int64_t key)
{
    struct thread *t = table_get(&j->threads, key_of_thread(key));

    if (t != NULL)
        return t;
    t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->key = key_of_thread(key);
    t->journal = j;
    if (table_put(&j->threads, t->key, t) == 0) {
        known_keep_thread(j, t, key);
        return t;
    }
    free(t);
    return NULL;
}

struct thread *runs_thread(const struct journal *j, int64_t key)
{
    return table_get(&j->threads, key_of_thread(key));
}

struct thread *runs_thread_by_id(const struct journal *j, struct str id)
{
    struct thread *t = table_get(&j->threads, table_key(&j->threads, 0, id));

    return t != NULL && str_eq(t->row.id, id) ? t : NULL;
}

static void forget_row(struct thread *t)
{
    struct journal *j = t->journal;

    if (t->has_row && runs_thread_by_id(j, t->row.id) == t)
        table_remove(&j->threads, table_key(&j->threads, 0, t->row.id));
    row_disown(&thread_texts, &t->row);
    t->has_row = false;
}

int thread_keep_row(struct thread *t, const struct thread_row *row)
{
    struct journal *j = t->journal;
    struct thread_row copy = *row;

    copy.values = STR_NONE;
    int err = row_own(&thread_texts, &copy);
    if (err != 0)
        return err;
    forget_row(t);
    t->row = copy;
    t->has_row = true;
    (void)table_put(&j->threads, table_key(&j->threads, 0, copy.id), t); /* without memory it is
                                                                            not found by its id
                                                                          */
    return 0;
}

void runs_forget_rows(struct journal *j)
{
    for (size_t i = 0; i < j->n_all; i++)
        if (j->all[i]->thread != NULL)
            forget_row(j->all[i]->thread);
}

int runs_join(struct active_job *job)
{
    if (job->row.thread == 0)
        return 0;
    struct thread *t = thread_for(job->journal, job->row.thread);
    if (t == NULL)
        return ERR_NOMEM;
    struct active_job **at = &t->first;
    while (*at != NULL && (*at)->row.ordinal < job->row.ordinal)
        at = &(*at)->next_run;
    job->next_run = *at;
    *at = job;
    job->thread = t;
    return 0;
}

struct active_job *runs_first(const struct journal *j, int64_t thread)
{
    const struct thread *t = table_get(&j->threads, key_of_thread(thread));

    return t != NULL ? t->first : NULL;
}

static void release_all(struct thread *t)
{
    for (struct active_job *job = t->first; job != NULL; job = job->next_run)
        runs_release(job);
}

void runs_leave(struct active_job *job)
{
    struct thread *t = job->thread;

    if (t == NULL)
        return;
    for (struct active_job **at = &t->first; *at != NULL; at = &(*at)->next_run) {
        if (*at == job) {
            *at = job->next_run;
            break;
        }
    }
    job->thread = NULL;
    job->next_run = NULL;
    release_all(t);
    if (t->first == NULL) {
        forget_row(t);
        table_remove(&job->journal->threads, t->key);
        free(t);
    }
}

static bool is_early(const struct active_job *job)
{
    return job->row.not_before > job->journal->now;
}

/* Must @job wait for @other? */
static bool comes_before(const struct active_job *other, const struct active_job *job)
{
    if (other == job || job_state_is_final(other->state))
        return false;
    return other->state != JOB_QUEUED ||
           (other->row.ordinal < job->row.ordinal && !is_early(other));
}

bool runs_may_begin(const struct active_job *job)
{
    if (is_early(job))
        return false;
    for (const struct active_job *o = job->thread != NULL ? job->thread->first : NULL;
         o != NULL; o = o->next_run)
        if (comes_before(o, job))
            return false;
    return true;
}

void runs_release(struct active_job *job)
{
    if (job->state != JOB_QUEUED || job->next != NULL || job->agent == NULL || job->stale ||
        job->deleted || job->row.set_aside != 0 || !runs_may_begin(job))
        return;
    /* Its time in the queue begins now. */
    if (job->row.started == 0 && job->row.queue_deadline != 0) {
        job->row.queue_deadline = job->journal->now + job->agent->queue_ms;
        active_job_change(job);
    }
    active_job_enqueue(job);
    active_job_touch(job);
    job->queue_news = true;
}

/* --- changes of the thread --------------------------------------------------- */

/* Removes interrupts, which some senders put into the state. */
static int store_values(struct active_job *job, struct str values)
{
    struct journal *j = job->journal;
    struct json json;
    struct buf b;

    if (json_read(&j->reader, values, &json, NULL) != 0 ||
        json_at(json.root, "__interrupt__") == NULL)
        return gather_thread_values(j, job->row.thread, values);
    buf_init(&b, SIZE_MAX / 4);
    json_begin(&b);
    yyjson_obj_iter it = yyjson_obj_iter_with(json.root);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
        if (str_is(json_text(key), "__interrupt__"))
            continue;
        json_put_key(&b, json_text(key));
        json_put_value(&b, yyjson_obj_iter_get_val(key));
    }
    json_end(&b);
    int err = b.error != 0 ? b.error : gather_thread_values(j, job->row.thread, buf_text(&b));
    buf_done(&b);
    return err;
}

/* The whole state, from an event of its own; or the output of a graph that sends none.  Absent:
 * the record has no state. */
static struct str values_of(const struct active_job *job, const struct record *rec)
{
    const struct run_info *info = record_info(rec);

    if (rec->kind == REC_STATE_VALUES)
        return info->ns.n == 0 ? rec->data : STR_NONE;
    return job->row.values_seq == 0 && (rec->kind == REC_JOB_END || info->root) &&
                   str_starts(rec->output.p != NULL ? rec->output : STR(""), STR("{"))
               ? rec->output
               : STR_NONE;
}

int runs_saw(struct active_job *job, const struct record *rec)
{
    struct str values = job->thread != NULL ? values_of(job, rec) : STR_NONE;

    if (str_absent(values))
        return 0;
    job->row.values_seq = (int64_t)rec->seq;
    active_job_change(job);
    int err = store_values(job, values);
    return err == ERR_NOT_FOUND ? 0 : err; /* the thread is being deleted */
}

/* The questions of a run, by the tasks that ask them, if the last saved state has these tasks;
 * else by their own ids. */
struct questions_out {
    struct buf b;       /* all questions, by their ids */
    struct buf by_task; /* those that the state has, by task */
    yyjson_val *tasks;  /* of the state; NULL: no state */
    size_t n;
    bool is_strange; /* the state does not have one of the questions */
};

static bool asks(const yyjson_val *tasks, struct str id)
{
    yyjson_arr_iter it = yyjson_arr_iter_with((yyjson_val *)(uintptr_t)tasks);

    for (yyjson_val *task; (task = yyjson_arr_iter_next(&it)) != NULL;) {
        yyjson_arr_iter asked = yyjson_arr_iter_with(json_at(task, "interrupts"));

        for (yyjson_val *one; (one = yyjson_arr_iter_next(&asked)) != NULL;)
            if (str_eq(json_text(json_at(one, "id")), id))
                return true;
    }
    return false;
}

static void put_tasks(struct questions_out *q)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(q->tasks);

    json_begin(&q->by_task);
    for (yyjson_val *task; (task = yyjson_arr_iter_next(&it)) != NULL;) {
        struct str id = json_text(json_at(task, "id"));

        if (str_empty(id) || yyjson_arr_size(json_at(task, "interrupts")) == 0)
            continue;
        json_put_key(&q->by_task, id);
        json_put_value(&q->by_task, json_at(task, "interrupts"));
    }
    json_end(&q->by_task);
}

static int put_question(void *arg, const struct question_row *row)
{
    struct questions_out *q = arg;

    q->is_strange |= !asks(q->tasks, row->id);
    q->n++;
    json_put_key(&q->b, row->id);
    json_begin_array(&q->b);
    json_begin(&q->b);
    json_add_str(&q->b, "id", row->id);
    json_add_raw(&q->b, "value", row->value);
    json_end(&q->b);
    json_end_array(&q->b);
    return 0;
}

/* Parses the tasks; the result is in the journal's reader. */
static int read_tasks(struct active_job *job, struct questions_out *q)
{
    struct journal *j = job->journal;
    struct thread_row row;
    struct str state = STR_NONE;
    struct json json;
    int err = read_thread_by_key(j, job->row.thread, &row);

    if (err == 0)
        err = read_state(j, row.id, &state);
    if (err == 0 && !str_absent(state) && json_read(&j->reader, state, &json, NULL) == 0)
        q->tasks = json_at(json.root, "tasks");
    return err == ERR_NOT_FOUND ? 0 : err; /* the thread is being deleted */
}

/* Writes the questions of the run: {task: [{id, value}, …], …}. */
static int put_questions(struct active_job *job, struct questions_out *q, struct str *ret)
{
    struct journal *j = job->journal;
    bool asks_any = str_is(job->row.outcome, "interrupted");
    int err = asks_any ? read_tasks(job, q) : 0;

    json_begin(&q->b);
    if (err == 0 && asks_any)
        err = read_questions(j, job->row.key, put_question, q);
    json_end(&q->b);
    put_tasks(q);
    *ret = q->n > 0 && !q->is_strange ? buf_text(&q->by_task) : buf_text(&q->b);
    return err != 0 ? err : q->b.error != 0 ? q->b.error : q->by_task.error;
}

static void put_error(const struct active_job *job, struct buf *b)
{
    json_begin(b);
    json_add_str(b, "error", job->row.error_type.n > 0 ? job->row.error_type : STR("Error"));
    json_add_text(b, "message", job->row.error);
    json_end(b);
}

static bool has_others(const struct active_job *job)
{
    for (const struct active_job *o = job->thread->first; o != NULL; o = o->next_run)
        if (o != job && !job_state_is_final(o->state))
            return true;
    return false;
}

static struct str status_after(const struct active_job *job)
{
    return has_others(job)                                        ? STR("busy")
           : str_is(job->row.outcome, "interrupted")              ? STR("interrupted")
           : job->state == JOB_FAILED                             ? STR("error")
           : str_is(job->row.outcome, "rollback")                 ? STR("idle")
           : job->state == JOB_CANCELLED && job->row.started != 0 ? STR("interrupted")
                                                                  : STR("idle");
}

static int update_thread(struct active_job *job, struct str interrupts, struct str error)
{
    struct journal *j = job->journal;
    struct thread_row row;

    int err = read_thread_by_key(j, job->row.thread, &row);
    if (err == 0) {
        row.status = status_after(job);
        row.interrupts = interrupts;
        row.error = job->state == JOB_FAILED ? error : STR_NONE;
        row.updated = j->now;
        err = gather_thread(j, &row);
    }
    return err == ERR_NOT_FOUND ? 0 : err; /* the thread is being deleted */
}

/* --- rollback ---------------------------------------------------------------- */

/* Deletes the checkpoints that the run has saved. */
static int forget_saved(struct active_job *job)
{
    struct journal *j = job->journal;
    struct thread_row row;
    int err = read_thread_by_key(j, job->row.thread, &row);

    if (err == 0)
        err = gather_run_forgetting(j, row.id, job->row.id);
    return err == ERR_NOT_FOUND ? 0 : err; /* the thread is being deleted */
}

/* Restores the values that the thread had before the run. */
static int restore_values(struct active_job *job)
{
    struct journal *j = job->journal;
    struct record rec = { 0 };
    struct str stored = STR_NONE;

    if (job->row.values_seq == 0)
        return 0; /* it changed none */
    int err = read_values(job, &stored);
    if (err == 0 && !str_absent(stored))
        err = record_decode(&j->reader, stored, &rec, &j->failure);
    struct str values = rec.kind == REC_STATE_VALUES ? rec.data : rec.output;
    if (err == 0 && !str_absent(values)) {
        struct arena mem;

        arena_init(&mem); /* copied: storing reuses the reader's memory */
        err = arena_copy(&mem, values, &values) ? store_values(job, values) : ERR_NOMEM;
        arena_done(&mem);
    } else if (err == 0) {
        err = gather_thread_values(j, job->row.thread, STR_NONE);
    }
    return err == ERR_NOT_FOUND ? 0 : err; /* the thread is deleted */
}

int runs_ended(struct active_job *job)
{
    struct questions_out q = { 0 };
    struct str interrupts;
    struct buf error;

    buf_init(&q.b, SIZE_MAX / 4);
    buf_init(&q.by_task, SIZE_MAX / 4);
    buf_init(&error, SIZE_MAX / 4);
    put_error(job, &error);
    int err = put_questions(job, &q, &interrupts);
    if (err == 0)
        err = error.error;
    if (err == 0 && str_is(job->row.outcome, "rollback"))
        err = forget_saved(job);
    if (err == 0 && str_is(job->row.outcome, "rollback"))
        err = restore_values(job);
    if (err == 0)
        err = update_thread(job, interrupts, buf_text(&error));
    if (err == 0 && !job->is_untold)
        err = webhooks_ended(job, job->state == JOB_FAILED ? buf_text(&error) : STR_NONE);
    buf_done(&q.b);
    buf_done(&q.by_task);
    buf_done(&error);
    if (err == 0)
        release_all(job->thread);
    return err;
}
