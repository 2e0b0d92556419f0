/* /assistants: every agent is a graph, and every graph has an assistant by itself, whose id is
 * made of its name.  What its graph looks like, a worker is asked. */
#include "api/ask.h"
#include "api/langgraph.h"

#include "api/admit.h"
#include "base/json_match.h"
#include "dialect/render.h"
#include "jobs/assistant_id.h"

#include <ctype.h>
#include <stdio.h>

enum { DEFAULT_LIST = 10, MAX_LIST = 1000, MAX_DEPTH = 64 };

static const char *const members[] = { "assistant_id", "graph_id",    "config",   "context",
                                       "created_at",   "updated_at",  "metadata", "version",
                                       "name",         "description", NULL };

static const char system_metadata[] = "{\"created_by\":\"system\"}";

/* --- shapes ------------------------------------------------------------------------- */

static void put_value(struct buf *b, size_t member, const struct app_agent *a, int64_t started)
{
    char id[KEY_UUID_CHARS];

    switch (member) {
    case 0:
        if (assistant_id_of(a->name, id))
            json_put_str(b, str_make(id, sizeof(id)));
        else
            buf_lit(b, "null");
        break;
    case 1:
    case 8:
        json_put_str(b, a->name);
        break;
    case 2:
    case 3:
        buf_lit(b, "{}");
        break;
    case 4:
    case 5:
        api_put_time(b, started);
        break;
    case 6:
        buf_str(b, str_of(system_metadata));
        break;
    case 7:
        buf_char(b, '1');
        break;
    default:
        json_put_str_or_null(b, a->description.n > 0 ? a->description : STR_NONE);
    }
}

static void put_assistant(struct buf *b,
                          const struct app *app,
                          const struct app_agent *a,
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
        put_value(b, i, a, app->started);
    }
    buf_char(b, '}');
}

/* --- one ---------------------------------------------------------------------------- */

/* The agent that the path's assistant means; NULL: answered, 404. */
static const struct app_agent *find(struct http_request *req)
{
    const struct app_settings *now = app_settings(app_loop_of(req)->app);
    char id[KEY_UUID_CHARS];
    struct str graph;

    if (!langgraph_find_graph(req, http_param(req, "assistant"), &graph, id))
        return NULL;
    for (size_t i = 0; i < now->n_agents; i++)
        if (str_eq(now->agents[i].name, graph))
            return &now->agents[i];
    http_respond_error(req, 404, "the graph is gone"); /* the settings have just changed */
    return NULL;
}

void api_assistant(struct http_request *req, void *arg)
{
    const struct app_agent *a = find(req);
    struct buf out;

    (void)arg;
    if (a == NULL)
        return;
    buf_init(&out, SIZE_MAX / 4);
    put_assistant(&out, app_loop_of(req)->app, a, (struct selection){ 0 });
    api_json(req, 200, &out);
    buf_done(&out);
}

/* --- many --------------------------------------------------------------------------- */

struct search {
    struct http_request *req;
    const yyjson_val *metadata;
    struct str graph, name; /* absent: any */
    struct selection select;
    size_t limit, offset;
    bool counts;
    struct buf out;
    size_t n;
};

/* Letters of ASCII are the same, large and small. */
static bool has_part(struct str text, struct str part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        size_t k = 0;

        while (k < part.n &&
               tolower((unsigned char)text.p[i + k]) == tolower((unsigned char)part.p[k]))
            k++;
        if (k == part.n)
            return true;
    }
    return false;
}

static bool is_wanted(const struct search *s, const struct app_agent *a)
{
    struct json_reader reader;
    struct json own;

    if (!a->is_public || !token_has_agent(api_token(s->req), a->name) ||
        (!str_absent(s->graph) && !str_eq(s->graph, a->name)) ||
        (!str_absent(s->name) && !has_part(a->name, s->name)))
        return false;
    json_reader_init(&reader, 1024, MAX_DEPTH);
    bool fits = json_is_null(s->metadata) ||
                (json_read(&reader, str_of(system_metadata), &own, NULL) == 0 &&
                 json_contains(own.root, s->metadata));
    json_reader_done(&reader);
    return fits;
}

static void find_all(struct search *s)
{
    const struct app *app = app_loop_of(s->req)->app;
    const struct app_settings *now = app_settings(app);

    for (size_t i = 0; i < now->n_agents; i++) {
        if (!is_wanted(s, &now->agents[i]))
            continue;
        size_t at = s->n++;
        if (s->counts || at < s->offset || at - s->offset >= s->limit)
            continue;
        if (at > s->offset)
            buf_char(&s->out, ',');
        put_assistant(&s->out, app, &now->agents[i], s->select);
    }
}

static void set_pages(const struct search *s)
{
    char number[24];

    (void)snprintf(number, sizeof(number), "%zu", s->n); /* fits, as the next */
    http_set_header(s->req, "X-Pagination-Total", str_of(number));
    (void)snprintf(number, sizeof(number), "%zu", s->offset + s->limit);
    if (s->offset + s->limit < s->n)
        http_set_header(s->req, "X-Pagination-Next", str_of(number));
}

static bool read_search(struct search *s, const yyjson_val *body)
{
    int64_t limit = json_int(json_at(body, "limit"), DEFAULT_LIST);
    int64_t offset = json_int(json_at(body, "offset"), 0);

    if (limit < 1 || limit > MAX_LIST || offset < 0) {
        http_respond_error(s->req, 422, "\"limit\" must be from 1 to %d, \"offset\" 0 or more",
                           MAX_LIST);
        return false;
    }
    s->limit = (size_t)limit;
    s->offset = (size_t)offset;
    s->metadata = json_at(body, "metadata");
    s->graph = json_text(langgraph_member(body, "graph_id", "graphId"));
    s->name = json_text(json_at(body, "name"));
    s->select = langgraph_select(members, json_at(body, "select"));
    return true;
}

static void search(struct http_request *req, bool counts)
{
    struct search s = { .req = req, .counts = counts };
    struct json_reader reader;
    struct json j;

    json_reader_init(&reader, SIZE_MAX / 64, MAX_DEPTH);
    buf_init(&s.out, SIZE_MAX / 4);
    if (api_read_body(req, &reader, http_body(req), &j) && read_search(&s, j.root)) {
        if (!counts)
            buf_char(&s.out, '[');
        find_all(&s);
        if (counts)
            buf_u64(&s.out, s.n);
        else
            buf_char(&s.out, ']');
        if (!counts)
            set_pages(&s);
        api_json(req, 200, &s.out);
    }
    buf_done(&s.out);
    json_reader_done(&reader);
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

/* --- what a worker knows ------------------------------------------------------------- */

/* Asks with @params, which are taken over. */
static void ask(struct http_request *req, const char *name, struct buf *params)
{
    const struct app_agent *a = find(req);
    struct call *call = a != NULL ? ask_new(req, a->name, name, ask_answer) : NULL;

    if (call != NULL && params->error == 0 &&
        arena_copy(&call->journal.mem, buf_text(params), &call->journal.call.params)) {
        call_post(call);
    } else if (call != NULL) {
        http_respond_error(req, 503, "out of memory");
        call_free(call);
    }
    buf_done(params);
}

/* true, false or a depth. */
void api_assistant_graph(struct http_request *req, void *arg)
{
    struct str xray = http_query(req, "xray");
    int64_t depth;
    struct buf params;

    (void)arg;
    buf_init(&params, 1024);
    buf_lit(&params, "{\"xray\":");
    if (str_number(xray, &depth))
        buf_i64(&params, depth);
    else
        buf_str(&params, str_is(xray, "true") ? STR("true") : STR("false"));
    buf_char(&params, '}');
    ask(req, "graph", &params);
}

void api_assistant_schemas(struct http_request *req, void *arg)
{
    struct buf params;

    (void)arg;
    buf_init(&params, 1024);
    buf_lit(&params, "{}");
    ask(req, "schemas", &params);
}

void api_assistant_subgraphs(struct http_request *req, void *arg)
{
    struct buf params;

    (void)arg;
    buf_init(&params, SIZE_MAX / 4);
    buf_lit(&params, "{\"namespace\":");
    json_put_str_or_null(&params, http_param(req, "namespace"));
    buf_lit(&params, ",\"recurse\":");
    buf_str(&params, langgraph_flag(req, "recurse") ? STR("true") : STR("false"));
    buf_char(&params, '}');
    ask(req, "subgraphs", &params);
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
