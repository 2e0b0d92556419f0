/* /assistants.  Every agent is a graph, and every graph has a default assistant, whose id is
 * derived from its name.  Clients create others; the store keeps all their versions.
 *
 * This file finds and renders an assistant, and asks a worker for the drawing and the schemas
 * of its graph. */
#include "api/langgraph/assistants.h"

#include "api/langgraph/ask.h"
#include "base/error.h"
#include "jobs/assistant_id.h"
#include "journal/assistants.h"

const char *const assistant_members[] = { "assistant_id", "graph_id",    "config",   "context",
                                          "created_at",   "updated_at",  "metadata", "version",
                                          "name",         "description", NULL };

/* --- rows ---------------------------------------------------------------------------- */

struct assistant_row assistants_of_graph(const struct app *app,
                                         const struct app_agent *a,
                                         char id[KEY_UUID_CHARS])
{
    struct str made = assistant_id_of(a->name, id) ? str_make(id, KEY_UUID_CHARS) : a->name;

    return (struct assistant_row){ .id = made,
                                   .owner = STR(""),
                                   .graph = a->name,
                                   .name = a->name,
                                   .description =
                                       a->description.n > 0 ? a->description : STR_NONE,
                                   .config = a->config,
                                   .context = a->context,
                                   .metadata = STR("{" JSON_LIT("created_by", "system") "}"),
                                   .version = 1,
                                   .created = app->started,
                                   .updated = app->started };
}

const struct app_agent *assistants_find_graph(const struct app *app, struct str id)
{
    const struct app_settings *now = app_settings(app);

    for (size_t i = 0; i < now->n_agents; i++)
        if (assistant_id_is(id, now->agents[i].name))
            return &now->agents[i];
    return NULL;
}

void assistants_put(struct buf *b, const struct assistant_row *row, struct selection select)
{
    struct shape s = { .b = b, .members = assistant_members, .select = select };

    json_begin(b);
    shape_text(&s, "assistant_id", row->id);
    shape_text(&s, "graph_id", row->graph);
    shape_json(&s, "config", row->config);
    shape_json(&s, "context", row->context);
    shape_time(&s, "created_at", row->created);
    shape_time(&s, "updated_at", row->updated);
    shape_json(&s, "metadata", row->metadata);
    shape_number(&s, "version", row->version);
    shape_text(&s, "name", row->name);
    shape_text(&s, "description", row->description);
    json_end(b);
}

bool assistants_read(struct store_query *query,
                     struct store *store,
                     struct str id,
                     struct assistant_row *ret)
{
    struct error why = { 0 };
    int code = assistant_find(store, id, store_query_job_scope(query), &query->mem, ret, &why);

    if (code != 0) {
        query->status = code == ERR_NOT_FOUND ? 404 : 500;
        buf_str(&query->out, str_of(why.text));
    }
    return code == 0;
}

void assistants_put_unknown(struct store_query *query)
{
    query->status = 404;
    buf_clear(&query->out);
    buf_lit(&query->out, "Assistant not found");
}

/* --- one assistant: a graph's default at once, others from the store ----------------- */

struct wanted_assistant {
    struct str id;
    bool is_of_path; /* else of a run that is to be made with it */
    struct assistant_row row;
    void (*then)(struct http_request *req, const struct assistant_row *row);
};

static void run_find(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct wanted_assistant *w = query->data;

    if (assistants_read(query, store, w->id, &w->row) || query->status != 404 || !w->is_of_path)
        return;
    assistants_put_unknown(query);
}

static bool answer_find(struct store_query *query)
{
    struct wanted_assistant *w = query->data;

    w->then(query->req, &w->row);
    return false;
}

void langgraph_with_assistant(struct http_request *req,
                              struct str id,
                              void (*then)(struct http_request *, const struct assistant_row *))
{
    const struct app *app = app_loop_of(req)->app;
    const struct app_agent *a = assistants_find_graph(app, id);
    char mem[KEY_UUID_CHARS];

    if (a != NULL) {
        struct assistant_row row = assistants_of_graph(app, a, mem);

        then(req, &row);
        return;
    }
    struct store_query *query =
        store_query_new_with(req, STR(""), run_find, sizeof(struct wanted_assistant));
    struct wanted_assistant *w = query != NULL ? query->data : NULL;
    if (query == NULL)
        return;
    if (!arena_copy(&query->mem, id, &w->id)) {
        store_query_free(query);
        (void)api_no_memory(req);
        return;
    }
    w->is_of_path = !str_absent(http_param(req, "assistant"));
    w->then = then;
    query->answer = answer_find;
    store_query_post(query);
}

static void answer_with(struct http_request *req, const struct assistant_row *row)
{
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    assistants_put(&out, row, (struct selection){ 0 });
    api_json(req, 200, &out);
}

void api_assistant(struct http_request *req)
{
    langgraph_with_assistant(req, http_param(req, "assistant"), answer_with);
}

/* --- answered by a worker ------------------------------------------------------------ */

/* Asks a worker with @params, and frees them. */
static void ask(struct http_request *req,
                const struct assistant_row *row,
                const char *name,
                struct buf *params)
{
    struct journal_call *call = ask_new(req, row->graph, name, ask_answer);

    if (call != NULL)
        call->journal.call.keeps = true;
    if (call != NULL && params->error == 0 &&
        arena_copy(&call->journal.mem, buf_text(params), &call->journal.call.params)) {
        journal_call_post(call);
    } else if (call != NULL) {
        (void)api_no_memory(req);
        journal_call_free(call);
    }
    buf_done(params);
}

/* What every question has: functions that make the graph get the config of its assistant. */
static void begin_params(struct buf *params, const struct assistant_row *row)
{
    buf_init(params, SIZE_MAX / 4);
    json_begin(params);
    json_add_str(params, "graph_id", row->graph);
    json_add_raw(params, "config", row->config);
}

/* xray is true, false or a depth. */
static void ask_graph(struct http_request *req, const struct assistant_row *row)
{
    struct str xray = http_query(req, "xray");
    struct buf params;
    int64_t depth;

    begin_params(&params, row);
    if (str_number(xray, &depth))
        json_add_int(&params, "xray", depth);
    else
        json_add_bool(&params, "xray", str_is(xray, "true"));
    json_end(&params);
    ask(req, row, "graph", &params);
}

void api_assistant_graph(struct http_request *req)
{
    langgraph_with_assistant(req, http_param(req, "assistant"), ask_graph);
}

static void ask_schemas(struct http_request *req, const struct assistant_row *row)
{
    struct buf params;

    begin_params(&params, row);
    json_end(&params);
    ask(req, row, "schemas", &params);
}

void api_assistant_schemas(struct http_request *req)
{
    langgraph_with_assistant(req, http_param(req, "assistant"), ask_schemas);
}

static void ask_subgraphs(struct http_request *req, const struct assistant_row *row)
{
    struct buf params;

    begin_params(&params, row);
    json_add_text(&params, "namespace", http_param(req, "namespace"));
    json_add_bool(&params, "recurse", langgraph_flag(req, "recurse"));
    json_end(&params);
    ask(req, row, "subgraphs", &params);
}

void api_assistant_subgraphs(struct http_request *req)
{
    langgraph_with_assistant(req, http_param(req, "assistant"), ask_subgraphs);
}
