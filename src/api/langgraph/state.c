/* The state of a thread, and its history.  Reads what the graph's worker stored with its
 * checkpoints, so no worker needs to run.  An update of a state is sent to a worker.
 *
 * A state is copied out of the store before it is rendered, because rendering it with its
 * subgraphs reads other states.
 *
 * A state is stored when its checkpoint is made, before its tasks run.  What became of these is
 * in the states of the checkpoints that were made from it, as the member `ended`.  When a run
 * stops while some of its tasks have ended and others wait, the thread's state shows what the
 * former wrote; `recorded` is that of the history, in which a step shows its writes at its
 * end. */
#include "api/langgraph/ask.h"
#include "api/langgraph/langgraph.h"

#include "base/error.h"
#include "base/json_format.h"
#include "base/json_match.h"
#include "base/json_merge.h"
#include "dialect/render.h"
#include "store/checkpoints.h"

enum { DEFAULT_LIST = 10, MAX_LIST = 1000, MAX_DEPTH = 200, MAX_GRAPHS = 8, MAX_NS = 1024 };

/* What a query searches for; texts are in the query's memory. */
struct state_question {
    struct checkpoint_filter filter; /* thread, ns; id or before */
    bool subgraphs;
    bool is_history;
    struct str metadata; /* JSON: what it must contain; absent: anything */
    size_t limit;
    struct str graph;        /* out, for an update: the graph whose worker is asked */
    struct str configurable; /* out, the same: JSON, with which the graph ran last */
};

struct snapshot {
    struct checkpoint_row of;
    struct str state; /* JSON; absent: there is none */
};

/* What became of the tasks of a checkpoint; in the query's memory. */
struct ended_tasks {
    struct ended_tasks *next;
    struct str checkpoint;
    struct str tasks; /* JSON */
};

struct state_reading {
    struct store_query *query;
    struct store *store;
    const struct state_question *what;
    struct ended_tasks *outcomes;  /* of older checkpoints than those read so far */
    bool is_partial;               /* not all newer states are read */
    struct json_reader one, other; /* of metadata */
    size_t n;
};

/* --- shapes ------------------------------------------------------------------------- */

/* @said: the same place in the words of the graph, which knows the checkpoints above it. */
static void put_place(struct buf *b,
                      struct str thread,
                      struct str ns,
                      struct str id,
                      const yyjson_val *said)
{
    struct buf map LOCAL_BUF(SIZE_MAX / 4);

    if (str_absent(id)) {
        buf_lit(b, "null");
        return;
    }
    if (!json_is_null(json_at(said, "checkpoint_map")))
        json_put_value(&map, json_at(said, "checkpoint_map"));
    json_format(b, "{'thread_id':%s,'checkpoint_id':%s,'checkpoint_ns':%s,'checkpoint_map':%j}",
                thread, id, ns, map.n > 0 ? buf_text(&map) : STR_NONE);
    if (map.error != 0)
        b->error = map.error;
}

/* Writes ,"name":value, with @otherwise when the value is absent. */
static void put_member(struct buf *b,
                       const yyjson_val *of,
                       const char *name,
                       struct str otherwise)
{
    yyjson_val *value = json_get(of, str_of(name));

    json_put_key(b, str_of(name));
    if (json_is_null(value))
        buf_str(b, otherwise);
    else
        json_put_value(b, value);
}

static void put_state(struct state_reading *r, const struct snapshot *s, size_t n_graphs);

struct keeping {
    struct arena *mem;
    struct snapshot *ret;
    bool failed;
};

static int keep_copy(void *arg, const struct checkpoint_row *of, struct str state)
{
    struct keeping *k = arg;
    struct checkpoint_row *to = &k->ret->of;

    k->failed = !arena_copy(k->mem, of->ns, &to->ns) || !arena_copy(k->mem, of->id, &to->id) ||
                !arena_copy(k->mem, of->parent, &to->parent) ||
                !arena_copy(k->mem, of->metadata, &to->metadata) ||
                !arena_copy(k->mem, state, &k->ret->state);
    return 1;
}

/* Finds the newest matching state; it is absent when there is none. */
static int find_snapshot(struct state_reading *r,
                         const struct checkpoint_filter *filter,
                         struct snapshot *ret,
                         struct error *why)
{
    struct keeping k = { .mem = &r->query->mem, .ret = ret };

    *ret = (struct snapshot){ .of = { .thread = filter->thread } };
    int code = store_states(r->store, filter, keep_copy, &k, why);
    return code == 0 && k.failed ? error_set(why, ERR_NOMEM, "out of memory") : code;
}

/* The checkpoint namespace of a task's subgraph: as the task states it, or derived from the
 * task. */
static struct str ns_of_task(const yyjson_val *task, struct str ns, char mem[MAX_NS])
{
    struct str said = json_text(json_at(json_at(task, "checkpoint"), "checkpoint_ns"));
    struct str name = json_text(json_at(task, "name")), id = json_text(json_at(task, "id"));
    size_t n = 0;

    if (!str_absent(said))
        return said;
    if (ns.n + name.n + id.n + 2 > MAX_NS)
        return STR("");
    str_copy(mem, ns);
    n = ns.n;
    if (n > 0)
        mem[n++] = '|';
    memcpy(mem + n, name.p != NULL ? name.p : "", name.n);
    n += name.n;
    mem[n++] = ':';
    memcpy(mem + n, id.p != NULL ? id.p : "", id.n);
    return str_make(mem, n + id.n);
}

static void put_task(struct state_reading *r,
                     const yyjson_val *task,
                     const struct snapshot *of,
                     size_t n_graphs)
{
    struct buf *b = &r->query->out;
    struct snapshot inner = { 0 };
    char ns[MAX_NS];
    struct checkpoint_filter filter = { .thread = of->of.thread,
                                        .ns = ns_of_task(task, of->of.ns, ns) };

    json_begin(b);
    json_each_member(key, value, task) {
        if (str_is(json_text(key), "state"))
            continue;
        json_put_key(b, json_text(key));
        json_put_value(b, value);
    }
    json_key(b, "state");
    if (filter.ns.n > 0 && n_graphs < MAX_GRAPHS)
        (void)find_snapshot(r, &filter, &inner, NULL); /* absent: it has none */
    if (!str_absent(inner.state))
        put_state(r, &inner, n_graphs + 1);
    else
        buf_lit(b, "null");
    json_end(b);
}

static void put_tasks(struct state_reading *r,
                      const yyjson_val *tasks,
                      const struct snapshot *of,
                      size_t n_graphs)
{
    struct buf *b = &r->query->out;

    json_add_array(b, "tasks");
    json_each(task, tasks) {
        json_next(b);
        if (r->what->subgraphs)
            put_task(r, task, of, n_graphs);
        else
            json_put_value(b, task);
    }
    json_end_array(b);
}

/* @ended: what a state says of the tasks of the checkpoint before it. */
static void note_outcome(struct state_reading *r, const yyjson_val *ended)
{
    struct arena *mem = &r->query->mem;
    yyjson_val *tasks = json_at(ended, "tasks");
    struct ended_tasks *o = yyjson_is_arr(tasks) ? arena_alloc(mem, sizeof(*o)) : NULL;

    if (o == NULL ||
        !arena_copy(mem, json_text(json_at(ended, "checkpoint_id")), &o->checkpoint) ||
        !langgraph_keep_json(mem, tasks, &o->tasks))
        return; /* shown as they were, if memory is short */
    o->next = r->outcomes;
    r->outcomes = o;
}

/* Finds the outcome of a checkpoint's tasks, and forgets it.  The oldest of several counts,
 * as the first write of a task does. */
static bool take_outcome(struct state_reading *r, struct str checkpoint, struct str *ret)
{
    for (struct ended_tasks **at = &r->outcomes; *at != NULL; at = &(*at)->next)
        if (str_eq((*at)->checkpoint, checkpoint)) {
            *ret = (*at)->tasks;
            *at = (*at)->next;
            return true;
        }
    return false;
}

struct ended_search {
    struct state_reading *reading;
    struct str checkpoint;
};

static int on_later_state(void *arg, const struct checkpoint_row *of, struct str state)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    const struct ended_search *search = arg;
    struct json j;

    (void)of;
    yyjson_val *ended =
        json_read(&reader, state, &j, NULL) == 0 ? json_at(j.root, "ended") : NULL;
    if (!str_eq(json_text(json_at(ended, "checkpoint_id")), search->checkpoint))
        return 0;
    note_outcome(search->reading, ended);
    return 1;
}

static bool find_outcome(struct state_reading *r,
                         const struct checkpoint_row *of,
                         struct str *ret)
{
    struct ended_search search = { r, of->id };

    if (take_outcome(r, of->id, ret))
        return true;
    if (!r->is_partial)
        return false;
    (void)store_states_after(r->store, of, on_later_state, &search, NULL); /* none: not known */
    return take_outcome(r, of->id, ret);
}

/* As the graph has saved it, with the thread's id.  Some checkpoints have that already; those
 * of a copied thread the id of the thread that they were made in. */
static void put_metadata(struct buf *b,
                         const yyjson_val *metadata,
                         const struct checkpoint_row *of)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct json saved;

    if (json_is_null(metadata) && json_read(&reader, of->metadata, &saved, NULL) == 0)
        metadata = saved.root;
    json_key(b, "metadata");
    json_begin(b);
    json_each_member(key, value, metadata) {
        if (str_is(json_text(key), "thread_id"))
            continue;
        json_put_key(b, json_text(key));
        json_put_value(b, value);
    }
    json_add_str(b, "thread_id", of->thread);
    json_end(b);
}

/* The questions of a state: @own, as it lists them, or those of its tasks. */
static void put_interrupts(struct buf *b, const yyjson_val *own, const yyjson_val *tasks)
{
    json_add_array(b, "interrupts");
    json_each(question, own)
        json_put_value(json_next(b), question);
    if (json_is_null(own))
        json_each(task, tasks)
            json_each(question, json_at(task, "interrupts"))
                json_put_value(json_next(b), question);
    json_end_array(b);
}

static void put_names(struct buf *b, const yyjson_val *tasks)
{
    json_add_array(b, "next");
    json_each(task, tasks)
        json_put_value(json_next(b), json_at(task, "name"));
    json_end_array(b);
}

static void put_state(struct state_reading *r, const struct snapshot *s, size_t n_graphs)
{
    const struct checkpoint_row *of = &s->of;
    struct buf *b = &r->query->out;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct json_reader other LOCAL_READER(SIZE_MAX / 64, 256);
    struct json j = { 0 }, outcome;
    struct str ended;

    if (json_read(&reader, s->state, &j, NULL) != 0) /* ours: fails only without memory */
        j.root = NULL;
    yyjson_val *tasks = json_at(j.root, "tasks");
    if (yyjson_arr_size(tasks) > 0 && find_outcome(r, of, &ended) &&
        json_read(&other, ended, &outcome, NULL) == 0)
        tasks = outcome.root;
    note_outcome(r, json_at(j.root, "ended"));
    yyjson_val *recorded = json_at(j.root, "recorded");
    bool is_live =
        json_is_null(recorded) || (!r->what->is_history && str_absent(r->what->filter.id));
    const yyjson_val *shown = is_live ? j.root : recorded;
    json_begin(b);
    json_key(b, "checkpoint");
    put_place(b, of->thread, of->ns, of->id, json_at(j.root, "checkpoint"));
    json_key(b, "parent_checkpoint");
    put_place(b, of->thread, of->ns, of->parent, json_at(j.root, "parent_checkpoint"));
    /* null: an entrypoint that has not ended has none */
    put_member(b, shown, "values", json_at(shown, "values") != NULL ? STR("null") : STR("{}"));
    if (tasks != json_at(j.root, "tasks"))
        put_names(b, tasks);
    else
        put_member(b, shown, "next", STR("[]"));
    put_tasks(r, tasks, s, n_graphs);
    put_metadata(b, json_at(j.root, "metadata"), of);
    put_member(b, j.root, "created_at", STR("null"));
    put_interrupts(b, json_at(j.root, "interrupts"), tasks);
    json_add_text(b, "checkpoint_id", of->id);
    json_add_text(b, "parent_checkpoint_id", of->parent);
    json_end(b);
}

/* The state of a thread without checkpoints. */
static void put_nothing(struct buf *b, struct str values)
{
    json_format(b,
                "{'values':%j,'next':[],'tasks':[],'metadata':{},'created_at':null,"
                "'checkpoint':null,'parent_checkpoint':null,'interrupts':[],"
                "'checkpoint_id':null,'parent_checkpoint_id':null}",
                str_absent(values) ? STR("{}") : values);
}

/* --- reading ------------------------------------------------------------------------ */

static void look_at_state(struct state_reading *r, const struct thread_row *thread)
{
    const struct state_question *q = r->what;
    struct buf *b = &r->query->out;
    struct error why = { 0 };
    struct snapshot s;
    struct str values;

    if (!arena_copy(&r->query->mem, thread->values, &values) ||
        find_snapshot(r, &q->filter, &s, &why) != 0) {
        store_query_broke(r->query, &why);
    } else if (!str_absent(s.state)) {
        put_state(r, &s, 0);
    } else if (str_absent(q->filter.id)) {
        put_nothing(b, values);
    } else {
        r->query->status = 404;
        buf_lit(b, "the thread has no checkpoint ");
        buf_str(b, str_head(q->filter.id, 80));
    }
}

static int on_state(void *arg, const struct checkpoint_row *of, struct str state)
{
    struct state_reading *r = arg;
    struct snapshot s = { *of, state };
    struct json whole, part;

    if (!str_absent(r->what->metadata) &&
        (json_read(&r->one, of->metadata, &whole, NULL) != 0 ||
         json_read(&r->other, r->what->metadata, &part, NULL) != 0 ||
         !json_contains(whole.root, part.root)))
        return 0;
    json_next(&r->query->out);
    put_state(r, &s, 0);
    return ++r->n == r->what->limit;
}

static void look_at_history(struct state_reading *r)
{
    struct error why = { 0 };

    json_reader_init(&r->one, SIZE_MAX / 64, MAX_DEPTH);
    json_reader_init(&r->other, SIZE_MAX / 64, MAX_DEPTH);
    json_begin_array(&r->query->out);
    int code = store_states(r->store, &r->what->filter, on_state, r, &why);
    json_end_array(&r->query->out);
    if (code != 0)
        store_query_broke(r->query, &why);
    json_reader_done(&r->one);
    json_reader_done(&r->other);
}

static void run_question(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct state_reading r = { .query = query, .store = store, .what = query->data };
    struct thread_row thread;

    if (!langgraph_get_thread(query, store, r.what->filter.thread, &thread))
        return;
    r.is_partial = !str_absent(r.what->filter.id) || !str_absent(r.what->filter.before) ||
                   !str_absent(r.what->metadata);
    if (r.what->is_history)
        look_at_history(&r);
    else
        look_at_state(&r, &thread);
}

/* A query for the path's thread; NULL when it was answered. */
static struct store_query *question_new(struct http_request *req,
                                        void (*run)(struct thread_task *, struct store *))
{
    struct store_query *query =
        store_query_new_with(req, STR(""), run, sizeof(struct state_question));
    struct state_question *q = query != NULL ? query->data : NULL;

    if (query == NULL)
        return NULL;
    q->filter.ns = STR("");
    if (arena_copy(&query->mem, http_param(req, "thread"), &q->filter.thread))
        return query;
    store_query_free(query);
    (void)api_no_memory(req);
    return NULL;
}

void api_thread_state(struct http_request *req)
{
    struct store_query *query = question_new(req, run_question);
    struct state_question *q = query != NULL ? query->data : NULL;
    struct str id = http_param(req, "checkpoint");

    if (query == NULL)
        return;
    q->subgraphs = langgraph_flag(req, "subgraphs");
    if (arena_copy(&query->mem, id.n > 0 ? id : STR_NONE, &q->filter.id)) {
        store_query_post(query);
        return;
    }
    store_query_free(query);
    (void)api_no_memory(req);
}

/* The checkpoint id in a body, in any of LangGraph's forms: a text, a checkpoint, a config. */
static struct str id_of(const yyjson_val *value)
{
    yyjson_val *configurable = json_at(value, "configurable");

    if (!str_absent(json_text(value)))
        return json_text(value);
    return json_text(json_at(configurable != NULL ? configurable : value, "checkpoint_id"));
}

static bool read_checkpoint(struct store_query *query, const yyjson_val *body)
{
    struct state_question *q = query->data;
    yyjson_val *checkpoint = json_at(body, "checkpoint");
    struct str ns = json_text(json_at(checkpoint, "checkpoint_ns"));

    q->subgraphs = yyjson_is_true(json_at(body, "subgraphs"));
    return (arena_copy(&query->mem, str_absent(ns) ? STR("") : ns, &q->filter.ns) &&
            arena_copy(&query->mem, id_of(checkpoint), &q->filter.id)) ||
           api_no_memory(query->req);
}

void api_thread_state_at(struct http_request *req)
{
    struct store_query *query = question_new(req, run_question);

    if (query != NULL)
        store_query_read(query, MAX_DEPTH, read_checkpoint);
}

static bool read_history(struct store_query *query, const yyjson_val *body)
{
    struct state_question *q = query->data;
    int64_t limit = json_int(json_at(body, "limit"), DEFAULT_LIST);
    struct str ns = json_text(json_at(json_at(body, "checkpoint"), "checkpoint_ns"));

    q->is_history = true;
    q->limit = limit < 1 ? 1 : limit > MAX_LIST ? MAX_LIST : (size_t)limit;
    return (arena_copy(&query->mem, str_absent(ns) ? STR("") : ns, &q->filter.ns) &&
            arena_copy(&query->mem, id_of(json_at(body, "before")), &q->filter.before) &&
            langgraph_keep_json(&query->mem, json_at(body, "metadata"), &q->metadata)) ||
           api_no_memory(query->req);
}

void api_thread_history(struct http_request *req)
{
    struct store_query *query = question_new(req, run_question);

    if (query != NULL)
        store_query_read(query, MAX_DEPTH, read_history);
}

/* --- updates ------------------------------------------------------------------------ */

/* {"thread", "config": {"configurable": …}, "values", "as_node"} */
static bool put_params(struct journal_call *call,
                       const struct state_question *q,
                       const yyjson_val *body)
{
    struct journal_request *j = &call->journal;
    yyjson_val *checkpoint = json_at(body, "checkpoint");
    struct str ns = json_text(json_at(checkpoint, "checkpoint_ns"));
    struct str id = json_text(json_at(body, "checkpoint_id"));
    struct str thread = q->filter.thread;
    struct buf place LOCAL_BUF(SIZE_MAX / 4);
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    json_format(&place, "{'thread_id':%s,'checkpoint_ns':%s", thread,
                str_absent(ns) ? STR("") : ns);
    if (str_absent(id))
        id = id_of(checkpoint);
    if (!str_absent(id))
        json_add_text(&place, "checkpoint_id", id);
    json_end(&place);
    json_format(&b, "{'thread':%s,'config':{'configurable':", thread);
    json_merge(&b, q->configurable, buf_text(&place));
    json_end(&b);
    put_member(&b, body, "values", STR("null"));
    put_member(&b, body, "as_node", STR("null"));
    json_end(&b);
    return place.error == 0 && b.error == 0 &&
           arena_copy(&j->mem, buf_text(&b), &j->call.params) &&
           arena_copy(&j->mem, thread, &j->thread);
}

static void ask_worker(struct http_request *req, const struct state_question *q)
{
    struct journal_call *call = ask_new(req, q->graph, "update_state", ask_answer);
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json j;

    if (call == NULL)
        return;
    if (!api_read_body(req, &reader, buf_text(&call->body), &j)) {
        journal_call_free(call);
    } else if (put_params(call, q, j.root)) {
        journal_call_post(call);
    } else {
        (void)api_no_memory(req);
        journal_call_free(call);
    }
}

/* What names a run or a checkpoint is not of the thread. */
static bool is_of_run(struct str key)
{
    return str_is(key, "run_id") || str_starts(key, STR("checkpoint_"));
}

static int on_last_run(void *arg, const struct job_row *row)
{
    int64_t *key = arg;

    *key = langgraph_is_hidden(row) ? 0 : row->key;
    return *key != 0;
}

/* A function may make the graph from its config, so an update needs that of the thread's last
 * run. */
static int read_configurable(struct store_query *query,
                             struct store *store,
                             int64_t thread,
                             struct error *why)
{
    struct state_question *q = query->data;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct buf b LOCAL_BUF(SIZE_MAX / 4);
    int64_t last = 0;
    struct run_row run;
    struct json j;
    int code = store_thread_jobs(store, thread, on_last_run, &last, why);

    if (code != 0 || last == 0)
        return code;
    code = store_run_get(store, last, &run, why);
    if (code != 0 || json_read(&reader, run.kwargs, &j, NULL) != 0)
        return code;
    json_begin(&b);
    json_each_member(key, value, json_at(json_at(j.root, "config"), "configurable")) {
        if (is_of_run(json_text(key)))
            continue;
        json_put_key(&b, json_text(key));
        json_put_value(&b, value);
    }
    json_end(&b);
    return b.error != 0 || !arena_copy(&query->mem, buf_text(&b), &q->configurable)
               ? error_set(why, ERR_NOMEM, "out of memory")
               : 0;
}

/* Finds the graph of the thread, and its config. */
static void run_update(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct state_question *q = query->data;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct error why = { 0 };
    struct thread_row thread;
    struct json j;

    if (!langgraph_get_thread(query, store, q->filter.thread, &thread))
        return;
    int64_t key = thread.key; /* reading invalidates the texts of the row */
    if (str_is(thread.status, "busy")) {
        query->status = 409;
        buf_lit(&query->out, LANGGRAPH_THREAD_BUSY);
        return;
    }
    struct str graph = json_read(&reader, thread.metadata, &j, NULL) == 0
                           ? json_text(json_at(j.root, "graph_id"))
                           : STR_NONE;
    if (str_absent(graph)) {
        query->status = 400;
        buf_lit(&query->out, "the thread has no graph yet: run one, or make the thread with a "
                             "graph_id in its metadata");
    } else if (!arena_copy(&query->mem, graph, &q->graph)) {
        query->status = 503;
        buf_lit(&query->out, "out of memory");
    } else if (read_configurable(query, store, key, &why) != 0) {
        store_query_broke(query, &why);
    }
}

static bool answer_update(struct store_query *query)
{
    ask_worker(query->req, query->data);
    return false;
}

void api_thread_update(struct http_request *req)
{
    struct store_query *query = question_new(req, run_update);

    if (query == NULL)
        return;
    query->answer = answer_update;
    store_query_post(query);
}
