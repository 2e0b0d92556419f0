/* Requests about threads, and runs that enter one. */
#include "ingest/fold.h"
#include "base/json_merge.h"
#include "jobs/job_scope.h"
#include "journal/active_job.h"

#include "base/json.h"
#include "store/rows.h"

#define BUSY \
    "Thread is already running a task. Wait for it to finish or choose a different multitask strategy."

enum {
    EXPIRE_EVERY_MS = 1000,
    EXPIRE_AGAIN_MS = 600000 /* retry after a failed deletion: else every turn would fail */
};

/* --- threads ----------------------------------------------------------------- */

/* 0, ERR_NOT_FOUND, or the code of a refusal. */
static int find(struct journal *j,
                struct journal_request *req,
                struct str id,
                struct thread_row *ret)
{
    int err = read_thread(j, id, ret, &req->why);

    if (err == 0 && !job_scope_includes(req->job_scope, ret->id, ret->owner))
        err = ERR_NOT_FOUND;
    if (err == 0 && journal_is_elsewhere(j, req, ret->shard))
        err = ERR_ELSEWHERE;
    if (err == 0 && !row_copy(&req->mem, &thread_texts, ret))
        err = error_set(&req->why, ERR_BUSY, "out of memory");
    return err;
}

bool journal_thread_of(struct journal *j,
                       struct journal_request *req,
                       struct str id,
                       struct thread_row *ret)
{
    int err = find(j, req, id, ret);

    if (err == ERR_NOT_FOUND)
        refuse(req, ERR_NOT_FOUND, "Thread with ID %.*s not found", STR_ARG(str_head(id, 100)));
    else if (err != 0)
        req->code = err == ERR_ELSEWHERE ? err : ERR_BUSY;
    return err == 0;
}

/* A job without a thread saves its checkpoints under its own id, so no thread may have that id.
 * Checked before anything is written. */
bool jobs_have(struct journal *j, struct journal_request *req, struct str id)
{
    struct job_row row;
    const struct active_job *job = active_job_find(j, id);
    int err = job == NULL ? read_job(j, id, &row, &req->why) : job->deleted ? ERR_NOT_FOUND : 0;

    if (err == 0)
        refuse(req, ERR_REFUSED, "Job already exists: %.*s", STR_ARG(str_head(id, 100)));
    else if (err != ERR_NOT_FOUND)
        req->code = ERR_BUSY;
    return err != ERR_NOT_FOUND;
}

bool threads_have(struct journal *j, struct journal_request *req, struct str id)
{
    struct thread_row row;
    int err = read_thread(j, id, &row, &req->why);

    if (err == 0)
        refuse(req, ERR_REFUSED, "%.*s is the id of a thread", STR_ARG(str_head(id, 100)));
    else if (err != ERR_NOT_FOUND)
        req->code = ERR_BUSY;
    return err != ERR_NOT_FOUND;
}

static void fill(const struct journal *j, struct thread_row *row)
{
    row->status = STR("idle");
    row->created = row->updated = j->now;
    row->interrupts = STR("{}");
    if (row->ttl_ms == 0 && !row->is_temporary)
        row->ttl_ms = j->opt.thread_ttl_ms;
    if (str_absent(row->metadata))
        row->metadata = STR("{}");
    if (str_absent(row->config))
        row->config = STR("{}");
}

void journal_thread_create(struct journal *j, struct journal_request *req)
{
    struct thread_row row = req->new_thread.row;
    struct thread_row there;

    row.id = req->thread;
    int err = find(j, req, req->thread, &there);

    req->code = 0;
    if (err == 0 && req->new_thread.if_absent) {
        req->new_thread.existed = true;
        req->new_thread.row = there;
        return;
    }
    if (err != 0 && err != ERR_NOT_FOUND) {
        req->code = err == ERR_ELSEWHERE ? err : ERR_BUSY;
        return;
    }
    if (err == ERR_NOT_FOUND && jobs_have(j, req, row.id))
        return;
    if (err == ERR_NOT_FOUND) /* it may exist, but be invisible to the caller */
        err = read_thread(j, row.id, &there, &req->why);
    if (err == 0) {
        refuse(req, ERR_REFUSED, "Thread with ID %.*s already exists",
               STR_ARG(str_head(row.id, 100)));
        return;
    }
    if (err != ERR_NOT_FOUND) {
        req->code = ERR_BUSY;
        return;
    }
    fill(j, &row);
    err = gather_new_thread(j, &row);
    if (err != 0)
        journal_broke(j, req, err);
    req->new_thread.row = row;
}

void journal_thread_patch(struct journal *j, struct journal_request *req)
{
    struct thread_row row;

    if (!journal_thread_of(j, req, req->thread, &row))
        return;
    int err =
        json_merge_copy(&req->mem, row.metadata, req->new_thread.row.metadata, &row.metadata);
    row.updated = j->now;
    if (req->new_thread.row.ttl_ms != 0)
        row.ttl_ms = req->new_thread.row.ttl_ms;
    if (err == 0)
        err = gather_thread(j, &row);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->new_thread.row = row;
    req->code = 0;
}

void journal_thread_copy(struct journal *j, struct journal_request *req)
{
    struct str owner = req->new_thread.row.owner;
    struct thread_row row;

    if (!journal_thread_of(j, req, req->thread, &row))
        return;
    row.id = req->new_thread.copy;
    row.owner = owner;
    row.created = row.updated = j->now;
    row.n_runs = 0;
    row.is_temporary = 0;
    if (str_is(row.status, "busy")) /* the copy has no runs */
        row.status = STR("idle");
    int err = gather_new_thread(j, &row);
    if (err == 0)
        err = store_batch_thread_copy(&j->batch, req->thread, row.id);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->new_thread.row = row;
    req->code = 0;
}

/* Deletes a run that existed before the turn; the turn may have deleted it already. */
static int remove_run(struct journal *j, const struct known_run *run, int64_t thread)
{
    struct active_job *job = active_job_find(j, run->id);
    bool is_gone = job != NULL ? job->row.key != run->key || job->deleted
                               : known_is_gone(j, run->id, run->key);
    const struct job_row row = { .id = run->id, .key = run->key, .thread = thread };

    return is_gone ? 0 : journal_remove_job(j, job, &row);
}

/* Deletes the thread with its runs and all their checkpoints. */
static int remove_thread(struct journal *j, struct str id, int64_t key)
{
    const struct known_run *run = NULL;
    int err = read_thread_jobs(j, id, &run);

    for (; err == 0 && run != NULL; run = run->next)
        err = remove_run(j, run, key);
    for (struct active_job *job = runs_first(j, key); err == 0 && job != NULL;
         job = job->next_run)
        if (!job->deleted) /* it was created in this turn */
            err = journal_remove_job(j, job, &job->row);
    if (err == 0)
        err = gather_thread_forgetting(j, id);
    if (err == 0)
        err = store_batch_crons_forget(&j->batch, id, STR_NONE);
    if (err == 0)
        err = gather_thread_deletion(j, key); /* no error if it was deleted with its run */
    return err;
}

/* Checks again, because this turn may have changed the thread. */
static bool is_expired(const struct journal *j, const struct known_thread *t)
{
    return t->is_there && t->row.ttl_ms > 0 && t->row.updated + t->row.ttl_ms <= j->now &&
           !str_is(t->row.status, "busy");
}

void threads_expire(struct journal *j)
{
    int err = 0;

    if (j->now < j->next_thread)
        return;
    j->next_thread = j->now + EXPIRE_AGAIN_MS;
    for (struct known_thread *t = j->known.expired; err == 0 && t != NULL; t = t->next_expired)
        if (is_expired(j, t) && wants_of_thread_are_known(j, t->row.key))
            err = remove_thread(j, t->row.id, t->row.key);
    if (err == 0)
        j->next_thread = j->now + EXPIRE_EVERY_MS;
    else
        journal_fail_turn(j, NULL);
}

void journal_thread_delete(struct journal *j, struct journal_request *req)
{
    struct thread_row row;

    if (!journal_thread_of(j, req, req->thread, &row))
        return;
    int err = remove_thread(j, row.id, row.key);
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

void journal_thread_thin(struct journal *j, struct journal_request *req)
{
    struct thread_row row;

    if (journal_thread_of(j, req, req->thread, &row))
        journal_wrote(j, req, store_batch_thread_thin(&j->batch, row.id)); /* keeps the newest
                                                                            */
}

/* --- runs -------------------------------------------------------------------- */

static bool is_open(const struct active_job *job)
{
    return !job->deleted && !job_state_is_final(job->state);
}

/* The run's metadata, for a thread that is made for it: its owner must find it by them. */
static struct str of_run(struct journal_request *req)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct buf b LOCAL_BUF(SIZE_MAX / 4);
    struct str ret = STR_NONE;
    struct json json;

    if (str_empty(req->submit.run.metadata) ||
        json_read(&reader, req->submit.run.metadata, &json, NULL) != 0)
        return STR_NONE;
    json_begin(&b);
    json_each_member(key, value, json.root) {
        if (str_is(json_text(key), "created_by"))
            continue; /* of the run alone */
        json_put_key(&b, json_text(key));
        json_put_value(&b, value);
    }
    json_end(&b);
    return b.error == 0 && arena_copy(&req->mem, buf_text(&b), &ret) ? ret : STR_NONE;
}

bool threads_may_enter(struct journal *j,
                       struct journal_request *req,
                       struct thread_row *ret_thread)
{
    int err = req->submit.is_temporary ? ERR_NOT_FOUND : find(j, req, req->thread, ret_thread);

    req->code = 0;
    /* It may exist, but be invisible to the caller. */
    if (err == ERR_NOT_FOUND && req->submit.makes_thread && !req->submit.is_temporary &&
        (jobs_have(j, req, req->thread) || threads_have(j, req, req->thread)))
        return false;
    if (err == ERR_NOT_FOUND && req->submit.makes_thread) {
        *ret_thread = (struct thread_row){ .id = req->thread,
                                           .owner = req->submit.owner,
                                           .metadata = of_run(req),
                                           .is_temporary = req->submit.is_temporary };
        fill(j, ret_thread);
        return true;
    }
    if (err == ERR_NOT_FOUND)
        refuse(req, ERR_NOT_FOUND, "Thread with ID %.*s not found",
               STR_ARG(str_head(req->thread, 100)));
    else if (err != 0)
        req->code = err == ERR_ELSEWHERE ? err : ERR_BUSY;
    if (err != 0)
        return false;
    if (str_is(req->submit.run.strategy, "enqueue"))
        return true;
    for (const struct active_job *job = runs_first(j, ret_thread->key); job != NULL;
         job = job->next_run) {
        if (is_open(job) && suspects_refuse(job, req))
            return false; /* it cannot be cancelled */
        if (is_open(job) && str_is(req->submit.run.strategy, "reject")) {
            refuse(req, ERR_TYPE, "%s", BUSY);
            return false;
        }
    }
    return true;
}

/* Cancels runs of the thread, as the new run's multitask strategy requires. */
static int make_room(struct journal *j, struct str strategy, const struct thread_row *thread)
{
    bool rolls_back = str_is(strategy, "rollback");
    int err = 0;

    if (!rolls_back && !str_is(strategy, "interrupt"))
        return 0;
    for (struct active_job *job = runs_first(j, thread->key); job != NULL && err == 0;
         job = job->next_run) {
        if (!is_open(job) || job->row.cancel_requested != 0)
            continue;
        active_job_change(job);
        if (rolls_back)
            err = active_job_set_text(&job->row.outcome, STR("rollback"));
        if (err == 0)
            err = journal_stop_job(job, STR("another run of the thread has taken its place"));
    }
    return err;
}

/* Stores in the thread's metadata which graph ran last. */
static int note_graph(struct journal_request *req, struct thread_row *row, struct str graph)
{
    struct buf over;

    buf_init(&over, 4096);
    json_begin(&over);
    json_add_str(&over, "graph_id", graph);
    json_add_str(&over, "assistant_id", req->submit.run.assistant);
    json_end(&over);
    int err = over.error;
    if (err == 0)
        err = json_merge_copy(&req->mem, row->metadata, buf_text(&over), &row->metadata);
    buf_done(&over);
    return err;
}

/* A run has the metadata of its thread too; its own wins. */
static int inherit(struct journal_request *req, const struct thread_row *thread)
{
    struct run_row *run = &req->submit.run;

    return thread->metadata.n <= 2
               ? 0
               : json_merge_copy(&req->mem, thread->metadata, run->metadata, &run->metadata);
}

int threads_enter(struct journal *j,
                  struct journal_request *req,
                  struct thread_row *thread,
                  struct job_row *row)
{
    int err = thread->key == 0 ? gather_new_thread(j, thread) : 0;

    if (err == 0)
        err = make_room(j, req->submit.run.strategy, thread);
    if (err == 0)
        err = inherit(req, thread);
    if (err == 0)
        err = note_graph(req, thread, row->agent);
    if (err != 0)
        return err;
    req->submit.asked = thread->interrupts;
    thread->status = STR("busy");
    thread->updated = j->now;
    thread->error = STR_NONE;
    row->thread = thread->key;
    row->ordinal = ++thread->n_runs;
    return gather_thread(j, thread);
}

/* Writes the ids of the questions in @asked, {task: [{id, value}, …], …}, as a JSON list; with
 * @resume only those that it names.  Returns how many. */
static size_t put_asked(struct buf *b, const yyjson_val *asked, const yyjson_val *resume)
{
    yyjson_obj_iter it = yyjson_obj_iter_with((yyjson_val *)(uintptr_t)asked);
    size_t n = 0;

    json_begin_array(b);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
        yyjson_arr_iter list = yyjson_arr_iter_with(yyjson_obj_iter_get_val(key));

        for (yyjson_val *one; (one = yyjson_arr_iter_next(&list)) != NULL;) {
            struct str id = json_text(json_at(one, "id"));

            if (str_empty(id) || (resume != NULL && json_get(resume, id) == NULL))
                continue;
            n++;
            json_put_str(json_next(b), id);
        }
    }
    json_end_array(b);
    return n;
}

/* The thread's questions that are answered: by their ids, or all. */
static void put_answered(struct buf *b, const yyjson_val *asked, const yyjson_val *resume)
{
    size_t at = b->n;

    if (resume != NULL && put_asked(b, asked, resume) > 0)
        return;
    buf_cut(b, at);
    (void)put_asked(b, asked, NULL);
}

static int say_answered(struct active_job *job, struct journal_request *req)
{
    struct json_reader reader;
    struct json asked, resume;
    struct fold *fold;
    struct buf ids;

    json_reader_init(&reader, SIZE_MAX / 64, 256);
    buf_init(&ids, SIZE_MAX / 4);
    int err = json_read(&job->journal->reader, req->submit.asked, &asked, NULL);
    if (err == 0)
        err = json_read(&reader, req->submit.resume, &resume, NULL);
    if (err == 0)
        put_answered(&ids, asked.root, resume.root);
    err = ids.error != 0 ? ids.error : active_job_fold(job, &fold);
    if (err == 0 && ids.n > 2)
        err = fold_answered(fold, buf_text(&ids), job->journal->now);
    buf_done(&ids);
    json_reader_done(&reader);
    return err;
}

int threads_entered(struct active_job *job, struct journal_request *req)
{
    struct run_row run = req->submit.run;

    run.job = job->row.key;
    run.thread = req->thread;
    int err = gather_run(job->journal, &run);
    if (err == 0 && !str_absent(req->submit.resume))
        err = say_answered(job, req);
    return err;
}
