/* The requests: which function does which, how the job of one is found, and how it is answered.
 *
 * A request is refused before it has written anything, so a refusal does not affect others.
 * What fails after that (memory, disk) fails the whole turn.
 *
 *     submit.c   a job begins              append.c     what its worker says of it
 *     leases.c   a worker gets it          checkpoints.c, items.c: what its worker writes
 * beside here       it is stopped, deleted    questions.c, threads.c, calls.c, assistants.c,
 *                                          channel.c: theirs
 */
#include "ingest/fold.h"
#include "jobs/job_scope.h"
#include "journal/active_job.h"
#include "store/rows.h"

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
    if (!j->turn_failed) /* else it is known why */
        j->failure = req->why;
    journal_broke(j, req, code);
}

/* --- answers ----------------------------------------------------------------- */

void journal_answer_row(struct journal *j,
                        struct journal_request *req,
                        const struct job_row *row)
{
    struct job_row out = *row;

    out.idempotency_key = out.request_hash = out.request_id = STR_NONE;
    if (row_copy(&req->mem, &job_texts, &out))
        req->row = out;
    else
        journal_broke(j, req, ERR_NOMEM);
}

int journal_answer_run(struct journal *j, int64_t key, struct journal_request *req)
{
    struct run_row *run = &req->run;
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
    return job_scope_includes(req->reach, row->id, row->owner) &&
           (req->thread_row.key == 0 || req->thread_row.key == row->thread);
}

struct active_job *journal_find_job(struct journal *j, struct journal_request *req)
{
    struct active_job *l = active_job_find(j, req->job);
    struct job_row row;

    if (l != NULL && l->stale) {
        refuse(req, ERR_BUSY, "the job could not be read from the store yet");
        return NULL;
    }
    if (l != NULL && !journal_is_visible(req, &l->row)) {
        journal_not_found(req);
        return NULL;
    }
    if (l != NULL && !l->deleted && !job_state_is_final(l->state))
        return l;
    if (l != NULL && !l->deleted) { /* it ended in this very turn */
        journal_answer_row(j, req, &l->row);
        refuse(req, ERR_CLOSED, "the job has ended: %.*s", STR_ARG(l->row.state));
        return NULL;
    }
    int err = l != NULL ? ERR_NOT_FOUND : read_job(j, req->job, &row, &req->why);
    if (err == 0 && !journal_is_visible(req, &row))
        err = ERR_NOT_FOUND;
    if (err == ERR_NOT_FOUND)
        journal_not_found(req);
    else if (err != 0)
        req->code = ERR_BUSY;
    if (err != 0)
        return NULL;
    journal_answer_row(j, req, &row);
    refuse(req, ERR_CLOSED, "the job has ended: %.*s", STR_ARG(req->row.state));
    return NULL;
}

struct active_job *journal_job_of(struct journal *j, struct journal_request *req)
{
    struct active_job *l = journal_find_job(j, req);

    return l != NULL && suspects_refuse(l, req) ? NULL : l;
}

/* --- to stop a job, and to forget it ------------------------------------------ */

int journal_stop_job(struct active_job *l, struct str reason)
{
    struct journal *j = l->journal;
    struct fold *fold;
    int err = active_job_fold(l, &fold);

    if (err == 0)
        err = fold_cancel_requested(fold, reason, j->now);
    if (err != 0)
        return err;
    active_job_change(l);
    l->row.cancel_requested = j->now;
    l->cancel_news = true;
    l->force_at = j->now + (l->agent != NULL ? l->agent->cancel_grace_ms : 10000);
    return l->state == JOB_RUNNING ? 0
                                   : active_job_finish(l, JOB_END_CANCELLED, reason, STR_NONE);
}

static void cancel(struct journal *j, struct journal_request *req)
{
    struct active_job *l = journal_job_of(j, req);
    struct str reason = req->error.p != NULL ? req->error : STR("cancelled by user");
    int err = 0;

    if (l == NULL) {
        /* Cancelling what was cancelled is no error, however often. */
        if (req->code == ERR_CLOSED && str_is(req->row.state, "cancelled"))
            req->code = 0;
        return;
    }
    req->had_worker = l->state == JOB_RUNNING;
    active_job_change(l);
    if (req->rolls_back && l->thread != NULL)
        err = active_job_set_text(&l->row.outcome, STR("rollback"));
    if (err == 0 && l->row.cancel_requested == 0)
        err = journal_stop_job(l, reason);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &l->row);
}

int journal_remove_job(struct journal *j, struct active_job *l, struct str id, int64_t key)
{
    int err = 0;

    if (l != NULL && l->row.set_aside != 0 && !job_state_is_final(l->state))
        err = active_job_move(l, JOB_CANCELLED); /* its fold is not touched */
    else if (l != NULL && !job_state_is_final(l->state))
        err = active_job_finish(l, JOB_END_CANCELLED, STR("deleted"), STR_NONE);
    if (l != NULL) {
        active_job_touch(l);
        l->deleted = true;
    } else {
        buf_put(&j->gone, id.p, id.n);
        buf_char(&j->gone, '\0');
        err = j->gone.error;
    }
    if (err == 0)
        err = journal_end_chunk(j); /* its last records come before */
    if (err == 0)
        err = store_batch_job_delete(&j->batch, key);
    j->next_expire = j->now; /* its records go at once, as far as there is time for it */
    return err;
}

static void delete_job(struct journal *j, struct journal_request *req)
{
    struct active_job *l = active_job_find(j, req->job);
    int err;

    if (l == NULL || l->deleted || l->stale || !journal_is_visible(req, &l->row)) {
        (void)journal_job_of(j, req);
        if (req->code != ERR_CLOSED)
            return;
        l = NULL;
    }
    err = journal_remove_job(j, l, req->job, l != NULL ? l->row.key : req->row.key);
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

static void mark_published(struct journal *j, struct journal_request *req)
{
    int err = 0;

    for (size_t i = 0; err == 0 && i < req->n_marks; i++)
        err = store_batch_job_published(&j->batch, req->marks[i].key, req->marks[i].published);
    journal_wrote(j, req, err);
}

bool journal_op_is_workers(enum journal_op op)
{
    static const bool is_workers[JOURNAL_OP_MAX] = {
        [JOURNAL_LEASE] = true,
        [JOURNAL_APPEND] = true,
        [JOURNAL_HEARTBEAT] = true,
        [JOURNAL_FINISH] = true,
        [JOURNAL_RETURN] = true,
        [JOURNAL_ANSWER_CALL] = true,
        [JOURNAL_CHECKPOINT_PUT] = true,
        [JOURNAL_CHECKPOINT_WRITES] = true,
        [JOURNAL_CHECKPOINT_STATE] = true,
        [JOURNAL_CHECKPOINTS_HOLD] = true,
        [JOURNAL_CHECKPOINTS_DELETE] = true,
        [JOURNAL_ITEM_PUT] = true,
        [JOURNAL_ITEM_DELETE] = true,
        [JOURNAL_ITEM_TOUCH] = true,
    };

    return is_workers[op];
}

/* --- dispatch ---------------------------------------------------------------- */

bool journal_do(struct journal *j, struct journal_request *req)
{
    static void (*const ops[JOURNAL_OP_MAX])(struct journal *, struct journal_request *) = {
        [JOURNAL_SUBMIT] = journal_submit,
        [JOURNAL_APPEND] = journal_append,
        [JOURNAL_HEARTBEAT] = journal_heartbeat,
        [JOURNAL_FINISH] = journal_finish,
        [JOURNAL_RETURN] = journal_hand_back,
        [JOURNAL_CANCEL] = cancel,
        [JOURNAL_DELETE] = delete_job,
        [JOURNAL_RELEASE] = journal_release,
        [JOURNAL_LOSE] = journal_lose,
        [JOURNAL_COUNT] = journal_count_waiting,
        [JOURNAL_SETTINGS] = journal_set_settings,
        [JOURNAL_ANSWER_CALL] = journal_answer,
        [JOURNAL_ANSWER_QUESTION] = journal_reply,
        [JOURNAL_PAUSE] = journal_pause,
        [JOURNAL_RESUME] = journal_resume,
        [JOURNAL_EXPIRE] = journal_expire_questions,
        [JOURNAL_THREAD_CREATE] = journal_thread_create,
        [JOURNAL_THREAD_PATCH] = journal_thread_patch,
        [JOURNAL_THREAD_COPY] = journal_thread_copy,
        [JOURNAL_THREAD_DELETE] = journal_thread_delete,
        [JOURNAL_THREAD_THIN] = journal_thread_thin,
        [JOURNAL_CHECKPOINT_PUT] = journal_checkpoint_put,
        [JOURNAL_CHECKPOINT_WRITES] = journal_checkpoint_writes,
        [JOURNAL_CHECKPOINT_STATE] = journal_checkpoint_state,
        [JOURNAL_CHECKPOINTS_HOLD] = journal_checkpoints_hold,
        [JOURNAL_CHECKPOINTS_DELETE] = journal_checkpoints_delete,
        [JOURNAL_ITEM_PUT] = journal_item_put,
        [JOURNAL_ITEM_DELETE] = journal_item_delete,
        [JOURNAL_ITEM_TOUCH] = journal_item_touch,
        [JOURNAL_ASSISTANT_CREATE] = journal_assistant_create,
        [JOURNAL_ASSISTANT_PATCH] = journal_assistant_patch,
        [JOURNAL_ASSISTANT_CHOOSE] = journal_assistant_choose,
        [JOURNAL_ASSISTANT_DELETE] = journal_assistant_delete,
        [JOURNAL_MARK_PUBLISHED] = mark_published,
        [JOURNAL_FEED] = journal_feed,
        [JOURNAL_WORKERS] = journal_workers,
    };

    counter_add(&j->counts.requests, 1);
    if (!str_absent(req->thread_row.id) &&
        (req->op == JOURNAL_CANCEL || req->op == JOURNAL_DELETE)) {
        struct thread_row thread;

        if (!journal_thread_of(j, req, &thread))
            return false;
        req->thread_row.key = thread.key;
    }
    if (req->op == JOURNAL_LEASE)
        return journal_lease(j, req);
    if (req->op == JOURNAL_CALL)
        return journal_call(j, req);
    if (req->op == JOURNAL_TAKE) {
        journal_take(j, req);
        return true;
    }
    ops[req->op](j, req);
    return false;
}
