#include "hub/recheck.h"

#include "base/container_of.h"
#include "base/error.h"

#include <stdlib.h>

/* On a thread of the pool. */
static void on_run(struct thread_task *task, struct store *store)
{
    struct recheck *r = container_of(task, struct recheck, task);

    for (size_t i = 0; i < r->n; i++) {
        struct recheck_job *j = &r->jobs[i];
        struct job_row row;

        j->code = store_job_get(store, str_make(j->job, j->job_n), &row, NULL);
        if (j->code != 0)
            continue;
        j->key = row.key;
        j->last_seq = row.seq;
        (void)job_state_find(row.state, &j->state); /* written by us */
    }
}

static void ask_next(struct recheck *r)
{
    r->n = hub_quiet_jobs(r->hub, r->jobs, RECHECK_JOBS);
    r->is_running = r->n > 0;
    if (r->is_running)
        thread_pool_post(r->pool, &r->task);
}

static void on_done(struct thread_task *task)
{
    struct recheck *r = container_of(task, struct recheck, task);

    if (r->is_stopped)
        return;
    for (size_t i = 0; i < r->n; i++)
        hub_rechecked(r->hub, &r->jobs[i]);
    ask_next(r);
}

int recheck_new(struct hub *h, struct mailbox *box, struct recheck **ret)
{
    struct recheck *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return ERR_NOMEM;
    r->hub = h;
    r->task.home = box;
    r->task.run = on_run;
    r->task.done = on_done;
    *ret = r;
    return 0;
}

void recheck_start(struct recheck *r, struct thread_pool *pool)
{
    if (r->is_running || r->is_stopped)
        return;
    r->pool = pool;
    hub_begin_round(r->hub);
    ask_next(r);
}
