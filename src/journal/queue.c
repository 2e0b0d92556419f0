/* Queues of jobs.  Each agent has a queue, and each owner has one for jobs that must wait
 * because too many others of the owner are running.  An owner's queue is sorted by submission:
 * some jobs are held when they are submitted, older ones only when their turn comes.  A run
 * that waits for its time, or for another run of its thread, is in no queue. */
#include "journal/active_job.h"

void queue_init(struct queue *q)
{
    q->head.next = q->head.prev = &q->head;
    q->n = 0;
}

static void put_before(struct queue *q, struct active_job *next, struct active_job *job)
{
    job->next = next;
    job->prev = next->prev;
    job->prev->next = job;
    next->prev = job;
    q->n++;
}

static void put_held(struct queue *q, struct active_job *job)
{
    struct active_job *next = &q->head;

    while (next->prev != &q->head && next->prev->row.key > job->row.key)
        next = next->prev;
    put_before(q, next, job);
}

/* NULL: its agent is no longer configured. */
static struct queue *queue_of(const struct active_job *job)
{
    return job->held            ? &job->owner->held
           : job->agent != NULL ? &job->journal->queues[job->agent - job->journal->opt.agents]
                                : NULL;
}

void active_job_enqueue(struct active_job *job)
{
    if (job->agent == NULL || job->next != NULL || job->row.set_aside != 0 ||
        !runs_may_begin(job))
        return;
    job->queued_at = job->journal->now;
    job->held = !owner_has_room(job);
    struct queue *q = queue_of(job);
    if (job->held)
        put_held(q, job);
    else
        put_before(q, &q->head, job);
}

void active_job_dequeue(struct active_job *job)
{
    if (job->next == NULL)
        return;
    job->prev->next = job->next;
    job->next->prev = job->prev;
    job->next = job->prev = NULL;
    queue_of(job)->n--;
    job->held = false;
}
