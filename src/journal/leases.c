/* Leases: which worker gets a job, for how long, and how it is returned.
 *
 *     LEASE ──▶ give() ──▶ the oldest job of its agents that may begin ──▶ answered
 *                 │ none
 *                 └──▶ waits (waiting.c) until a turn has one, or its time is over
 *
 * A request with a request_id that already holds a job gets the same job again: the first
 * answer was lost, or the server was restarted. */
#include "ingest/fold.h"
#include "journal/active_job.h"

static void say_lost(const struct active_job *job, struct journal_request *req)
{
    if (req->lease.is_unsigned)
        refuse(req, ERR_REFUSED,
               "this lease is of an earlier version of the server: lease the job again");
    else if (job->row.key != req->lease.key)
        refuse(req, ERR_REFUSED, "this lease is of an earlier job with the same id");
    else
        refuse(req, ERR_REFUSED,
               "attempt %lld does not hold this job: it is %.*s at attempt %lld",
               (long long)req->lease.attempt, STR_ARG(job->row.state),
               (long long)job->row.attempt);
}

struct active_job *journal_leased_job(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_find_job(j, req);

    if (job == NULL && req->code != ERR_CLOSED)
        return NULL;
    enum lease_verdict verdict =
        lease_judge(&req->caller, &req->lease, job != NULL ? &job->row : req->row);
    if (verdict == LEASE_FOREIGN)
        journal_not_found(req);
    else if (job != NULL && suspects_refuse(job, req))
        return NULL;
    else if (job != NULL && verdict == LEASE_LOST)
        say_lost(job, req);
    return verdict == LEASE_HELD ? job : NULL; /* a held job has not ended */
}

int64_t active_job_lease_ms(const struct active_job *job)
{
    return job->agent != NULL ? job->agent->lease_ms : 60000;
}

void journal_renew(struct active_job *job)
{
    active_job_touch(job);
    job->row.lease_until = job->journal->now + active_job_lease_ms(job);
}

void journal_answer_lease(struct active_job *job, struct journal_request *req)
{
    req->code = 0;
    req->cancel = job->row.cancel_requested != 0;
    req->pause = job->row.pause_requested != 0;
    req->lease_ms = active_job_lease_ms(job);
}

static const struct journal_agent *leasable(const struct journal *j, struct str agent)
{
    const struct journal_agent *a = journal_agent_of(j, agent);

    return a != NULL && a->fed != FED_ALONE ? a : NULL;
}

struct active_job *journal_next_for(struct journal *j, const struct journal_request *req)
{
    for (size_t i = 0; i < req->work.n_agents; i++) {
        const struct journal_agent *a =
            leasable(j, req->work.agents[(i + j->lease_turn) % req->work.n_agents]);
        struct queue *q = a != NULL ? &j->queues[a - j->opt.agents] : NULL;

        while (q != NULL && q->n > 0) {
            struct active_job *job = q->head.next;

            if (runs_may_begin(job) && owner_has_room(job))
                return job;
            active_job_dequeue(job);
            active_job_enqueue(job); /* moves to its owner's queue, or waits for its thread */
        }
    }
    return NULL;
}

int journal_begin_attempt(struct active_job *job,
                          struct str worker,
                          struct str holder,
                          struct str request_id)
{
    struct journal *j = job->journal;
    int err = active_job_move(job, JOB_RUNNING);

    if (err == 0)
        err = active_job_set_text(&job->row.worker, worker);
    if (err == 0)
        err = active_job_set_text(&job->row.holder, holder);
    if (err == 0)
        err = active_job_set_request(job, request_id);
    if (err != 0)
        return err;
    job->row.attempt++;
    job->row.producer_seq = -1;
    job->leased_at = j->now;
    if (job->row.started == 0) {
        job->row.started = j->now;
        job->row.run_deadline =
            job->row.run_seconds > 0 ? j->now + job->row.run_seconds * 1000 : 0;
    }
    return 0;
}

static void answer_order(struct active_job *job, struct journal_request *req, bool again)
{
    struct journal *j = job->journal;
    struct job_row stored;
    /* The input may be large and is not kept in memory. */
    int err = read_job(j, job->row.id, &stored, &j->failure);

    struct str input = STR_NONE;

    if (err == 0 && !arena_copy(&req->mem, stored.input, &input))
        err = ERR_NOMEM;
    if (err == 0)
        err = questions_put_answers(job, req);
    if (err == 0 && job->thread != NULL)
        err = journal_answer_run(j, job->row.key, req, &req->work.run);
    if (err == 0 && !again)
        err = journal_begin_attempt(job, req->work.worker, req->caller.holder,
                                    req->work.request_id);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    journal_renew(job);
    journal_answer_lease(job, req);
    journal_answer_row(j, req, &job->row);
    if (req->row != NULL)
        req->row->input = input;
    if (!again || req->work.number > job->lease_number)
        job->lease_number = req->work.number;
}

static bool is_for(const struct active_job *job, const struct journal_request *req)
{
    for (size_t i = 0; i < req->work.n_agents; i++)
        if (str_eq(req->work.agents[i], job->row.agent))
            return true;
    return false;
}

/* The first answer to this request was lost: gives the same job again. */
static void give_again(struct active_job *job, struct journal_request *req)
{
    if (job->stale)
        refuse(req, ERR_BUSY, "the job could not be read from the store yet");
    else if (!is_for(job, req))
        refuse(req, ERR_REFUSED, "this request_id holds a job of another agent");
    else if (!lease_is_callers(&req->caller, job->row.holder, job->row.agent))
        refuse(req, ERR_REFUSED, "this request_id is another worker's");
    else
        answer_order(job, req, true);
}

static bool give(struct journal *j, struct journal_request *req)
{
    if (j->settling)
        return false; /* the journal stops: a job could not be returned any more */
    struct active_job *held = active_job_find_lease(j, req->work.request_id);
    struct active_job *job = held != NULL ? held : journal_next_for(j, req);
    if (job == NULL || !wants_of_lease_are_known(job))
        return false;
    if (held != NULL) {
        give_again(held, req);
        return true;
    }
    j->lease_turn++;
    answer_order(job, req, false);
    return true;
}

/* What it would get, of the shards of a database. */
static void look(struct journal *j, struct journal_request *req)
{
    bool has_own = active_job_find_lease(j, req->work.request_id) != NULL;
    const struct active_job *job = has_own ? NULL : journal_next_for(j, req);

    if (has_own || journal_has_call_for(j, req))
        req->work.oldest = 0;
    else if (job != NULL)
        req->work.oldest = job->queued_at;
    else
        refuse(req, ERR_NOT_FOUND, "no job is waiting");
}

bool journal_lease(struct journal *j, struct journal_request *req)
{
    bool known = false;

    req->work.number = ++j->n_leases;
    if (req->withdrawn) {
        refuse(req, ERR_NOT_FOUND, "whoever asked for a job has left");
        return false;
    }
    for (size_t i = 0; i < req->work.n_agents; i++)
        known |= leasable(j, req->work.agents[i]) != NULL;
    if (!known) {
        refuse(req, ERR_TYPE, "none of these agents is configured here");
        return false;
    }
    journal_lost_call(j, req);
    if (req->work.looks) {
        look(j, req);
        return false;
    }
    if (give(j, req))
        return false;
    refuse(req, ERR_NOT_FOUND, "no job is waiting");
    /* What there is may have to be read first: then also one that does not wait is answered by
     * the next turn. */
    if (req->work.wait_ms <= 0 && !j->is_late)
        return j->opt.n_shards > 1 && req->work.takes_calls && journal_take(j, req);
    req->work.deadline = j->now + req->work.wait_ms;
    if (waiting_add(j, req) == 0)
        return true;
    refuse(req, ERR_BUSY, "out of memory");
    return false;
}

static void answer(struct journal *j,
                   struct journal_request *req,
                   struct journal_request **answered)
{
    waiting_remove(j, req);
    req->next = *answered;
    *answered = req;
}

/* The oldest request that names an agent with queued jobs. */
static struct journal_request *next_to_serve(const struct journal *j)
{
    struct journal_request *oldest = NULL;

    for (size_t i = 0; i < j->opt.n_agents; i++) {
        bool has_work = j->queues[i].n > 0 && j->opt.agents[i].fed != FED_ALONE;
        struct journal_request *req = has_work ? waiting_first_of(j, i) : NULL;

        if (req != NULL && (oldest == NULL || req->work.number < oldest->work.number))
            oldest = req;
    }
    return oldest;
}

/* This loop ends: a request that gets no job has emptied the queues of its agents, since none
 * of their jobs may begin; or is_late is set, because its job must be read first. */
void journal_serve_leases(struct journal *j, struct journal_request **answered)
{
    struct journal_request *req;

    while (!j->settling && !j->is_late && (req = next_to_serve(j)) != NULL)
        if (req->withdrawn || give(j, req))
            answer(j, req, answered);
}

void journal_look_at_leases(struct journal *j, struct journal_request **answered)
{
    struct journal_request *next;

    for (struct journal_request *req = waiting_first(j); req != NULL; req = next) {
        next = waiting_after(j, req);
        if (req->withdrawn || give(j, req) || (j->now >= req->work.deadline && !j->is_late))
            answer(j, req, answered);
    }
}

void journal_hand_back(struct active_job *job, struct journal_request *req)
{
    struct journal *j = job->journal;

    if (req->handed_back.number != 0 && req->handed_back.number != job->lease_number) {
        refuse(req, ERR_REFUSED, "somebody has asked for this lease again and has it");
        return;
    }
    int err = active_job_requeue(job, STR("handed back by its worker"));
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

void journal_lose(struct active_job *job, struct journal_request *req)
{
    struct journal *j = job->journal;
    struct job_ending ending = { .error = req->finish.error,
                                 .error_type = req->finish.error_type,
                                 .details = req->finish.details };
    int err = active_job_lose(job, &ending);
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

static void count_queue(const struct journal *j, const struct queue *q, struct count_request *c)
{
    int64_t age = q->n > 0 ? j->now - q->head.next->row.created : 0;

    c->n_waiting += q->n;
    c->n_running += q->n_running;
    if (age > c->oldest_ms)
        c->oldest_ms = age;
}

void journal_count_waiting(struct journal *j, struct journal_request *req)
{
    for (size_t i = 0; i < req->count.n_agents; i++) {
        const struct journal_agent *a = journal_agent_of(j, req->count.agents[i]);
        const struct queue *q = a != NULL ? &j->queues[a - j->opt.agents] : NULL;

        if (q != NULL)
            count_queue(j, q, &req->count);
    }
    req->code = 0;
}
