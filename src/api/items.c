/* /store: items that graphs and their clients keep across threads.
 *
 * An item belongs to an owner: the caller's, or, when a worker says for which job it asks
 * (?job=JOB&lease=TOKEN), the job's.  A namespace is a list of labels in a body and "a.b" in a
 * query; in the store it is "a.b." (store/items.h). */
#include "api/admit.h"
#include "api/jobs.h"
#include "api/langgraph.h"
#include "api/lease.h"

#include "auth/access.h"
#include "base/json_match.h"
#include "dialect/render.h"
#include "store/items.h"

#include <stdlib.h>

enum {
    MAX_DEPTH = 100, /* of a value */
    MAX_LABELS = 32,
    MAX_NS = 1024,
    MAX_KEY = 1024,
    MAX_WORDS = 16,
    MAX_SCAN = 20000,
    DEFAULT_LIST = 10,
    DEFAULT_NAMESPACES = 100,
    MAX_LIST = 1000
};

/* --- what is said in a request ------------------------------------------------------ */

static bool fail(struct http_request *req, const char *what)
{
    http_respond_error(req, 422, "%s", what);
    return false;
}

static bool is_label(struct str label)
{
    return label.n > 0 && str_find(label, '.') == label.n && str_find(label, '\0') == label.n;
}

/* "a.b." of ["a", "b"] in @mem; false when it was answered.  Without a list: the empty one. */
static bool read_ns(struct http_request *req,
                    struct arena *mem,
                    const yyjson_val *list,
                    struct str *ret)
{
    char text[MAX_NS];
    size_t i, max, n = 0;
    yyjson_val *value;

    if (!json_is_null(list) && (!yyjson_is_arr((yyjson_val *)list) ||
                                yyjson_arr_size((yyjson_val *)list) > MAX_LABELS))
        return fail(req, "a namespace must be a list of at most 32 labels");
    yyjson_arr_foreach((yyjson_val *)list, i, max, value)
    {
        struct str label = json_text(value);

        if (!is_label(label) || n + label.n + 1 > sizeof(text))
            return fail(req,
                        "a label of a namespace must be a text without dots, and not empty; "
                        "all of them at most 1000 bytes");
        memcpy(text + n, label.p, label.n);
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
        return fail(req, "\"key\" must be a text of 1 to 1024 bytes");
    return arena_copy(mem, key, ret) || api_no_memory(req);
}

static struct str owner_of(const struct token *t)
{
    return t != NULL && !str_absent(t->owner) ? t->owner : STR("");
}

/* It asks for a job's sake.  Only workers may: others could name anybody's. */
static bool is_for_job(struct http_request *req)
{
    return http_query(req, "job").n > 0 && (api_token(req)->access & ACCESS_WORKER) != 0;
}

/* --- writing ------------------------------------------------------------------------- */

/* The item's owner is known when its job is. */
static void set_owner(const struct journal_request *req, struct item_row *row)
{
    if (!str_absent(req->job))
        row->owner = str_absent(req->row.owner) ? STR("") : req->row.owner;
}

static int write_item(struct journal_request *req,
                      struct store *store,
                      int64_t now,
                      struct error *why)
{
    struct item_row *row = req->data;

    set_owner(req, row);
    row->created = row->updated = now;
    row->expires = row->ttl_ms > 0 ? now + row->ttl_ms : 0;
    return store_item_put(store, row, why);
}

static int write_deletion(struct journal_request *req,
                          struct store *store,
                          int64_t now,
                          struct error *why)
{
    struct item_row *row = req->data;

    (void)now;
    set_owner(req, row);
    return store_item_delete(store, row, why);
}

/* An item's place; false when it was answered. */
static bool read_place(struct call *call, const yyjson_val *body, struct item_row *row)
{
    struct arena *mem = &call->journal.mem;

    row->owner = owner_of(call->token);
    return read_ns(call->req, mem, json_at(body, "namespace"), &row->ns) &&
           read_key(call->req, mem, json_text(json_at(body, "key")), &row->key) &&
           (!is_for_job(call->req) || lease_read_fence(call));
}

/* Minutes, perhaps with a fraction. */
static bool read_ttl(struct http_request *req, const yyjson_val *value, int64_t *ret_ms)
{
    const double most = 60.0 * 24 * 366 * 100;
    char text[32];
    struct str number = yyjson_is_raw((yyjson_val *)value)
                            ? str_make(unsafe_yyjson_get_raw((yyjson_val *)value),
                                       unsafe_yyjson_get_len((yyjson_val *)value))
                            : STR_NONE;

    if (json_is_null(value))
        return true;
    memcpy(text, number.p != NULL ? number.p : "", number.n < sizeof(text) ? number.n : 0);
    text[number.n < sizeof(text) ? number.n : 0] = '\0';
    double minutes = strtod(text, NULL);
    if (!(minutes > 0) || minutes > most)
        return fail(req, "\"ttl\" must be a number of minutes above 0");
    *ret_ms = (int64_t)(minutes * 60000);
    return true;
}

static bool read_item(struct call *call, struct json_reader *reader)
{
    struct item_row *row = call->journal.data;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j) ||
        !read_place(call, j.root, row) ||
        !read_ttl(call->req, json_at(j.root, "ttl"), &row->ttl_ms))
        return false;
    if (row->ns.n == 0)
        return fail(call->req, "\"namespace\" must have a label");
    if (!yyjson_is_obj(json_at(j.root, "value")))
        return fail(call->req, "\"value\" must be an object");
    return api_keep_json(&call->journal.mem, json_at(j.root, "value"), &row->value) ||
           api_no_memory(call->req);
}

static bool read_deletion(struct call *call, struct json_reader *reader)
{
    struct json j;

    return api_read_body(call->req, reader, buf_text(&call->body), &j) &&
           read_place(call, j.root, call->journal.data);
}

void api_item_put(struct http_request *req, void *arg)
{
    struct call *call =
        call_new_write(req, write_item, sizeof(struct item_row), call_answer_empty);

    (void)arg;
    if (call != NULL)
        call_read(call, MAX_DEPTH, read_item);
}

void api_item_delete(struct http_request *req, void *arg)
{
    struct call *call =
        call_new_write(req, write_deletion, sizeof(struct item_row), call_answer_empty);

    (void)arg;
    if (call != NULL)
        call_read(call, MAX_DEPTH, read_deletion);
}

/* --- shapes -------------------------------------------------------------------------- */

static void put_labels(struct buf *b, struct str ns)
{
    buf_char(b, '[');
    for (size_t i = 0; ns.n > 0; i++) {
        struct str label = str_head(ns, str_find(ns, '.'));

        if (i > 0)
            buf_char(b, ',');
        json_put_str(b, label);
        ns = str_skip(ns, label.n + 1);
    }
    buf_char(b, ']');
}

/* Without its closing brace. */
static void put_item(struct buf *b, const struct item_row *row)
{
    buf_lit(b, "{\"namespace\":");
    put_labels(b, row->ns);
    render_text(b, "key", row->key);
    render_json(b, "value", row->value);
    buf_lit(b, ",\"created_at\":");
    api_put_time(b, row->created);
    buf_lit(b, ",\"updated_at\":");
    api_put_time(b, row->updated);
}

/* --- one item -------------------------------------------------------------------------- */

static int on_item(void *arg, const struct item_row *row)
{
    struct buf *b = arg;

    put_item(b, row);
    buf_char(b, '}');
    return 0;
}

static int get_item(struct buf *b,
                    struct store *store,
                    const struct item_row *row,
                    int64_t now,
                    struct error *why)
{
    int code = store_item(store, row, now, on_item, b, why);

    if (b->n == 0)
        buf_lit(b, "null");
    return code;
}

/* What a look looks for. */
struct search {
    struct str job; /* whose owner is meant; absent: `item.owner` is */
    struct item_row item;
    struct str filter; /* JSON; absent: all */
    struct str words[MAX_WORDS];
    size_t n_words;
    size_t limit, offset;
    struct str suffix; /* of namespaces; item.ns is the prefix */
    size_t max_depth;
};

/* The owner of the job for which a worker asks, if it has that job. */
static bool find_owner(struct look *look, struct store *store, struct search *s)
{
    bool is_admin = (look->token->access & ACCESS_ADMIN) != 0;
    struct error why = { 0 };
    struct job_row row;

    if (str_absent(s->job))
        return true;
    int code = store_job_get(store, s->job, &row, &why);
    if (code == 0 && !is_admin && !str_absent(row.holder) &&
        !str_eq(row.holder, owner_of(look->token)))
        code = ERR_NOT_FOUND;
    if (code == ERR_NOT_FOUND) {
        look->status = 404;
        buf_lit(&look->out, "Job not found: ");
        buf_str(&look->out, s->job);
    } else if (code != 0) {
        look_broke(look, &why);
    } else if (str_absent(row.owner)) {
        s->item.owner = STR("");
    } else if (!arena_copy(&look->mem, row.owner, &s->item.owner)) {
        look->status = 503;
        code = ERR_NOMEM;
    }
    return code == 0;
}

static void run_item(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct search *s = look->data;
    struct error why = { 0 };

    if (find_owner(look, store, s) &&
        get_item(&look->out, store, &s->item, api_now_ms(), &why) != 0)
        look_broke(look, &why);
}

/* A look with an empty search; NULL when it was answered. */
static struct look *search_new(struct http_request *req,
                               void (*run)(struct task *, struct store *))
{
    struct look *look = look_new_with(req, STR(""), run, sizeof(struct search));
    struct search *s = look != NULL ? look->data : NULL;

    if (look == NULL)
        return NULL;
    s->item.owner = owner_of(look->token);
    if (!is_for_job(req) || arena_copy(&look->mem, http_query(req, "job"), &s->job))
        return look;
    look_free(look);
    (void)api_no_memory(req);
    return NULL;
}

/* "a.b" of a query, or the same label by label in a JSON list. */
static bool read_query_ns(struct http_request *req, struct arena *mem, struct str *ret)
{
    struct str text = http_query(req, "namespace");
    char with_dot[MAX_NS + 1];

    for (struct str rest = text; rest.n > 0;) {
        struct str label = str_head(rest, str_find(rest, '.'));

        if (!is_label(label) || label.n + 1 == rest.n)
            return fail(req, "namespace must be labels with dots between");
        rest = str_skip(rest, label.n + 1);
    }
    if (text.n == 0 || text.n >= MAX_NS)
        return fail(req, "namespace must be labels with dots between, at most 1000 bytes");
    memcpy(with_dot, text.p, text.n);
    with_dot[text.n] = '.';
    return arena_copy(mem, str_make(with_dot, text.n + 1), ret) || api_no_memory(req);
}

static int write_touch(struct journal_request *req,
                       struct store *store,
                       int64_t now,
                       struct error *why)
{
    struct item_row *row = req->data;
    struct call *call = (struct call *)(void *)((char *)req - offsetof(struct call, journal));

    set_owner(req, row);
    int code = store_item_touch(store, row, now, why);
    return code == 0 ? get_item(&call->out, store, row, now, why) : code;
}

static void answer_touched(struct call *call)
{
    if (!call_refused(call))
        api_json(call->req, 200, &call->out);
}

/* Its time begins anew, which is a write. */
static void touch(struct http_request *req)
{
    struct call *call =
        call_new_write(req, write_touch, sizeof(struct item_row), answer_touched);
    struct item_row *row = call != NULL ? call->journal.data : NULL;

    if (call == NULL)
        return;
    row->owner = owner_of(call->token);
    if (read_query_ns(req, &call->journal.mem, &row->ns) &&
        read_key(req, &call->journal.mem, http_query(req, "key"), &row->key) &&
        (!is_for_job(req) || lease_read_fence(call)))
        call_post(call);
    else
        call_free(call);
}

void api_item(struct http_request *req, void *arg)
{
    struct str refresh = http_query(req, "refresh_ttl");

    (void)arg;
    if (str_is(refresh, "true") || str_is(refresh, "1")) {
        touch(req);
        return;
    }
    struct look *look = search_new(req, run_item);
    struct search *s = look != NULL ? look->data : NULL;
    if (look == NULL)
        return;
    if (read_query_ns(req, &look->mem, &s->item.ns) &&
        read_key(req, &look->mem, http_query(req, "key"), &s->item.key))
        look_post(look);
    else
        look_free(look);
}

/* --- search ----------------------------------------------------------------------------- */

struct hit {
    size_t n_words;
    size_t at, n; /* in `all` */
};

struct searching {
    const struct search *search;
    struct json_reader value, filter;
    struct json wanted; /* the filter */
    struct buf all;     /* items, one behind another */
    struct hit *hits;   /* owned */
    size_t n, cap, n_seen;
    int err;
};

static int add_hit(struct searching *s, const struct item_row *row, size_t n_words)
{
    if (s->n == s->cap) {
        size_t cap = s->cap > 0 ? 2 * s->cap : 64;
        struct hit *hits = realloc(s->hits, cap * sizeof(*hits));

        if (hits == NULL)
            return ERR_NOMEM;
        s->hits = hits;
        s->cap = cap;
    }
    size_t from = s->all.n;
    put_item(&s->all, row);
    s->hits[s->n++] = (struct hit){ n_words, from, s->all.n - from };
    return s->all.error;
}

static int on_candidate(void *arg, const struct item_row *row)
{
    struct searching *s = arg;
    const struct search *q = s->search;
    struct json value;
    size_t n_words = 0;

    if (!str_absent(q->filter) && (json_read(&s->value, row->value, &value, NULL) != 0 ||
                                   !json_matches(value.root, s->wanted.root)))
        return ++s->n_seen == MAX_SCAN;
    for (size_t i = 0; i < q->n_words; i++)
        n_words += langgraph_has(row->value, q->words[i]);
    if (q->n_words == 0 || n_words > 0)
        s->err = add_hit(s, row, n_words);
    /* Without words the order is the store's, and the rest need not be looked at. */
    return s->err != 0 || ++s->n_seen == MAX_SCAN ||
           (q->n_words == 0 && s->n == q->offset + q->limit);
}

/* The most words first; of those with as many, as they came. */
static int by_words(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    if (x->n_words != y->n_words)
        return x->n_words > y->n_words ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static void put_hits(struct buf *b, const struct searching *s)
{
    const struct search *q = s->search;
    size_t end = q->offset + q->limit < s->n ? q->offset + q->limit : s->n;

    buf_lit(b, "{\"items\":[");
    for (size_t i = q->offset; i < end; i++) {
        if (i > q->offset)
            buf_char(b, ',');
        buf_put(b, s->all.p + s->hits[i].at, s->hits[i].n);
        buf_lit(b, ",\"score\":");
        if (q->n_words == 0) {
            buf_lit(b, "null");
        } else { /* in hundredths */
            size_t percent = 100 * s->hits[i].n_words / q->n_words;

            buf_u64(b, percent / 100);
            buf_char(b, '.');
            buf_u64(b, percent / 10 % 10);
            buf_u64(b, percent % 10);
        }
        buf_char(b, '}');
    }
    buf_lit(b, "]}");
}

static void run_search(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct search *q = look->data;
    struct searching s = { .search = q };
    struct error why = { 0 };

    if (!find_owner(look, store, q))
        return;
    json_reader_init(&s.value, SIZE_MAX / 64, MAX_DEPTH);
    json_reader_init(&s.filter, SIZE_MAX / 64, MAX_DEPTH);
    buf_init(&s.all, SIZE_MAX / 4);
    int code = str_absent(q->filter) ? 0 : json_read(&s.filter, q->filter, &s.wanted, &why);
    if (code == 0)
        code =
            store_items(store, q->item.owner, q->item.ns, api_now_ms(), on_candidate, &s, &why);
    if (code == 0 && s.err != 0)
        code = error_set(&why, s.err, "%s", error_name(s.err));
    if (code == 0 && q->n_words > 0 && s.n > 0)
        qsort(s.hits, s.n, sizeof(*s.hits), by_words);
    if (code == 0)
        put_hits(&look->out, &s);
    else
        look_broke(look, &why);
    json_reader_done(&s.value);
    json_reader_done(&s.filter);
    buf_done(&s.all);
    free(s.hits);
}

static bool read_page(struct http_request *req,
                      const yyjson_val *body,
                      size_t otherwise,
                      struct search *s)
{
    int64_t limit = json_is_null(json_at(body, "limit")) ? (int64_t)otherwise
                                                         : json_int(json_at(body, "limit"), -1);
    int64_t offset =
        json_is_null(json_at(body, "offset")) ? 0 : json_int(json_at(body, "offset"), -1);

    if (limit < 1 || limit > MAX_LIST || offset < 0 || offset > MAX_SCAN)
        return fail(req, "\"limit\" must be 1 to 1000, \"offset\" 0 to 20000");
    s->limit = (size_t)limit;
    s->offset = (size_t)offset;
    return true;
}

static bool read_filter(struct http_request *req,
                        struct arena *mem,
                        const yyjson_val *filter,
                        struct search *s)
{
    struct str fault = json_filter_fault(filter);

    if (json_is_null(filter))
        return true;
    if (!yyjson_is_obj((yyjson_val *)filter))
        return fail(req, "\"filter\" must be an object");
    if (!str_absent(fault)) {
        http_respond_error(req, 422,
                           "\"filter\": %.*s is none of $eq, $ne, $gt, $gte, $lt and $lte",
                           STR_ARG(str_head(fault, 40)));
        return false;
    }
    return api_keep_json(mem, filter, &s->filter) || api_no_memory(req);
}

static bool read_words(struct http_request *req,
                       struct arena *mem,
                       struct str query,
                       struct search *s)
{
    struct str text;

    if (!arena_copy(mem, query, &text))
        return api_no_memory(req);
    while (text.n > 0 && s->n_words < MAX_WORDS) {
        struct str word = str_head(text, str_find(text, ' '));

        if (word.n > 0)
            s->words[s->n_words++] = word;
        text = str_skip(text, word.n + 1);
    }
    return true;
}

static bool read_search(struct look *look, const yyjson_val *body)
{
    struct search *s = look->data;
    struct http_request *req = look->req;
    struct arena *mem = &look->mem;

    return read_ns(req, mem, json_at(body, "namespace_prefix"), &s->item.ns) &&
           read_page(req, body, DEFAULT_LIST, s) &&
           read_filter(req, mem, json_at(body, "filter"), s) &&
           read_words(req, mem, json_text(json_at(body, "query")), s);
}

/* --- namespaces ------------------------------------------------------------------------- */

struct naming {
    const struct search *search;
    struct buf *out;
    char last[MAX_NS]; /* that was named */
    size_t last_n;
    size_t n; /* different ones so far */
};

static size_t count_labels(struct str ns)
{
    size_t n = 0;

    for (size_t i = 0; i < ns.n; i++)
        n += ns.p[i] == '.';
    return n;
}

/* Does @ns begin with the labels of @pattern, of which "*" is any? */
static bool begins_with(struct str ns, struct str pattern)
{
    while (pattern.n > 0) {
        struct str wanted = str_head(pattern, str_find(pattern, '.'));
        struct str label = str_head(ns, str_find(ns, '.'));

        if (ns.n == 0 || (!str_is(wanted, "*") && !str_eq(wanted, label)))
            return false;
        pattern = str_skip(pattern, wanted.n + 1);
        ns = str_skip(ns, label.n + 1);
    }
    return true;
}

static struct str skip_labels(struct str ns, size_t n)
{
    for (; n > 0 && ns.n > 0; n--)
        ns = str_skip(ns, str_find(ns, '.') + 1);
    return ns;
}

static bool ends_with(struct str ns, struct str pattern)
{
    size_t has = count_labels(ns), wants = count_labels(pattern);

    return has >= wants && begins_with(skip_labels(ns, has - wants), pattern);
}

static int on_ns(void *arg, struct str ns)
{
    struct naming *n = arg;
    const struct search *q = n->search;

    if (!begins_with(ns, q->item.ns) || !ends_with(ns, q->suffix))
        return 0;
    if (q->max_depth > 0)
        ns = str_head(ns, ns.n - skip_labels(ns, q->max_depth).n);
    if (str_eq(ns, str_make(n->last, n->last_n)) || ns.n > sizeof(n->last))
        return 0; /* those with the same beginning come together */
    memcpy(n->last, ns.p, ns.n);
    n->last_n = ns.n;
    if (n->n++ < q->offset)
        return 0;
    if (n->n > q->offset + 1)
        buf_char(n->out, ',');
    put_labels(n->out, ns);
    return n->n == q->offset + q->limit;
}

static void run_namespaces(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct search *q = look->data;
    struct naming n = { .search = q, .out = &look->out };
    struct error why = { 0 };

    if (!find_owner(look, store, q))
        return;
    buf_lit(&look->out, "{\"namespaces\":[");
    int code = store_namespaces(store, q->item.owner, api_now_ms(), on_ns, &n, &why);
    buf_lit(&look->out, "]}");
    if (code != 0)
        look_broke(look, &why);
}

static bool read_namespaces(struct look *look, const yyjson_val *body)
{
    struct search *s = look->data;
    struct http_request *req = look->req;
    struct arena *mem = &look->mem;
    int64_t depth =
        json_is_null(json_at(body, "max_depth")) ? 0 : json_int(json_at(body, "max_depth"), -1);

    if (depth < 0 || (depth == 0 && !json_is_null(json_at(body, "max_depth"))))
        return fail(req, "\"max_depth\" must be a whole number above 0");
    s->max_depth = (size_t)depth;
    return read_ns(req, mem, json_at(body, "prefix"), &s->item.ns) &&
           read_ns(req, mem, json_at(body, "suffix"), &s->suffix) &&
           read_page(req, body, DEFAULT_NAMESPACES, s);
}

/* --- the two that have a body ------------------------------------------------------------- */

void api_items_search(struct http_request *req, void *arg)
{
    struct look *look = search_new(req, run_search);

    (void)arg;
    if (look != NULL)
        look_read(look, MAX_DEPTH, read_search);
}

void api_namespaces(struct http_request *req, void *arg)
{
    struct look *look = search_new(req, run_namespaces);

    (void)arg;
    if (look != NULL)
        look_read(look, MAX_DEPTH, read_namespaces);
}
