/* GET /threads/{thread}/stream: all runs of a thread, one after another, as each run's own
 * stream tells it (`join_stream` of the SDKs' threads). */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "transport/thread_join.h"

struct thread_modes {
    bool run_modes, lifecycle;
    struct str bad;
};

static void add_mode(void *arg, struct str names)
{
    struct thread_modes *m = arg;

    while (names.n > 0) { /* Python's server takes a list with commas */
        struct str name = str_head(names, str_find(names, ','));

        names = str_skip(names, name.n + 1);
        while (str_starts(name, STR(" ")))
            name = str_skip(name, 1);
        if (str_is(name, "run_modes"))
            m->run_modes = true;
        else if (str_is(name, "lifecycle"))
            m->lifecycle = true;
        else
            m->bad = name;
    }
}

/* The SDKs send `stream_mode`, LangGraph's server reads `stream_modes`. */
static bool read_modes(struct http_request *req, struct thread_modes *ret)
{
    *ret = (struct thread_modes){ .bad = STR_NONE };
    langgraph_each_query(req, "stream_mode", add_mode, ret);
    langgraph_each_query(req, "stream_modes", add_mode, ret);
    if (!str_absent(ret->bad))
        return http_respond_error(
            req, 422,
            "there is no stream mode '%.*s' of threads: modes are run_modes and lifecycle",
            STR_ARG(str_head(ret->bad, 40)));
    return true;
}

static void find_thread(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct thread_row row;

    (void)langgraph_get_thread(query, store, str_make(query->job, query->job_n), &row);
}

static bool answer_stream(struct store_query *query)
{
    struct http_request *req = query->req;
    struct thread_join_request what = { .thread = http_param(req, "thread"),
                                        .place = http_header(req, "Last-Event-ID") };
    struct thread_modes modes;

    if (!read_modes(req, &modes) || !api_take_permit(req, &what.permit))
        return false;
    what.lifecycle_only = modes.lifecycle && !modes.run_modes;
    thread_join_open(app_loop_of(req)->streams, req, &what);
    return false;
}

void api_thread_stream(struct http_request *req)
{
    struct thread_modes modes;
    struct store_query *query =
        read_modes(req, &modes) ? store_query_new(req, http_param(req, "thread"), find_thread)
                                : NULL;

    if (query == NULL)
        return;
    query->answer = answer_stream;
    store_query_post(query);
}
