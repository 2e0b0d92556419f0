/* Several runs at once: all assistants are found first, then the runs are made one after
 * another, and the answer has them all. */
#include "api/assistants.h"

enum { MAX_BATCH = 100 };

/* What the look of a batch knows; its `out` is the answer. */
struct batch {
    struct str *ids;
    struct assistant_row *rows;
    char (*made)[KEY_UUID_CHARS]; /* ids of graphs' own */
    size_t n;
};

/* --- their assistants ---------------------------------------------------------------- */

static void find_all(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    const struct batch *batch = look->data;
    const struct app *app = look->loop->app;

    for (size_t i = 0; i < batch->n; i++) {
        const struct app_agent *a = assistants_find_graph(app, batch->ids[i]);

        if (a != NULL)
            batch->rows[i] = assistants_of_graph(app, a, batch->made[i]);
        else if (!assistants_look(look, store, batch->ids[i], &batch->rows[i]))
            return;
    }
}

static bool read_id(struct look *look, const yyjson_val *item, struct str *ret)
{
    struct str id = json_text(langgraph_member(item, "assistant_id", "assistantId"));

    if (id.n > 0)
        return arena_copy(&look->mem, id, ret) || api_no_memory(look->req);
    langgraph_refuse_assistant(look->req);
    return false;
}

static bool read_ids(struct look *look, struct json_reader *reader)
{
    struct batch *batch = look->data;
    struct json json;

    if (json_read(reader, http_body(look->req), &json, NULL) != 0 ||
        !yyjson_is_arr(json.root) || yyjson_arr_size(json.root) > MAX_BATCH) {
        http_respond_error(look->req, 422, "the body must be a list of at most %d runs",
                           MAX_BATCH);
        return false;
    }
    batch->n = yyjson_arr_size(json.root);
    batch->ids = arena_alloc(&look->mem, MAX_BATCH * sizeof(*batch->ids));
    batch->rows = arena_alloc(&look->mem, MAX_BATCH * sizeof(*batch->rows));
    batch->made = arena_alloc(&look->mem, MAX_BATCH * sizeof(*batch->made));
    if (batch->ids == NULL || batch->rows == NULL || batch->made == NULL)
        return api_no_memory(look->req);
    for (size_t i = 0; i < batch->n; i++)
        if (!read_id(look, yyjson_arr_get(json.root, i), &batch->ids[i]))
            return false;
    return true;
}

/* --- one after another --------------------------------------------------------------- */

static void answer_item(struct call *call);

static bool read_item(struct call *call, struct json_reader *reader)
{
    const struct batch *batch = call->found->data;
    struct buf *out = &call->found->out;
    struct json json;

    if (call->item == batch->n) {
        buf_char(out, ']');
        api_json(call->req, 200, out);
        return false;
    }
    if (json_read(reader, buf_text(&call->body), &json, NULL) != 0)
        return api_no_memory(call->req); /* it could be read before */
    call->assistant = &batch->rows[call->item];
    return langgraph_read_run(call, yyjson_arr_get(json.root, call->item));
}

/* Takes @found. */
static void make_item(struct http_request *req, struct look *found, size_t item)
{
    struct call *call = call_new(req, JOURNAL_SUBMIT, answer_item);

    if (call == NULL) {
        look_free(found);
        return;
    }
    call->found = found;
    call->item = item;
    call_read(call, LANGGRAPH_MAX_DEPTH, read_item);
}

static void answer_item(struct call *call)
{
    struct look *found = call->found;

    if (langgraph_refused_run(call))
        return;
    if (call->item > 0)
        buf_char(&found->out, ',');
    langgraph_put_new_run(&found->out, &call->journal);
    call->found = NULL;
    make_item(call->req, found, call->item + 1);
}

static void on_found(struct task *task)
{
    struct look *look = look_of(task);

    if (look->req == NULL || look->status != 200) {
        look_answer(task);
        return;
    }
    http_on_gone(look->req, NULL, NULL);
    buf_char(&look->out, '[');
    make_item(look->req, look, 0);
}

void api_run_batch(struct http_request *req, void *arg)
{
    struct look *look = look_new_with(req, STR(""), find_all, sizeof(struct batch));
    struct json_reader reader;

    (void)arg;
    if (look == NULL)
        return;
    look->task.done = on_found;
    json_reader_init(&reader, SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    if (read_ids(look, &reader))
        look_post(look);
    else
        look_free(look);
    json_reader_done(&reader);
}
