/* The list of workers: holders of leases, and waiting lease requests; those that wait at the
 * gateways are in waiters.c.  The list of agents: how much waits for each, and what its workers
 * have reported. */
#include "journal/active_job.h"

#include "base/error.h"
#include "jobs/job_scope.h"

enum { MAX_WORKERS = 1000 };

static bool put_holder(const struct active_job *job,
                       struct arena *mem,
                       struct journal_worker *w)
{
    const struct job_row *row = &job->row;
    int64_t lease_ms = job->agent != NULL ? job->agent->lease_ms : 0;

    struct journal_worker holder = { .worker = row->worker,
                                     .agents = &row->agent,
                                     .n_agents = 1,
                                     .job = row->id,
                                     .attempt = row->attempt,
                                     .lease_until = row->lease_until,
                                     /* every sign of life restarts the lease */
                                     .seen = row->lease_until - lease_ms };

    return journal_worker_copy(mem, &holder, w);
}

static bool put_waiting(const struct journal_request *lease,
                        struct arena *mem,
                        struct journal_worker *w)
{
    struct journal_worker waiting = { .worker = lease->work.worker,
                                      .agents = lease->work.agents,
                                      .n_agents = lease->work.n_agents,
                                      .seen = lease->work.deadline - lease->work.wait_ms };

    return journal_worker_copy(mem, &waiting, w);
}

static bool put_all(struct journal *j, struct journal_request *req)
{
    struct arena *mem = &req->mem;
    size_t n = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < j->n_all && n < MAX_WORKERS; i++) {
        const struct active_job *job = j->all[i];

        if (job->state == JOB_RUNNING && !job->deleted && job->row.set_aside == 0 &&
            job_scope_includes(req->job_scope, job->row.id, job->row.owner))
            ok = put_holder(job, mem, &req->workers.list[n++]);
    }
    /* A caller that may see only some jobs does not see workers without a job. */
    const struct journal_request *lease =
        req->job_scope == NULL || req->job_scope->all ? waiting_first(j) : NULL;
    for (; ok && lease != NULL && n < MAX_WORKERS; lease = waiting_after(j, lease))
        if (!lease->withdrawn)
            ok = put_waiting(lease, mem, &req->workers.list[n++]);
    req->workers.n = n;
    if (ok && (req->job_scope == NULL || req->job_scope->all))
        ok = waiters_put(j, req, MAX_WORKERS);
    return ok;
}

void journal_workers(struct journal *j, struct journal_request *req)
{
    size_t bytes = MAX_WORKERS * sizeof(*req->workers.list);

    req->workers.list = arena_alloc(&req->mem, bytes);
    if (req->workers.list == NULL) {
        req->code = ERR_NOMEM;
        return;
    }
    memset(req->workers.list, 0, bytes);
    req->code = put_all(j, req) ? 0 : ERR_NOMEM;
}

/* --- agents ------------------------------------------------------------------ */

static bool put_agent(const struct journal *j,
                      size_t at,
                      struct arena *mem,
                      struct journal_agent_state *ret)
{
    const struct queue *q = &j->queues[at];
    struct str error;

    *ret = (struct journal_agent_state){
        .n_waiting = q->n,
        .n_running = q->n_running,
        .oldest_ms = q->n > 0 ? j->now - q->head.next->row.created : 0,
        .n_broken = worker_errors_of(&j->worker_errors, j->opt.agents[at].name, j->now, &error),
    };
    return arena_copy(mem, j->opt.agents[at].name, &ret->name) &&
           arena_copy(mem, error, &ret->error);
}

void journal_agent_states(struct journal *j, struct journal_request *req)
{
    struct agents_request *a = &req->agents;
    bool ok = true;

    a->n = 0;
    a->list = arena_alloc(&req->mem, (j->opt.n_agents + 1) * sizeof(*a->list));
    for (size_t i = 0; a->list != NULL && ok && i < j->opt.n_agents; i++)
        ok = put_agent(j, i, &req->mem, &a->list[a->n++]);
    req->code = a->list != NULL && ok ? 0 : ERR_NOMEM;
}

void journal_report(struct journal *j, struct journal_request *req)
{
    const struct report_request *r = &req->report;

    worker_errors_put(&j->worker_errors, r->agent, r->worker, r->error, j->now);
    req->code = 0;
}
