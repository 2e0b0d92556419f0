/* What LangGraph's routes share: pages and selections, the JSON of threads and runs, parsing of
 * requests, queries for one thread or run, and answers that are streams. */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "api/jobs/jobs.h"
#include "api/shape.h"
#include "base/clock.h"
#include "base/random.h"
#include "dialect/render.h"
#include "jobs/job_scope.h"
#include "jobs/run_status.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* --- lists -------------------------------------------------------------------------- */

void langgraph_set_pages(struct http_request *req, size_t total, size_t next)
{
    char number[24];

    (void)snprintf(number, sizeof(number), "%zu", total); /* fits, as the next */
    http_set_header(req, "X-Pagination-Total", str_of(number));
    (void)snprintf(number, sizeof(number), "%zu", next);
    if (next < total)
        http_set_header(req, "X-Pagination-Next", str_of(number));
}

bool langgraph_has(struct str text, struct str part)
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

/* --- selected members ----------------------------------------------------------------- */

const char *const langgraph_thread_members[] = {
    "thread_id",  "created_at", "updated_at", "state_updated_at",
    "metadata",   "status",     "config",     "values",
    "interrupts", "error",      NULL
};
const char *const langgraph_run_members[] = { "run_id",     "thread_id",  "assistant_id",
                                              "created_at", "updated_at", "metadata",
                                              "status",     "kwargs",     "multitask_strategy",
                                              NULL };

static void add_name(const char *const *members, struct str name, struct selection *s)
{
    for (size_t i = 0; members[i] != NULL; i++)
        if (str_eq(name, str_of(members[i])))
            s->bits |= 1u << i;
}

struct selection langgraph_select(const char *const *members, const yyjson_val *list)
{
    struct selection s = { 0 };

    json_each(name, list)
        add_name(members, json_text(name), &s);
    return s;
}

void langgraph_each_query(struct http_request *req,
                          const char *name,
                          void (*take)(void *arg, struct str value),
                          void *arg)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 8);
    struct str value;
    struct json json;

    for (size_t i = 0; (value = http_query_nth(req, name, i)).p != NULL; i++) {
        if (value.n == 0)
            continue; /* some clients send an empty parameter */
        if (!str_starts(value, STR("[")) || json_read(&reader, value, &json, NULL) != 0) {
            take(arg, value);
            continue;
        }
        json_each(v, json.root)
            take(arg, json_text(v));
    }
}

struct selecting {
    const char *const *members;
    struct selection selection;
};

static void select_name(void *arg, struct str name)
{
    struct selecting *s = arg;

    add_name(s->members, name, &s->selection);
}

struct selection langgraph_select_query(const char *const *members, struct http_request *req)
{
    struct selecting s = { .members = members };

    langgraph_each_query(req, "select", select_name, &s);
    return s.selection;
}

void langgraph_put_thread(struct buf *b, const struct thread_row *row, struct selection select)
{
    struct shape s = { .b = b, .members = langgraph_thread_members, .select = select };

    json_begin(b);
    shape_text(&s, "thread_id", row->id);
    shape_time(&s, "created_at", row->created);
    shape_time(&s, "updated_at", row->updated);
    shape_time(&s, "state_updated_at", row->state_updated);
    shape_json(&s, "metadata", row->metadata);
    shape_text(&s, "status", row->status);
    shape_json(&s, "config", row->config);
    shape_json(&s, "values", row->values);
    shape_json(&s, "interrupts", row->interrupts);
    if (!str_absent(row->error))
        shape_json(&s, "error", row->error);
    json_end(b);
}

bool langgraph_is_hidden(const struct job_row *row)
{
    return str_is(row->outcome, "rollback");
}

static void put_job(struct shape *s, const struct job_row *row)
{
    shape_text(s, "run_id", row->id);
    shape_time(s, "created_at", row->created);
    shape_time(s, "updated_at", row->updated);
    shape_text(s, "status", run_status(row));
}

static void put_rest(struct shape *s, const struct run_row *run, struct str thread)
{
    shape_text(s, "thread_id", thread);
    shape_text(s, "assistant_id", run->assistant);
    shape_json(s, "metadata", run->metadata);
    shape_json(s, "kwargs", run->kwargs);
    shape_text(s, "multitask_strategy", run->strategy);
    json_end(s->b);
}

int langgraph_put_run(struct buf *b,
                      struct store *store,
                      const struct job_row *row,
                      struct selection select,
                      struct error *err)
{
    struct shape s = { .b = b, .members = langgraph_run_members, .select = select };
    struct run_row run;

    json_begin(b);
    put_job(&s, row); /* first: its texts may belong to the store, and the next store call
                         invalidates them */
    int code = store_run_get(store, row->key, &run, err);
    if (code == 0)
        put_rest(&s, &run, run.thread);
    return code;
}

void langgraph_put_new_run(struct buf *b, const struct journal_request *j)
{
    struct shape s = { .b = b, .members = langgraph_run_members };

    json_begin(b);
    put_job(&s, j->row);
    put_rest(&s, &j->submit.run, j->thread);
}

/* --- requests ------------------------------------------------------------------------- */

yyjson_val *langgraph_member(const yyjson_val *body, const char *name, const char *camel)
{
    yyjson_val *value = json_get(body, str_of(name));

    return value != NULL || camel == NULL ? value : json_get(body, str_of(camel));
}

bool langgraph_keep_json(struct arena *mem, const yyjson_val *value, struct str *ret)
{
    *ret = STR_NONE;
    return json_is_null(value) || api_keep_json(mem, value, ret);
}

bool langgraph_make_id(struct arena *mem, struct str *ret)
{
    char uuid[KEY_UUID_CHARS];

    return random_uuid_at(clock_wall_ms(), uuid) &&
           arena_copy(mem, str_make(uuid, sizeof(uuid)), ret);
}

struct modes {
    uint32_t all;
    struct str bad;
};

static void add_mode(void *arg, struct str name)
{
    struct modes *m = arg;
    /* Here "messages" is the older mode with partial messages; elsewhere it is short for
     * messages-tuple. */
    uint32_t mode = str_is(name, "messages") ? (uint32_t)MODE_PARTIALS : mode_find(name);

    m->all |= mode;
    if (mode == 0)
        m->bad = str_absent(name) ? STR("") : name;
}

static bool are_good(struct http_request *req, const struct modes *m)
{
    if (str_absent(m->bad))
        return true;
    return http_respond_error(
        req, 422,
        "there is no stream mode '%.*s': modes are values, updates, messages, "
        "messages-tuple, custom, events, tasks, checkpoints, debug and tools",
        STR_ARG(str_head(m->bad, 40)));
}

bool langgraph_read_modes(struct http_request *req, const yyjson_val *value, uint32_t *ret)
{
    struct modes m = { 0 };

    if (json_is_null(value))
        m.all = MODE_VALUES;
    else if (!yyjson_is_arr((yyjson_val *)(uintptr_t)value))
        add_mode(&m, json_text(value));
    json_each(name, value)
        add_mode(&m, json_text(name));
    *ret = m.all;
    return are_good(req, &m);
}

bool langgraph_read_query_modes(struct http_request *req, uint32_t *ret)
{
    struct modes m = { 0 };

    langgraph_each_query(req, "stream_mode", add_mode, &m);
    *ret = m.all;
    return are_good(req, &m);
}

bool langgraph_flag(struct http_request *req, const char *name)
{
    struct str value = http_query(req, name);

    return str_is(value, "1") || str_is(value, "true");
}

/* --- reading -------------------------------------------------------------------------- */

static void not_found(struct store_query *query, const char *what, struct str id)
{
    query->status = 404;
    buf_clear(&query->out);
    buf_str(&query->out, str_of(what));
    buf_lit(&query->out, " with ID ");
    buf_str(&query->out, str_head(id, 100));
    buf_lit(&query->out, " not found");
}

bool langgraph_get_thread(struct store_query *query,
                          struct store *store,
                          struct str id,
                          struct thread_row *ret)
{
    struct error err = { 0 };
    int code = store_thread_get(store, id, ret, &err);

    if (code == 0 && !job_scope_includes(store_query_job_scope(query), ret->id, ret->owner))
        code = ERR_NOT_FOUND;
    if (code == ERR_NOT_FOUND)
        not_found(query, "Thread", id);
    else if (code != 0)
        store_query_broke(query, &err);
    return code == 0;
}

bool langgraph_get_run(struct store_query *query, struct store *store, struct job_row *ret)
{
    const struct run_query *what = query->data;
    struct str id = str_make(query->job, query->job_n);
    struct thread_row thread = { 0 };

    if (!str_absent(what->thread) && !langgraph_get_thread(query, store, what->thread, &thread))
        return false;
    int64_t key = thread.key;
    struct error err = { 0 };
    int code = store_job_get(store, id, ret, &err);
    if (code == 0 && (!job_scope_includes(store_query_job_scope(query), ret->id, ret->owner) ||
                      (ret->thread == 0 && !what->any_job) ||
                      (key != 0 && ret->thread != key) || langgraph_is_hidden(ret)))
        code = ERR_NOT_FOUND;
    if (code == ERR_NOT_FOUND)
        not_found(query, "Run", id);
    else if (code != 0)
        store_query_broke(query, &err);
    return code == 0;
}

struct store_query *langgraph_look_at_run(struct http_request *req,
                                          void (*run)(struct thread_task *, struct store *))
{
    struct store_query *query =
        store_query_new_with(req, http_param(req, "run"), run, sizeof(struct run_query));
    struct run_query *what = query != NULL ? query->data : NULL;

    if (query == NULL || arena_copy(&query->mem, http_param(req, "thread"), &what->thread))
        return query;
    store_query_free(query);
    (void)api_no_memory(req);
    return NULL;
}

/* --- answers -------------------------------------------------------------------------- */

void langgraph_set_location(struct http_request *req,
                            struct str thread,
                            struct str run,
                            const char *tail)
{
    char path[256];
    int n = str_absent(thread) ? snprintf(path, sizeof(path), "/runs/%.*s", STR_ARG(run))
                               : snprintf(path, sizeof(path), "/threads/%.*s/runs/%.*s",
                                          STR_ARG(thread), STR_ARG(run)); /* ids are short */

    http_set_header(req, "Content-Location", str_make(path, (size_t)n));
    if (tail == NULL)
        return;
    n += snprintf(path + n, sizeof(path) - (size_t)n, "/%s", tail);
    http_set_header(req, "Location", str_make(path, (size_t)n));
}

static void on_left(struct streams *l, struct str run)
{
    struct app_loop *loop = http_loop_data(l->http);

    langgraph_abandon(loop->app, run);
}

void langgraph_stream(struct http_request *req,
                      struct permit *permit,
                      struct str run,
                      uint32_t modes,
                      bool subgraphs,
                      bool cancels,
                      uint64_t end)
{
    struct job_request what = { .job = run,
                                .transport = &transport_langgraph,
                                .format = { .dialect = &dialect_messages,
                                            .variant = { .modes = modes,
                                                         .subgraphs = subgraphs } },
                                .permit = permit,
                                .plain = true,
                                .left = cancels ? on_left : NULL };

    (void)jobs_read_place(req, STR_NONE, &what); /* an id of another server starts at the
                                                    beginning */
    if (str_empty(http_header(req, "Last-Event-ID")) && what.after.seq < end)
        what.after = (struct cursor){ .seq = end };
    job_stream_open(app_loop_of(req)->streams, req, &what);
}

/* Something about a run for the journal, whose answer nobody waits for. */
struct remark {
    struct journal_request request;
    char run[80];
};

/* On the journal's thread: frees the request. */
static void on_remarked(struct loop_call *call)
{
    struct remark *r = call->owner;

    journal_request_done(&r->request);
    free(r);
}

static void remark(struct app *app, enum journal_op op, struct str run)
{
    struct remark *r = atomic_load(&app->draining) ? NULL : calloc(1, sizeof(*r));

    if (r == NULL || run.n > sizeof(r->run)) {
        free(r); /* it goes on as if nothing had happened */
        return;
    }
    str_copy(r->run, run);
    journal_request_init(&r->request, NULL, r, on_remarked);
    (void)journal_request_begin(&r->request, op);
    r->request.job = str_make(r->run, run.n);
    if (op == JOURNAL_CANCEL)
        r->request.stop.reason = STR("its client has left");
    journal_post(app->journal, &r->request);
}

void langgraph_abandon(struct app *app, struct str run)
{
    remark(app, JOURNAL_CANCEL, run);
}

void langgraph_mark_read(struct app *app, struct str run)
{
    remark(app, JOURNAL_RUN_READ, run);
}
