#include "hub/thread_runs.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"

#include <stdlib.h>

static void run_query(struct thread_task *task, struct store *store);

int thread_runs_new(struct str thread,
                    const struct job_scope *scope,
                    int64_t after,
                    struct thread_runs **ret)
{
    struct thread_runs *r = calloc(1, sizeof(*r));

    if (r == NULL || thread.n > sizeof(r->thread)) {
        free(r);
        return r == NULL ? ERR_NOMEM : ERR_NOT_FOUND;
    }
    str_copy(r->thread, thread);
    r->thread_n = thread.n;
    r->after = after;
    job_scope_share(&r->scope, scope);
    r->task.run = run_query;
    *ret = r;
    return 0;
}

void thread_runs_free(struct thread_runs *r)
{
    if (r == NULL)
        return;
    job_scope_done(&r->scope);
    free(r->run);
    free(r);
}

static void on_dropped(struct loop_call *call)
{
    thread_runs_free(container_of(call, struct thread_runs, task.loop_call));
}

void thread_runs_ask(struct thread_runs *r,
                     struct thread_pool *pool,
                     struct mailbox *home,
                     void *owner,
                     void (*answered)(struct loop_call *call))
{
    r->task.loop_call = (struct loop_call){
        .home = home, .owner = owner, .answered = answered, .dropped = on_dropped
    };
    thread_pool_post(pool, &r->task);
}

static bool grow(struct thread_runs *r)
{
    size_t cap = r->cap == 0 ? 16 : 2 * r->cap;
    struct thread_run *p = realloc(r->run, cap * sizeof(*p));

    if (p == NULL)
        return false;
    r->run = p;
    r->cap = cap;
    return true;
}

/* Newest first; a run that was rolled back is treated as absent. */
static int on_job(void *arg, const struct job_row *row)
{
    struct thread_runs *r = arg;

    if (row->ordinal <= r->after)
        return 1;
    if (str_is(row->outcome, "rollback") || row->id.n > sizeof(r->run->job))
        return 0;
    if (r->n == r->cap && !grow(r)) {
        r->code = ERR_NOMEM;
        return 1;
    }
    struct thread_run *run = &r->run[r->n++];
    run->number = row->ordinal;
    run->is_over = row->finished != 0;
    run->seq = row->seq;
    run->key = row->key;
    run->is_due = !str_is(row->state, "queued") || row->not_before <= clock_wall_ms();
    run->job_n = row->id.n;
    str_copy(run->job, row->id);
    return 0;
}

static void turn_around(struct thread_runs *r)
{
    for (size_t i = 0; i < r->n / 2; i++) {
        struct thread_run other = r->run[r->n - 1 - i];

        r->run[r->n - 1 - i] = r->run[i];
        r->run[i] = other;
    }
}

static int read_modes(struct thread_runs *r, struct store *store)
{
    struct run_row row;
    int code = 0;

    for (size_t i = 0; code == 0 && i < r->n; i++) {
        code = store_run_get(store, r->run[i].key, &row, NULL);
        r->run[i].modes = code == 0 ? (uint32_t)row.modes : 0;
        r->run[i].subgraphs = code == 0 && row.subgraphs != 0;
        if (code == ERR_NOT_FOUND)
            code = 0; /* it was deleted meanwhile */
    }
    return code;
}

static void run_query(struct thread_task *task, struct store *store)
{
    struct thread_runs *r = container_of(task, struct thread_runs, task);
    struct thread_row row;
    int code = store_thread_get(store, str_make(r->thread, r->thread_n), &row, NULL);

    if (code == 0 && !job_scope_includes(&r->scope, row.id, row.owner))
        code = ERR_NOT_FOUND;
    if (code != 0) {
        r->code = code == ERR_NOT_FOUND ? 0 : code;
        return;
    }
    r->key = row.key;
    code = store_thread_jobs(store, r->key, on_job, r, NULL);
    if (code == 0 && r->with_modes)
        code = read_modes(r, store);
    if (code != 0 && r->code == 0)
        r->code = code;
    turn_around(r);
}
