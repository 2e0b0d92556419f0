/* Reads, lists, cancels and deletes existing runs. */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "api/jobs/jobs.h"
#include "base/error.h"
#include "jobs/run_status.h"

enum { MAX_DEPTH = 100, DEFAULT_LIST = 10, MAX_LIST = 1000 };

/* --- reading ------------------------------------------------------------------------- */

static void run_run(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct error err = { 0 };
    struct job_row row;

    if (langgraph_get_run(query, store, &row) &&
        langgraph_put_run(&query->out, store, &row, (struct selection){ 0 }, &err) != 0)
        store_query_broke(query, &err);
}

void api_run(struct http_request *req)
{
    struct store_query *query = langgraph_look_at_run(req, run_run);

    if (query != NULL)
        store_query_post(query);
}

struct run_listing {
    struct selection select;
    struct str status; /* absent: any */
    size_t limit, offset;
    size_t n;
    struct store_query *query;
    struct store *store;
    struct error err;
    int code;
};

static int on_run(void *arg, const struct job_row *row)
{
    struct run_listing *l = arg;

    if (langgraph_is_hidden(row) ||
        (!str_absent(l->status) && !str_eq(l->status, run_status(row))))
        return 0;
    size_t at = l->n++;
    if (at < l->offset)
        return 0;
    if (at - l->offset >= l->limit)
        return 1;
    json_next(&l->query->out);
    l->code = langgraph_put_run(&l->query->out, l->store, row, l->select, &l->err);
    return l->code;
}

static void run_list(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct run_listing *l = query->data;
    struct thread_row thread;

    if (!langgraph_get_thread(query, store, str_make(query->job, query->job_n), &thread))
        return;
    l->query = query;
    l->store = store;
    json_begin_array(&query->out);
    int code = store_thread_jobs(store, thread.key, on_run, l, &l->err);
    json_end_array(&query->out);
    if (code != 0 || l->code != 0)
        store_query_broke(query, &l->err);
}

void api_runs(struct http_request *req)
{
    int64_t limit, offset;
    bool is_good = jobs_read_number(req, "limit", DEFAULT_LIST, &limit) &&
                   jobs_read_number(req, "offset", 0, &offset);
    struct store_query *query = is_good
                                    ? store_query_new_with(req, http_param(req, "thread"),
                                                           run_list, sizeof(struct run_listing))
                                    : NULL;
    struct run_listing *l = query != NULL ? query->data : NULL;

    if (query == NULL)
        return;
    l->select = langgraph_select_query(langgraph_run_members, req);
    l->limit = limit < MAX_LIST ? (size_t)limit : MAX_LIST;
    l->offset = (size_t)offset;
    if (arena_copy(&query->mem, http_query(req, "status"), &l->status)) {
        store_query_post(query);
        return;
    }
    store_query_free(query);
    (void)api_no_memory(req);
}

/* --- cancel and delete ----------------------------------------------------------------- */

/* With `wait`, the answer is the run's result, as that of a join. */
static void answer_cancelled(struct journal_call *call)
{
    struct http_request *req = call->req;
    struct permit *permit;

    if (call->journal.code == ERR_NOT_FOUND)
        http_respond_error(req, 404, "Run not found");
    else if (call->journal.code == ERR_CLOSED)
        http_respond_error(req, 404, "No matching runs to cancel: the run has ended");
    else if (!journal_call_refused(call) && !langgraph_flag(req, "wait"))
        http_respond(req, 202, NULL, STR_NONE);
    else if (call->journal.code == 0 && api_take_permit(req, &permit))
        langgraph_wait(req, permit, call->journal.row->id, false);
}

static void answer_deleted(struct journal_call *call)
{
    if (call->journal.code == ERR_NOT_FOUND)
        http_respond_error(call->req, 404, "Run not found");
    else
        journal_call_answer_empty(call);
}

static void post(struct http_request *req,
                 enum journal_op op,
                 void (*answer)(struct journal_call *))
{
    struct journal_call *call = journal_call_new(req, op, answer);

    if (call == NULL)
        return;
    if (op == JOURNAL_CANCEL)
        call->journal.stop.rolls_back = str_is(http_query(req, "action"), "rollback");
    if (arena_copy(&call->journal.mem, http_param(req, "run"), &call->journal.job) &&
        arena_copy(&call->journal.mem, http_param(req, "thread"), &call->journal.thread)) {
        journal_call_post(call);
        return;
    }
    journal_call_free(call);
    (void)api_no_memory(req);
}

void api_run_delete(struct http_request *req)
{
    post(req, JOURNAL_DELETE, answer_deleted);
}

void api_run_cancel(struct http_request *req)
{
    struct str action = http_query(req, "action");

    if (str_absent(action) || str_is(action, "interrupt") || str_is(action, "rollback"))
        post(req, JOURNAL_CANCEL, answer_cancelled);
    else
        http_respond_error(req, 422, "action must be interrupt or rollback");
}

/* --- several, one after another --- */

static void cancel_next(struct http_request *req, size_t item);

static void answer_next_cancel(struct journal_call *call)
{
    int code = call->journal.code;

    if (code != ERR_CLOSED && code != ERR_NOT_FOUND && journal_call_refused(call))
        return;
    cancel_next(call->req, call->item + 1);
}

static bool read_cancel(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *j = &call->journal;
    struct json json;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &json))
        return false;
    yyjson_val *ids = langgraph_member(json.root, "run_ids", "runIds");
    struct str thread = json_text(langgraph_member(json.root, "thread_id", "threadId"));
    struct str run = json_text(yyjson_arr_get(ids, call->item));
    if (!yyjson_is_arr(ids) || str_absent(thread))
        return http_respond_error(
            call->req, 422, "\"thread_id\" and \"run_ids\" must say which runs are meant");
    if (call->item >= yyjson_arr_size(ids)) {
        http_respond(call->req, 204, NULL, STR_NONE);
        return false;
    }
    return (arena_copy(&j->mem, thread, &j->thread) &&
            arena_copy(&j->mem, str_absent(run) ? STR("") : run, &j->job)) ||
           api_no_memory(call->req);
}

static void cancel_next(struct http_request *req, size_t item)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_CANCEL, answer_next_cancel);

    if (call == NULL)
        return;
    call->item = item;
    call->journal.stop.rolls_back = str_is(http_query(req, "action"), "rollback");
    journal_call_read(call, MAX_DEPTH, read_cancel);
}

void api_runs_cancel(struct http_request *req)
{
    cancel_next(req, 0);
}
