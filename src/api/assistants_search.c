/* Many assistants at once: those that fit, how many, and the versions of one. */
#include "api/assistants.h"

#include "auth/token.h"
#include "base/json_match.h"
#include "jobs/assistant_id.h"

enum { DEFAULT_LIST = 10, MAX_LIST = 1000, MAX_SCAN = 20000 };

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
    assistants_put(b, row, s->select);
}

static int on_row(void *arg, const struct assistant_row *row)
{
    struct search *s = arg;

    if (assistants_is_visible(look_reach(s->look), row))
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
            struct assistant_row row = assistants_of_graph(app, a, id);

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
    s->select = langgraph_select(assistant_members, json_at(body, "select"));
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
    look_read(look, ASSISTANT_MAX_DEPTH, read_search);
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
