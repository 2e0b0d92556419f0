/* Assistants are made and changed.  Each change is a version, and any of them can be made the
 * one that counts; those that graphs have by themselves stay as they are. */
#include "api/langgraph/assistants.h"

#include "api/admit.h"
#include "base/error.h"
#include "jobs/merge.h"

enum { MAX_NAME = 200 };

/* What is to become of an assistant; absent members stay as they are. */
struct revision {
    struct assistant_row row; /* in and out */
    bool if_absent;           /* CREATE: one that is there is fine */
};

static void answer_changed(struct journal_call *call)
{
    const struct revision *c = call->journal.data;

    if (journal_call_refused(call))
        return;
    assistants_put(&call->out, &c->row, (struct selection){ 0 });
    api_json(call->req, 200, &call->out);
}

static int write_new(struct journal_request *req,
                     struct store *store,
                     int64_t now,
                     struct error *why)
{
    struct revision *c = req->data;
    struct assistant_row there;
    int64_t version = 0;
    int code = store_assistant_versions(store, c->row.id, &version, why);

    if (code == 0 && version > 0 && c->if_absent) {
        code = assistants_find(store, c->row.id, req->reach, &req->mem, &there, why);
        c->row = code == 0 ? there : c->row;
        return code;
    }
    if (code == 0 && version > 0)
        return error_set(why, ERR_REFUSED, "Assistant already exists");
    c->row.version = 1;
    c->row.created = c->row.updated = now;
    return code == 0 ? store_assistant_insert(store, &c->row, why) : code;
}

/* @over above @under, in the request's memory. */
static int merge(struct journal_request *req,
                 struct str under,
                 struct str over,
                 struct str *ret)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    merge_objects(&b, under, over);
    int code = b.error == 0 && arena_copy(&req->mem, buf_text(&b), ret) ? 0 : ERR_NOMEM;
    buf_done(&b);
    return code;
}

static int write_patch(struct journal_request *req,
                       struct store *store,
                       int64_t now,
                       struct error *why)
{
    struct revision *c = req->data;
    struct assistant_row row;
    const struct assistant_row *over = &c->row;
    int64_t version = 0;
    int code = assistants_find(store, c->row.id, req->reach, &req->mem, &row, why);

    if (code == 0)
        code = store_assistant_versions(store, c->row.id, &version, why);
    if (code == 0 && !str_absent(over->metadata))
        code = merge(req, row.metadata, over->metadata, &row.metadata);
    if (code != 0)
        return code;
    row.graph = str_absent(over->graph) ? row.graph : over->graph;
    row.name = str_absent(over->name) ? row.name : over->name;
    row.description = str_absent(over->description) ? row.description : over->description;
    row.config = str_absent(over->config) ? row.config : over->config;
    row.context = str_absent(over->context) ? row.context : over->context;
    row.version = version + 1;
    row.updated = now;
    c->row = row;
    return store_assistant_insert(store, &row, why);
}

static int write_latest(struct journal_request *req,
                        struct store *store,
                        int64_t now,
                        struct error *why)
{
    struct revision *c = req->data;
    struct assistant_row row;
    int code = assistants_find(store, c->row.id, req->reach, &req->mem, &row, why);

    (void)now;
    if (code == 0)
        code = store_assistant_choose(store, row.id, c->row.version, why);
    return code == 0 ? assistants_find(store, row.id, req->reach, &req->mem, &c->row, why)
                     : code;
}

static bool fail(struct journal_call *call, const char *what)
{
    http_respond_error(call->req, 422, "%s", what);
    return false;
}

/* An object as JSON, absent when it is not given. */
static bool read_object(struct journal_call *call, const yyjson_val *value, struct str *ret)
{
    if (!json_is_null(value) && !yyjson_is_obj((yyjson_val *)(uintptr_t)value))
        return fail(call, "config, context and metadata must be objects");
    return langgraph_keep_json(&call->journal.mem, value, ret) || api_no_memory(call->req);
}

/* What may be said of one, new or not. */
static bool read_members(struct journal_call *call,
                         const yyjson_val *body,
                         struct assistant_row *row)
{
    struct arena *mem = &call->journal.mem;
    struct str graph = json_text(langgraph_member(body, "graph_id", "graphId"));
    const struct app_agent *a =
        str_absent(graph) ? NULL : assistants_find_graph(call->loop->app, graph);
    struct str name = json_text(json_at(body, "name"));

    if (!str_absent(graph) && (a == NULL || !str_eq(a->name, graph))) {
        http_respond_error(call->req, 404, "there is no graph '%.*s'",
                           STR_ARG(str_head(graph, 80)));
        return false;
    }
    if (a != NULL && !api_may_use_agent(call->req, graph))
        return false;
    if (name.n > MAX_NAME)
        return fail(call, "\"name\" must be at most 200 bytes");
    return read_object(call, json_at(body, "config"), &row->config) &&
           read_object(call, json_at(body, "context"), &row->context) &&
           read_object(call, json_at(body, "metadata"), &row->metadata) &&
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
    struct revision *c = call->journal.data;
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
    if (assistants_find_graph(call->loop->app, json_text(id)) != NULL) {
        http_respond_error(call->req, 409, "Assistant already exists");
        return false;
    }
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
    http_respond_error(
        req, 409, "the assistant that a graph has by itself cannot be changed: make another");
    return false;
}

static bool read_id(struct journal_call *call)
{
    struct revision *c = call->journal.data;

    return assistants_may_change(call->req) &&
           (arena_copy(&call->journal.mem, http_param(call->req, "assistant"), &c->row.id) ||
            api_no_memory(call->req));
}

static bool read_patch(struct journal_call *call, struct json_reader *reader)
{
    struct revision *c = call->journal.data;
    struct json j;

    return api_read_body(call->req, reader, buf_text(&call->body), &j) && read_id(call) &&
           read_members(call, j.root, &c->row);
}

static bool read_latest(struct journal_call *call, struct json_reader *reader)
{
    struct revision *c = call->journal.data;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j) || !read_id(call))
        return false;
    c->row.version = json_int(json_at(j.root, "version"), 0);
    return c->row.version > 0 || fail(call, "\"version\" must be a whole number above 0");
}

static void change(struct http_request *req,
                   journal_write_cb write,
                   bool (*read)(struct journal_call *, struct json_reader *),
                   void (*answer)(struct journal_call *))
{
    struct journal_call *call =
        journal_call_new_write(req, write, sizeof(struct revision), answer);

    if (call == NULL)
        return;
    call->journal.reach = &call->token->reach;
    journal_call_read(call, ASSISTANT_MAX_DEPTH, read);
}

void api_assistant_create(struct http_request *req, void *arg)
{
    (void)arg;
    change(req, write_new, read_new, answer_changed);
}

void api_assistant_patch(struct http_request *req, void *arg)
{
    (void)arg;
    change(req, write_patch, read_patch, answer_changed);
}

void api_assistant_latest(struct http_request *req, void *arg)
{
    (void)arg;
    change(req, write_latest, read_latest, answer_changed);
}
