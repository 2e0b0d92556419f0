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
        j->attempt = row.attempt;
        (void)job_state_find(row.state, &j->state); /* written by us */
    }
}

static void ask_next(struct recheck *r)
{
    r->n = hub_quiet_jobs(r->hub, r->jobs, RECHECK_JOBS);
    if (r->n > 0)
        thread_pool_post(r->pool, &r->task);
}

static void on_answered(struct loop_call *call)
{
    struct recheck *r = call->owner;

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
    r->task.loop_call = (struct loop_call){ .home = box, .owner = r, .answered = on_answered };
    r->task.run = on_run;
    *ret = r;
    return 0;
}

void recheck_go_on(struct recheck *r)
{
    if (!r->task.loop_call.is_pending && !r->task.loop_call.is_cancelled && r->pool != NULL)
        ask_next(r);
}

void recheck_start(struct recheck *r, struct thread_pool *pool)
{
    if (r->task.loop_call.is_pending || r->task.loop_call.is_cancelled)
        return;
    r->pool = pool;
    hub_begin_round(r->hub);
    ask_next(r);
}
