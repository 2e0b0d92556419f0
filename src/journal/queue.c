/* Where queued jobs wait: each agent has a queue, and each owner one for jobs that may not
 * begin while so many others of the same owner are at work.  A run that has to wait for its
 * time, or for another of its thread, is in none. */
#include "journal/live.h"

void queue_init(struct queue *q)
{
    q->head.next = q->head.prev = &q->head;
    q->n = 0;
}

static void put(struct queue *q, struct live *l)
{
    l->next = &q->head;
    l->prev = q->head.prev;
    l->prev->next = l;
    q->head.prev = l;
    q->n++;
}

/* NULL: its agent is no longer configured. */
static struct queue *queue_of(const struct live *l)
{
    return l->held            ? &l->owner->held
           : l->agent != NULL ? &l->journal->queues[l->agent - l->journal->opt.agents]
                              : NULL;
}

void live_enqueue(struct live *l)
{
    if (l->agent == NULL || l->next != NULL || !runs_may_begin(l))
        return;
    l->held = !owner_has_room(l);
    put(queue_of(l), l);
}

void live_dequeue(struct live *l)
{
    if (l->next == NULL)
        return;
    l->prev->next = l->next;
    l->next->prev = l->prev;
    l->next = l->prev = NULL;
    queue_of(l)->n--;
    l->held = false;
}
