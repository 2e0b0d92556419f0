/* /assistants: every agent is a graph, and every graph has an assistant by itself, whose id is
 * made of its name; others are made by clients, and lie in the store in all their versions.
 * What a graph looks like, a worker is asked. */
#include "api/ask.h"
#include "api/langgraph.h"

#include "api/admit.h"
#include "base/error.h"
#include "base/json_match.h"
#include "dialect/render.h"
#include "jobs/assistant_id.h"
#include "jobs/merge.h"
#include "jobs/reach.h"

enum { DEFAULT_LIST = 10, MAX_LIST = 1000, MAX_SCAN = 20000, MAX_DEPTH = 64, MAX_NAME = 200 };

static const char *const members[] = { "assistant_id", "graph_id",    "config",   "context",
                                       "created_at",   "updated_at",  "metadata", "version",
                                       "name",         "description", NULL };

/* --- rows ---------------------------------------------------------------------------- */

/* The one that a graph has by itself; @id is its memory. */
static struct assistant_row row_of_graph(const struct app *app,
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
                                   .config = STR("{}"),
                                   .context = STR("{}"),
                                   .metadata = STR("{\"created_by\":\"system\"}"),
                                   .version = 1,
                                   .created = app->started,
                                   .updated = app->started };
}

static const struct app_agent *find_graph(const struct app *app, struct str id)
{
    const struct app_settings *now = app_settings(app);

    for (size_t i = 0; i < now->n_agents; i++)
        if (assistant_id_is(id, now->agents[i].name))
            return &now->agents[i];
    return NULL;
}

static bool copy_row(struct arena *mem,
                     const struct assistant_row *from,
                     struct assistant_row *to)
{
    *to = *from;
    return arena_copy(mem, from->id, &to->id) && arena_copy(mem, from->owner, &to->owner) &&
           arena_copy(mem, from->graph, &to->graph) && arena_copy(mem, from->name, &to->name) &&
           arena_copy(mem, from->description, &to->description) &&
           arena_copy(mem, from->config, &to->config) &&
           arena_copy(mem, from->context, &to->context) &&
           arena_copy(mem, from->metadata, &to->metadata);
}

static bool is_visible(const struct reach *reach, const struct assistant_row *row)
{
    return reach_includes(reach, row->id, row->owner.n > 0 ? row->owner : STR_NONE);
}

struct finding {
    struct arena *mem;
    const struct reach *reach;
    struct assistant_row *ret;
    int code;
};

static int on_found(void *arg, const struct assistant_row *row)
{
    struct finding *f = arg;

    if (!is_visible(f->reach, row))
        return 1;
    f->code = copy_row(f->mem, row, f->ret) ? 0 : ERR_NOMEM;
    return 1;
}

/* One that was made, if the caller may see it.  ERR_NOT_FOUND. */
static int find_made(struct store *store,
                     struct str id,
                     const struct reach *reach,
                     struct arena *mem,
                     struct assistant_row *ret,
                     struct error *why)
{
    struct finding f = { mem, reach, ret, ERR_NOT_FOUND };
    int code = store_assistant(store, id, on_found, &f, why);

    if (code == 0 && f.code == ERR_NOT_FOUND)
        return error_set(why, ERR_NOT_FOUND,
                         "No assistant found for \"%.*s\". Make sure the "
                         "assistant ID is for a valid assistant or a valid graph ID.",
                         STR_ARG(str_head(id, 80)));
    return code != 0 ? code : f.code;
}

/* --- shapes ------------------------------------------------------------------------- */

static void put_value(struct buf *b, size_t member, const struct assistant_row *row)
{
    const struct str texts[] = { row->id,   row->graph,      row->config,   row->context,
                                 STR_NONE,  STR_NONE,        row->metadata, STR_NONE,
                                 row->name, row->description };

    if (member == 4 || member == 5)
        api_put_time(b, member == 4 ? row->created : row->updated);
    else if (member == 7)
        buf_i64(b, row->version);
    else if (member == 2 || member == 3 || member == 6)
        buf_str(b, texts[member]);
    else
        json_put_str_or_null(b, texts[member]);
}

static void put_assistant(struct buf *b,
                          const struct assistant_row *row,
                          struct selection select)
{
    size_t n = 0;

    buf_char(b, '{');
    for (size_t i = 0; members[i] != NULL; i++) {
        if (select.bits != 0 && (select.bits & 1u << i) == 0)
            continue;
        if (n++ > 0)
            buf_char(b, ',');
        json_put_str(b, str_of(members[i]));
        buf_char(b, ':');
        put_value(b, i, row);
    }
    buf_char(b, '}');
}

/* --- one: a graph's own at once, another from the store ------------------------------------
 */

struct wanted {
    struct str id;
    struct assistant_row row;
    void (*then)(struct http_request *req, const struct assistant_row *row);
};

static void run_find(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct wanted *w = look->data;
    struct error why = { 0 };
    int code = find_made(store, w->id, look_reach(look), &look->mem, &w->row, &why);

    if (code != 0) {
        look->status = code == ERR_NOT_FOUND ? 404 : 500;
        buf_str(&look->out, str_of(why.text));
    }
}

static void on_looked(struct task *task)
{
    struct look *look = look_of(task);
    struct wanted *w = look->data;

    if (look->req == NULL || look->status != 200) {
        look_answer(task);
        return;
    }
    http_on_gone(look->req, NULL, NULL);
    w->then(look->req, &w->row);
    look_free(look);
}

void langgraph_with_assistant(struct http_request *req,
                              struct str id,
                              void (*then)(struct http_request *, const struct assistant_row *))
{
    const struct app *app = app_loop_of(req)->app;
    const struct app_agent *a = find_graph(app, id);
    char mem[KEY_UUID_CHARS];

    if (a != NULL) {
        struct assistant_row row = row_of_graph(app, a, mem);

        then(req, &row);
        return;
    }
    struct look *look = look_new_with(req, STR(""), run_find, sizeof(struct wanted));
    struct wanted *w = look != NULL ? look->data : NULL;
    if (look == NULL)
        return;
    if (!arena_copy(&look->mem, id, &w->id)) {
        look_free(look);
        (void)api_no_memory(req);
        return;
    }
    w->then = then;
    look->task.done = on_looked;
    look_post(look);
}

static void answer_with(struct http_request *req, const struct assistant_row *row)
{
    struct buf out;

    buf_init(&out, SIZE_MAX / 4);
    put_assistant(&out, row, (struct selection){ 0 });
    api_json(req, 200, &out);
    buf_done(&out);
}

void api_assistant(struct http_request *req, void *arg)
{
    (void)arg;
    langgraph_with_assistant(req, http_param(req, "assistant"), answer_with);
}

/* --- many --------------------------------------------------------------------------- */

struct search {
    struct look *look;
    struct str id;                    /* its versions; absent: assistants */
    struct str metadata, graph, name; /* absent: any */
    struct selection select;
    size_t limit, offset;
    bool counts;
    struct json_reader one, other;
    size_t n, n_seen;
};

static bool fits(struct search *s, const struct assistant_row *row)
{
    struct json whole, part;

    return (str_absent(s->graph) || str_eq(s->graph, row->graph)) &&
           (str_absent(s->name) || langgraph_has(row->name, s->name)) &&
           (str_absent(s->metadata) || (json_read(&s->one, row->metadata, &whole, NULL) == 0 &&
                                        json_read(&s->other, s->metadata, &part, NULL) == 0 &&
                                        json_contains(whole.root, part.root)));
}

static void add(struct search *s, const struct assistant_row *row)
{
    struct buf *b = &s->look->out;

    if (!fits(s, row))
        return;
    size_t at = s->n++;
    if (s->counts || at < s->offset || at - s->offset >= s->limit)
        return;
    if (at > s->offset)
        buf_char(b, ',');
    put_assistant(b, row, s->select);
}

static int on_row(void *arg, const struct assistant_row *row)
{
    struct search *s = arg;

    if (is_visible(look_reach(s->look), row))
        add(s, row);
    return ++s->n_seen == MAX_SCAN;
}

/* Those that graphs have by themselves are the oldest. */
static void add_graphs(struct search *s)
{
    const struct app *app = s->look->loop->app;
    const struct app_settings *now = app_settings(app);
    char id[KEY_UUID_CHARS];

    for (size_t i = 0; i < now->n_agents; i++) {
        const struct app_agent *a = &now->agents[i];
        bool is_it = str_absent(s->id)
                         ? a->is_public && token_has_agent(s->look->token, a->name)
                         : assistant_id_is(s->id, a->name);

        if (is_it) {
            struct assistant_row row = row_of_graph(app, a, id);

            add(s, &row);
        }
    }
}

static void run_search(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct search *s = look->data;
    struct error why = { 0 };

    json_reader_init(&s->one, SIZE_MAX / 64, 256);
    json_reader_init(&s->other, SIZE_MAX / 64, 256);
    if (!s->counts)
        buf_char(&look->out, '[');
    int code = store_assistants(store, s->id, on_row, s, &why);
    add_graphs(s);
    if (s->counts)
        buf_u64(&look->out, s->n);
    else
        buf_char(&look->out, ']');
    if (code != 0)
        look_broke(look, &why);
    json_reader_done(&s->one);
    json_reader_done(&s->other);
}

static void on_searched(struct task *task)
{
    struct look *look = look_of(task);
    const struct search *s = look->data;

    if (look->req != NULL && look->status == 200 && !s->counts)
        langgraph_set_pages(look->req, s->n, s->offset + s->limit);
    look_answer(task);
}

static bool read_search(struct look *look, const yyjson_val *body)
{
    struct search *s = look->data;
    struct http_request *req = look->req;
    struct arena *mem = &look->mem;
    int64_t limit = json_int(json_at(body, "limit"), DEFAULT_LIST);
    int64_t offset = json_int(json_at(body, "offset"), 0);

    if (limit < 1 || limit > MAX_LIST || offset < 0) {
        http_respond_error(req, 422, "\"limit\" must be from 1 to %d, \"offset\" 0 or more",
                           MAX_LIST);
        return false;
    }
    s->limit = (size_t)limit;
    s->offset = (size_t)offset;
    s->select = langgraph_select(members, json_at(body, "select"));
    return (langgraph_keep_json(mem, json_at(body, "metadata"), &s->metadata) &&
            arena_copy(mem, json_text(langgraph_member(body, "graph_id", "graphId")),
                       &s->graph) &&
            arena_copy(mem, json_text(json_at(body, "name")), &s->name) &&
            arena_copy(mem, http_param(req, "assistant"), &s->id)) ||
           api_no_memory(req);
}

static void search(struct http_request *req, bool counts)
{
    struct look *look = look_new_with(req, STR(""), run_search, sizeof(struct search));
    struct search *s = look != NULL ? look->data : NULL;

    if (look == NULL)
        return;
    s->look = look;
    s->counts = counts;
    look->task.done = on_searched;
    look_read(look, MAX_DEPTH, read_search);
}

void api_assistants_search(struct http_request *req, void *arg)
{
    (void)arg;
    search(req, false);
}

void api_assistants_count(struct http_request *req, void *arg)
{
    (void)arg;
    search(req, true);
}

void api_assistant_versions(struct http_request *req, void *arg)
{
    (void)arg;
    search(req, false);
}

/* --- making and changing -------------------------------------------------------------- */

/* What is to become of an assistant; absent members stay as they are. */
struct revision {
    struct assistant_row row; /* in and out */
    bool if_absent;           /* CREATE: one that is there is fine */
};

static void answer_changed(struct call *call)
{
    const struct revision *c = call->journal.data;

    if (call_refused(call))
        return;
    put_assistant(&call->out, &c->row, (struct selection){ 0 });
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
        code = find_made(store, c->row.id, req->reach, &req->mem, &there, why);
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
    int code = find_made(store, c->row.id, req->reach, &req->mem, &row, why);

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
    int code = find_made(store, c->row.id, req->reach, &req->mem, &row, why);

    (void)now;
    if (code == 0)
        code = store_assistant_choose(store, row.id, c->row.version, why);
    return code == 0 ? find_made(store, row.id, req->reach, &req->mem, &c->row, why) : code;
}

static int write_deletion(struct journal_request *req,
                          struct store *store,
                          int64_t now,
                          struct error *why)
{
    struct revision *c = req->data;
    struct assistant_row row;
    int code = find_made(store, c->row.id, req->reach, &req->mem, &row, why);

    (void)now;
    return code == 0 ? store_assistant_delete(store, row.id, why) : code;
}

static bool fail(struct call *call, const char *what)
{
    http_respond_error(call->req, 422, "%s", what);
    return false;
}

/* An object as JSON, absent when it is not given. */
static bool read_object(struct call *call, const yyjson_val *value, struct str *ret)
{
    if (!json_is_null(value) && !yyjson_is_obj((yyjson_val *)(uintptr_t)value))
        return fail(call, "config, context and metadata must be objects");
    return langgraph_keep_json(&call->journal.mem, value, ret) || api_no_memory(call->req);
}

/* What may be said of one, new or not. */
static bool read_members(struct call *call, const yyjson_val *body, struct assistant_row *row)
{
    struct arena *mem = &call->journal.mem;
    struct str graph = json_text(langgraph_member(body, "graph_id", "graphId"));
    const struct app_agent *a = str_absent(graph) ? NULL : find_graph(call->loop->app, graph);
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

static bool read_new(struct call *call, struct json_reader *reader)
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
        return fail(call, "\"assistant_id\" must be 1 to 64 of letters, digits, _ and -");
    if (find_graph(call->loop->app, json_text(id)) != NULL) {
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

/* Of one that was made: a graph's own stays as it is. */
static bool read_id(struct call *call)
{
    struct revision *c = call->journal.data;
    struct str id = http_param(call->req, "assistant");

    if (find_graph(call->loop->app, id) != NULL) {
        http_respond_error(call->req, 409,
                           "the assistant that a graph has by itself cannot be changed: make "
                           "another");
        return false;
    }
    return arena_copy(&call->journal.mem, id, &c->row.id) || api_no_memory(call->req);
}

static bool read_patch(struct call *call, struct json_reader *reader)
{
    struct revision *c = call->journal.data;
    struct json j;

    return api_read_body(call->req, reader, buf_text(&call->body), &j) && read_id(call) &&
           read_members(call, j.root, &c->row);
}

static bool read_latest(struct call *call, struct json_reader *reader)
{
    struct revision *c = call->journal.data;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j) || !read_id(call))
        return false;
    c->row.version = json_int(json_at(j.root, "version"), 0);
    return c->row.version > 0 || fail(call, "\"version\" must be a whole number above 0");
}

static bool read_nothing(struct call *call, struct json_reader *reader)
{
    (void)reader;
    return read_id(call);
}

static void change(struct http_request *req,
                   journal_write_cb write,
                   bool (*read)(struct call *, struct json_reader *),
                   void (*answer)(struct call *))
{
    struct call *call = call_new_write(req, write, sizeof(struct revision), answer);

    if (call == NULL)
        return;
    call->journal.reach = &call->token->reach;
    call_read(call, MAX_DEPTH, read);
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

void api_assistant_delete(struct http_request *req, void *arg)
{
    (void)arg;
    change(req, write_deletion, read_nothing, call_answer_empty);
}

void api_assistant_latest(struct http_request *req, void *arg)
{
    (void)arg;
    change(req, write_latest, read_latest, answer_changed);
}

/* --- what a worker knows ------------------------------------------------------------- */

/* Asks with @params, which are done with. */
static void ask(struct http_request *req,
                const struct assistant_row *row,
                const char *name,
                struct buf *params)
{
    struct call *call = ask_new(req, row->graph, name, ask_answer);

    if (call != NULL && params->error == 0 &&
        arena_copy(&call->journal.mem, buf_text(params), &call->journal.call.params)) {
        call_post(call);
    } else if (call != NULL) {
        (void)api_no_memory(req);
        call_free(call);
    }
    buf_done(params);
}

/* xray: true, false or a depth. */
static void ask_graph(struct http_request *req, const struct assistant_row *row)
{
    struct str xray = http_query(req, "xray");
    struct buf params;
    int64_t depth;

    buf_init(&params, 1024);
    buf_lit(&params, "{\"xray\":");
    if (str_number(xray, &depth))
        buf_i64(&params, depth);
    else
        buf_str(&params, str_is(xray, "true") ? STR("true") : STR("false"));
    buf_char(&params, '}');
    ask(req, row, "graph", &params);
}

void api_assistant_graph(struct http_request *req, void *arg)
{
    (void)arg;
    langgraph_with_assistant(req, http_param(req, "assistant"), ask_graph);
}

static void ask_schemas(struct http_request *req, const struct assistant_row *row)
{
    struct buf params;

    buf_init(&params, 1024);
    buf_lit(&params, "{}");
    ask(req, row, "schemas", &params);
}

void api_assistant_schemas(struct http_request *req, void *arg)
{
    (void)arg;
    langgraph_with_assistant(req, http_param(req, "assistant"), ask_schemas);
}

static void ask_subgraphs(struct http_request *req, const struct assistant_row *row)
{
    struct buf params;

    buf_init(&params, SIZE_MAX / 4);
    buf_lit(&params, "{\"namespace\":");
    json_put_str_or_null(&params, http_param(req, "namespace"));
    buf_lit(&params, ",\"recurse\":");
    buf_str(&params, langgraph_flag(req, "recurse") ? STR("true") : STR("false"));
    buf_char(&params, '}');
    ask(req, row, "subgraphs", &params);
}

void api_assistant_subgraphs(struct http_request *req, void *arg)
{
    (void)arg;
    langgraph_with_assistant(req, http_param(req, "assistant"), ask_subgraphs);
}

/* --- the server ----------------------------------------------------------------------- */

void api_ok(struct http_request *req, void *arg)
{
    (void)arg;
    http_respond(req, 200, "application/json", STR("{\"ok\":true}"));
}

void api_info(struct http_request *req, void *arg)
{
    struct buf out;

    (void)arg;
    buf_init(&out, 4096);
    buf_lit(&out, "{\"version\":");
    json_put_str(&out, str_of(app_loop_of(req)->app->version));
    buf_lit(&out, ",\"context\":null,\"flags\":{\"assistants\":true,\"crons\":false,"
                  "\"langsmith\":false}}");
    api_json(req, 200, &out);
    buf_done(&out);
}
