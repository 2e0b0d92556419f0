/* Joins an existing run: its stream, or its result. */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "auth/access.h"

/* What the run was created with; read on the pool, used on the loop. */
struct joining {
    struct run_query what; /* first: the query's data */
    uint32_t modes;        /* requested; 0: those of the run */
    bool cancels, subgraphs, streams;
    bool is_new;  /* nobody has read its stream yet */
    uint64_t end; /* the last record before its end; 0: it is read from its beginning */
};

/* A reader without a place joins a run that has ended, and that was read before: LangGraph's
 * own clients have its state by then, and would take an older one for newer.  Of a failed run
 * the error is the end. */
static uint64_t end_of(const struct job_row *row)
{
    enum job_state state = JOB_QUEUED;
    uint64_t n = str_is(row->state, "failed") ? 2 : 1;

    (void)job_state_find(row->state, &state); /* written by us */
    return job_state_is_final(state) && row->seq > n ? row->seq - n : 0;
}

static void run_join(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct joining *j = query->data;
    struct error err = { 0 };
    struct job_row row;
    struct run_row run = { .modes = MODE_VALUES };

    if (!langgraph_get_run(query, store, &row))
        return;
    bool is_run = row.thread != 0;
    uint64_t end = end_of(&row);
    if (is_run && store_run_get(store, row.key, &run, &err) != 0) {
        store_query_broke(query, &err);
        return;
    }
    j->subgraphs = run.subgraphs != 0;
    j->is_new = is_run && (run.modes & RUN_IS_READ) == 0;
    j->end = is_run && !j->is_new ? end : 0;
    if (j->modes == 0)
        j->modes = (uint32_t)run.modes;
}

static bool answer_join(struct store_query *query)
{
    const struct joining *j = query->data;
    struct http_request *req = query->req;
    struct str run = str_make(query->job, query->job_n);
    struct permit *permit;

    if (!api_take_permit(req, &permit))
        return false;
    if (j->streams) {
        langgraph_set_location(req, j->what.thread, run, "stream");
        if (j->is_new)
            langgraph_mark_read(app_loop_of(req)->app, run);
        langgraph_stream(req, permit, run, j->modes, j->subgraphs, j->cancels, j->end);
    } else {
        langgraph_wait(req, permit, run, j->cancels);
    }
    return false;
}

static void join(struct http_request *req, bool streams)
{
    uint32_t modes;
    bool cancels = langgraph_flag(req, "cancel_on_disconnect");
    bool is_good = langgraph_read_query_modes(req, &modes) && (!cancels || api_may_act(req));
    struct store_query *query = is_good ? langgraph_look_at_run(req, run_join) : NULL;
    struct joining *j = query != NULL ? arena_alloc(&query->mem, sizeof(*j)) : NULL;

    if (query == NULL)
        return;
    if (j == NULL) {
        store_query_free(query);
        (void)api_no_memory(req);
        return;
    }
    *j =
        (struct joining){ .what = *(const struct run_query *)query->data,
                          .modes = modes,
                          .streams = streams,
                          .cancels = cancels && (api_token(req)->access & ACCESS_CLIENT) != 0 };
    j->what.any_job = streams && str_absent(j->what.thread); /* any job has events */
    query->data = j;
    query->answer = answer_join;
    store_query_post(query);
}

void api_run_join(struct http_request *req)
{
    join(req, false);
}

void api_run_join_stream(struct http_request *req)
{
    join(req, true);
}
