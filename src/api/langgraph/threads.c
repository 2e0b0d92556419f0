/* /threads: create, read, update, delete, search, count, copy, prune. */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "auth/auth_filter.h"
#include "base/error.h"
#include "base/json_match.h"
#include "jobs/job_scope.h"
#include "store/checkpoints.h"

enum { DEFAULT_LIST = 10, MAX_LIST = 1000, MAX_SCAN = 20000, MAX_DEPTH = 100 };

/* --- one thread ------------------------------------------------------------------------ */

static void answer_thread(struct journal_call *call)
{
    if (journal_call_refused(call))
        return;
    langgraph_put_thread(&call->out, &call->journal.new_thread.row, (struct selection){ 0 });
    api_json(call->req, 200, &call->out);
}

static void answer_patch(struct journal_call *call)
{
    if (call->journal.code == 0 && str_is(http_header(call->req, "Prefer"), "return=minimal"))
        http_respond(call->req, 204, NULL, STR_NONE);
    else
        answer_thread(call);
}

/* Metadata is an object, or absent. */
static bool read_metadata(struct journal_call *call, const yyjson_val *body)
{
    yyjson_val *metadata = json_at(body, "metadata");

    if (!json_is_null(metadata) && !yyjson_is_obj(metadata))
        return http_respond_error(call->req, 422, "\"metadata\" must be an object");
    return langgraph_keep_json(&call->journal.mem, metadata,
                               &call->journal.new_thread.row.metadata) ||
           api_no_memory(call->req);
}

/* Minutes, or {"ttl": minutes, "strategy": "delete"}; or absent. */
static bool read_ttl(struct journal_call *call, const yyjson_val *body)
{
    yyjson_val *ttl = json_at(body, "ttl");
    yyjson_val *minutes = yyjson_is_obj(ttl) ? json_at(ttl, "ttl") : ttl;
    yyjson_val *strategy = json_at(ttl, "strategy");

    if (json_is_null(ttl))
        return true;
    if ((json_is_null(strategy) || str_is(json_text(strategy), "delete")) &&
        api_read_minutes(minutes, &call->journal.new_thread.row.ttl_ms))
        return true;
    return http_respond_error(
        call->req, 422,
        "\"ttl\" must be a number of minutes above 0, or {\"ttl\": minutes, "
        "\"strategy\": \"delete\"}");
}

static bool read_create(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *j = &call->journal;
    struct json json;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &json) ||
        !read_metadata(call, json.root) || !read_ttl(call, json.root))
        return false;
    yyjson_val *id = langgraph_member(json.root, "thread_id", "threadId");
    struct str if_exists = json_text(langgraph_member(json.root, "if_exists", "ifExists"));
    if (!json_is_null(id) && !job_id_valid(json_text(id)))
        return http_respond_error(call->req, 422, "\"thread_id\" must be " JOB_ID_RULE);
    if (!str_absent(if_exists) && !str_is(if_exists, "raise") &&
        !str_is(if_exists, "do_nothing"))
        return http_respond_error(call->req, 422, "\"if_exists\" must be raise or do_nothing");
    j->new_thread.if_absent = str_is(if_exists, "do_nothing");
    bool ok = json_is_null(id) ? langgraph_make_id(&j->mem, &j->thread)
                               : arena_copy(&j->mem, json_text(id), &j->thread);
    return ok ? langgraph_read_supersteps(call, json.root) : api_no_memory(call->req);
}

void api_thread_create(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_THREAD_CREATE, answer_thread);

    if (call != NULL)
        journal_call_read(call, MAX_DEPTH, read_create);
}

static bool read_thread_id(struct journal_call *call)
{
    struct journal_request *j = &call->journal;

    return (arena_copy(&j->mem, http_param(call->req, "thread"), &j->thread) &&
            (j->op != JOURNAL_THREAD_COPY ||
             langgraph_make_id(&j->mem, &j->new_thread.copy))) ||
           api_no_memory(call->req);
}

static bool read_patch(struct journal_call *call, struct json_reader *reader)
{
    struct json json;

    return api_read_body(call->req, reader, buf_text(&call->body), &json) &&
           read_metadata(call, json.root) && read_ttl(call, json.root) && read_thread_id(call);
}

void api_thread_patch(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_THREAD_PATCH, answer_patch);

    if (call != NULL)
        journal_call_read(call, MAX_DEPTH, read_patch);
}

/* Posts a request that needs nothing but the thread in the path. */
static void post(struct http_request *req,
                 enum journal_op op,
                 void (*answer)(struct journal_call *))
{
    struct journal_call *call = journal_call_new(req, op, answer);

    if (call == NULL)
        return;
    if (read_thread_id(call))
        journal_call_post(call);
    else
        journal_call_free(call);
}

void api_thread_delete(struct http_request *req)
{
    post(req, JOURNAL_THREAD_DELETE, journal_call_answer_empty);
}

/* An unknown thread is a conflict, as for LangGraph's servers. */
static void answer_copy(struct journal_call *call)
{
    if (call->journal.code == ERR_NOT_FOUND)
        http_respond_error(call->req, 409, "%s", call->journal.why.text);
    else
        answer_thread(call);
}

void api_thread_copy(struct http_request *req)
{
    post(req, JOURNAL_THREAD_COPY, answer_copy);
}

static void run_thread(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct thread_row row;

    if (langgraph_get_thread(query, store, str_make(query->job, query->job_n), &row))
        langgraph_put_thread(&query->out, &row, (struct selection){ 0 });
}

void langgraph_answer_thread(struct http_request *req, struct str id)
{
    struct store_query *query = store_query_new(req, id, run_thread);

    if (query != NULL)
        store_query_post(query);
}

void api_thread(struct http_request *req)
{
    langgraph_answer_thread(req, http_param(req, "thread"));
}

/* --- many threads ----------------------------------------------------------------------- */

/* What a query searches for; the texts are JSON in the query's memory. */
struct thread_search {
    struct str metadata, values, ids, status;
    enum thread_order order;
    bool ascending;
    bool counts; /* count only */
    struct selection select;
    size_t limit, offset;
    size_t n_found; /* out */
};

struct thread_search_page {
    struct thread_search *what;
    struct store_query *query;
    struct json_reader readers[4];
    struct json metadata, values, ids;
    size_t n_seen;
};

static bool read_part(struct json_reader *reader, struct str text, struct json *ret)
{
    return !str_absent(text) && json_read(reader, text, ret, NULL) == 0;
}

static bool has_id(const yyjson_val *list, struct str id)
{
    json_each(v, list)
        if (str_eq(json_text(v), id))
            return true;
    return false;
}

static bool contains(struct thread_search_page *s, struct str text, const yyjson_val *part)
{
    struct json whole;

    return part == NULL ||
           (read_part(&s->readers[3], text, &whole) && json_contains(whole.root, part));
}

static bool fits(struct thread_search_page *s, const struct thread_row *row)
{
    return job_scope_includes(store_query_job_scope(s->query), row->id, row->owner) &&
           (str_absent(s->what->status) || str_eq(s->what->status, row->status)) &&
           (s->ids.root == NULL || has_id(s->ids.root, row->id)) &&
           auth_filter_lets(s->query->filters, row->metadata) &&
           contains(s, row->metadata, s->metadata.root) &&
           contains(s, row->values, s->values.root);
}

static int on_thread(void *arg, const struct thread_row *row)
{
    struct thread_search_page *s = arg;
    struct thread_search *what = s->what;

    if (fits(s, row)) {
        size_t at = what->n_found++;

        if (!what->counts && at >= what->offset && at - what->offset < what->limit)
            langgraph_put_thread(json_next(&s->query->out), row, what->select);
    }
    return ++s->n_seen == MAX_SCAN;
}

static void run_search(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct thread_search_page s = { .what = query->data, .query = query };
    struct error err = { 0 };

    for (size_t i = 0; i < 4; i++)
        json_reader_init(&s.readers[i], SIZE_MAX / 64, 256);
    (void)read_part(&s.readers[0], s.what->metadata, &s.metadata);
    (void)read_part(&s.readers[1], s.what->values, &s.values);
    (void)read_part(&s.readers[2], s.what->ids, &s.ids);
    if (!s.what->counts)
        json_begin_array(&query->out);
    int code =
        store_threads(store, s.what->order, s.what->ascending,
                      job_scope_owner(store_query_job_scope(query)), on_thread, &s, &err);
    if (s.what->counts)
        buf_u64(&query->out, s.what->n_found);
    else
        json_end_array(&query->out);
    if (code != 0)
        store_query_broke(query, &err);
    for (size_t i = 0; i < 4; i++)
        json_reader_done(&s.readers[i]);
}

static bool answer_search(struct store_query *query)
{
    const struct thread_search *what = query->data;

    if (!what->counts)
        langgraph_set_pages(query->req, what->n_found, what->offset + what->limit);
    store_query_respond(query);
    return false;
}

static bool read_order(struct http_request *req,
                       const yyjson_val *body,
                       struct thread_search *what)
{
    static const char *const names[] = { [THREADS_BY_UPDATED] = "updated_at",
                                         [THREADS_BY_CREATED] = "created_at",
                                         [THREADS_BY_ID] = "thread_id",
                                         [THREADS_BY_STATUS] = "status" };
    struct str by = json_text(langgraph_member(body, "sort_by", "sortBy"));
    struct str order = json_text(langgraph_member(body, "sort_order", "sortOrder"));
    bool known = str_absent(by) || str_is(by, "state_updated_at");

    what->order = str_absent(by) ? THREADS_BY_CREATED : THREADS_BY_UPDATED;
    what->ascending = str_is(order, "asc");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_eq(by, str_of(names[i]))) {
            what->order = (enum thread_order)i;
            known = true;
        }
    }
    if (!known)
        http_respond_error(req, 422,
                           "\"sort_by\" must be thread_id, status, created_at or updated_at");
    return known;
}

static bool read_search(struct store_query *query, const yyjson_val *body)
{
    struct thread_search *what = query->data;
    int64_t limit = json_int(json_at(body, "limit"), DEFAULT_LIST);
    int64_t offset = json_int(json_at(body, "offset"), 0);

    if (!read_order(query->req, body, what))
        return false;
    if (limit < 1 || limit > MAX_LIST || offset < 0)
        return http_respond_error(
            query->req, 422, "\"limit\" must be from 1 to %d, \"offset\" 0 or more", MAX_LIST);
    what->limit = (size_t)limit;
    what->offset = (size_t)offset;
    what->select = langgraph_select(langgraph_thread_members, json_at(body, "select"));
    return (langgraph_keep_json(&query->mem, json_at(body, "metadata"), &what->metadata) &&
            langgraph_keep_json(&query->mem, json_at(body, "values"), &what->values) &&
            langgraph_keep_json(&query->mem, json_at(body, "ids"), &what->ids) &&
            arena_copy(&query->mem, json_text(json_at(body, "status")), &what->status)) ||
           api_no_memory(query->req);
}

static void search(struct http_request *req, bool counts)
{
    struct store_query *query =
        store_query_new_with(req, STR(""), run_search, sizeof(struct thread_search));
    struct thread_search *what = query != NULL ? query->data : NULL;

    if (query == NULL)
        return;
    what->counts = counts;
    query->answer = answer_search;
    store_query_read(query, MAX_DEPTH, read_search);
}

void api_threads_search(struct http_request *req)
{
    search(req, false);
}

void api_threads_count(struct http_request *req)
{
    search(req, true);
}

/* --- pruning: one after another ------------------------------------------------------- */

static void answer_pruned(struct journal_call *call);

/* Prunes the next thread of the list, or answers after the last one. */
static void prune_next(struct http_request *req, size_t item, size_t n_pruned)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;

    struct journal_call *call = journal_call_new(req, JOURNAL_THREAD_DELETE, answer_pruned);
    bool ok = call != NULL && api_read_body(req, &reader, buf_text(&call->body), &json);
    yyjson_val *ids = ok ? langgraph_member(json.root, "thread_ids", "threadIds") : NULL;
    struct str strategy = ok ? json_text(json_at(json.root, "strategy")) : STR_NONE;
    struct str id = json_text(yyjson_arr_get(ids, item));

    if (ok && (!yyjson_is_arr(ids) || (!str_absent(strategy) && !str_is(strategy, "delete") &&
                                       !str_is(strategy, "keep_latest")))) {
        http_respond_error(req, 422,
                           "\"thread_ids\" must be a list, \"strategy\" delete or keep_latest");
        ok = false;
    }
    if (ok && item >= yyjson_arr_size(ids)) {
        json_begin(&call->out);
        json_add_uint(&call->out, "pruned_count", n_pruned);
        json_end(&call->out);
        api_json(req, 200, &call->out);
        ok = false;
    }
    if (ok &&
        (arena_copy(&call->journal.mem, str_absent(id) ? STR("") : id, &call->journal.thread) ||
         api_no_memory(req))) {
        call->item = item;
        call->n_done = n_pruned;
        if (str_is(strategy, "keep_latest"))
            call->journal.op = JOURNAL_THREAD_THIN;
        journal_call_post(call);
    } else {
        journal_call_free(call);
    }
}

static void answer_pruned(struct journal_call *call)
{
    bool gone = call->journal.code == 0;

    if (!gone && call->journal.code != ERR_NOT_FOUND && journal_call_refused(call))
        return;
    prune_next(call->req, call->item + 1, call->n_done + gone);
}

void api_threads_prune(struct http_request *req)
{
    prune_next(req, 0, 0);
}
