/* Lease requests that wait for a job: a list of all in the order of arrival, and for each agent
 * a list of those that name it, in the same order.  A commit with work for one agent only
 * searches that agent's list, however many workers of other agents wait.
 *
 * A request has a link for each list it is in, in its own memory: the first is for all, the
 * others are for the agents that it names.  The link of an agent that is not configured is in
 * no list. */
#include "journal/active_job.h"

#include <stdlib.h>

static void ring_init(struct lease_link *ring)
{
    ring->prev = ring->next = ring;
}

static void ring_put(struct lease_link *ring, struct lease_link *link)
{
    link->next = ring;
    link->prev = ring->prev;
    link->prev->next = link;
    ring->prev = link;
}

static void ring_remove(struct lease_link *link)
{
    if (link->next == NULL)
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->prev = link->next = NULL;
}

struct lease_link *waiting_rings_new(size_t n_agents)
{
    struct lease_link *rings = calloc(n_agents + 1, sizeof(*rings));

    for (size_t i = 0; rings != NULL && i < n_agents; i++)
        ring_init(&rings[i]);
    return rings;
}

int waiting_init(struct journal *j)
{
    ring_init(&j->leases);
    j->agent_leases = waiting_rings_new(j->opt.n_agents);
    return j->agent_leases != NULL ? 0 : ERR_NOMEM;
}

static struct lease_link *ring_of(const struct journal *j, struct str agent)
{
    const struct journal_agent *a = journal_agent_of(j, agent);

    return a != NULL ? &j->agent_leases[a - j->opt.agents] : NULL;
}

static void enter(struct journal *j, struct journal_request *req)
{
    for (size_t i = 0; i < req->work.n_agents; i++) {
        struct lease_link *ring = ring_of(j, req->work.agents[i]);

        if (ring != NULL)
            ring_put(ring, &req->work.links[1 + i]);
    }
}

int waiting_add(struct journal *j, struct journal_request *req)
{
    req->work.links =
        arena_alloc(&req->mem, (1 + req->work.n_agents) * sizeof(*req->work.links));
    if (req->work.links == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i <= req->work.n_agents; i++)
        req->work.links[i] = (struct lease_link){ .req = req };
    ring_put(&j->leases, &req->work.links[0]);
    enter(j, req);
    j->n_waiting_leases++;
    return 0;
}

void waiting_remove(struct journal *j, struct journal_request *req)
{
    for (size_t i = 0; i <= req->work.n_agents; i++)
        ring_remove(&req->work.links[i]);
    req->work.links = NULL;
    j->n_waiting_leases--;
}

static struct journal_request *next_in(const struct lease_link *ring,
                                       const struct lease_link *at)
{
    return at->next != ring ? at->next->req : NULL;
}

struct journal_request *waiting_first(const struct journal *j)
{
    return next_in(&j->leases, &j->leases);
}

struct journal_request *waiting_after(const struct journal *j,
                                      const struct journal_request *req)
{
    return next_in(&j->leases, &req->work.links[0]);
}

struct journal_request *waiting_first_of(const struct journal *j, size_t agent)
{
    return next_in(&j->agent_leases[agent], &j->agent_leases[agent]);
}

size_t waiting_count_of(const struct journal *j, size_t agent, size_t most)
{
    const struct lease_link *ring = &j->agent_leases[agent];
    size_t n = 0;

    for (const struct lease_link *at = ring->next; at != ring && n < most; at = at->next)
        n++;
    return n;
}

struct journal_request *waiting_for_call(const struct journal *j, struct str agent)
{
    const struct lease_link *ring = ring_of(j, agent);

    for (const struct lease_link *at = ring; at != NULL && at->next != ring; at = at->next)
        if (at->next->req->work.takes_calls && !at->next->req->withdrawn)
            return at->next->req;
    return NULL;
}

void waiting_set_rings(struct journal *j, struct lease_link *rings)
{
    free(j->agent_leases);
    j->agent_leases = rings;
    for (struct journal_request *r = waiting_first(j); r != NULL; r = waiting_after(j, r))
        enter(j, r); /* replaces links into the old rings */
}
