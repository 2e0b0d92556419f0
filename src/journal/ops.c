/* The requests: the table of functions that execute them, how the job of a request is found,
 * and how it is answered.
 *
 * A request is refused before it has written anything, so a refusal does not affect others.  A
 * failure after that (memory, disk) fails the whole turn.
 *
 * submit.c starts a job, leases.c gives it to a worker, append.c handles the worker's requests,
 * checkpoints.c and items.c what a worker stores; this file cancels and deletes jobs;
 * questions.c, threads.c, calls.c, assistants.c, crons.c, webhooks.c and channel.c have the
 * requests of those names. */
#include "ingest/fold.h"
#include "jobs/job_scope.h"
#include "journal/active_job.h"
#include "store/rows.h"

#include <assert.h>

void journal_fail_turn(struct journal *j, const struct error *why)
{
    if (!j->turn_failed && why != NULL)
        j->failure = *why;
    j->turn_failed = true;
}

void journal_broke(struct journal *j, struct journal_request *req, int code)
{
    if (code == ERR_NOMEM)
        (void)error_set(&j->failure, ERR_NOMEM, "out of memory");
    journal_fail_turn(j, NULL);
    refuse(req, ERR_BUSY, "%.200s", j->failure.text);
}

void journal_wrote(struct journal *j, struct journal_request *req, int code)
{
    req->code = code;
    if (code == 0 || code == ERR_REFUSED || code == ERR_NOT_FOUND || code == ERR_TYPE ||
        code == ERR_TOO_LARGE)
        return;
    if (!j->turn_failed) /* keep the first reason */
        j->failure = req->why;
    journal_broke(j, req, code);
}

/* --- answers ----------------------------------------------------------------- */

void journal_answer_row(struct journal *j,
                        struct journal_request *req,
                        const struct job_row *row)
{
    struct job_row *out = arena_alloc(&req->mem, sizeof(*out));

    req->row = NULL;
    if (out != NULL) {
        *out = *row;
        out->idempotency_key = out->request_hash = out->request_id = STR_NONE;
    }
    if (out != NULL && row_copy(&req->mem, &job_texts, out))
        req->row = out;
    else
        journal_broke(j, req, ERR_NOMEM);
}

int journal_answer_run(struct journal *j,
                       int64_t key,
                       struct journal_request *req,
                       struct run_row *run)
{
    int err = read_run(j, key, run, &j->failure);

    if (err != 0)
        return err;
    return row_copy(&req->mem, &run_texts, run) ? 0 : ERR_NOMEM;
}

void journal_not_found(struct journal_request *req)
{
    refuse(req, ERR_NOT_FOUND, "Job not found: %.*s", STR_ARG(str_head(req->job, 100)));
}

bool journal_is_visible(const struct journal_request *req, const struct job_row *row)
{
    return job_scope_includes(req->job_scope, row->id, row->owner) &&
           (req->thread_key == 0 || req->thread_key == row->thread);
}

bool journal_is_elsewhere(const struct journal *j, struct journal_request *req, int64_t shard)
{
    if (j->opt.n_shards < 2 || shard == j->opt.shard)
        return false;
    req->shard = shard;
    refuse(req, ERR_ELSEWHERE, "shard %lld has it", (long long)shard);
    return true;
}

static void refuse_ended(struct journal *j,
                         struct journal_request *req,
                         const struct job_row *row)
{
    journal_answer_row(j, req, row);
    if (req->row != NULL)
        refuse(req, ERR_CLOSED, "the job has ended: %.*s", STR_ARG(req->row->state));
}

struct active_job *journal_find_job(struct journal *j, struct journal_request *req)
{
    struct active_job *job = active_job_find(j, req->job);
    struct job_row row;

    if (job != NULL && job->stale) {
        refuse(req, ERR_BUSY, "the job could not be read from the store yet");
        return NULL;
    }
    if (job != NULL && !journal_is_visible(req, &job->row)) {
        journal_not_found(req);
        return NULL;
    }
    if (job != NULL && !job->deleted && !job_state_is_final(job->state))
        return job;
    if (job != NULL && !job->deleted) { /* it ended in this turn */
        refuse_ended(j, req, &job->row);
        return NULL;
    }
    int err = job != NULL ? ERR_NOT_FOUND : read_job(j, req->job, &row, &req->why);
    if (err == 0 && !journal_is_visible(req, &row))
        err = ERR_NOT_FOUND;
    if (err == ERR_NOT_FOUND)
        journal_not_found(req);
    else if (err != 0)
        req->code = ERR_BUSY;
    if (err == 0 && !journal_is_elsewhere(j, req, row.shard))
        refuse_ended(j, req, &row);
    return NULL;
}

struct active_job *journal_job_of(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_find_job(j, req);

    return job != NULL && suspects_refuse(job, req) ? NULL : job;
}

/* --- stopping and deleting a job ---------------------------------------------- */

int journal_stop_job(struct active_job *job, struct str reason)
{
    struct journal *j = job->journal;
    struct fold *fold;
    int err = active_job_fold(job, &fold);

    if (err == 0)
        err = fold_cancel_requested(fold, reason, j->now);
    if (err != 0)
        return err;
    active_job_change(job);
    job->row.cancel_requested = j->now;
    job->cancel_news = true;
    job->force_at = j->now + (job->agent != NULL ? job->agent->cancel_grace_ms : 10000);
    return job->state == JOB_RUNNING
               ? 0
               : active_job_finish(job, JOB_END_CANCELLED, reason, STR_NONE);
}

static void cancel(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_job_of(j, req);
    struct str reason =
        str_absent(req->stop.reason) ? STR("cancelled by user") : req->stop.reason;
    int err = 0;

    if (job == NULL) {
        /* Cancelling a cancelled job again is not an error. */
        if (req->code == ERR_CLOSED && str_is(req->row->state, "cancelled"))
            req->code = 0;
        return;
    }
    req->stop.had_worker = job->state == JOB_RUNNING;
    active_job_change(job);
    if (req->stop.rolls_back && job->thread != NULL)
        err = active_job_set_text(&job->row.outcome, STR("rollback"));
    if (err == 0 && job->row.cancel_requested == 0)
        err = journal_stop_job(job, reason);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &job->row);
}

int journal_remove_job(struct journal *j, struct active_job *job, const struct job_row *row)
{
    int err = 0;

    if (job != NULL && job->row.set_aside != 0 && !job_state_is_final(job->state))
        err = active_job_move(job, JOB_CANCELLED); /* without its fold: it crashed the server */
    else if (job != NULL && !job_state_is_final(job->state))
        err = active_job_finish(job, JOB_END_CANCELLED, STR("deleted"), STR_NONE);
    j->is_changed = true;
    if (job != NULL) {
        active_job_touch(job);
        job->deleted = true;
    } else {
        buf_str(&j->gone, row->id);
        buf_char(&j->gone, '\0');
        err = j->gone.error;
    }
    if (err == 0)
        err = journal_end_chunk(j); /* its last records must be stored before */
    if (err == 0)
        err = gather_job_deletion(j, row->id, row->key, row->thread);
    j->next_expire = j->now; /* delete its records soon */
    return err;
}

static void delete_job(struct journal *j, struct journal_request *req)
{
    struct active_job *job = active_job_find(j, req->job);
    int err;

    if (job == NULL || job->deleted || job->stale || !journal_is_visible(req, &job->row)) {
        (void)journal_job_of(j, req);
        if (req->code != ERR_CLOSED)
            return;
        job = NULL;
    }
    err = journal_remove_job(j, job, job != NULL ? &job->row : req->row);
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

static void mark_published(struct journal *j, struct journal_request *req)
{
    int err = 0;

    for (size_t i = 0; err == 0 && i < req->published.n_marks; i++)
        err = store_batch_job_published(&j->batch, req->published.marks[i].key,
                                        req->published.marks[i].published);
    journal_wrote(j, req, err);
}

/* Also of a run that has ended. */
static void mark_read(struct journal *j, struct journal_request *req)
{
    const struct active_job *job = journal_find_job(j, req);

    if (job == NULL && req->code != ERR_CLOSED)
        return;
    const struct job_row *row = job != NULL ? &job->row : req->row;
    journal_wrote(j, req, row->thread != 0 ? store_batch_run_read(&j->batch, row->key) : 0);
}

/* --- the table --------------------------------------------------------------- */

struct op {
    /* One of three: executes the request; */
    void (*run)(struct journal *j, struct journal_request *req);
    /* executes it on the job that it names, which has not ended; */
    void (*run_on)(struct active_job *job, struct journal_request *req);
    /* or executes it, or lets it wait (true) and answers later. */
    bool (*wait)(struct journal *j, struct journal_request *req);
    bool has_lease;  /* for run_on: the caller must hold the lease */
    bool is_workers; /* see journal_op_is_workers */
    bool of_thread;  /* if it names a thread, the job must be a run of that thread */
    bool is_silent;  /* it changes no job and stores nothing */
};

static const struct op ops[JOURNAL_OP_MAX] = {
    [JOURNAL_SUBMIT] = { .run = journal_submit },
    [JOURNAL_CANCEL] = { .run = cancel, .of_thread = true },
    [JOURNAL_DELETE] = { .run = delete_job, .of_thread = true },
    [JOURNAL_RELEASE] = { .run = journal_release },
    [JOURNAL_ANSWER_QUESTION] = { .run = journal_reply },
    [JOURNAL_PAUSE] = { .run_on = journal_pause },
    [JOURNAL_RESUME] = { .run_on = journal_resume },
    [JOURNAL_EXPIRE] = { .run_on = journal_expire_questions },
    [JOURNAL_RUN_READ] = { .run = mark_read },
    [JOURNAL_FEED] = { .run = journal_feed },

    [JOURNAL_LEASE] = { .wait = journal_lease, .is_workers = true },
    [JOURNAL_APPEND] = { .run_on = journal_append, .has_lease = true, .is_workers = true },
    [JOURNAL_HEARTBEAT] = { .wait = journal_heartbeat, .is_workers = true },
    [JOURNAL_FINISH] = { .run_on = journal_finish, .has_lease = true, .is_workers = true },
    [JOURNAL_RETURN] = { .run_on = journal_hand_back, .has_lease = true, .is_workers = true },
    [JOURNAL_LOSE] = { .run_on = journal_lose, .has_lease = true, .is_workers = true },
    [JOURNAL_COUNT] = { .run = journal_count_waiting, .is_silent = true },
    [JOURNAL_WORKERS] = { .run = journal_workers, .is_silent = true },
    [JOURNAL_AGENTS] = { .run = journal_agent_states, .is_silent = true },
    [JOURNAL_REPORT] = { .run = journal_report, .is_silent = true },

    [JOURNAL_CALL] = { .wait = journal_call, .is_silent = true },
    [JOURNAL_TAKE] = { .wait = journal_take, .is_silent = true },
    [JOURNAL_ANSWER_CALL] = { .run = journal_answer, .is_workers = true, .is_silent = true },

    [JOURNAL_THREAD_CREATE] = { .run = journal_thread_create },
    [JOURNAL_THREAD_PATCH] = { .run = journal_thread_patch },
    [JOURNAL_THREAD_COPY] = { .run = journal_thread_copy },
    [JOURNAL_THREAD_DELETE] = { .run = journal_thread_delete },
    [JOURNAL_THREAD_THIN] = { .run = journal_thread_thin },

    [JOURNAL_CHECKPOINT_PUT] = { .run = journal_checkpoint_put, .is_workers = true },
    [JOURNAL_CHECKPOINT_WRITES] = { .run = journal_checkpoint_writes, .is_workers = true },
    [JOURNAL_CHECKPOINT_STATE] = { .run = journal_checkpoint_state, .is_workers = true },
    [JOURNAL_CHECKPOINTS_HOLD] = { .run = journal_checkpoints_hold, .is_workers = true },
    [JOURNAL_CHECKPOINTS_DELETE] = { .run = journal_checkpoints_delete, .is_workers = true },
    [JOURNAL_ITEM_PUT] = { .run = journal_item_put, .is_workers = true },
    [JOURNAL_ITEM_DELETE] = { .run = journal_item_delete, .is_workers = true },
    [JOURNAL_ITEM_TOUCH] = { .run = journal_item_touch, .is_workers = true },
    [JOURNAL_ASSISTANT_CREATE] = { .run = journal_assistant_create },
    [JOURNAL_ASSISTANT_PATCH] = { .run = journal_assistant_patch },
    [JOURNAL_ASSISTANT_CHOOSE] = { .run = journal_assistant_choose },
    [JOURNAL_ASSISTANT_DELETE] = { .run = journal_assistant_delete },
    [JOURNAL_CRON_CREATE] = { .run = journal_cron_create },
    [JOURNAL_CRON_PATCH] = { .run = journal_cron_patch },
    [JOURNAL_CRON_DELETE] = { .run = journal_cron_delete },
    [JOURNAL_CRON_SKIP] = { .run = journal_cron_skip },
    [JOURNAL_WEBHOOK] = { .run = journal_webhook },

    [JOURNAL_MARK_PUBLISHED] = { .run = mark_published },
    [JOURNAL_GATEWAYS] = { .run = journal_gateways, .is_silent = true },
    [JOURNAL_WAITERS] = { .run = journal_waiters, .is_silent = true },
    [JOURNAL_SETTINGS] = { .run = journal_set_settings, .is_silent = true },
};

bool journal_op_is_workers(enum journal_op op)
{
    return ops[op].is_workers;
}

static bool find_thread(struct journal *j, struct journal_request *req)
{
    struct thread_row thread;

    if (!journal_thread_of(j, req, req->thread, &thread))
        return false;
    req->thread_key = thread.key;
    return true;
}

bool journal_do(struct journal *j, struct journal_request *req)
{
    const struct op *op = &ops[req->op];
    const struct active_job *touched = j->touched;
    bool waits = false;

    counter_add(&j->counts.requests, 1);
    if (op->of_thread && !str_absent(req->thread) && !find_thread(j, req))
        return false;
    if (op->run_on != NULL) {
        struct active_job *job =
            op->has_lease ? journal_leased_job(j, req) : journal_job_of(j, req);

        if (job != NULL)
            op->run_on(job, req);
    } else if (op->wait != NULL) {
        waits = op->wait(j, req);
    } else {
        op->run(j, req);
    }
    assert(!op->is_silent || j->touched == touched);
    return waits;
}
