/* Owners of open jobs: how many jobs each has, and which of them must wait.
 *
 * A job has a limit on how many of its owner's jobs may run at a time (row.max_running).  A job
 * above the limit is held: it waits in its owner's own queue, so that lease requests do not
 * have to skip it each time.  When a running job stops, all held jobs that may begin now return
 * to their agents' queues; those that are still too many are held again when their turn
 * comes. */
#include "base/error.h"
#include "journal/active_job.h"

#include <stdlib.h>
#include <string.h>

enum { TRY_EVERY_MS = 500 }; /* whether jobs in other shards have ended */

static struct owner *find(const struct journal *j, struct str name)
{
    struct owner *o =
        str_absent(name) ? NULL : table_get(&j->owners, table_key(&j->owners, 0, name));

    return o != NULL && str_eq(str_make(o->name, o->name_n), name) ? o : NULL;
}

const struct owner *owner_find(const struct journal *j, struct str name)
{
    return find(j, name);
}

int owner_join(struct active_job *job)
{
    struct journal *j = job->journal;
    struct owner *o = find(j, job->row.owner);

    if (str_absent(job->row.owner))
        return 0;
    if (o == NULL) {
        o = calloc(1, sizeof(*o) + job->row.owner.n);
        if (o == NULL)
            return ERR_NOMEM;
        str_copy(o->name, job->row.owner);
        o->name_n = job->row.owner.n;
        o->key = table_key(&j->owners, 0, job->row.owner);
        queue_init(&o->held);
        if (table_put(&j->owners, o->key, o) != 0) {
            free(o);
            return ERR_NOMEM;
        }
    }
    o->n_jobs++;
    job->owner = o;
    return 0;
}

void owner_leave(struct active_job *job)
{
    struct owner *o = job->owner;

    job->owner = NULL;
    if (o == NULL || --o->n_jobs > 0)
        return;
    table_remove(&job->journal->owners, o->key);
    free(o);
}

struct owner_counts owner_others(const struct journal *j, struct str name)
{
    const struct owner_counts *others =
        j->opt.n_shards > 1 ? table_get(&j->known.rows, known_text_key(j, KNOWN_OWNER, name))
                            : NULL;

    return others != NULL ? *others : (struct owner_counts){ 0 };
}

bool owner_has_room(const struct active_job *job)
{
    return job->owner == NULL || job->row.max_running <= 0 ||
           job->owner->n_running +
                   (uint64_t)owner_others(job->journal, job->row.owner).running <
               (uint64_t)job->row.max_running;
}

void owner_release(struct owner *o)
{
    for (size_t n = o != NULL ? o->held.n : 0; n > 0; n--) {
        struct active_job *job = o->held.head.next;

        active_job_dequeue(job);
        active_job_enqueue(job); /* or is held again, after the others */
        if (job->next != NULL && !job->held)
            job->journal->queues[job->agent - job->journal->opt.agents].has_news = true;
    }
}

void owners_try_again(struct journal *j)
{
    if (j->opt.n_shards < 2 || j->now < j->next_owners)
        return;
    j->next_owners = j->now + TRY_EVERY_MS;
    for (size_t i = 0; i < j->n_all; i++) {
        struct owner *o = j->all[i]->held ? j->all[i]->owner : NULL;

        if (o != NULL && o->tried != j->now) {
            o->tried = j->now;
            owner_release(o);
        }
    }
}

void owners_tell(struct journal *j)
{
    const struct journal_events *events = &j->opt.events;

    for (size_t i = 0; i < j->opt.n_agents; i++) {
        if (j->queues[i].has_news && j->queues[i].n > 0 && events->queued != NULL)
            events->queued(events->arg, j->opt.agents[i].name);
        j->queues[i].has_news = false;
    }
}
