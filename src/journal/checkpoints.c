/* Checkpoints: the states of a thread that a graph saves.
 *
 * Only a worker of the thread may write or read them: it must hold the lease of one of its
 * jobs, or a call about it.  They are stored with the turn, like the events around them. */
#include "store/checkpoints.h"

#include "journal/active_job.h"

/* A job without a thread uses its own id as thread id. */
static bool is_about(const struct active_job *job, struct str thread)
{
    struct thread_row row;

    if (job->row.thread == 0)
        return str_eq(thread, job->row.id);
    return read_thread_by_key(job->journal, job->row.thread, &row) == 0 &&
           str_eq(thread, row.id);
}

static bool holds_call(struct journal *j, struct journal_request *req)
{
    const struct journal_request *call = journal_taken_call(j, req->checkpoint.call, req);

    if (req->checkpoint.is_held)
        return true;
    if (call != NULL && str_eq(req->thread, call->thread))
        return true;
    refuse(req, ERR_REFUSED, "nobody waits for an answer to this call about this thread");
    return false;
}

static bool holds_job(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_leased_job(j, req);

    if (job == NULL)
        return false;
    if (!is_about(job, req->thread)) {
        refuse(req, ERR_REFUSED, "this job is not one of this thread");
        return false;
    }
    journal_renew(job);
    return true;
}

/* Does the caller hold a job or a call of the thread?  If not, the request is refused. */
static bool is_held(struct journal *j, struct journal_request *req)
{
    req->checkpoint.of.thread = req->thread;
    req->checkpoint.of.run = req->job;
    return str_absent(req->job) ? holds_call(j, req) : holds_job(j, req);
}

void journal_checkpoints_hold(struct journal *j, struct journal_request *req)
{
    if (is_held(j, req))
        req->code = 0;
}

void journal_checkpoint_put(struct journal *j, struct journal_request *req)
{
    const struct checkpoint_request *c = &req->checkpoint;

    if (!is_held(j, req))
        return;
    known_forget_state(j, req->thread);
    int err = store_batch_checkpoint_put(&j->batch, &c->of);
    for (size_t i = 0; i < c->n_channels && err == 0; i++)
        err = store_batch_channel_put(&j->batch, &c->of, &c->channels[i]);
    journal_wrote(j, req, err);
}

void journal_checkpoint_writes(struct journal *j, struct journal_request *req)
{
    const struct checkpoint_request *c = &req->checkpoint;
    int err = 0;

    if (!is_held(j, req))
        return;
    for (size_t i = 0; i < c->n_writes && err == 0; i++)
        err = store_batch_write_put(&j->batch, &c->of, &c->writes[i]);
    journal_wrote(j, req, err);
}

static int show_in_thread(struct journal *j, struct journal_request *req)
{
    const struct checkpoint_request *c = &req->checkpoint;
    struct thread_row row;
    int err = read_thread(j, c->of.thread, &row, &req->why);

    if (err != 0)
        return err == ERR_NOT_FOUND ? 0 : err;
    if (!str_is(row.status, "busy"))
        row.status = c->is_waiting ? STR("interrupted") : STR("idle");
    row.interrupts = c->interrupts;
    row.error = STR_NONE;
    row.updated = j->now;
    err = gather_thread(j, &row);
    return err == 0 ? gather_thread_values(j, row.key, c->values) : err;
}

/* Does another shard have the thread that a call is about? */
static bool is_elsewhere(struct journal *j, struct journal_request *req)
{
    struct thread_row row;

    return str_absent(req->job) && read_thread(j, req->thread, &row, NULL) == 0 &&
           journal_is_elsewhere(j, req, row.shard);
}

/* A state that a call has changed is shown in the thread; the state of a run arrives with its
 * events. */
void journal_checkpoint_state(struct journal *j, struct journal_request *req)
{
    const struct checkpoint_request *c = &req->checkpoint;

    if (!is_held(j, req) || is_elsewhere(j, req))
        return;
    known_forget_state(j, req->thread);
    int err = store_batch_state_put(&j->batch, &c->of, c->state);
    if (err == 0 && str_absent(req->job) && c->of.ns.n == 0)
        err = show_in_thread(j, req);
    journal_wrote(j, req, err);
}

void journal_checkpoints_delete(struct journal *j, struct journal_request *req)
{
    if (is_held(j, req))
        journal_wrote(j, req, gather_thread_forgetting(j, req->thread));
}
