/* Creates several runs at once, all or none: first finds all assistants, then parses all runs,
 * then creates them with one request to the journal. */
#include "api/langgraph/assistants.h"

enum { MAX_BATCH = 100 };

/* The data of a batch's query; its `out` is the answer. */
struct run_batch {
    struct str *ids;
    struct assistant_row *rows;
    char (*made)[KEY_UUID_CHARS]; /* ids of the graphs' default assistants */
    size_t n;
};

/* --- the assistants ------------------------------------------------------------------ */

static void find_all(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    const struct run_batch *batch = query->data;
    const struct app *app = query->loop->app;

    for (size_t i = 0; i < batch->n; i++) {
        const struct app_agent *a = assistants_find_graph(app, batch->ids[i]);

        if (a != NULL)
            batch->rows[i] = assistants_of_graph(app, a, batch->made[i]);
        else if (!assistants_read(query, store, batch->ids[i], &batch->rows[i]))
            return;
    }
}

static bool read_id(struct store_query *query, const yyjson_val *item, struct str *ret)
{
    struct str id = json_text(langgraph_member(item, "assistant_id", "assistantId"));

    if (id.n > 0)
        return arena_copy(&query->mem, id, ret) || api_no_memory(query->req);
    langgraph_refuse_assistant(query->req);
    return false;
}

static bool read_ids(struct store_query *query, struct json_reader *reader)
{
    struct run_batch *batch = query->data;
    struct json json;

    int code = json_read(reader, http_body(query->req), &json, NULL);

    if (code == ERR_NOMEM)
        return api_no_memory(query->req);
    if (code != 0 || !yyjson_is_arr(json.root) || yyjson_arr_size(json.root) > MAX_BATCH)
        return http_respond_error(query->req, 422, "the body must be a list of at most %d runs",
                                  MAX_BATCH);
    batch->n = yyjson_arr_size(json.root);
    batch->ids = arena_alloc(&query->mem, MAX_BATCH * sizeof(*batch->ids));
    batch->rows = arena_alloc(&query->mem, MAX_BATCH * sizeof(*batch->rows));
    batch->made = arena_alloc(&query->mem, MAX_BATCH * sizeof(*batch->made));
    if (batch->ids == NULL || batch->rows == NULL || batch->made == NULL)
        return api_no_memory(query->req);
    for (size_t i = 0; i < batch->n; i++)
        if (!read_id(query, yyjson_arr_get(json.root, i), &batch->ids[i]))
            return false;
    return true;
}

/* --- the runs ------------------------------------------------------------------------ */

static void answer_all(struct journal_call *first)
{
    struct buf *out = &first->out;

    if (langgraph_refused_run(first))
        return;
    json_begin_array(out);
    for (const struct journal_call *call = first; call != NULL; call = call->then)
        langgraph_put_new_run(json_next(out), &call->journal);
    json_end_array(out);
    api_json(first->req, 200, out);
}

/* NULL when it was answered. */
static struct journal_call *read_item(struct store_query *query, yyjson_val *list, size_t i)
{
    const struct run_batch *batch = query->data;
    struct journal_call *call = journal_call_new(query->req, JOURNAL_SUBMIT, answer_all);

    if (call == NULL)
        return NULL;
    call->item = i;
    call->assistant = &batch->rows[i];
    if (!langgraph_read_run(call, yyjson_arr_get(list, i))) {
        journal_call_free(call);
        return NULL;
    }
    buf_done(&call->body); /* the body was copied for each run: up to a hundred copies */
    return call;
}

/* The first one, which owns the others; NULL when it was answered. */
static struct journal_call *read_items(struct store_query *query, yyjson_val *list)
{
    const struct run_batch *batch = query->data;
    struct journal_call *first = NULL, *last = NULL;

    for (size_t i = 0; i < batch->n; i++) {
        struct journal_call *call = read_item(query, list, i);

        if (call == NULL) {
            journal_call_free(first);
            return NULL;
        }
        if (first == NULL) {
            first = call;
        } else {
            last->then = call;
            last->journal.submit.more = &call->journal;
        }
        last = call;
    }
    return first;
}

/* Keeps @query until the runs are created. */
static bool make_all(struct store_query *query)
{
    const struct run_batch *batch = query->data;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    struct json json;

    struct journal_call *first = NULL;

    if (batch->n == 0)
        http_respond(query->req, 200, "application/json", STR("[]"));
    else if (json_read(&reader, http_body(query->req), &json, NULL) != 0)
        (void)api_no_memory(query->req); /* it was parsed once already, so only memory can be
                                            missing */
    else
        first = read_items(query, json.root);
    if (first != NULL) {
        first->found = query; /* owns the assistants' rows */
        journal_call_post(first);
    }
    return first != NULL;
}

void api_run_batch(struct http_request *req)
{
    struct store_query *query =
        store_query_new_with(req, STR(""), find_all, sizeof(struct run_batch));
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);

    if (query == NULL)
        return;
    query->answer = make_all;
    if (read_ids(query, &reader))
        store_query_post(query);
    else
        store_query_free(query);
}
