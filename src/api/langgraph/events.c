#include "api/langgraph/events.h"

#include "api/langgraph/assistants.h"
#include "base/error.h"
#include "base/json_format.h"
#include "base/json_merge.h"

enum { MAX_DEPTH = 256, MAX_BATCH = 1000 };

#define MEMBERS_RUN                                                                         \
    "input command config context webhook interrupt_before interrupt_after stream_mode "    \
    "stream_subgraphs feedback_keys checkpoint checkpoint_id durability checkpoint_during " \
    "stream_resumable"

#define MEMBERS_CRON "schedule end_time metadata"

/* clang-format off: a table */
static const struct api_event table[] = {
    { "POST", "/threads", "threads", "create", FORM_PLAIN, SUBJECT_NEW_THREAD,
      "thread_id metadata if_exists ttl", NULL, NULL },
    { "POST", "/threads/search", "threads", "search", FORM_PLAIN, SUBJECT_NONE,
      "metadata values status limit offset", NULL, NULL },
    { "POST", "/threads/count", "threads", "search", FORM_PLAIN, SUBJECT_NONE,
      "metadata values status limit offset", NULL, NULL },
    { "POST", "/threads/prune", "threads", "delete", FORM_PLAIN, SUBJECT_THREADS, "thread_ids",
      NULL, NULL },
    { "GET", "/threads/{thread}", "threads", "read", FORM_PLAIN, SUBJECT_THREAD, "", NULL,
      NULL },
    { "PATCH", "/threads/{thread}", "threads", "update", FORM_PLAIN, SUBJECT_THREAD, "metadata",
      NULL, NULL },
    { "DELETE", "/threads/{thread}", "threads", "delete", FORM_PLAIN, SUBJECT_THREAD, "", NULL,
      NULL },
    { "POST", "/threads/{thread}/copy", "threads", "read", FORM_PLAIN, SUBJECT_THREAD, "", NULL,
      "create" },
    { "GET", "/threads/{thread}/state", "threads", "read", FORM_PLAIN, SUBJECT_THREAD, "", NULL,
      NULL },
    { "POST", "/threads/{thread}/state", "threads", "update", FORM_PLAIN, SUBJECT_THREAD, "",
      NULL, NULL },
    { "POST", "/threads/{thread}/state/checkpoint", "threads", "read", FORM_PLAIN,
      SUBJECT_THREAD, "", NULL, NULL },
    { "GET", "/threads/{thread}/state/{checkpoint}", "threads", "read", FORM_PLAIN,
      SUBJECT_THREAD, "", NULL, NULL },
    { "POST", "/threads/{thread}/history", "threads", "read", FORM_PLAIN, SUBJECT_THREAD, "",
      NULL, NULL },
    { "GET", "/threads/{thread}/stream", "threads", "read", FORM_PLAIN, SUBJECT_THREAD, "",
      NULL, NULL },
    { "GET", "/threads/{thread}/stream/events", "threads", "read", FORM_PLAIN, SUBJECT_THREAD,
      "", NULL, NULL },
    { "POST", "/threads/{thread}/stream/events", "threads", "read", FORM_PLAIN, SUBJECT_THREAD,
      "", NULL, NULL },
    { "POST", "/threads/{thread}/commands", "threads", "create_run", FORM_COMMAND,
      SUBJECT_THREAD, "", NULL, NULL },
    { "POST", "/threads/{thread}/runs", "threads", "create_run", FORM_RUN, SUBJECT_THREAD,
      MEMBERS_RUN, NULL, NULL },
    { "POST", "/threads/{thread}/runs/stream", "threads", "create_run", FORM_RUN,
      SUBJECT_THREAD, MEMBERS_RUN, NULL, NULL },
    { "POST", "/threads/{thread}/runs/wait", "threads", "create_run", FORM_RUN, SUBJECT_THREAD,
      MEMBERS_RUN, NULL, NULL },
    { "GET", "/threads/{thread}/runs", "threads", "search", FORM_PLAIN, SUBJECT_THREAD, "",
      NULL, NULL },
    { "GET", "/threads/{thread}/runs/{run}", "threads", "read", FORM_PLAIN, SUBJECT_THREAD, "",
      NULL, NULL },
    { "DELETE", "/threads/{thread}/runs/{run}", "threads", "delete", FORM_PLAIN, SUBJECT_THREAD,
      "", NULL, NULL },
    { "POST", "/threads/{thread}/runs/{run}/cancel", "threads", "update", FORM_PLAIN,
      SUBJECT_THREAD, "", NULL, NULL },
    { "GET", "/threads/{thread}/runs/{run}/join", "threads", "read", FORM_PLAIN, SUBJECT_THREAD,
      "", NULL, NULL },
    { "GET", "/threads/{thread}/runs/{run}/stream", "threads", "read", FORM_PLAIN,
      SUBJECT_THREAD, "", NULL, NULL },
    { "POST", "/runs", "threads", "create_run", FORM_RUN, SUBJECT_NONE, MEMBERS_RUN, NULL,
      NULL },
    { "POST", "/runs/stream", "threads", "create_run", FORM_RUN, SUBJECT_NONE, MEMBERS_RUN,
      NULL, NULL },
    { "POST", "/runs/wait", "threads", "create_run", FORM_RUN, SUBJECT_NONE, MEMBERS_RUN, NULL,
      NULL },
    { "POST", "/runs/batch", "threads", "create_run", FORM_BATCH, SUBJECT_NONE, MEMBERS_RUN,
      NULL, NULL },
    { "POST", "/runs/cancel", "threads", "update", FORM_PLAIN, SUBJECT_BODY_THREAD, "thread_id",
      NULL, NULL },
    { "GET", "/runs/{run}/stream", "threads", "read", FORM_PLAIN, SUBJECT_RUN, "", NULL, NULL },
    { "POST", "/assistants/search", "assistants", "search", FORM_PLAIN, SUBJECT_NONE,
      "graph_id metadata limit offset", NULL, NULL },
    { "POST", "/assistants/count", "assistants", "search", FORM_PLAIN, SUBJECT_NONE,
      "graph_id metadata limit offset", NULL, NULL },
    { "POST", "/assistants", "assistants", "create", FORM_PLAIN, SUBJECT_NEW_ASSISTANT,
      "assistant_id graph_id config context metadata name description if_exists", NULL, NULL },
    { "GET", "/assistants/{assistant}", "assistants", "read", FORM_PLAIN, SUBJECT_ASSISTANT, "",
      NULL, NULL },
    { "PATCH", "/assistants/{assistant}", "assistants", "update", FORM_PLAIN, SUBJECT_ASSISTANT,
      "graph_id config context metadata name description", NULL, NULL },
    { "DELETE", "/assistants/{assistant}", "assistants", "delete", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "POST", "/assistants/{assistant}/versions", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "POST", "/assistants/{assistant}/latest", "assistants", "update", FORM_PLAIN,
      SUBJECT_ASSISTANT, "version", NULL, NULL },
    { "GET", "/assistants/{assistant}/graph", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "GET", "/assistants/{assistant}/schemas", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "GET", "/assistants/{assistant}/subgraphs", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "GET", "/assistants/{assistant}/subgraphs/{namespace}", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "GET", "/.well-known/agent-card.json", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "GET", "/.well-known/agent.json", "assistants", "read", FORM_PLAIN, SUBJECT_ASSISTANT, "",
      NULL, NULL },
    { "GET", "/a2a/{assistant}", "assistants", "read", FORM_PLAIN, SUBJECT_ASSISTANT, "", NULL,
      NULL },
    { "POST", "/a2a/{assistant}", "assistants", "read", FORM_PLAIN, SUBJECT_ASSISTANT, "", NULL,
      NULL },
    { "GET", "/a2a/{assistant}/.well-known/agent-card.json", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "GET", "/a2a/{assistant}/.well-known/agent.json", "assistants", "read", FORM_PLAIN,
      SUBJECT_ASSISTANT, "", NULL, NULL },
    { "PUT", "/store/items", "store", "put", FORM_ITEM, SUBJECT_ITEM, "key value index ttl",
      "namespace", NULL },
    { "GET", "/store/items", "store", "get", FORM_QUERY, SUBJECT_NONE, "", "namespace", NULL },
    { "DELETE", "/store/items", "store", "delete", FORM_ITEM, SUBJECT_ITEM, "key", "namespace",
      NULL },
    { "POST", "/store/items/search", "store", "search", FORM_ITEM, SUBJECT_NONE,
      "filter limit offset query refresh_ttl", "namespace_prefix", NULL },
    { "POST", "/store/namespaces", "store", "list_namespaces", FORM_ITEM, SUBJECT_NONE,
      "suffix max_depth limit offset", "prefix", NULL },
    { "POST", "/runs/crons", "crons", "create", FORM_CRON, SUBJECT_NONE, MEMBERS_CRON, NULL,
      NULL },
    { "POST", "/threads/{thread}/runs/crons", "crons", "create", FORM_CRON, SUBJECT_THREAD,
      MEMBERS_CRON, NULL, NULL },
    { "POST", "/runs/crons/search", "crons", "search", FORM_CRONS, SUBJECT_NONE,
      "assistant_id thread_id limit offset metadata", NULL, NULL },
    { "POST", "/runs/crons/count", "crons", "search", FORM_CRONS, SUBJECT_NONE,
      "assistant_id thread_id metadata", NULL, NULL },
    { "GET", "/runs/crons/{cron}", "crons", "read", FORM_PLAIN, SUBJECT_CRON, "", NULL, NULL },
    { "PATCH", "/runs/crons/{cron}", "crons", "update", FORM_PATCH, SUBJECT_CRON,
      MEMBERS_CRON " enabled on_run_completed", NULL, NULL },
    { "DELETE", "/runs/crons/{cron}", "crons", "delete", FORM_PLAIN, SUBJECT_CRON, "", NULL,
      NULL },
    { "*", "*", "", "", FORM_CALLER, SUBJECT_NONE, "", NULL, NULL }, /* without a route */
    { "POST", "/ui/{graph}", "", "", FORM_CALLER, SUBJECT_NONE, "", NULL, NULL },
    { "POST", "/mcp", "assistants", "search", FORM_MCP, SUBJECT_NONE, "", NULL, NULL },
};
/* clang-format on */

const struct api_event *event_of_route(const struct http_route *route)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].pattern, route->pattern) == 0 &&
            strcmp(table[i].method, route->method) == 0)
            return &table[i];
    return NULL;
}

const struct api_event *event_of_command(void)
{
    return event_of_route(
        &(struct http_route){ .method = "POST", .pattern = "/threads/{thread}/commands" });
}

const struct api_event *event_of_run(bool has_thread)
{
    return event_of_route(&(struct http_route){
        .method = "POST", .pattern = has_thread ? "/threads/{thread}/runs" : "/runs" });
}

/* The next word of a list with blanks between. */
static bool next_word(struct str *rest, struct str *ret)
{
    if (rest->n == 0)
        return false;
    *ret = str_head(*rest, str_find(*rest, ' '));
    *rest = str_skip(*rest, ret->n + 1);
    return true;
}

/* --- values ----------------------------------------------------------------------------------
 */

/* Handlers expect metadata to be there, and everything else to be null. */
static void put_members(struct buf *b, const char *members, const yyjson_val *body)
{
    struct str name, rest = str_of(members);

    while (next_word(&rest, &name)) {
        const yyjson_val *value = json_get(body, name);

        json_put_key(b, name);
        if (json_is_null(value) && str_is(name, "metadata"))
            buf_lit(b, "{}");
        else
            json_put_value(b, value);
    }
}

static void put_path(struct buf *b, const struct http_request *req)
{
    struct str thread = http_param(req, "thread"), run = http_param(req, "run");
    struct str assistant = http_param(req, "assistant"), cron = http_param(req, "cron");

    if (!str_absent(cron))
        json_add_str(b, "cron_id", cron);
    if (!str_absent(thread))
        json_add_str(b, "thread_id", thread);
    if (!str_absent(run))
        json_add_str(b, "run_id", run);
    if (!str_absent(assistant))
        json_add_str(b, "assistant_id", assistant);
}

/* A run's config, with `configurable`, which handlers add to. */
static void put_config(struct buf *b, const yyjson_val *config)
{
    struct buf given LOCAL_BUF(SIZE_MAX / 4);

    if (yyjson_is_obj(json_at(config, "configurable"))) {
        json_put_value(b, config);
        return;
    }
    json_put_value(&given, config);
    json_merge(b, buf_text(&given), STR("{" JSON_CONST("configurable", "{}") "}"));
    if (given.error != 0)
        b->error = given.error;
}

/* The arguments of a run that are given, and its config. */
static void put_kwargs(struct buf *b, const char *members, const yyjson_val *body)
{
    struct str name, rest = str_of(members);

    json_begin(b);
    while (next_word(&rest, &name)) {
        const yyjson_val *value = json_get(body, name);

        if (json_is_null(value) || str_is(name, "config"))
            continue;
        json_put_key(b, name);
        json_put_value(b, value);
    }
    json_key(b, "config");
    put_config(b, json_at(body, "config"));
    json_end(b);
}

static void put_run(struct buf *b,
                    const struct http_request *req,
                    const char *members,
                    const yyjson_val *body)
{
    struct str strategy =
        json_text(langgraph_member(body, "multitask_strategy", "multitaskStrategy"));
    struct str absence = json_text(langgraph_member(body, "if_not_exists", "ifNotExists"));
    yyjson_val *metadata = json_at(body, "metadata");

    json_begin(b);
    json_add_text(b, "thread_id", http_param(req, "thread"));
    json_add_text(b, "assistant_id",
                  json_text(langgraph_member(body, "assistant_id", "assistantId")));
    json_add_const(b, "run_id", "null");
    json_add_lit(b, "status", "pending");
    json_key(b, "metadata");
    if (yyjson_is_obj(metadata))
        json_put_value(b, metadata);
    else
        buf_lit(b, "{}");
    json_add_const(b, "prevent_insert_if_inflight", "true");
    json_add_str(b, "multitask_strategy", str_absent(strategy) ? STR("enqueue") : strategy);
    json_add_str(b, "if_not_exists", str_absent(absence) ? STR("reject") : absence);
    json_add_int(b, "after_seconds",
                 json_int(langgraph_member(body, "after_seconds", "afterSeconds"), 0));
    json_key(b, "kwargs");
    put_kwargs(b, members, body);
    json_end(b);
}

/* The body of a cron's runs as a whole: what handlers change in it is stored. */
static void put_payload(struct buf *b, enum event_form form, const yyjson_val *body)
{
    struct buf given LOCAL_BUF(SIZE_MAX / 4);
    struct buf config LOCAL_BUF(SIZE_MAX / 4);

    if (form == FORM_PATCH) {
        json_put_value(b, body);
        return;
    }
    json_put_value(&given, body);
    json_begin(&config);
    json_key(&config, "config");
    put_config(&config, json_at(body, "config"));
    json_end(&config);
    json_merge(b, buf_text(&given), buf_text(&config));
    if (given.error != 0 || config.error != 0)
        b->error = ERR_NOMEM;
}

static void put_ns_of_query(struct buf *b, struct str text)
{
    json_begin_array(b);
    while (text.n > 0) {
        struct str label = str_head(text, str_find(text, '.'));

        json_put_str(json_next(b), label);
        text = str_skip(text, label.n + 1);
    }
    json_end_array(b);
}

static void put_value(const struct api_event *e,
                      const struct http_request *req,
                      const yyjson_val *body,
                      struct buf *b)
{
    if (e->form == FORM_RUN) {
        put_run(b, req, e->members, body);
        return;
    }
    json_begin(b);
    put_path(b, req);
    if (e->form == FORM_QUERY) {
        json_key(b, "namespace");
        put_ns_of_query(b, http_query(req, "namespace"));
        json_add_text(b, "key", http_query(req, "key"));
    } else if (e->form == FORM_ITEM) {
        json_key(b, "namespace");
        json_put_value(b, json_get(body, str_of(e->ns)));
    } else if (e->form == FORM_CRON || e->form == FORM_PATCH) {
        json_key(b, "payload");
        put_payload(b, e->form, body);
    }
    put_members(b, e->members, body);
    json_end(b);
}

static void begin_event(struct buf *out, const char *resource, const char *action)
{
    json_begin(json_next(out));
    json_add_str(out, "resource", str_of(resource));
    json_add_str(out, "action", str_of(action));
    json_key(out, "value");
}

/* --- commands of the thread-scoped protocol --------------------------------------------------
 */

static const char *action_of_command(const yyjson_val *body)
{
    struct str method = json_text(json_at(body, "method"));

    if (str_is(method, "run.start") || str_is(method, "input.respond") ||
        str_is(method, "input.inject") || str_is(method, "state.fork"))
        return "create_run";
    return "read";
}

static void put_command(const struct http_request *req, const yyjson_val *body, struct buf *out)
{
    const char *action = action_of_command(body);

    begin_event(out, "threads", action);
    if (strcmp(action, "create_run") == 0) {
        put_run(out, req, MEMBERS_RUN, json_at(body, "params"));
    } else {
        json_begin(out);
        put_path(out, req);
        json_end(out);
    }
    json_end(out);
}

/* --- crons and MCP ---------------------------------------------------------------------------
 */

static void put_thread(struct buf *out, struct str thread)
{
    begin_event(out, "threads", str_absent(thread) ? "search" : "read");
    json_begin(out);
    if (!str_absent(thread))
        json_add_str(out, "thread_id", thread);
    json_add_const(out, "metadata", "{}");
    json_end(out);
    json_end(out);
}

/* A cron may be used when its thread may be. */
static void put_threads(const struct api_event *e,
                        const struct http_request *req,
                        const yyjson_val *body,
                        struct buf *out)
{
    if (e->form == FORM_CRONS)
        put_thread(out, json_text(langgraph_member(body, "thread_id", "threadId")));
    else if (e->form == FORM_CRON && !str_absent(http_param(req, "thread")))
        put_thread(out, http_param(req, "thread"));
}

/* Tools are assistants; other methods need no more than a caller who is known. */
static void put_message(const yyjson_val *body, struct buf *out)
{
    struct str method = json_text(json_at(body, "method"));

    if (!str_is(method, "tools/list") && !str_is(method, "tools/call"))
        return;
    begin_event(out, "assistants", "search");
    json_format(out, "{'graph_id':null,'metadata':{},'limit':%d,'offset':0}",
                str_is(method, "tools/list") ? 100 : 1000);
    json_end(out);
}

/* --- events ----------------------------------------------------------------------------------
 */

static bool read_body(const struct http_request *req,
                      struct json_reader *reader,
                      struct json *ret)
{
    *ret = (struct json){ 0 };
    return http_body(req).n == 0 || json_read(reader, http_body(req), ret, NULL) == 0;
}

static void put_batch(const struct api_event *e,
                      const struct http_request *req,
                      const yyjson_val *list,
                      struct buf *out)
{
    size_t n = 0;

    json_each(body, list) {
        if (n++ == MAX_BATCH)
            break;
        begin_event(out, e->resource, e->action);
        put_run(out, req, e->members, body);
        json_end(out);
    }
}

/* The id in a RunCreate or a command, unless it is a graph's default assistant. */
static struct str assistant_in(const struct http_request *req, const yyjson_val *body)
{
    struct http_request *r = (struct http_request *)(uintptr_t)req;
    struct str id = json_text(langgraph_member(body, "assistant_id", "assistantId"));

    return !str_absent(id) && assistants_find_graph(app_loop_of(r)->app, id) == NULL ? id
                                                                                     : STR_NONE;
}

static const yyjson_val *run_in(const struct api_event *e, const yyjson_val *body)
{
    return e->form == FORM_RUN || e->form == FORM_CRON ? body
           : e->form == FORM_COMMAND && *action_of_command(body) == 'c'
               ? json_at(body, "params")
               : NULL;
}

struct str event_assistant(const struct api_event *e,
                           struct http_request *req,
                           struct arena *mem)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct str ret = STR_NONE;
    struct json json;

    if (read_body(req, &reader, &json) && run_in(e, json.root) != NULL)
        (void)arena_copy(mem, assistant_in(req, run_in(e, json.root)), &ret); /* then none is
                                                                                 found */
    return ret;
}

bool event_put(const struct api_event *e, struct http_request *req, struct buf *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;

    if (!read_body(req, &reader, &json) && e->form != FORM_MCP && e->form != FORM_CALLER)
        return false;
    json_begin_array(out);
    if (e->form == FORM_CALLER) {
        json_end_array(out);
        return true;
    }
    if (e->form == FORM_MCP) {
        put_message(json.root, out);
    } else if (e->form == FORM_BATCH) {
        put_batch(e, req, json.root, out);
    } else if (e->form == FORM_COMMAND) {
        put_command(req, json.root, out);
    } else {
        begin_event(out, e->resource, e->action);
        put_value(e, req, json.root, out);
        json_end(out);
    }
    if (e->then != NULL) {
        begin_event(out, e->resource, e->then);
        buf_lit(out, "{" JSON_CONST("metadata", "{}") "}}");
    }
    put_threads(e, req, json.root, out);
    const yyjson_val *run = run_in(e, json.root);
    struct str assistant = run != NULL ? assistant_in(req, run) : STR_NONE;
    if (!str_absent(assistant)) {
        begin_event(out, "assistants", "read");
        json_begin(out);
        json_add_str(out, "assistant_id", assistant);
        json_end(out);
        json_end(out);
    }
    json_end_array(out);
    return true;
}

/* --- back into the body ----------------------------------------------------------------------
 */

/* A body with the arguments and metadata of @value. */
static void put_run_back(struct buf *out,
                         const yyjson_val *body,
                         const yyjson_val *arguments,
                         const yyjson_val *metadata)
{
    bool has_metadata =
        yyjson_obj_size((yyjson_val *)(uintptr_t)metadata) > 0 ||
        (yyjson_is_obj((yyjson_val *)(uintptr_t)metadata) && json_at(body, "metadata") != NULL);
    struct buf under LOCAL_BUF(SIZE_MAX / 4);
    struct buf over LOCAL_BUF(SIZE_MAX / 4);

    json_put_value(&under, body);
    json_begin(&over);
    json_each_member(key, one, arguments) {
        if (has_metadata && str_is(json_text(key), "metadata"))
            continue; /* a cron's are in its payload as well */
        json_put_key(&over, json_text(key));
        json_put_value(&over, one);
    }
    if (has_metadata)
        json_add_value(&over, "metadata", metadata);
    json_end(&over);
    json_merge(out, buf_text(&under), buf_text(&over));
    if (under.error != 0 || over.error != 0)
        out->error = ERR_NOMEM;
}

static void put_plain_back(const struct api_event *e,
                           const yyjson_val *body,
                           const yyjson_val *value,
                           struct buf *out)
{
    struct str name, rest = str_of(e->members);
    struct buf under LOCAL_BUF(SIZE_MAX / 4);
    struct buf over LOCAL_BUF(SIZE_MAX / 4);

    json_put_value(&under, body);
    json_begin(&over);
    while (next_word(&rest, &name)) {
        const yyjson_val *one = json_get(value, name);

        if (json_is_null(one))
            continue;
        json_put_key(&over, name);
        json_put_value(&over, one);
    }
    if (e->form == FORM_ITEM && !json_is_null(json_at(value, "namespace"))) {
        json_put_key(&over, str_of(e->ns));
        json_put_value(&over, json_at(value, "namespace"));
    }
    json_end(&over);
    json_merge(out, buf_text(&under), buf_text(&over));
    if (under.error != 0 || over.error != 0)
        out->error = ERR_NOMEM;
}

static void put_batch_back(const yyjson_val *list, const yyjson_val *results, struct buf *out)
{
    size_t n = 0;

    json_begin_array(out);
    json_each(body, list) {
        yyjson_val *result = yyjson_arr_get((yyjson_val *)(uintptr_t)results, n++);
        yyjson_val *value = json_at(result, "value");

        put_run_back(json_next(out), body, json_at(value, "kwargs"),
                     json_at(value, "metadata"));
    }
    json_end_array(out);
}

static void put_command_back(const yyjson_val *body, const yyjson_val *value, struct buf *out)
{
    struct buf under LOCAL_BUF(SIZE_MAX / 4);
    struct buf over LOCAL_BUF(SIZE_MAX / 4);

    json_put_value(&under, body);
    json_begin(&over);
    json_key(&over, "params");
    put_run_back(&over, json_at(body, "params"), json_at(value, "kwargs"),
                 json_at(value, "metadata"));
    json_end(&over);
    json_merge(out, buf_text(&under), buf_text(&over));
    if (under.error != 0 || over.error != 0)
        out->error = ERR_NOMEM;
}

void event_put_body(const struct api_event *e,
                    struct http_request *req,
                    const yyjson_val *results,
                    struct buf *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    const yyjson_val *value =
        json_at(yyjson_arr_get_first((yyjson_val *)(uintptr_t)results), "value");
    struct json json;

    if (!read_body(req, &reader, &json) || value == NULL)
        return;
    if (e->form == FORM_BATCH)
        put_batch_back(json.root, results, out);
    else if (e->form == FORM_COMMAND && run_in(e, json.root) != NULL)
        put_command_back(json.root, value, out);
    else if (e->form == FORM_RUN)
        put_run_back(out, json.root, json_at(value, "kwargs"), json_at(value, "metadata"));
    else if (e->form == FORM_CRON ||
             (e->form == FORM_PATCH && yyjson_obj_size(json.root) > 0)) /* else it is refused */
        put_run_back(out, json.root, json_at(value, "payload"), json_at(value, "metadata"));
    else if (e->form == FORM_ITEM || e->form == FORM_CRONS ||
             (e->form == FORM_PLAIN && e->members[0] != '\0'))
        put_plain_back(e, json.root, value, out);
}
