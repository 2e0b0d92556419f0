#include "journal/agent_counts.h"

#include "journal/active_job.h"

#include <stdlib.h>

enum { LOOK_US = 200000 };

struct agent_counts_entry {
    char *name; /* owned */
    struct agent_count count;
};

void agent_counts_init(struct agent_counts *c)
{
    *c = (struct agent_counts){ 0 };
    (void)pthread_mutex_init(&c->lock, NULL); /* cannot fail on Linux */
}

static void drop(struct agent_counts *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->list[i].name);
    free(c->list);
    c->list = NULL;
    c->n = 0;
}

void agent_counts_done(struct agent_counts *c)
{
    drop(c);
    (void)pthread_mutex_destroy(&c->lock);
}

void agent_counts_clear(struct agent_counts *c)
{
    (void)pthread_mutex_lock(&c->lock);
    drop(c);
    (void)pthread_mutex_unlock(&c->lock);
}

static bool has_same_agents(const struct agent_counts *c, const struct journal *j)
{
    bool is_same = c->n == j->opt.n_agents;

    for (size_t i = 0; is_same && i < c->n; i++)
        is_same = str_eq(str_of(c->list[i].name), j->opt.agents[i].name);
    return is_same;
}

/* When memory is short, there are no counts for a while. */
static void name_agents(struct agent_counts *c, const struct journal *j)
{
    drop(c);
    c->list = calloc(j->opt.n_agents, sizeof(c->list[0]));
    if (c->list == NULL)
        return;
    for (; c->n < j->opt.n_agents; c->n++) {
        struct str name = j->opt.agents[c->n].name;
        char *copy = malloc(name.n + 1);

        if (copy == NULL) {
            drop(c);
            return;
        }
        memcpy(copy, name.p, name.n);
        copy[name.n] = '\0';
        c->list[c->n].name = copy;
    }
}

static struct agent_count count_of(const struct journal *j, const struct queue *q, uint64_t now)
{
    struct agent_count count = { .queued = q->n, .leased = q->n_running };

    /* A waiting job is not changed, so `updated` is when it was queued. */
    if (q->n > 0)
        count.oldest_us = now - (uint64_t)(j->now - q->head.next->row.updated) * 1000;
    return count;
}

void agent_counts_look(struct agent_counts *c, const struct journal *j, uint64_t now_us)
{
    if (now_us - c->looked_us < LOOK_US)
        return;
    c->looked_us = now_us;
    (void)pthread_mutex_lock(&c->lock);
    if (!has_same_agents(c, j))
        name_agents(c, j);
    for (size_t i = 0; i < c->n; i++)
        c->list[i].count = count_of(j, &j->queues[i], now_us);
    (void)pthread_mutex_unlock(&c->lock);
}

void journal_agent_count(struct journal *j, struct str agent, struct agent_count *sum)
{
    struct agent_counts *c = &j->agent_counts;

    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n; i++) {
        const struct agent_count *more = &c->list[i].count;

        if (!str_eq(str_of(c->list[i].name), agent))
            continue;
        sum->queued += more->queued;
        sum->leased += more->leased;
        if (more->oldest_us != 0 && (sum->oldest_us == 0 || more->oldest_us < sum->oldest_us))
            sum->oldest_us = more->oldest_us;
    }
    (void)pthread_mutex_unlock(&c->lock);
}
