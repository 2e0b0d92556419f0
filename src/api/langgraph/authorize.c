/* The project's own authentication and authorization, for requests of LangGraph's API from
 * callers without a token of ours.
 *
 *     request ──▶ its event and value (events.c) ──▶ the companion: who is it, and may it?
 *         ──▶ refused, as the handlers say
 *         ──▶ or: the body gets what they have changed in the value, their filters are compared
 *             with the metadata of what the request is about (pool), and our handler goes on
 *
 * Filters of searches are kept with the request: the search leaves out what they do not let
 * pass.  What is not let pass looks as if it did not exist. */
#include "api/langgraph/authorize.h"

#include "api/admit.h"
#include "api/divert.h"
#include "api/langgraph/assistants.h"
#include "api/langgraph/events.h"
#include "api/langgraph/items.h"
#include "auth/access.h"
#include "auth/auth_filter.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_merge.h"
#include "companion/asker.h"
#include "companion/companion.h"
#include "journal/assistants.h"
#include "store/crons.h"

#include <stdlib.h>

enum { MAX_DEPTH = 256 };

/* A request that waits for the handlers. */
struct held {
    struct ask ask;
    struct app_loop *loop;
    struct http_request *req;
    const struct api_event *event;
    http_handler *then; /* NULL: the route's */
};

bool authorize_covers(const struct http_route *route)
{
    return event_of_route(route) != NULL;
}

const struct http_route *authorize_unrouted(struct http_request *req, void *app)
{
    static const struct http_route route = { .method = "*",
                                             .pattern = "*",
                                             .handler = http_respond_unrouted,
                                             .body = BODY_PLAIN,
                                             .access = ACCESS_ALL };
    const struct app *a = app;

    return companion_guards(a->companion) && !divert_is_private(http_path(req)) ? &route : NULL;
}

bool authorize_is_guest(struct http_request *req)
{
    const struct app_loop *l = app_loop_of(req);

    return l->guest != NULL && api_token(req) == l->guest;
}

const struct authorization *authorization_of(struct http_request *req)
{
    const struct visitor *v = http_visitor(req);

    return v != NULL ? v->note : NULL;
}

struct authorization *authorization_new(void)
{
    struct authorization *a = calloc(1, sizeof(*a));

    if (a != NULL)
        arena_init(&a->mem);
    return a;
}

void authorization_free(void *authorization)
{
    struct authorization *a = authorization;

    arena_done(&a->mem);
    free(a);
}

/* --- the question ----------------------------------------------------------------------------
 */

static void put_request(struct buf *b, const struct http_request *req)
{
    struct str name, value;

    json_add_object(b, "request");
    json_add_str(b, "method", http_method(req));
    json_add_str(b, "target", http_target(req));
    json_add_array(b, "headers");
    for (size_t i = 0; http_header_at(req, i, &name, &value); i++) {
        json_begin_array(json_next(b));
        json_put_str(json_next(b), name);
        json_put_str(json_next(b), value);
        json_end_array(b);
    }
    json_end_array(b);
    json_end(b);
}

void authorize_put_user(struct buf *b, struct http_request *req)
{
    const struct authorization *a = authorization_of(req);

    json_add_raw(b, "user", a != NULL ? a->user : STR_NONE);
    json_add_raw(b, "permissions", a != NULL ? a->permissions : STR_NONE);
}

static void go_on(struct http_request *req, http_handler *then)
{
    if (then != NULL)
        then(req);
    else
        http_resume(req);
}

/* --- what the request is about ---------------------------------------------------------------
 */

enum verdict {
    VERDICT_PASSES,
    VERDICT_NO_THREAD,
    VERDICT_NO_ASSISTANT,
    VERDICT_NO_ITEM,
    VERDICT_NO_CRON,
    VERDICT_NOT_YOURS
};

struct subject_check {
    const struct api_event *event;
    http_handler *then;
    const struct app *app;
    struct str filters, assistant_filters; /* JSON; absent: none */
    struct str id;                         /* of the path or the body */
    struct str assistant;                  /* of a run; absent: none to check */
    struct str body;
    enum verdict verdict;
};

static bool lets_thread(struct store_query *query, struct store *store, struct str id)
{
    const struct subject_check *s = query->data;
    struct thread_row row;
    struct error err = { 0 };
    int code = store_thread_get(store, id, &row, &err);

    if (code == 0)
        return auth_filter_lets(s->filters, row.metadata);
    if (code != ERR_NOT_FOUND)
        store_query_broke(query, &err);
    return true; /* the handler answers that there is none */
}

static bool lets_threads(struct store_query *query, struct store *store)
{
    const struct subject_check *s = query->data;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;

    if (json_read(&reader, s->body, &json, NULL) != 0)
        return true; /* the handler refuses it */
    json_each(id, langgraph_member(json.root, "thread_ids", "threadIds"))
        if (!lets_thread(query, store, json_text(id)))
            return false;
    return true;
}

static bool lets_run(struct store_query *query, struct store *store)
{
    const struct subject_check *s = query->data;
    struct error err = { 0 };
    struct thread_row thread;
    struct job_row row;
    int code = store_job_get(store, s->id, &row, &err);

    if (code == 0)
        code = row.thread != 0 ? store_thread_by_key(store, row.thread, &thread, &err)
                               : ERR_NOT_FOUND;
    if (code == 0)
        return auth_filter_lets(s->filters, thread.metadata);
    if (code != ERR_NOT_FOUND)
        store_query_broke(query, &err);
    return true; /* the handler answers that there is none */
}

static bool lets_assistant(struct store_query *query,
                           struct store *store,
                           struct str id,
                           struct str filters)
{
    const struct subject_check *s = query->data;
    const struct app_agent *a = assistants_find_graph(s->app, id);
    struct assistant_row row;
    struct error err = { 0 };
    char mem[KEY_UUID_CHARS];
    int code = 0;

    if (a != NULL)
        row = assistants_of_graph(s->app, a, mem);
    else
        code = assistant_find(store, id, store_query_job_scope(query), &query->mem, &row, &err);
    if (code == 0)
        return auth_filter_lets(filters, row.metadata);
    if (code != ERR_NOT_FOUND)
        store_query_broke(query, &err);
    return true; /* the handler answers that there is none */
}

struct found_cron {
    struct str filters;
    bool is_hidden;
};

static int on_cron(void *arg, const struct cron_row *row)
{
    struct found_cron *f = arg;

    f->is_hidden = !auth_filter_lets(f->filters, row->metadata);
    return 1;
}

static bool lets_cron(struct store_query *query, struct store *store)
{
    const struct subject_check *s = query->data;
    struct found_cron found = { .filters = s->filters };
    struct error err = { 0 };

    if (store_cron(store, s->id, on_cron, &found, &err) != 0)
        store_query_broke(query, &err);
    return !found.is_hidden; /* the handler answers when there is none */
}

/* An item is matched as a whole: its value's members, its namespace and its key. */
bool authorize_lets_item(struct str filters, const struct item_row *row)
{
    struct buf place LOCAL_BUF(SIZE_MAX / 4);
    struct buf all LOCAL_BUF(SIZE_MAX / 4);

    if (str_empty(filters))
        return true;
    json_begin(&place);
    json_key(&place, "namespace");
    items_put_labels(&place, row->ns);
    if (!str_absent(row->key))
        json_add_str(&place, "key", row->key);
    json_end(&place);
    json_merge(&all, row->value, buf_text(&place));
    return place.error == 0 && all.error == 0 && auth_filter_lets(filters, buf_text(&all));
}

struct found_item {
    struct str filters;
    bool is_there, passes;
};

static int on_item(void *arg, const struct item_row *row)
{
    struct found_item *f = arg;

    f->is_there = true;
    f->passes = authorize_lets_item(f->filters, row);
    return 0;
}

static enum verdict judge_item(struct store_query *query, struct store *store)
{
    const struct subject_check *s = query->data;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct item_row place = { .owner = STR("") };
    struct found_item found = { .filters = s->filters };
    struct buf ns LOCAL_BUF(ITEM_MAX_NS);
    struct buf value LOCAL_BUF(SIZE_MAX / 4);
    struct error err = { 0 };
    struct json json;

    if (json_read(&reader, s->body, &json, NULL) != 0)
        return VERDICT_PASSES; /* the handler refuses it */
    json_each(label, json_at(json.root, "namespace")) {
        buf_str(&ns, json_text(label));
        buf_char(&ns, '.');
    }
    place.ns = buf_text(&ns);
    place.key = json_text(json_at(json.root, "key"));
    if (ns.error != 0 || str_absent(place.key))
        return VERDICT_PASSES; /* as above */
    if (store_item(store, &place, clock_wall_ms(), on_item, &found, &err) != 0) {
        store_query_broke(query, &err);
        return VERDICT_PASSES;
    }
    if (found.is_there && !found.passes)
        return VERDICT_NO_ITEM;
    if (found.is_there && str_is(str_of(s->event->action), "delete"))
        return VERDICT_PASSES;
    json_put_value(&value, json_at(json.root, "value"));
    place.value = buf_text(&value);
    return authorize_lets_item(s->filters, &place) ? VERDICT_PASSES : VERDICT_NOT_YOURS;
}

static enum verdict judge(struct store_query *query, struct store *store)
{
    const struct subject_check *s = query->data;

    if (!str_absent(s->assistant) &&
        !lets_assistant(query, store, s->assistant, s->assistant_filters))
        return VERDICT_NO_ASSISTANT;
    if (str_empty(s->filters))
        return VERDICT_PASSES;
    switch (s->event->subject) {
    case SUBJECT_NONE:
        break;
    case SUBJECT_THREAD:
    case SUBJECT_NEW_THREAD:
    case SUBJECT_BODY_THREAD:
        return str_absent(s->id) || lets_thread(query, store, s->id) ? VERDICT_PASSES
                                                                     : VERDICT_NO_THREAD;
    case SUBJECT_THREADS:
        return lets_threads(query, store) ? VERDICT_PASSES : VERDICT_NO_THREAD;
    case SUBJECT_RUN:
        return lets_run(query, store) ? VERDICT_PASSES : VERDICT_NO_THREAD;
    case SUBJECT_ASSISTANT:
    case SUBJECT_NEW_ASSISTANT:
        return str_absent(s->id) || lets_assistant(query, store, s->id, s->filters)
                   ? VERDICT_PASSES
                   : VERDICT_NO_ASSISTANT;
    case SUBJECT_ITEM:
        return judge_item(query, store);
    case SUBJECT_CRON:
        return lets_cron(query, store) ? VERDICT_PASSES : VERDICT_NO_CRON;
    }
    return VERDICT_PASSES;
}

static void run_check(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct subject_check *s = query->data;

    s->verdict = judge(query, store);
}

/* As LangGraph's servers answer: reading a run of somebody else's thread is a stream with an
 * error, copying or creating such a thread a conflict. */
static void refuse(struct http_request *req, const struct subject_check *s)
{
    const struct api_event *e = s->event;
    bool copies = e->then != NULL, is_new = e->subject == SUBJECT_NEW_THREAD;
    struct str id = str_head(s->id, 100);

    if (s->verdict == VERDICT_NO_ITEM)
        http_respond_error(req, 404, "Item not found");
    else if (s->verdict == VERDICT_NO_CRON)
        http_respond_error(req, 404, "Cron '%.*s' not found", STR_ARG(id));
    else if (s->verdict == VERDICT_NOT_YOURS)
        http_respond_error(req, 403, "Not authorized");
    else if (s->verdict == VERDICT_NO_ASSISTANT && e->subject == SUBJECT_NEW_ASSISTANT)
        http_respond_error(req, 409, "Assistant %.*s already exists", STR_ARG(id));
    else if (s->verdict == VERDICT_NO_ASSISTANT)
        http_respond_error(req, 404, "Assistant not found");
    else if (is_new)
        http_respond_error(req, 409, "Thread with ID %.*s already exists", STR_ARG(id));
    else if (strcmp(e->pattern, "/threads/{thread}/runs/{run}/stream") == 0)
        http_respond(req, 200, "text/event-stream",
                     STR("event: error\ndata: {" JSON_LIT("error", "Error") "," JSON_LIT(
                         "message", "404: Thread not found") "}\n\n"));
    else
        http_respond_error(req, copies ? 409 : 404, "Thread with ID %.*s not found",
                           STR_ARG(id));
}

static bool answer_check(struct store_query *query)
{
    struct subject_check *s = query->data;

    if (s->verdict == VERDICT_PASSES)
        go_on(query->req, s->then);
    else
        refuse(query->req, s);
    return false;
}

static struct str id_of(const struct api_event *e, struct http_request *req, struct arena *mem)
{
    const char *name = e->subject == SUBJECT_NEW_ASSISTANT ? "assistant_id" : "thread_id";
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct str ret = STR_NONE;
    struct json json;

    switch (e->subject) {
    case SUBJECT_THREAD:
        ret = http_param(req, "thread");
        break;
    case SUBJECT_RUN:
        ret = http_param(req, "run");
        break;
    case SUBJECT_ASSISTANT:
        ret = http_param(req, "assistant");
        if (str_absent(ret))
            ret = http_query(req, "assistant_id"); /* an agent card's */
        break;
    case SUBJECT_CRON:
        ret = http_param(req, "cron");
        break;
    case SUBJECT_NEW_THREAD:
    case SUBJECT_BODY_THREAD:
    case SUBJECT_NEW_ASSISTANT:
        if (json_read(&reader, http_body(req), &json, NULL) == 0)
            ret = json_text(json_get(json.root, str_of(name)));
        break;
    case SUBJECT_NONE:
    case SUBJECT_THREADS:
    case SUBJECT_ITEM:
        break;
    }
    if (!str_absent(ret) && !arena_copy(mem, ret, &ret))
        ret = STR("");
    return ret;
}

static void check_subject(struct held *h, const yyjson_val *results)
{
    struct store_query *query =
        store_query_new_with(h->req, STR(""), run_check, sizeof(struct subject_check));
    struct subject_check *s = query != NULL ? query->data : NULL;
    /* Of a new cron its thread is looked at. */
    yyjson_val *first =
        yyjson_arr_get((yyjson_val *)(uintptr_t)results, h->event->form == FORM_CRON ? 1 : 0);
    yyjson_val *last = yyjson_arr_get_last((yyjson_val *)(uintptr_t)results);

    if (query == NULL)
        return;
    s->event = h->event;
    s->then = h->then;
    s->app = h->loop->app;
    s->id = id_of(h->event, h->req, &query->mem);
    s->assistant = event_assistant(h->event, h->req, &query->mem);
    query->answer = answer_check;
    if (langgraph_keep_json(&query->mem, json_at(first, "filters"), &s->filters) &&
        langgraph_keep_json(&query->mem, json_at(last, "filters"), &s->assistant_filters) &&
        arena_copy(&query->mem, http_body(h->req), &s->body)) {
        store_query_post(query);
        return;
    }
    store_query_free(query);
    (void)api_no_memory(h->req);
}

static bool needs_check(const struct held *h, const yyjson_val *results)
{
    json_each(result, results)
        if (yyjson_obj_size(json_at(result, "filters")) > 0)
            return h->event->form == FORM_RUN || h->event->form == FORM_COMMAND ||
                   h->event->form == FORM_CRON || h->event->subject != SUBJECT_NONE;
    return false;
}

/* --- the answer ------------------------------------------------------------------------------
 */

static void put_refusal(struct http_request *req, int64_t status, const yyjson_val *root)
{
    json_each_member(name, value, json_at(root, "headers")) {
        char text[64];
        struct str key = str_head(json_text(name), sizeof(text) - 1);

        str_copy(text, key);
        text[key.n] = '\0';
        http_set_header(req, text, json_text(value));
    }
    counter_add(&app_loop_of(req)->refusals[status == 401 ? REFUSAL_UNKNOWN : REFUSAL_SCOPE],
                1);
    http_respond_error(req, status >= 400 && status <= 599 ? (int)status : 500, "%.*s",
                       STR_ARG(str_head(json_text(json_at(root, "detail")), 2000)));
}

/* Keeps who the caller is with its connection; of a command over a WebSocket that is known. */
static bool keep(struct held *h, const yyjson_val *root)
{
    struct visitor *v = http_visitor(h->req);
    struct authorization *a = authorization_new();
    yyjson_val *result = yyjson_arr_get_first(json_at(root, "results"));
    yyjson_val *threads =
        h->event->form == FORM_CRONS ? yyjson_arr_get(json_at(root, "results"), 1) : NULL;
    yyjson_val *value = json_at(result, "value");

    if (a == NULL)
        return false;
    visitor_set_note(v, a, authorization_free);
    return langgraph_keep_json(&a->mem, json_at(root, "user"), &a->user) &&
           langgraph_keep_json(&a->mem, json_at(root, "permissions"), &a->permissions) &&
           arena_copy(&a->mem, json_text(json_at(json_at(root, "user"), "identity")),
                      &a->identity) &&
           langgraph_keep_json(&a->mem, json_at(result, "filters"), &a->filters) &&
           langgraph_keep_json(&a->mem, json_at(threads, "filters"), &a->thread_filters) &&
           (h->event->form != FORM_QUERY || langgraph_keep_json(&a->mem, value, &a->place));
}

static void take_answer(struct held *h, const yyjson_val *root)
{
    yyjson_val *results = json_at(root, "results");
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    event_put_body(h->event, h->req, results, &body);
    bool ok = body.error == 0 && (body.n == 0 || http_set_body(h->req, buf_text(&body))) &&
              (h->then != NULL || keep(h, root));
    if (!ok)
        (void)api_no_memory(h->req);
    else if (needs_check(h, results))
        check_subject(h, results);
    else
        go_on(h->req, h->then);
}

static void on_answered(struct ask *ask, struct str answer, const char *why)
{
    struct held *h = container_of(ask, struct held, ask);
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;

    http_on_gone(h->req, NULL, NULL);
    if (str_absent(answer) || json_read(&reader, answer, &json, NULL) != 0) {
        http_set_header(h->req, "Retry-After", STR("1"));
        http_respond_error(h->req, 503, "%s",
                           str_absent(answer) ? why : "the handlers' answer cannot be read");
    } else if (json_int(json_at(json.root, "status"), 0) != 0) {
        put_refusal(h->req, json_int(json_at(json.root, "status"), 0), json.root);
    } else {
        take_answer(h, json.root);
    }
    free(h);
}

static void on_gone(struct http_request *req, void *data)
{
    struct held *h = data;

    (void)req;
    asker_cancel(h->loop->asker, &h->ask);
    free(h);
}

static void ask(struct http_request *req, const struct api_event *e, http_handler *then)
{
    struct app_loop *l = app_loop_of(req);
    struct held *h = calloc(1, sizeof(*h));
    struct buf text LOCAL_BUF(SIZE_MAX / 4);

    if (h == NULL) {
        (void)api_no_memory(req);
        return;
    }
    *h = (struct held){ .loop = l, .req = req, .event = e, .then = then };
    h->ask.answered = on_answered;
    json_begin(&text);
    if (then == NULL)
        put_request(&text, req);
    else
        authorize_put_user(&text, req);
    json_key(&text, "events");
    if (!event_put(e, req, &text) || text.error != 0) {
        free(h);
        http_respond_error(req, 422, "the body must be JSON");
        return;
    }
    json_end(&text);
    http_on_gone(req, on_gone, h);
    asker_ask(l->asker, &h->ask, buf_text(&text), companion_ask_ms(l->app->companion));
}

bool authorize_hold(struct http_request *req, const struct http_route *route, void *app)
{
    const struct api_event *e = authorize_is_guest(req) ? event_of_route(route) : NULL;

    (void)app;
    if (e == NULL)
        return false;
    visitor_set_note(http_visitor(req), NULL, NULL);
    ask(req, e, NULL);
    return true;
}

void authorize_run(struct http_request *req, http_handler *then)
{
    if (authorize_is_guest(req))
        ask(req, event_of_run(!str_absent(http_param(req, "thread"))), then);
    else
        then(req);
}

void authorize_command(struct http_request *req, http_handler *then)
{
    if (authorize_is_guest(req))
        ask(req, event_of_command(), then);
    else
        then(req);
}
