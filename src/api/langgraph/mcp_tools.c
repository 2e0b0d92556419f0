/* MCP's tools: their list, and a call of one.
 *
 *     tools/list ──▶ assistants (pool) ──▶ a worker of each graph says its schema ──▶ answered
 *     tools/call ──▶ the assistant of that name (pool) ──▶ a run without a thread ──▶ its
 *                                                                                     result
 *
 * For a caller whom the project's own handlers have authenticated, they are asked whether it
 * may read each assistant of the list, and create the run. */
#include "api/langgraph/mcp.h"

#include "api/admit.h"
#include "api/langgraph/ask.h"
#include "api/langgraph/assistants.h"
#include "api/langgraph/authorize.h"
#include "auth/auth_filter.h"
#include "auth/permit.h"
#include "base/error.h"
#include "base/json_format.h"
#include "companion/asker.h"
#include "companion/companion.h"

enum { PAGE = 100, MAX_SCHEMA_MS = 30000 /* less than clients wait for the list */ };

/* --- the list: assistants ----------------------------------------------------------------- */

struct tool {
    struct str name, title, description; /* description: absent: none */
    struct str id, metadata, graph, config;
    bool is_hidden;            /* the project's handlers say so */
    struct str schema;         /* JSON; absent: it is left out, for its graph has none */
    struct journal_call *call; /* under way; asks a worker for the schema */
};

struct tool_list {
    struct store_query *query;
    struct tool tools[PAGE];
    size_t n;
    size_t first, next; /* assistants that are passed over; behind the last of this page */
    size_t n_seen;
    bool has_more;
    struct ask ask; /* of the project's handlers */
    bool is_asking;
    size_t n_asked; /* calls under way */
    bool no_memory;
};

static bool is_known(const struct tool_list *list, struct str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->tools[i].name, name))
            return true;
    return false;
}

static bool fill_tool(struct arena *mem,
                      struct tool *tool,
                      struct str name,
                      const struct assistant_row *row)
{
    return arena_copy(mem, name, &tool->name) && arena_copy(mem, row->name, &tool->title) &&
           arena_copy(mem, row->description, &tool->description) &&
           arena_copy(mem, row->id, &tool->id) &&
           arena_copy(mem, row->metadata, &tool->metadata) &&
           arena_copy(mem, row->graph, &tool->graph) &&
           arena_copy(mem, row->config, &tool->config);
}

static bool list_one(void *arg, const struct assistant_row *row)
{
    struct tool_list *list = arg;
    struct buf name LOCAL_BUF(SIZE_MAX / 4);

    if (list->n_seen++ < list->first)
        return true;
    list->has_more = list->n_seen > list->first + PAGE;
    if (list->has_more)
        return false;
    list->next = list->n_seen;
    mcp_put_name(&name, row->name);
    if (name.n == 0 || is_known(list, buf_text(&name)))
        return true;
    list->no_memory |= name.error != 0 || !fill_tool(&list->query->mem, &list->tools[list->n],
                                                     buf_text(&name), row);
    list->n++;
    return !list->no_memory;
}

static void run_list(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct tool_list *list = query->data;
    struct error why = { 0 };
    int code = assistants_visit(query, store, STR_NONE, list_one, list, &why);

    if (code == 0 && list->no_memory)
        code = error_set(&why, ERR_NOMEM, "out of memory");
    if (code != 0)
        store_query_broke(query, &why);
}

/* --- the list: schemas -------------------------------------------------------------------- */

static void put_tool(struct buf *b, const struct tool *tool)
{
    json_begin(b);
    json_add_str(b, "name", tool->name);
    json_add_str(b, "title", tool->title);
    if (str_empty(tool->description)) {
        json_add_parts(b, "description");
        buf_lit(b, "Tool based on the ");
        json_put_escaped(b, tool->title);
        buf_lit(b, " assistant");
        json_end_parts(b);
    } else {
        json_add_str(b, "description", tool->description);
    }
    json_add_raw(b, "inputSchema", tool->schema);
    json_format_plain(b, ",'annotations':{'readOnlyHint':false,'destructiveHint':false,"
                         "'idempotentHint':false,'openWorldHint':true}");
    json_end(b);
}

static void answer_list(struct tool_list *list)
{
    struct buf *out = &list->query->out;

    buf_clear(out);
    json_begin(out);
    json_add_array(out, "tools");
    for (size_t i = 0; i < list->n; i++)
        if (!str_absent(list->tools[i].schema))
            put_tool(json_next(out), &list->tools[i]);
    json_end_array(out);
    if (list->has_more) {
        json_add_parts(out, "nextCursor");
        buf_u64(out, list->next);
        json_end_parts(out);
    }
    json_end(out);
    if (out->error != 0 || list->no_memory)
        (void)api_no_memory(list->query->req);
    else
        mcp_answer(list->query->req, buf_text(out));
    store_query_free(list->query);
}

/* The client has disconnected. */
static void on_list_gone(struct http_request *req, void *data)
{
    struct tool_list *list = data;

    if (list->is_asking)
        asker_cancel(app_loop_of(req)->asker, &list->ask);
    for (size_t i = 0; i < list->n; i++)
        if (list->tools[i].call != NULL)
            journal_call_abandon(list->tools[i].call);
    store_query_free(list->query);
}

static bool keep_schema(struct tool_list *list, struct tool *tool, struct str schemas)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct buf schema LOCAL_BUF(SIZE_MAX / 4);
    struct json json;
    int code = json_read(&reader, schemas, &json, NULL);

    if (code != 0 || json_is_null(json_at(json.root, "input_schema")))
        return code != ERR_NOMEM;
    mcp_put_schema(&schema, json_at(json.root, "input_schema"));
    return schema.error == 0 && arena_copy(&list->query->mem, buf_text(&schema), &tool->schema);
}

static void on_schemas(struct journal_call *call)
{
    struct tool_list *list = call->data;
    struct tool *tool = &list->tools[call->item];
    struct str why;

    tool->call = NULL;
    if (ask_failed(call, &why) == 0 && !keep_schema(list, tool, call->journal.call.output))
        list->no_memory = true;
    if (--list->n_asked == 0)
        answer_list(list);
    else
        http_on_gone(list->query->req, on_list_gone, list); /* it was the call's */
}

/* False when it was answered. */
static bool make_call(struct tool_list *list, size_t i)
{
    struct tool *tool = &list->tools[i];
    struct buf params LOCAL_BUF(SIZE_MAX / 4);

    tool->schema = STR_NONE;
    if (tool->is_hidden)
        return true;
    if (!ask_is_possible(list->query->req, tool->graph)) {
        tool->schema = STR("{" JSON_LIT("type", "object") "}"); /* nobody knows its schema */
        return true;
    }
    tool->call = ask_new(list->query->req, tool->graph, "schemas", on_schemas);
    if (tool->call == NULL)
        return false;
    struct call_request *c = &tool->call->journal.call;
    tool->call->data = list;
    tool->call->item = i;
    c->keeps = true;
    c->wait_ms = c->wait_ms < MAX_SCHEMA_MS ? c->wait_ms : MAX_SCHEMA_MS;
    json_format(&params, "{'graph_id':%s,'config':%j}", tool->graph, tool->config);
    return (params.error == 0 &&
            arena_copy(&tool->call->journal.mem, buf_text(&params), &c->params)) ||
           api_no_memory(list->query->req);
}

static bool ask_schemas(struct store_query *query)
{
    struct tool_list *list = query->data;
    bool is_good = true;

    for (size_t i = 0; i < list->n && is_good; i++)
        is_good = make_call(list, i);
    for (size_t i = 0; i < list->n; i++) {
        struct journal_call *call = list->tools[i].call;

        if (call != NULL && !is_good) {
            journal_call_free(call);
        } else if (call != NULL) {
            journal_call_post(call);
            list->n_asked++;
        }
    }
    if (!is_good)
        return false;
    if (list->n_asked == 0)
        answer_list(list);
    else
        http_on_gone(query->req, on_list_gone, list);
    return true;
}

/* --- the list: what the caller may read --------------------------------------------------- */

static void take_results(struct tool_list *list, const yyjson_val *results)
{
    struct buf filters LOCAL_BUF(SIZE_MAX / 4);

    for (size_t i = 0; i < list->n; i++) {
        yyjson_val *result = yyjson_arr_get((yyjson_val *)(uintptr_t)results, i);
        bool is_filtered = !json_is_null(json_at(result, "filters"));

        buf_clear(&filters);
        if (is_filtered)
            json_put_value(&filters, json_at(result, "filters"));
        list->no_memory |= filters.error != 0;
        list->tools[i].is_hidden =
            json_is_null(result) || !json_is_null(json_at(result, "status")) ||
            (is_filtered && !auth_filter_lets(buf_text(&filters), list->tools[i].metadata));
    }
}

static void on_readable(struct ask *ask, struct str answer, const char *why)
{
    struct tool_list *list = container_of(ask, struct tool_list, ask);
    struct store_query *query = list->query;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct json json;

    list->is_asking = false;
    http_on_gone(query->req, NULL, NULL);
    if (str_absent(answer) || json_read(&reader, answer, &json, NULL) != 0) {
        http_set_header(query->req, "Retry-After", STR("1"));
        http_respond_error(query->req, 503, "%s",
                           str_absent(answer) ? why : "the handlers' answer cannot be read");
        store_query_free(query);
        return;
    }
    take_results(list, json_at(json.root, "results"));
    if (!ask_schemas(query))
        store_query_free(query);
}

static void put_reads(struct buf *b, const struct tool_list *list)
{
    json_add_const(b, "each", "true");
    json_add_array(b, "events");
    for (size_t i = 0; i < list->n; i++)
        json_format(json_next(b),
                    "{'resource':'assistants','action':'read','value':{'assistant_id':%s}}",
                    list->tools[i].id);
    json_end_array(b);
}

static bool ask_readable(struct store_query *query)
{
    struct tool_list *list = query->data;
    struct app_loop *l = app_loop_of(query->req);
    struct buf text LOCAL_BUF(SIZE_MAX / 4);

    if (!authorize_is_guest(query->req))
        return ask_schemas(query);
    json_begin(&text);
    authorize_put_user(&text, query->req);
    put_reads(&text, list);
    json_end(&text);
    if (text.error != 0)
        return api_no_memory(query->req);
    list->ask.answered = on_readable;
    list->is_asking = true;
    http_on_gone(query->req, on_list_gone, list);
    asker_ask(l->asker, &list->ask, buf_text(&text), companion_ask_ms(l->app->companion));
    return true;
}

void mcp_tools_list(struct http_request *req)
{
    struct mcp_message m LOCAL_MCP_MESSAGE;
    struct store_query *query =
        store_query_new_with(req, STR(""), run_list, sizeof(struct tool_list));
    struct tool_list *list = query != NULL ? query->data : NULL;
    int64_t cursor;

    if (query == NULL)
        return;
    (void)mcp_message_init(&m, http_body(req)); /* it was read before */
    list->query = query;
    if (str_number(json_text(json_at(m.params, "cursor")), &cursor) && cursor > 0)
        list->first = (size_t)cursor;
    query->answer = ask_readable;
    store_query_post(query);
}

/* --- a call ------------------------------------------------------------------------------- */

struct tool_search {
    struct store_query *query;
    struct str name;
    struct str id; /* of the assistant */
    size_t n;
    bool no_memory;
};

static bool search_one(void *arg, const struct assistant_row *row)
{
    struct tool_search *s = arg;
    struct buf name LOCAL_BUF(SIZE_MAX / 4);

    mcp_put_name(&name, row->name);
    s->no_memory |= name.error != 0;
    if (!str_eq(buf_text(&name), s->name))
        return !s->no_memory;
    s->n++;
    s->no_memory |= !arena_copy(&s->query->mem, row->id, &s->id);
    return !s->no_memory && s->n < 2;
}

static void run_tool_search(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct tool_search *s = query->data;
    struct error why = { 0 };
    int code = assistants_visit(query, store, STR_NONE, search_one, s, &why);

    if (code == 0 && s->no_memory)
        code = error_set(&why, ERR_NOMEM, "out of memory");
    if (code != 0)
        store_query_broke(query, &why);
}

/* The state at the run's end as text, or the graph's error. */
static void put_result(struct buf *b, struct str id, struct str result)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct buf text LOCAL_BUF(SIZE_MAX / 4);
    struct json json;
    yyjson_val *failure =
        json_read(&reader, result, &json, NULL) == 0 ? json_at(json.root, "__error__") : NULL;

    if (failure != NULL) {
        buf_str(&text, json_text(json_at(failure, "error")));
        buf_lit(&text, ": ");
        buf_str(&text, json_text(json_at(failure, "message")));
    }
    json_format(b, "{'jsonrpc':'2.0','id':%j,'result':{'content':[{'type':'text','text':%s}]",
                id, failure != NULL ? buf_text(&text) : result);
    if (failure != NULL)
        json_add_const(b, "isError", "true");
    buf_lit(b, "}}");
}

static void answer_call(struct journal_call *call)
{
    struct permit *permit = call->permit;
    struct mcp_message m LOCAL_MCP_MESSAGE;
    struct buf id LOCAL_BUF(SIZE_MAX / 4);

    if (langgraph_refused_run(call))
        return;
    call->permit = NULL;
    (void)mcp_message_init(&m, buf_text(&call->body)); /* it was read before */
    json_put_value(&id, m.id);
    langgraph_wait_as(call->req, permit, call->journal.row->id, false,
                      &(struct wait_form){ .id = buf_text(&id), .put = put_result });
}

static bool read_call(struct journal_call *call, struct json_reader *reader)
{
    struct json json;

    return api_read_body(call->req, reader, buf_text(&call->body), &json) &&
           langgraph_read_run(call, json.root);
}

static void call_tool(struct http_request *req, const struct assistant_row *row)
{
    struct permit *permit = NULL;
    struct journal_call *call = api_take_permit(req, &permit)
                                    ? journal_call_new(req, JOURNAL_SUBMIT, answer_call)
                                    : NULL;

    if (call == NULL) {
        permit_free(permit);
        return;
    }
    call->permit = permit;
    call->assistant = row;
    journal_call_read(call, LANGGRAPH_MAX_DEPTH, read_call);
}

static void run_tool(struct http_request *req)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    struct json json;

    if (json_read(&reader, http_body(req), &json, NULL) != 0)
        (void)api_no_memory(req); /* it was written by us */
    else
        langgraph_with_assistant(req, json_text(json_at(json.root, "assistant_id")), call_tool);
}

/* Makes the message the body of its run, beside its id, which the answer needs. */
static bool set_run(struct http_request *req, struct str assistant)
{
    struct mcp_message m LOCAL_MCP_MESSAGE;
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    (void)mcp_message_init(&m, http_body(req)); /* it was read before */
    yyjson_val *arguments = json_at(m.params, "arguments");
    json_begin(&body);
    json_add_value(&body, "id", m.id);
    json_add_str(&body, "assistant_id", assistant);
    json_key(&body, "input");
    if (json_is_null(arguments))
        buf_lit(&body, "{}");
    else
        json_put_value(&body, arguments);
    if (!json_is_null(json_at(m.params, "context")))
        json_add_value(&body, "context", json_at(m.params, "context"));
    json_end(&body);
    return body.error == 0 && http_set_body(req, buf_text(&body));
}

static bool answer_search(struct store_query *query)
{
    const struct tool_search *s = query->data;

    if (s->n == 1 && set_run(query->req, s->id))
        authorize_run(query->req, run_tool);
    else if (s->n == 1)
        (void)api_no_memory(query->req);
    else if (s->n == 0)
        mcp_refuse(query->req, MCP_BAD_PARAMS, "Unknown tool: %.*s",
                   STR_ARG(str_head(s->name, 130)));
    else
        mcp_refuse(query->req, MCP_BAD_PARAMS, "Multiple tools found with the same name.");
    return false;
}

void mcp_tools_call(struct http_request *req)
{
    struct mcp_message m LOCAL_MCP_MESSAGE;

    (void)mcp_message_init(&m, http_body(req)); /* it was read before */
    struct str name = json_text(json_at(m.params, "name"));
    if (str_empty(name)) {
        mcp_refuse(req, MCP_BAD_PARAMS, "tools/call needs the \"name\" of a tool");
        return;
    }
    struct store_query *query =
        store_query_new_with(req, STR(""), run_tool_search, sizeof(struct tool_search));
    struct tool_search *s = query != NULL ? query->data : NULL;
    if (query == NULL)
        return;
    s->query = query;
    query->answer = answer_search;
    if (arena_copy(&query->mem, name, &s->name)) {
        store_query_post(query);
        return;
    }
    store_query_free(query);
    (void)api_no_memory(req);
}
