/* Creates and changes assistants (journal/assistants.c); a graph's default assistant cannot be
 * changed. */
#include "api/langgraph/assistants.h"

#include "api/admit.h"
#include "base/error.h"
#include "base/json_merge.h"

enum { MAX_NAME = 200 };

static void answer_changed(struct journal_call *call)
{
    const struct assistant_request *c = &call->journal.assistant;

    if (journal_call_refused(call))
        return;
    assistants_put(&call->out, &c->row, (struct selection){ 0 });
    api_json(call->req, 200, &call->out);
}

static bool fail(struct journal_call *call, const char *what)
{
    return http_respond_error(call->req, 422, "%s", what);
}

/* An object as JSON, absent when it is not given. */
static bool read_object(struct journal_call *call, const yyjson_val *value, struct str *ret)
{
    if (!json_is_null(value) && !yyjson_is_obj((yyjson_val *)(uintptr_t)value))
        return fail(call, "config, context and metadata must be objects");
    return langgraph_keep_json(&call->journal.mem, value, ret) || api_no_memory(call->req);
}

/* What is given as `context` is in `config.configurable` too, and the other way round. */
static bool mirror_context(struct journal_call *call,
                           const yyjson_val *body,
                           struct assistant_row *row)
{
    struct arena *mem = &call->journal.mem;
    const yyjson_val *config = json_at(body, "config"), *context = json_at(body, "context");
    yyjson_val *configurable = json_at(config, "configurable");
    struct buf own LOCAL_BUF(SIZE_MAX / 4);

    if (!langgraph_one_context(call->req, config, context))
        return false;
    if (yyjson_obj_size(configurable) > 0)
        return langgraph_keep_json(mem, configurable, &row->context) ||
               api_no_memory(call->req);
    if (yyjson_obj_size((yyjson_val *)(uintptr_t)context) == 0)
        return true;
    json_begin(&own);
    json_key(&own, "configurable");
    json_put_value(&own, context);
    json_end(&own);
    return (own.error == 0 &&
            json_merge_copy(mem, row->config, buf_text(&own), &row->config) == 0) ||
           api_no_memory(call->req);
}

/* The members that a client may set, on create and on update. */
static bool read_members(struct journal_call *call,
                         const yyjson_val *body,
                         struct assistant_row *row)
{
    struct arena *mem = &call->journal.mem;
    struct str graph = json_text(langgraph_member(body, "graph_id", "graphId"));
    const struct app_agent *a =
        str_absent(graph) ? NULL : assistants_find_graph(call->loop->app, graph);
    struct str name = json_text(json_at(body, "name"));

    if (!str_absent(graph) && (a == NULL || !str_eq(a->name, graph)))
        return http_respond_error(call->req, 404, "there is no graph '%.*s'",
                                  STR_ARG(str_head(graph, 80)));
    if (a != NULL && !api_may_use_agent(call->req, graph))
        return false;
    if (name.n > MAX_NAME)
        return fail(call, "\"name\" must be at most 200 bytes");
    return read_object(call, json_at(body, "config"), &row->config) &&
           read_object(call, json_at(body, "context"), &row->context) &&
           read_object(call, json_at(body, "metadata"), &row->metadata) &&
           mirror_context(call, body, row) &&
           ((arena_copy(mem, graph, &row->graph) && arena_copy(mem, name, &row->name) &&
             arena_copy(mem, json_text(json_at(body, "description")), &row->description)) ||
            api_no_memory(call->req));
}

static struct str object_or_empty(struct str json)
{
    return str_absent(json) ? STR("{}") : json;
}

static bool read_new(struct journal_call *call, struct json_reader *reader)
{
    struct assistant_request *c = &call->journal.assistant;
    struct assistant_row *row = &c->row;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j) ||
        !read_members(call, j.root, row))
        return false;
    yyjson_val *id = langgraph_member(j.root, "assistant_id", "assistantId");
    if (str_absent(row->graph))
        return fail(call, "\"graph_id\" must be the name of a graph");
    if (!json_is_null(id) && !job_id_valid(json_text(id)))
        return fail(call, "\"assistant_id\" must be " JOB_ID_RULE);
    if (assistants_find_graph(call->loop->app, json_text(id)) != NULL)
        return http_respond_error(call->req, 409, "Assistant already exists");
    c->if_absent =
        str_is(json_text(langgraph_member(j.root, "if_exists", "ifExists")), "do_nothing");
    row->owner = str_absent(call->token->owner) ? STR("") : call->token->owner;
    row->config = object_or_empty(row->config);
    row->context = object_or_empty(row->context);
    row->metadata = object_or_empty(row->metadata);
    if (str_absent(row->name))
        row->name = STR("Untitled");
    return (json_is_null(id) ? langgraph_make_id(&call->journal.mem, &row->id)
                             : arena_copy(&call->journal.mem, json_text(id), &row->id)) ||
           api_no_memory(call->req);
}

bool assistants_may_change(struct http_request *req)
{
    if (assistants_find_graph(app_loop_of(req)->app, http_param(req, "assistant")) == NULL)
        return true;
    return http_respond_error(
        req, 409, "the assistant that a graph has by itself cannot be changed: make another");
}

static bool read_id(struct journal_call *call)
{
    struct assistant_request *c = &call->journal.assistant;

    return assistants_may_change(call->req) &&
           (arena_copy(&call->journal.mem, http_param(call->req, "assistant"), &c->row.id) ||
            api_no_memory(call->req));
}

static bool read_patch(struct journal_call *call, struct json_reader *reader)
{
    struct assistant_request *c = &call->journal.assistant;
    struct json j;

    return api_read_body(call->req, reader, buf_text(&call->body), &j) && read_id(call) &&
           read_members(call, j.root, &c->row);
}

static bool read_latest(struct journal_call *call, struct json_reader *reader)
{
    struct assistant_request *c = &call->journal.assistant;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j) || !read_id(call))
        return false;
    c->row.version = json_int(json_at(j.root, "version"), 0);
    return c->row.version > 0 || fail(call, "\"version\" must be a whole number above 0");
}

static void change(struct http_request *req,
                   enum journal_op op,
                   bool (*read)(struct journal_call *, struct json_reader *))
{
    struct journal_call *call = journal_call_new(req, op, answer_changed);

    if (call != NULL)
        journal_call_read(call, ASSISTANT_MAX_DEPTH, read);
}

void api_assistant_create(struct http_request *req)
{
    change(req, JOURNAL_ASSISTANT_CREATE, read_new);
}

void api_assistant_patch(struct http_request *req)
{
    change(req, JOURNAL_ASSISTANT_PATCH, read_patch);
}

void api_assistant_latest(struct http_request *req)
{
    change(req, JOURNAL_ASSISTANT_CHOOSE, read_latest);
}
