/* Searches and counts assistants, and lists the versions of one. */
#include "api/langgraph/assistants.h"

#include "journal/assistants.h"

#include "auth/auth_filter.h"
#include "auth/token.h"
#include "base/array.h"
#include "base/json_match.h"
#include "base/error.h"
#include "jobs/assistant_id.h"

#include <stdlib.h>

enum { DEFAULT_LIST = 10, MAX_LIST = 1000, MAX_SCAN = 20000 };

enum sort { SORT_NONE, SORT_ID, SORT_GRAPH, SORT_NAME, SORT_CREATED, SORT_UPDATED };

/* A matching assistant, and its sort keys. */
struct assistant_hit {
    struct str text;
    int64_t number;
    size_t at, n; /* its JSON in `all`, in the order in which they were found */
};

struct assistant_search {
    struct store_query *query;
    struct str id; /* list the versions of this one; absent: search assistants */
    struct str metadata, graph, name; /* absent: any */
    struct selection select;
    size_t limit, offset;
    enum sort sort;
    bool ascending;
    bool counts;
    struct json_reader one, other;
    struct buf all;
    struct assistant_hit *hits; /* all matches; without a sort only those of the page */
    size_t n_hits, cap;
    size_t n;
    bool no_memory;
    bool is_known; /* the assistant whose versions are listed exists */
};

static bool fits(struct assistant_search *s, const struct assistant_row *row)
{
    struct json whole, part;

    return (str_absent(s->graph) || str_eq(s->graph, row->graph)) &&
           (str_absent(s->name) || langgraph_has(row->name, s->name)) &&
           (str_absent(s->metadata) || (json_read(&s->one, row->metadata, &whole, NULL) == 0 &&
                                        json_read(&s->other, s->metadata, &part, NULL) == 0 &&
                                        json_contains(whole.root, part.root)));
}

static struct str sorted_text(enum sort sort, const struct assistant_row *row)
{
    return sort == SORT_ID      ? row->id
           : sort == SORT_GRAPH ? row->graph
           : sort == SORT_NAME  ? row->name
                                : STR("");
}

static int64_t sorted_number(enum sort sort, const struct assistant_row *row)
{
    return sort == SORT_CREATED ? row->created : sort == SORT_UPDATED ? row->updated : 0;
}

static bool keep(struct assistant_search *s, const struct assistant_row *row)
{
    if (!array_grow(&s->hits, s->n_hits, &s->cap, sizeof(*s->hits)))
        return false;
    struct assistant_hit *hit = &s->hits[s->n_hits++];
    *hit = (struct assistant_hit){ .number = sorted_number(s->sort, row), .at = s->all.n };
    assistants_put(&s->all, row, s->select);
    hit->n = s->all.n - hit->at;
    return arena_copy(&s->query->mem, sorted_text(s->sort, row), &hit->text);
}

static void add(struct assistant_search *s, const struct assistant_row *row)
{
    s->is_known = true;
    if (!fits(s, row))
        return;
    size_t at = s->n++;
    bool is_of_page = at >= s->offset && at - s->offset < s->limit;
    if (!s->counts && (is_of_page || s->sort != SORT_NONE) && !keep(s, row))
        s->no_memory = true;
}

static int compare(const struct assistant_hit *x, const struct assistant_hit *y)
{
    size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
    int order = n > 0 ? memcmp(x->text.p, y->text.p, n) : 0;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return order != 0 ? order : (x->text.n > y->text.n) - (x->text.n < y->text.n);
}

/* Equal ones stay in the order in which they were found. */
static int by_finding(const struct assistant_hit *x, const struct assistant_hit *y)
{
    return x->at < y->at ? -1 : 1;
}

static int upwards(const void *a, const void *b)
{
    int order = compare(a, b);

    return order != 0 ? order : by_finding(a, b);
}

static int downwards(const void *a, const void *b)
{
    int order = compare(b, a);

    return order != 0 ? order : by_finding(a, b);
}

static void put_hits(struct assistant_search *s)
{
    struct buf *b = &s->query->out;
    size_t first = s->sort != SORT_NONE ? s->offset : 0;

    if (s->sort != SORT_NONE && s->n_hits > 0)
        qsort(s->hits, s->n_hits, sizeof(*s->hits), s->ascending ? upwards : downwards);
    json_begin_array(b);
    for (size_t i = first; i < s->n_hits && i - first < s->limit; i++)
        buf_put(json_next(b), s->all.p + s->hits[i].at, s->hits[i].n);
    json_end_array(b);
}

/* --- all that a caller may use ---------------------------------------------------------- */

struct assistants_visitor {
    struct store_query *query;
    bool (*visit)(void *arg, const struct assistant_row *row);
    void *arg;
    size_t n_seen;
    bool has_ended;
};

/* Unless the filters of the project's own handlers hide it. */
static void show(struct assistants_visitor *v, const struct assistant_row *row)
{
    if (auth_filter_lets(v->query->filters, row->metadata))
        v->has_ended = !v->visit(v->arg, row);
}

static int on_row(void *arg, const struct assistant_row *row)
{
    struct assistants_visitor *v = arg;

    if (assistant_is_visible(store_query_job_scope(v->query), row))
        show(v, row);
    return v->has_ended || ++v->n_seen == MAX_SCAN;
}

/* The default assistants of graphs come last, as the oldest. */
static void visit_graphs(struct assistants_visitor *v, struct str id)
{
    const struct app *app = v->query->loop->app;
    const struct app_settings *now = app_settings(app);
    char mem[KEY_UUID_CHARS];

    for (size_t i = 0; i < now->n_agents && !v->has_ended; i++) {
        const struct app_agent *a = &now->agents[i];
        bool is_it = str_absent(id) ? a->is_public && token_has_agent(v->query->token, a->name)
                                    : assistant_id_is(id, a->name);

        if (is_it) {
            struct assistant_row row = assistants_of_graph(app, a, mem);

            show(v, &row);
        }
    }
}

int assistants_visit(struct store_query *query,
                     struct store *store,
                     struct str id,
                     bool (*visit)(void *arg, const struct assistant_row *row),
                     void *arg,
                     struct error *why)
{
    struct assistants_visitor v = { .query = query, .visit = visit, .arg = arg };
    int code = store_assistants(store, id, on_row, &v, why);

    if (code == 0)
        visit_graphs(&v, id);
    return code;
}

/* --- a search ----------------------------------------------------------------------------- */

static bool search_one(void *arg, const struct assistant_row *row)
{
    struct assistant_search *s = arg;

    add(s, row);
    return !s->no_memory;
}

static void run_search(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct assistant_search *s = query->data;
    struct error why = { 0 };

    json_reader_init(&s->one, SIZE_MAX / 64, 256);
    json_reader_init(&s->other, SIZE_MAX / 64, 256);
    buf_init(&s->all, SIZE_MAX / 4);
    int code = assistants_visit(query, store, s->id, search_one, s, &why);

    if (code == 0 && (s->no_memory || s->all.error != 0))
        code = error_set(&why, ERR_NOMEM, "out of memory");
    if (code != 0)
        store_query_broke(query, &why);
    else if (!str_absent(s->id) && !s->is_known)
        assistants_put_unknown(query);
    else if (s->counts)
        buf_u64(&query->out, s->n);
    else
        put_hits(s);
    buf_done(&s->all);
    free(s->hits);
    json_reader_done(&s->one);
    json_reader_done(&s->other);
}

static bool answer_search(struct store_query *query)
{
    const struct assistant_search *s = query->data;

    if (!s->counts)
        langgraph_set_pages(query->req, s->n, s->offset + s->limit);
    store_query_respond(query);
    return false;
}

static bool read_order(struct http_request *req,
                       const yyjson_val *body,
                       struct assistant_search *s)
{
    static const char *const names[] = { [SORT_ID] = "assistant_id",
                                         [SORT_GRAPH] = "graph_id",
                                         [SORT_NAME] = "name",
                                         [SORT_CREATED] = "created_at",
                                         [SORT_UPDATED] = "updated_at" };
    yyjson_val *by = langgraph_member(body, "sort_by", "sortBy");
    yyjson_val *order = langgraph_member(body, "sort_order", "sortOrder");

    s->ascending = str_is(json_text(order), "asc");
    s->sort = json_is_null(by) && !json_is_null(order) ? SORT_CREATED : SORT_NONE;
    for (size_t i = SORT_ID; i <= SORT_UPDATED; i++)
        if (str_eq(json_text(by), str_of(names[i])))
            s->sort = (enum sort)i;
    if (!json_is_null(by) && s->sort == SORT_NONE)
        return http_respond_error(
            req, 422,
            "\"sort_by\" must be assistant_id, graph_id, name, created_at or "
            "updated_at");
    if (!json_is_null(order) && !s->ascending && !str_is(json_text(order), "desc"))
        return http_respond_error(req, 422, "\"sort_order\" must be asc or desc");
    return true;
}

static bool read_search(struct store_query *query, const yyjson_val *body)
{
    struct assistant_search *s = query->data;
    struct http_request *req = query->req;
    struct arena *mem = &query->mem;
    int64_t limit = json_int(json_at(body, "limit"), DEFAULT_LIST);
    int64_t offset = json_int(json_at(body, "offset"), 0);

    if (!read_order(req, body, s))
        return false;
    if (limit < 1 || limit > MAX_LIST || offset < 0)
        return http_respond_error(
            req, 422, "\"limit\" must be from 1 to %d, \"offset\" 0 or more", MAX_LIST);
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
    struct store_query *query =
        store_query_new_with(req, STR(""), run_search, sizeof(struct assistant_search));
    struct assistant_search *s = query != NULL ? query->data : NULL;

    if (query == NULL)
        return;
    s->query = query;
    s->counts = counts;
    query->answer = answer_search;
    store_query_read(query, ASSISTANT_MAX_DEPTH, read_search);
}

void api_assistants_search(struct http_request *req)
{
    search(req, false);
}

void api_assistants_count(struct http_request *req)
{
    search(req, true);
}

void api_assistant_versions(struct http_request *req)
{
    search(req, false);
}
