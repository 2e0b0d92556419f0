/* Searches and counts crons: all that fit are read, sorted, and cut to a page. */
#include "api/langgraph/assistants.h"
#include "api/langgraph/crons.h"

#include "api/authorization.h"
#include "auth/auth_filter.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json_match.h"
#include "store/rows.h"

#include <stdlib.h>

enum { DEFAULT_LIST = 10, MAX_LIST = 1000, MAX_SCAN = 20000 };

/* A cron that fits, and what it is sorted by. */
struct cron_hit {
    struct cron_row row;
    struct str text;
    int64_t number;
};

struct cron_search {
    struct store_query *query;
    struct str assistant, thread, metadata, sort; /* absent: any, or by creation */
    struct str threads; /* filters of the project's handlers; absent: none */
    bool sets_enabled, enabled;
    bool ascending, counts;
    struct selection select;
    size_t limit, offset;
    struct json_reader one, other;
    struct cron_hit *hits;
    size_t n, cap, n_seen;
    bool no_memory;
};

static bool fits(struct cron_search *s, const struct cron_row *row)
{
    struct json whole, part;

    return crons_is_visible(s->query, row) &&
           auth_filter_lets(s->query->filters, row->metadata) &&
           (str_absent(s->assistant) || str_eq(s->assistant, row->assistant)) &&
           (str_absent(s->thread) || str_eq(s->thread, row->thread)) &&
           (!s->sets_enabled || s->enabled == (row->enabled != 0)) &&
           (str_absent(s->metadata) || (json_read(&s->one, row->metadata, &whole, NULL) == 0 &&
                                        json_read(&s->other, s->metadata, &part, NULL) == 0 &&
                                        json_contains(whole.root, part.root)));
}

static bool keep(struct cron_search *s, const struct cron_row *row)
{
    struct str sort = s->sort;

    if (s->counts && str_absent(s->threads))
        return ++s->n > 0;
    if (!array_grow(&s->hits, s->n, &s->cap, sizeof(*s->hits)))
        return false;
    struct cron_hit *hit = &s->hits[s->n++];
    *hit = (struct cron_hit){ .row = *row };
    bool ok = row_copy(&s->query->mem, &cron_texts, &hit->row);
    hit->text = str_is(sort, "cron_id")        ? hit->row.id
                : str_is(sort, "assistant_id") ? hit->row.assistant
                : str_is(sort, "thread_id")    ? hit->row.thread
                                               : STR_NONE;
    hit->number = str_is(sort, "next_run_date") ? row->next
                  : str_is(sort, "end_time")    ? row->end_time
                  : str_is(sort, "updated_at")  ? row->updated
                  : hit->text.p == NULL         ? row->created
                                                : 0;
    return ok;
}

static int on_row(void *arg, const struct cron_row *row)
{
    struct cron_search *s = arg;

    if (fits(s, row) && !keep(s, row))
        s->no_memory = true;
    return s->no_memory || ++s->n_seen == MAX_SCAN;
}

/* Equal ones: the last created first, as the store has them. */
static int upwards(const void *a, const void *b)
{
    const struct cron_hit *x = a, *y = b;
    size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
    int order = n > 0 ? memcmp(x->text.p, y->text.p, n) : 0;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (order == 0)
        order = (x->text.n > y->text.n) - (x->text.n < y->text.n);
    return order != 0 ? order : memcmp(x->row.id.p, y->row.id.p, x->row.id.n);
}

static int downwards(const void *a, const void *b)
{
    return upwards(b, a);
}

static void put_hits(struct cron_search *s)
{
    struct buf *b = &s->query->out;

    if (s->n > 1)
        qsort(s->hits, s->n, sizeof(*s->hits), s->ascending ? upwards : downwards);
    json_begin_array(b);
    for (size_t i = s->offset; i < s->n && i - s->offset < s->limit; i++)
        crons_put(json_next(b), &s->hits[i].row, s->select);
    json_end_array(b);
}

/* Leaves out those whose threads the project's handlers do not let the caller see.  A cron
 * without a thread is seen. */
static int filter_threads(struct cron_search *s, struct store *store, struct error *why)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct cron_row *row = &s->hits[i].row;
        struct thread_row thread;
        bool is_seen = str_absent(row->thread);

        if (!is_seen) {
            int code = store_thread_get(store, row->thread, &thread, why);

            if (code != 0 && code != ERR_NOT_FOUND)
                return code;
            is_seen = code == 0 && auth_filter_lets(s->threads, thread.metadata);
        }
        if (is_seen)
            s->hits[n++] = s->hits[i];
    }
    s->n = n;
    return 0;
}

static void run_search(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct cron_search *s = query->data;
    struct error why = { 0 };

    json_reader_init(&s->one, SIZE_MAX / 64, 256);
    json_reader_init(&s->other, SIZE_MAX / 64, 256);
    int code = store_crons(store, on_row, s, &why);
    if (code == 0 && s->no_memory)
        code = error_set(&why, ERR_NOMEM, "out of memory");
    if (code == 0 && !str_absent(s->threads))
        code = filter_threads(s, store, &why);
    if (code != 0)
        store_query_broke(query, &why);
    else if (s->counts)
        buf_u64(&query->out, s->n);
    else
        put_hits(s);
    free(s->hits);
    json_reader_done(&s->one);
    json_reader_done(&s->other);
}

static bool answer_search(struct store_query *query)
{
    const struct cron_search *s = query->data;

    if (!s->counts)
        langgraph_set_pages(query->req, s->n, s->offset + s->limit);
    store_query_respond(query);
    return false;
}

static bool read_order(struct http_request *req, const yyjson_val *body, struct cron_search *s)
{
    static const char *const names[] = { "cron_id",       "assistant_id", "thread_id",
                                         "next_run_date", "end_time",     "created_at",
                                         "updated_at" };
    struct str by = json_text(langgraph_member(body, "sort_by", "sortBy"));

    s->ascending = str_is(json_text(langgraph_member(body, "sort_order", "sortOrder")), "asc");
    s->sort = STR("created_at");
    if (str_absent(by))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        s->sort = str_of(names[i]);
        if (str_eq(by, s->sort))
            return true;
    }
    return http_respond_error(req, 422,
                              "Invalid sort_by field: '%.*s'. Valid options are: cron_id, "
                              "assistant_id, thread_id, next_run_date, end_time, created_at, "
                              "updated_at",
                              STR_ARG(str_head(by, 40)));
}

/* A graph's name stands for its own assistant. */
static bool read_assistant(struct store_query *query, struct str id, struct str *ret)
{
    const struct app *app = query->loop->app;
    const struct app_agent *a = str_absent(id) ? NULL : assistants_find_graph(app, id);
    char made[KEY_UUID_CHARS];

    if (a != NULL)
        id = assistants_of_graph(app, a, made).id;
    return arena_copy(&query->mem, id, ret);
}

static bool read_search(struct store_query *query, const yyjson_val *body)
{
    struct cron_search *s = query->data;
    struct arena *mem = &query->mem;
    const struct authorization *a = authorization_of(query->req);
    int64_t limit = json_int(json_at(body, "limit"), DEFAULT_LIST);
    int64_t offset = json_int(json_at(body, "offset"), 0);
    yyjson_val *enabled = json_at(body, "enabled");

    s->query = query;
    if (limit < 1 || limit > MAX_LIST || offset < 0)
        return http_respond_error(query->req, 422, "\"limit\" must be from 1 to %d", MAX_LIST);
    s->limit = (size_t)limit;
    s->offset = (size_t)offset;
    s->sets_enabled = !json_is_null(enabled);
    s->enabled = yyjson_is_true(enabled);
    s->select = langgraph_select(crons_members, json_at(body, "select"));
    return read_order(query->req, body, s) &&
           ((read_assistant(query,
                            json_text(langgraph_member(body, "assistant_id", "assistantId")),
                            &s->assistant) &&
             arena_copy(mem, json_text(langgraph_member(body, "thread_id", "threadId")),
                        &s->thread) &&
             arena_copy(mem, a != NULL ? a->thread_filters : STR_NONE, &s->threads) &&
             langgraph_keep_json(mem, json_at(body, "metadata"), &s->metadata)) ||
            api_no_memory(query->req));
}

static void search(struct http_request *req, bool counts)
{
    struct store_query *query =
        store_query_new_with(req, STR(""), run_search, sizeof(struct cron_search));

    if (query == NULL)
        return;
    ((struct cron_search *)query->data)->counts = counts;
    query->answer = answer_search;
    store_query_read(query, LANGGRAPH_MAX_DEPTH, read_search);
}

void api_crons_search(struct http_request *req)
{
    search(req, false);
}

void api_crons_count(struct http_request *req)
{
    search(req, true);
}
