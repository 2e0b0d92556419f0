/* /store: items that graphs and their clients keep across threads.
 *
 * An item belongs to an owner: the caller's owner, or the job's owner when a worker asks on
 * behalf of a job (?job=JOB&lease=TOKEN).  A namespace is a list of labels in a body and "a.b"
 * in a query; in the store it is "a.b." (store/items.h). */
#include "api/langgraph/items.h"
#include "api/langgraph/items_call.h"
#include "api/langgraph/authorize.h"

#include "api/admit.h"
#include "api/langgraph/embed.h"
#include "api/worker/lease.h"
#include "auth/access.h"
#include "base/clock.h"
#include "dialect/render.h"

enum { MAX_LABELS = 32, MAX_KEY = 1024 };

/* --- parsing requests --------------------------------------------------------------- */

static bool is_label(struct str label)
{
    return label.n > 0 && str_find(label, '.') == label.n && str_find(label, '\0') == label.n;
}

bool items_read_ns(struct http_request *req,
                   struct arena *mem,
                   const yyjson_val *list,
                   struct str *ret)
{
    char text[ITEM_MAX_NS];
    size_t n = 0;

    if (!json_is_null(list) && (!yyjson_is_arr((yyjson_val *)list) ||
                                yyjson_arr_size((yyjson_val *)list) > MAX_LABELS))
        return http_respond_error(req, 422, "a namespace must be a list of at most 32 labels");
    json_each(value, list) {
        struct str label = json_text(value);

        if (!is_label(label) || n + label.n + 1 > sizeof(text))
            return http_respond_error(
                req, 422,
                "a label of a namespace must be a text without dots, and not empty; "
                "all of them at most 1000 bytes");
        str_copy(text + n, label);
        n += label.n;
        text[n++] = '.';
    }
    return arena_copy(mem, str_make(text, n), ret) || api_no_memory(req);
}

static bool read_key(struct http_request *req,
                     struct arena *mem,
                     struct str key,
                     struct str *ret)
{
    if (key.n == 0 || key.n > MAX_KEY)
        return http_respond_error(req, 422, "\"key\" must be a text of 1 to 1024 bytes");
    return arena_copy(mem, key, ret) || api_no_memory(req);
}

static struct str owner_of(const struct token *t)
{
    return t != NULL && !str_absent(t->owner) ? t->owner : STR("");
}

/* Does it ask on behalf of a job?  Only workers may: others could name anybody's job.  The
 * server's own processes always do: they have no items of their own. */
static bool is_for_job(struct http_request *req)
{
    const struct token *t = api_token(req);

    return t->is_own || (http_query(req, "job").n > 0 && (t->access & ACCESS_WORKER) != 0);
}

/* --- writing ------------------------------------------------------------------------- */

/* Reads an item's namespace and key; false when it was answered. */
static bool read_place(struct journal_call *call, const yyjson_val *body, struct item_row *row)
{
    struct arena *mem = &call->journal.mem;

    row->owner = owner_of(call->token);
    return items_read_ns(call->req, mem, json_at(body, "namespace"), &row->ns) &&
           read_key(call->req, mem, json_text(json_at(body, "key")), &row->key) &&
           (!is_for_job(call->req) || lease_read_job(call, http_query(call->req, "job")));
}

static bool read_ttl(struct http_request *req, const yyjson_val *value, int64_t *ret_ms)
{
    return json_is_null(value) || api_read_minutes(value, ret_ms) ||
           http_respond_error(req, 422, "\"ttl\" must be a number of minutes above 0");
}

static bool read_item(struct journal_call *call, const yyjson_val *body)
{
    struct item_row *row = &call->journal.item.row;

    if (!read_place(call, body, row) ||
        !read_ttl(call->req, json_at(body, "ttl"), &row->ttl_ms))
        return false;
    if (row->ns.n == 0)
        return http_respond_error(call->req, 422, "\"namespace\" must have a label");
    if (!yyjson_is_obj(json_at(body, "value")))
        return http_respond_error(call->req, 422, "\"value\" must be an object");
    return api_keep_json(&call->journal.mem, json_at(body, "value"), &row->value) ||
           api_no_memory(call->req);
}

/* Its vectors: those that a worker has made itself, none when it is not to be indexed, or a
 * worker is asked first.  Takes @call. */
static void post_item(struct journal_call *call, const yyjson_val *body)
{
    struct item_row *row = &call->journal.item.row;
    yyjson_val *index = json_at(body, "index"), *made = json_at(body, "vectors");

    if (!json_is_null(made)) {
        if (embed_read(call->req, made, &call->journal.mem, &row->vectors))
            journal_call_post(call);
        else
            journal_call_free(call);
    } else if (!embed_is_on(call->req) || yyjson_is_false(index)) {
        row->vectors = STR(""); /* those of an older value would be wrong */
        journal_call_post(call);
    } else {
        embed_item(call, index);
    }
}

static bool read_deletion(struct journal_call *call, struct json_reader *reader)
{
    struct json j;

    return api_read_body(call->req, reader, buf_text(&call->body), &j) &&
           read_place(call, j.root, &call->journal.item.row);
}

void api_item_put(struct http_request *req)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, ITEM_MAX_DEPTH);
    struct journal_call *call;
    struct json j;

    if (items_are_elsewhere(req)) {
        items_call(req, "put");
        return;
    }
    call = journal_call_new(req, JOURNAL_ITEM_PUT, journal_call_answer_empty);
    if (call == NULL)
        return;
    if (api_read_body(req, &reader, buf_text(&call->body), &j) && read_item(call, j.root))
        post_item(call, j.root);
    else
        journal_call_free(call);
}

void api_item_delete(struct http_request *req)
{
    struct journal_call *call;

    if (items_are_elsewhere(req)) {
        items_call(req, "delete");
        return;
    }
    call = journal_call_new(req, JOURNAL_ITEM_DELETE, journal_call_answer_empty);
    if (call != NULL)
        journal_call_read(call, ITEM_MAX_DEPTH, read_deletion);
}

/* --- shapes -------------------------------------------------------------------------- */

void items_put_labels(struct buf *b, struct str ns)
{
    json_begin_array(b);
    for (size_t i = 0; ns.n > 0; i++) {
        struct str label = str_head(ns, str_find(ns, '.'));

        json_put_str(json_next(b), label);
        ns = str_skip(ns, label.n + 1);
    }
    json_end_array(b);
}

void items_put(struct buf *b, const struct item_row *row)
{
    json_begin(b);
    json_key(b, "namespace");
    items_put_labels(b, row->ns);
    json_add_text(b, "key", row->key);
    json_add_raw(b, "value", row->value);
    json_add_time(b, "created_at", row->created);
    json_add_time(b, "updated_at", row->updated);
}

/* --- one item -------------------------------------------------------------------------- */

static void put_item(struct buf *b, const struct item_row *row)
{
    items_put(b, row);
    json_end(b);
}

static int on_item(void *arg, const struct item_row *row)
{
    struct store_query *query = arg;

    if (authorize_lets_item(query->filters, row)) {
        put_item(&query->out, row);
    } else {
        query->status = 404;
        buf_lit(&query->out, "Item not found");
    }
    return 0;
}

/* Does the caller hold the job's lease, according to the store?  0, ERR_NOT_FOUND or
 * ERR_REFUSED. */
static int judge(const struct store_query *query,
                 const struct item_search *s,
                 const struct job_row *row)
{
    struct lease_caller caller;

    api_set_lease_caller(&caller, query->token);
    enum lease_verdict verdict = lease_judge(&caller, &s->lease, row);
    return verdict == LEASE_HELD ? 0 : verdict == LEASE_LOST ? ERR_REFUSED : ERR_NOT_FOUND;
}

bool items_find_owner(struct store_query *query, struct store *store, struct item_search *s)
{
    struct error why = { 0 };
    struct job_row row;

    if (str_absent(s->job))
        return true;
    int code = store_job_get(store, s->job, &row, &why);
    if (code == 0)
        code = judge(query, s, &row);
    if (code == ERR_NOT_FOUND) {
        query->status = 404;
        buf_lit(&query->out, "Job not found: ");
        buf_str(&query->out, str_head(s->job, 100));
    } else if (code == ERR_REFUSED) {
        query->status = 409;
        buf_lit(&query->out, "this lease does not hold the job any more");
    } else if (code == 0 && row.set_aside != 0) {
        query->status = 409;
        buf_lit(&query->out, "this job is set aside, because " JOURNAL_SET_ASIDE_WHY);
        code = ERR_REFUSED;
    } else if (code != 0) {
        store_query_broke(query, &why);
    } else if (str_absent(row.owner)) {
        s->item.owner = STR("");
    } else if (!arena_copy(&query->mem, row.owner, &s->item.owner)) {
        query->status = 503;
        code = ERR_NOMEM;
    }
    return code == 0;
}

static void run_item(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct item_search *s = query->data;
    struct error why = { 0 };

    if (!items_find_owner(query, store, s))
        return;
    int code = store_item(store, &s->item, clock_wall_ms(), on_item, query, &why);
    if (query->out.n == 0)
        buf_lit(&query->out, "null");
    if (code != 0)
        store_query_broke(query, &why);
}

struct store_query *items_search_new(struct http_request *req,
                                     void (*run)(struct thread_task *, struct store *))
{
    struct store_query *query =
        store_query_new_with(req, STR(""), run, sizeof(struct item_search));
    struct item_search *s = query != NULL ? query->data : NULL;

    if (query == NULL)
        return NULL;
    s->item.owner = owner_of(query->token);
    if (!is_for_job(req) ||
        (lease_read(req, http_query(req, "job"), &s->lease) &&
         (arena_copy(&query->mem, http_query(req, "job"), &s->job) || api_no_memory(req))))
        return query;
    store_query_free(query);
    return NULL;
}

/* Reads a namespace from the query: "a.b", or a JSON list of labels. */
static bool read_query_ns(struct http_request *req, struct arena *mem, struct str *ret)
{
    struct str text = http_query(req, "namespace");
    char with_dot[ITEM_MAX_NS + 1];

    for (struct str rest = text; rest.n > 0;) {
        struct str label = str_head(rest, str_find(rest, '.'));

        if (!is_label(label) || label.n + 1 == rest.n)
            return http_respond_error(req, 422, "namespace must be labels with dots between");
        rest = str_skip(rest, label.n + 1);
    }
    if (text.n == 0 || text.n >= ITEM_MAX_NS)
        return http_respond_error(
            req, 422, "namespace must be labels with dots between, at most 1000 bytes");
    str_copy(with_dot, text);
    with_dot[text.n] = '.';
    return arena_copy(mem, str_make(with_dot, text.n + 1), ret) || api_no_memory(req);
}

/* The item of the query, or the one that the project's handlers have put in its place. */
static bool read_asked(struct http_request *req,
                       struct arena *mem,
                       struct str *ret_ns,
                       struct str *ret_key)
{
    const struct authorization *a = authorization_of(req);
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, ITEM_MAX_DEPTH);
    struct json json;

    if (a == NULL || str_absent(a->place))
        return read_query_ns(req, mem, ret_ns) &&
               read_key(req, mem, http_query(req, "key"), ret_key);
    if (json_read(&reader, a->place, &json, NULL) != 0)
        return api_no_memory(req);
    return items_read_ns(req, mem, json_at(json.root, "namespace"), ret_ns) &&
           read_key(req, mem, json_text(json_at(json.root, "key")), ret_key);
}

static void answer_touched(struct journal_call *call)
{
    const struct item_request *item = &call->journal.item;
    const struct authorization *a = authorization_of(call->req);

    if (journal_call_refused(call))
        return;
    if (item->is_found && a != NULL && !authorize_lets_item(a->filters, &item->row)) {
        http_respond_error(call->req, 404, "Item not found");
        return;
    }
    if (item->is_found)
        put_item(&call->out, &item->row);
    else
        buf_lit(&call->out, "null");
    api_json(call->req, 200, &call->out);
}

/* Reading an item restarts its time to live, which is a write. */
static void touch(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_ITEM_TOUCH, answer_touched);

    if (call == NULL)
        return;
    struct item_row *row = &call->journal.item.row;
    row->owner = owner_of(call->token);
    if (read_asked(req, &call->journal.mem, &row->ns, &row->key) &&
        (!is_for_job(req) || lease_read_job(call, http_query(call->req, "job"))))
        journal_call_post(call);
    else
        journal_call_free(call);
}

static void ask_elsewhere(struct http_request *req)
{
    struct arena mem;
    struct str ns, key;

    arena_init(&mem);
    if (api_may_act(req) && read_asked(req, &mem, &ns, &key))
        items_call_get(req, ns, key);
    arena_done(&mem);
}

void api_item(struct http_request *req)
{
    struct str refresh = http_query(req, "refresh_ttl");

    if (items_are_elsewhere(req)) {
        ask_elsewhere(req);
        return;
    }
    if (str_is(refresh, "true") || str_is(refresh, "1") ||
        (str_empty(refresh) && app_loop_of(req)->app->item_refresh)) {
        if (api_may_act(req))
            touch(req);
        return;
    }
    struct store_query *query = items_search_new(req, run_item);
    struct item_search *s = query != NULL ? query->data : NULL;
    if (query == NULL)
        return;
    if (read_asked(req, &query->mem, &s->item.ns, &s->item.key))
        store_query_post(query);
    else
        store_query_free(query);
}
