/* Searches items of a namespace by a filter, by words or by meaning, and lists namespaces.
 *
 * A filter, words and vectors are compared with one item after another, in the store's order;
 * at most MAX_SCAN items are read.  Only those that can be on the page are written down: as
 * soon as there are enough, the worst of them is the floor that others have to be above. */
#include "api/langgraph/items.h"

#include "api/admit.h"
#include "api/langgraph/authorize.h"
#include "api/langgraph/embed.h"
#include "api/langgraph/items_call.h"
#include "api/langgraph/langgraph.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_match.h"
#include "store/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_SCAN = STORE_MAX_ITEMS,
    KEPT_MORE = 64, /* sorted and dropped at once */
    DEFAULT_LIST = 10,
    DEFAULT_NAMESPACES = 100,
    MAX_LIST = 1000
};

struct item_hit {
    float score;  /* the part of the words that it has, or how near its meaning is */
    bool expires; /* it has a time to live */
    size_t at, n; /* position of its JSON in `all` */
};

struct item_search_page {
    const struct item_search *search;
    struct str filters; /* of the project's authorization handlers */
    struct json_reader value, filter;
    struct json wanted;    /* the filter */
    struct buf all;        /* JSON of the items, concatenated */
    struct item_hit *hits; /* owned */
    size_t n, cap, n_seen;
    bool is_full;
    float floor; /* when it is: equal ones come too late as well */
    int err;
};

/* The best first; equal ones stay in the store's order. */
static int by_score(const void *a, const void *b)
{
    const struct item_hit *x = a, *y = b;

    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Forgets all but the best that the page can have, when there are more. */
static int drop_worst(struct item_search_page *s)
{
    size_t most = s->search->offset + s->search->limit;
    struct buf best LOCAL_BUF(SIZE_MAX / 4);

    if (s->n < most + KEPT_MORE)
        return 0;
    qsort(s->hits, s->n, sizeof(*s->hits), by_score);
    s->n = most;
    s->is_full = true;
    s->floor = s->hits[most - 1].score;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = best.n;

        buf_put(&best, s->all.p + s->hits[i].at, s->hits[i].n);
        s->hits[i].at = at;
    }
    buf_clear(&s->all);
    buf_str(&s->all, buf_text(&best));
    return best.error != 0 ? best.error : s->all.error;
}

static int add_hit(struct item_search_page *s, const struct item_row *row, float score)
{
    if (!array_grow(&s->hits, s->n, &s->cap, sizeof(*s->hits)))
        return ERR_NOMEM;
    size_t from = s->all.n;
    items_put(&s->all, row);
    s->hits[s->n++] = (struct item_hit){ score, row->ttl_ms > 0, from, s->all.n - from };
    return s->all.error != 0 ? s->all.error : drop_worst(s);
}

static float words_score(const struct item_search *q, struct str value)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n_words; i++)
        n += langgraph_has(value, q->words[i]);
    return (float)n / (float)q->n_words;
}

static int on_candidate(void *arg, const struct item_row *row)
{
    struct item_search_page *s = arg;
    const struct item_search *q = s->search;
    struct json value;
    bool is_ranked = q->n_words > 0 || q->vector.n > 0, fits = true;
    float score = 0;

    if (!authorize_lets_item(s->filters, row))
        return ++s->n_seen == MAX_SCAN;

    if (!str_absent(q->filter) && (json_read(&s->value, row->value, &value, NULL) != 0 ||
                                   !json_matches(value.root, s->wanted.root)))
        return ++s->n_seen == MAX_SCAN;
    if (q->vector.n > 0)
        fits = vectors_score(row->vectors, q->vector, &score);
    else if (q->n_words > 0)
        fits = (score = words_score(q, row->value)) > 0;
    if (fits && !(s->is_full && is_ranked && score <= s->floor))
        s->err = add_hit(s, row, score);
    /* Without a rank the store's order is final: stop when the page is full. */
    return s->err != 0 || ++s->n_seen == MAX_SCAN ||
           (!is_ranked && s->n == q->offset + q->limit);
}

/* With six digits behind the point. */
static void put_score(struct buf *b, float score)
{
    int64_t millionths = llroundf(score * 1e6F);
    char digits[16];

    if (millionths < 0)
        buf_char(b, '-');
    millionths = llabs(millionths);
    (void)snprintf(digits, sizeof(digits), "%06d", (int)(millionths % 1000000));
    buf_i64(b, millionths / 1000000);
    buf_char(b, '.');
    buf_str(b, str_of(digits));
}

static void put_hits(struct buf *b, const struct item_search_page *s)
{
    const struct item_search *q = s->search;
    size_t end = q->offset + q->limit < s->n ? q->offset + q->limit : s->n;

    json_begin_list(b, "items");
    for (size_t i = q->offset; i < end; i++) {
        buf_put(json_next(b), s->all.p + s->hits[i].at, s->hits[i].n);
        json_key(b, "score");
        if (q->n_words > 0 || q->vector.n > 0)
            put_score(b, s->hits[i].score);
        else
            buf_lit(b, "null");
        json_end(b);
    }
    json_end_list(b);
}

/* --- times to live ------------------------------------------------------------------------ */

/* The place of a hit, from its JSON; that is enough for the few that are shown. */
static bool keep_place(struct arena *mem, struct str hit, struct item_row *ret)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, ITEM_MAX_DEPTH);
    struct buf text LOCAL_BUF(SIZE_MAX / 4);
    struct buf ns LOCAL_BUF(ITEM_MAX_NS);
    struct json json;

    buf_str(&text, hit);
    json_end(&text);
    if (text.error != 0 || json_read(&reader, buf_text(&text), &json, NULL) != 0)
        return false;
    json_each(label, json_at(json.root, "namespace")) {
        buf_str(&ns, json_text(label));
        buf_char(&ns, '.');
    }
    return ns.error == 0 && arena_copy(mem, buf_text(&ns), &ret->ns) &&
           arena_copy(mem, json_text(json_at(json.root, "key")), &ret->key);
}

static int keep_read(struct store_query *query, const struct item_search_page *s)
{
    struct item_search *q = query->data;
    size_t end = q->offset + q->limit < s->n ? q->offset + q->limit : s->n;

    q->read = arena_alloc(&query->mem, (q->limit + 1) * sizeof(*q->read));
    if (q->read == NULL)
        return ERR_NOMEM;
    for (size_t i = q->offset; i < end; i++) {
        struct item_row row = { .owner = q->item.owner };

        if (!s->hits[i].expires)
            continue;
        if (!keep_place(&query->mem, str_make(s->all.p + s->hits[i].at, s->hits[i].n), &row))
            return ERR_NOMEM;
        q->read[q->n_read++] = row;
    }
    return 0;
}

static void on_touched(struct loop_call *call)
{
    struct journal_request *req = call->owner;

    journal_request_done(req);
    free(req);
}

/* Nobody waits for it: if it fails, the item lives as long as it would have unread. */
static void touch(struct app_loop *loop, const struct item_row *row)
{
    struct journal_request *req = calloc(1, sizeof(*req));

    if (req == NULL)
        return;
    journal_request_init(req, loop->box, req, on_touched);
    req->loop_call.dropped = on_touched;
    (void)journal_request_begin(req, JOURNAL_ITEM_TOUCH);
    if (arena_copy(&req->mem, row->owner, &req->item.row.owner) &&
        arena_copy(&req->mem, row->ns, &req->item.row.ns) &&
        arena_copy(&req->mem, row->key, &req->item.row.key))
        journal_post(loop->app->journal, req);
    else
        on_touched(&req->loop_call);
}

static bool answer_search(struct store_query *query)
{
    const struct item_search *q = query->data;

    for (size_t i = 0; i < q->n_read; i++)
        touch(query->loop, &q->read[i]);
    store_query_respond(query);
    return false;
}

/* --- the search --------------------------------------------------------------------------- */

static void run_search(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct item_search *q = query->data;
    struct item_search_page s = { .search = q, .filters = query->filters };
    struct error why = { 0 };

    if (!items_find_owner(query, store, q))
        return;
    json_reader_init(&s.value, SIZE_MAX / 64, ITEM_MAX_DEPTH);
    json_reader_init(&s.filter, SIZE_MAX / 64, ITEM_MAX_DEPTH);
    buf_init(&s.all, SIZE_MAX / 4);
    int code = str_absent(q->filter) ? 0 : json_read(&s.filter, q->filter, &s.wanted, &why);
    if (code == 0)
        code = (q->vector.n > 0 ? store_items_indexed : store_items)(
            store, q->item.owner, q->item.ns, clock_wall_ms(), on_candidate, &s, &why);
    if (code == 0 && s.err != 0)
        code = error_set(&why, s.err, "%s", error_name(s.err));
    if (code == 0 && (q->n_words > 0 || q->vector.n > 0) && s.n > 0)
        qsort(s.hits, s.n, sizeof(*s.hits), by_score);
    if (code == 0 && q->refreshes && (s.err = keep_read(query, &s)) != 0)
        code = error_set(&why, s.err, "%s", error_name(s.err));
    if (code == 0)
        put_hits(&query->out, &s);
    else
        store_query_broke(query, &why);
    json_reader_done(&s.value);
    json_reader_done(&s.filter);
    buf_done(&s.all);
    free(s.hits);
}

static bool read_page(struct http_request *req,
                      const yyjson_val *body,
                      size_t otherwise,
                      struct item_search *s)
{
    int64_t limit = json_is_null(json_at(body, "limit")) ? (int64_t)otherwise
                                                         : json_int(json_at(body, "limit"), -1);
    int64_t offset =
        json_is_null(json_at(body, "offset")) ? 0 : json_int(json_at(body, "offset"), -1);

    if (limit < 1 || limit > MAX_LIST || offset < 0 || offset > MAX_SCAN)
        return http_respond_error(req, 422,
                                  "\"limit\" must be 1 to 1000, \"offset\" 0 to 20000");
    s->limit = (size_t)limit;
    s->offset = (size_t)offset;
    return true;
}

static bool read_filter(struct http_request *req,
                        struct arena *mem,
                        const yyjson_val *filter,
                        struct item_search *s)
{
    struct str fault = json_filter_fault(filter);

    if (json_is_null(filter))
        return true;
    if (!yyjson_is_obj((yyjson_val *)filter))
        return http_respond_error(req, 422, "\"filter\" must be an object");
    if (!str_absent(fault))
        return http_respond_error(
            req, 422, "\"filter\": %.*s is none of $eq, $ne, $gt, $gte, $lt and $lte",
            STR_ARG(str_head(fault, 40)));
    return api_keep_json(mem, filter, &s->filter) || api_no_memory(req);
}

static bool read_words(struct http_request *req,
                       struct arena *mem,
                       struct str query,
                       struct item_search *s)
{
    struct str text;

    if (!arena_copy(mem, query, &text))
        return api_no_memory(req);
    while (text.n > 0 && s->n_words < ITEM_MAX_WORDS) {
        struct str word = str_head(text, str_find(text, ' '));

        if (word.n > 0)
            s->words[s->n_words++] = word;
        text = str_skip(text, word.n + 1);
    }
    return true;
}

static bool read_search(struct store_query *query, const yyjson_val *body)
{
    struct item_search *s = query->data;
    struct http_request *req = query->req;
    struct arena *mem = &query->mem;
    yyjson_val *refresh = json_at(body, "refresh_ttl");

    s->refreshes =
        json_is_null(refresh) ? query->loop->app->item_refresh : yyjson_is_true(refresh);
    query->answer = answer_search;
    return items_read_ns(req, mem, json_at(body, "namespace_prefix"), &s->item.ns) &&
           read_page(req, body, DEFAULT_LIST, s) &&
           read_filter(req, mem, json_at(body, "filter"), s) &&
           read_words(req, mem, json_text(json_at(body, "query")), s);
}

/* By meaning, when its vector can be had; else by words.  Takes @query. */
static void post_search(struct store_query *query, const yyjson_val *body)
{
    struct item_search *s = query->data;
    yyjson_val *vector = json_at(body, "vector");
    struct str text = json_text(json_at(body, "query"));

    if (!json_is_null(vector)) {
        if (embed_read_one(query->req, vector, &query->mem, &s->vector))
            store_query_post(query);
        else
            store_query_free(query);
    } else if (embed_is_on(query->req) && !str_empty(text)) {
        embed_query(query, text);
    } else {
        store_query_post(query);
    }
}

/* --- namespaces ------------------------------------------------------------------------- */

struct naming {
    const struct item_search *search;
    struct str filters; /* of the project's authorization handlers */
    struct buf *out;
    char last[ITEM_MAX_NS]; /* the last namespace that was listed */
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

/* Does @ns begin with the labels of @pattern, in which "*" matches any label? */
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
    const struct item_search *q = n->search;

    if (!begins_with(ns, q->item.ns) || !ends_with(ns, q->suffix) ||
        !authorize_lets_item(n->filters, &(struct item_row){ .ns = ns }))
        return 0;
    if (q->max_depth > 0)
        ns = str_head(ns, ns.n - skip_labels(ns, q->max_depth).n);
    if (str_eq(ns, str_make(n->last, n->last_n)) || ns.n > sizeof(n->last))
        return 0; /* equal prefixes are adjacent in the store's order */
    str_copy(n->last, ns);
    n->last_n = ns.n;
    if (n->n++ < q->offset)
        return 0;
    items_put_labels(json_next(n->out), ns);
    return n->n == q->offset + q->limit;
}

static void run_namespaces(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct item_search *q = query->data;
    struct naming n = { .search = q, .filters = query->filters, .out = &query->out };
    struct error why = { 0 };

    if (!items_find_owner(query, store, q))
        return;
    json_begin_list(&query->out, "namespaces");
    int code = store_namespaces(store, q->item.owner, clock_wall_ms(), on_ns, &n, &why);
    json_end_list(&query->out);
    if (code != 0)
        store_query_broke(query, &why);
}

static bool read_namespaces(struct store_query *query, const yyjson_val *body)
{
    struct item_search *s = query->data;
    struct http_request *req = query->req;
    struct arena *mem = &query->mem;
    int64_t depth =
        json_is_null(json_at(body, "max_depth")) ? 0 : json_int(json_at(body, "max_depth"), -1);

    if (depth < 0 || (depth == 0 && !json_is_null(json_at(body, "max_depth"))))
        return http_respond_error(req, 422, "\"max_depth\" must be a whole number above 0");
    s->max_depth = (size_t)depth;
    return items_read_ns(req, mem, json_at(body, "prefix"), &s->item.ns) &&
           items_read_ns(req, mem, json_at(body, "suffix"), &s->suffix) &&
           read_page(req, body, DEFAULT_NAMESPACES, s);
}

/* --- the routes with a body --------------------------------------------------------------- */

void api_items_search(struct http_request *req)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, ITEM_MAX_DEPTH);
    struct json j;

    if (items_are_elsewhere(req)) {
        items_call(req, "search");
        return;
    }
    struct store_query *query = items_search_new(req, run_search);
    if (query == NULL)
        return;
    if (api_read_body(req, &reader, http_body(req), &j) && read_search(query, j.root))
        post_search(query, j.root);
    else
        store_query_free(query);
}

void api_namespaces(struct http_request *req)
{
    if (items_are_elsewhere(req)) {
        items_call(req, "namespaces");
        return;
    }
    struct store_query *query = items_search_new(req, run_namespaces);
    if (query != NULL)
        store_query_read(query, ITEM_MAX_DEPTH, read_namespaces);
}
