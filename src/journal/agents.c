/* Replaces the agents while the journal runs.
 *
 * Each agent keeps its index, and so its queue; new ones are appended.  An agent that is no
 * longer configured stays until its jobs have ended.  A running job keeps its fold, and with it
 * the old settings of its agent. */
#include "journal/active_job.h"

#include <stdlib.h>

struct queue *journal_queues_new(size_t n_agents)
{
    struct queue *queues = calloc(n_agents + 1, sizeof(*queues));

    for (size_t i = 0; queues != NULL && i < n_agents; i++)
        queue_init(&queues[i]);
    return queues;
}

static const struct journal_agent *find(const struct journal_settings *s, struct str name)
{
    for (size_t i = 0; i < s->n_agents; i++)
        if (str_eq(s->agents[i].name, name))
            return &s->agents[i];
    return NULL;
}

/* The existing agents, with their new settings, then the new ones; returns the number. */
static size_t merge(const struct journal *j,
                    const struct journal_settings *s,
                    struct journal_agent *out)
{
    size_t n = j->opt.n_agents;

    for (size_t i = 0; i < n; i++) {
        const struct journal_agent *next = find(s, j->opt.agents[i].name);

        out[i] = next != NULL ? *next : j->opt.agents[i];
    }
    for (size_t i = 0; i < s->n_agents; i++)
        if (journal_agent_of(j, s->agents[i].name) == NULL)
            out[n++] = s->agents[i];
    return n;
}

/* Moves a ring to another head. */
static void move_ring(struct queue *from, struct queue *to)
{
    to->n = from->n;
    to->n_running = from->n_running;
    to->has_news = from->has_news;
    if (from->head.next == &from->head)
        return;
    to->head.next = from->head.next;
    to->head.prev = from->head.prev;
    to->head.next->prev = to->head.prev->next = &to->head;
}

/* A job whose agent was unknown until now enters its queue. */
static void adopt(struct journal *j, struct active_job *job)
{
    job->agent = journal_agent_of(j, job->row.agent);
    if (job->agent != NULL && job->state == JOB_RUNNING && job->row.set_aside == 0)
        j->queues[job->agent - j->opt.agents].n_running++;
    if (job->agent == NULL || job->state != JOB_QUEUED)
        return;
    active_job_enqueue(job);
    j->opt.events.queued(j->opt.events.arg, job->row.agent);
}

static void move_jobs(struct journal *j, const struct journal_agent *before)
{
    for (size_t i = 0; i < j->n_all; i++) {
        struct active_job *job = j->all[i];

        if (job->agent != NULL)
            job->agent = j->agents + (job->agent - before);
        else
            adopt(j, job);
    }
}

void journal_set_settings(struct journal *j, struct journal_request *req)
{
    const struct journal_settings *s = req->settings;
    const struct journal_agent *before = j->opt.agents;
    struct journal_agent *own = j->agents;
    struct journal_agent *agents = calloc(j->opt.n_agents + s->n_agents + 1, sizeof(*agents));
    struct queue *queues = journal_queues_new(j->opt.n_agents + s->n_agents);
    struct lease_link *rings = waiting_rings_new(j->opt.n_agents + s->n_agents);

    if (agents == NULL || queues == NULL || rings == NULL) {
        free(agents);
        free(queues);
        free(rings);
        req->code = error_set(&req->why, ERR_NOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < j->opt.n_agents; i++)
        move_ring(&j->queues[i], &queues[i]);
    free(j->queues);
    j->queues = queues;
    size_t n = merge(j, s, agents);
    j->opt.agents = j->agents = agents;
    j->opt.n_agents = n;
    j->opt.default_expiry_seconds = s->default_expiry_seconds;
    waiting_set_rings(j, rings);
    move_jobs(j, before);
    call_cache_clear(&j->kept); /* answers may differ now */
    free(own);
}
