/* Submits a job: makes its row, its active job and its first record.
 *
 * A repeated request, by its Idempotency-Key, is answered with the job that it created before.
 * A run of a thread enters its thread first (threads.c), which may cancel other runs or refuse
 * this one. */
#include "ingest/fold.h"
#include "journal/active_job.h"

static bool submitted_before(struct journal *j, struct journal_request *req)
{
    struct job_row row;

    if (req->submit.idempotency_key.p == NULL)
        return false;
    int err = read_job_by_idempotency(j, req->submit.idempotency_key, &row, &req->why);
    if (err == ERR_NOT_FOUND)
        return false;
    if (err != 0) {
        req->code = ERR_BUSY;
        return true;
    }
    if (!str_eq(row.request_hash, req->submit.request_hash)) {
        refuse(req, ERR_REFUSED, "this Idempotency-Key was used with another request");
        return true;
    }
    req->submit.existed = true;
    req->code = 0;
    journal_answer_row(j, req, &row);
    if (req->code == 0 && req->row->thread != 0) {
        if (journal_answer_run(j, req->row->key, req, &req->submit.run) != 0)
            refuse(req, ERR_BUSY, "the run could not be read");
        req->thread = req->submit.run.thread;
    }
    return true;
}

static struct job_row row_of(const struct journal *j,
                             const struct journal_agent *agent,
                             const struct submit_request *s)
{
    return (struct job_row){
        .id = s->id,
        .agent = s->agent,
        .state = STR("queued"),
        .input = s->input,
        .owner = s->owner,
        .idempotency_key = s->idempotency_key,
        .request_hash = s->request_hash,
        .max_running = s->max_running,
        .created = j->now,
        .updated = j->now,
        .not_before = s->delay_ms > 0 ? j->now + s->delay_ms : 0,
        .attempts_left = agent->attempts,
        .queue_deadline = agent->queue_ms > 0 ? j->now + agent->queue_ms : 0,
        .run_seconds = (agent->run_ms + 999) / 1000,
        .expiry_seconds =
            s->expiry_seconds != 0 ? s->expiry_seconds : j->opt.default_expiry_seconds,
        .producer_seq = -1,
        .published = agent->is_published ? 0 : -1,
        .first_seq = 1,
    };
}

/* @n: the number of open, or of queued, jobs. */
static void refuse_number(struct journal_request *req,
                          uint64_t n,
                          uint64_t n_new,
                          int64_t most,
                          const char *what)
{
    if (n_new == 1)
        refuse(req, ERR_LIMIT, "%lld jobs of yours %s, and that is the most", (long long)most,
               what);
    else
        refuse(
            req, ERR_LIMIT,
            "%llu jobs of yours %s: with %llu more there would be more than %lld, so none of "
            "them was made",
            (unsigned long long)n, what, (unsigned long long)n_new, (long long)most);
}

/* Counts the jobs in `more` too. */
static bool has_too_many(const struct journal *j, struct journal_request *req)
{
    const struct owner *o = owner_find(j, req->submit.owner);
    struct owner_counts others = owner_others(j, req->submit.owner);
    uint64_t n_jobs = (o != NULL ? o->n_jobs : 0) + (uint64_t)others.jobs;
    uint64_t n_queued = (o != NULL ? o->n_queued : 0) + (uint64_t)others.queued, n = 0;

    for (const struct journal_request *r = req; r != NULL; r = r->submit.more)
        n++;
    if (req->submit.max_jobs > 0 && n_jobs + n > (uint64_t)req->submit.max_jobs)
        refuse_number(req, n_jobs, n, req->submit.max_jobs, "have not ended");
    else if (req->submit.max_queued > 0 && n_queued + n > (uint64_t)req->submit.max_queued)
        refuse_number(req, n_queued, n, req->submit.max_queued, "wait for a worker");
    else
        return false;
    return true;
}

static void submit_one(struct journal *j, struct journal_request *req)
{
    const struct journal_agent *agent = journal_agent_of(j, req->submit.agent);
    bool is_run = !str_absent(req->submit.run.kwargs);
    struct thread_row thread;
    struct active_job *job;
    struct fold *fold;

    if (agent == NULL) {
        refuse(req, ERR_TYPE, "unknown agent: %.*s", STR_ARG(str_head(req->submit.agent, 80)));
        return;
    }
    if (submitted_before(j, req))
        return;
    if (has_too_many(j, req))
        return;
    if (active_job_find(j, req->submit.id) != NULL &&
        active_job_find(j, req->submit.id)->deleted) {
        refuse(req, ERR_BUSY, "the job of this id is being deleted");
        return;
    }
    if (!req->submit.is_new_id && jobs_have(j, req, req->submit.id))
        return;
    if (is_run ? !threads_may_enter(j, req, &thread)
               : !req->submit.is_new_id && threads_have(j, req, req->submit.id))
        return;
    struct job_row row = row_of(j, agent, &req->submit);
    int err = is_run ? threads_enter(j, req, &thread, &row) : 0;
    if (err == 0)
        err = gather_job(j, &row);
    if (err == 0)
        err = active_job_add(j, &row, &job);
    if (err == 0) {
        job->state_news = true;
        active_job_touch(job);
        err = active_job_fold(job, &fold);
    }
    if (err == 0)
        err = fold_begin(fold, j->now);
    if (err == 0 && is_run)
        err = threads_entered(job, req);
    if (err == 0 && is_run)
        err = webhooks_submitted(job, req);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &job->row);
}

void journal_submit(struct journal *j, struct journal_request *req)
{
    for (const struct journal_request *r = req->submit.more; r != NULL; r = r->submit.more) {
        if (journal_agent_of(j, r->submit.agent) == NULL) {
            refuse(req, ERR_TYPE, "unknown agent: %.*s",
                   STR_ARG(str_head(r->submit.agent, 80)));
            return;
        }
    }
    if (!str_absent(req->submit.tick.cron) && !crons_may_tick(j, req))
        return;
    submit_one(j, req);
    if (!str_absent(req->submit.tick.cron))
        crons_ticked(j, req);
    for (struct journal_request *r = req->submit.more; r != NULL && req->code == 0;
         r = r->submit.more) {
        submit_one(j, r);
        if (r->code == 0)
            continue;
        /* Almost nothing can be refused at this point: fail the whole turn, so that no job is
         * created. */
        (void)error_set(&j->failure, r->code, "%.200s", r->why.text);
        journal_broke(j, req, r->code);
    }
}
