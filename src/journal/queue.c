/* Queues of jobs: each agent has a queue, and each owner one for jobs that may not
 * begin while so many others of the same owner are at work.  That one is in the order of their
 * submission: some are held as they come, and older ones only when their turn comes.  A run
 * that has to wait for its time, or for another of its thread, is in none. */
#include "journal/active_job.h"

void queue_init(struct queue *q)
{
    q->head.next = q->head.prev = &q->head;
    q->n = 0;
}

static void put_before(struct queue *q, struct active_job *next, struct active_job *l)
{
    l->next = next;
    l->prev = next->prev;
    l->prev->next = l;
    next->prev = l;
    q->n++;
}

static void put_held(struct queue *q, struct active_job *l)
{
    struct active_job *next = &q->head;

    while (next->prev != &q->head && next->prev->row.key > l->row.key)
        next = next->prev;
    put_before(q, next, l);
}

/* NULL: its agent is no longer configured. */
static struct queue *queue_of(const struct active_job *l)
{
    return l->held            ? &l->owner->held
           : l->agent != NULL ? &l->journal->queues[l->agent - l->journal->opt.agents]
                              : NULL;
}

void active_job_enqueue(struct active_job *l)
{
    if (l->agent == NULL || l->next != NULL || l->row.set_aside != 0 || !runs_may_begin(l))
        return;
    l->held = !owner_has_room(l);
    struct queue *q = queue_of(l);
    if (l->held)
        put_held(q, l);
    else
        put_before(q, &q->head, l);
}

void active_job_dequeue(struct active_job *l)
{
    if (l->next == NULL)
        return;
    l->prev->next = l->next;
    l->next->prev = l->prev;
    l->next = l->prev = NULL;
    queue_of(l)->n--;
    l->held = false;
}
