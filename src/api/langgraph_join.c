/* Joining a run that is there: its stream, or its result. */
#include "api/langgraph.h"

#include "api/admit.h"
#include "auth/access.h"

/* What a run was made with; found on the pool, used on the loop. */
struct joining {
    struct run_look what; /* first: the look's data */
    uint32_t modes;       /* asked for; 0: the run's own */
    bool cancels, subgraphs;
};

static void run_join(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct joining *j = look->data;
    struct error err = { 0 };
    struct job_row row;
    struct run_row run = { .modes = MODE_VALUES };

    if (!langgraph_get_run(look, store, &row))
        return;
    if (row.thread != 0 && store_run_get(store, row.key, &run, &err) != 0) {
        look_broke(look, &err);
        return;
    }
    j->subgraphs = run.subgraphs != 0;
    if (j->modes == 0)
        j->modes = (uint32_t)run.modes;
}

static void begin_join(struct look *look, bool streams)
{
    const struct joining *j = look->data;
    struct http_request *req = look->req;
    struct str run = str_make(look->job, look->job_n);
    struct permit *permit;

    http_on_gone(req, NULL, NULL);
    if (!api_take_permit(req, &permit))
        return;
    if (streams) {
        langgraph_set_location(req, j->what.thread, run, "stream");
        langgraph_stream(req, permit, run, j->modes, j->subgraphs, j->cancels);
    } else {
        langgraph_wait(req, permit, run, j->cancels, false);
    }
}

static void on_found(struct task *task, bool streams)
{
    struct look *look = look_of(task);

    if (look->req == NULL || look->status != 200) {
        look_answer(task);
        return;
    }
    begin_join(look, streams);
    look_free(look);
}

static void on_found_stream(struct task *task)
{
    on_found(task, true);
}

static void on_found_join(struct task *task)
{
    on_found(task, false);
}

static void join(struct http_request *req, void (*done)(struct task *), bool any_job)
{
    uint32_t modes;
    bool cancels = langgraph_flag(req, "cancel_on_disconnect");
    bool is_good = langgraph_read_query_modes(req, &modes) && (!cancels || api_may_act(req));
    struct look *look = is_good ? langgraph_look_at_run(req, run_join) : NULL;
    struct joining *j = look != NULL ? arena_alloc(&look->mem, sizeof(*j)) : NULL;

    if (look == NULL)
        return;
    if (j == NULL) {
        look_free(look);
        (void)api_no_memory(req);
        return;
    }
    *j =
        (struct joining){ .what = *(const struct run_look *)look->data,
                          .modes = modes,
                          .cancels = cancels && (api_token(req)->access & ACCESS_CLIENT) != 0 };
    j->what.any_job = any_job && str_absent(j->what.thread);
    look->data = j;
    look->task.done = done;
    look_post(look);
}

void api_run_join(struct http_request *req, void *arg)
{
    (void)arg;
    join(req, on_found_join, false);
}

void api_run_join_stream(struct http_request *req, void *arg)
{
    (void)arg;
    join(req, on_found_stream, true); /* any job has events */
}
