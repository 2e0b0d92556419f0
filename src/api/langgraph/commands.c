/* POST /threads/{thread}/commands: finds the command, reads the thread, and answers in the
 * protocol's form.
 *
 *     body ──▶ command ──▶ the thread is read (pool) ──▶ answered, or a run is created */
#include "api/langgraph/commands.h"

#include "api/admit.h"
#include "base/error.h"
#include "base/json_format.h"
#include "dialect/render.h"
#include "dialect/thread_events.h"
#include "jobs/job_scope.h"

#include <stdarg.h>
#include <stdio.h>

/* --- a command ---------------------------------------------------------------------------- */

bool thread_command_init(struct thread_command *c, struct str body)
{
    *c = (struct thread_command){ 0 };
    json_reader_init(&c->reader, SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    if (json_read(&c->reader, body, &c->json, NULL) != 0)
        return false;
    c->id = json_int(json_at(c->json.root, "id"), -1);
    c->method = json_text(json_at(c->json.root, "method"));
    c->params = json_at(c->json.root, "params");
    return c->id >= 0 && !str_absent(c->method);
}

void thread_command_done(struct thread_command *c)
{
    json_reader_done(&c->reader);
}

void thread_command_answer(struct http_request *req, struct str result, uint64_t n_runs)
{
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    (void)thread_command_init(&c, http_body(req)); /* it was read before */
    json_format(&out,
                "{'type':'success','id':%d,'result':%j,"
                "'meta':{'thread_id':%s,'applied_through_seq':%d}}",
                c.id, result, http_param(req, "thread"), thread_seq(n_runs, 0, 0));
    api_json(req, 200, &out);
}

void thread_command_refuse(struct http_request *req, const char *code, const char *format, ...)
{
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct buf out LOCAL_BUF(8192);
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* may be truncated */
    va_end(args);
    if (thread_command_init(&c, http_body(req)))
        json_format(&out, "{'type':'error','id':%d,'error':%s,'message':%s}", c.id, code, text);
    else
        json_format(&out, "{'type':'error','id':null,'error':%s,'message':%s}", code, text);
    api_json(req, 200, &out);
}

/* --- the thread --------------------------------------------------------------------------- */

static void put_ids(struct buf *b, struct str interrupts)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct json json;

    if (str_empty(interrupts) || json_read(&reader, interrupts, &json, NULL) != 0)
        return;
    json_each_member(task, list, json.root) {
        (void)task;
        json_each(one, list)
            if (!str_empty(json_text(json_at(one, "id"))))
                json_put_str(json_next(b), json_text(json_at(one, "id")));
    }
}

struct last_run {
    int64_t key;
    bool is_open;
};

static int on_last_run(void *arg, const struct job_row *row)
{
    struct last_run *last = arg;
    enum job_state state = JOB_QUEUED;

    if (langgraph_is_hidden(row))
        return 0;
    (void)job_state_find(row->state, &state); /* written by us */
    *last = (struct last_run){ .key = row->key, .is_open = !job_state_is_final(state) };
    return 1;
}

static int on_question(void *arg, const struct question_row *row)
{
    struct buf *b = arg;

    json_put_str(json_next(b), row->id);
    return 0;
}

/* A question is shown as soon as it is stored, so it can be answered although its run has not
 * ended yet: the answer's run is queued behind it. */
static int read_last(struct store_query *query, struct store *store, int64_t key, struct buf *b)
{
    struct command_thread *t = query->data;
    struct last_run last = { 0 };
    struct run_row run;
    struct error err = { 0 };
    int code = store_thread_jobs(store, key, on_last_run, &last, &err);

    if (code == 0 && last.is_open)
        code = store_questions(store, last.key, on_question, b, &err);
    if (code == 0 && last.key != 0) {
        code = store_run_get(store, last.key, &run, &err);
        if (code == 0 && !arena_copy(&query->mem, run.assistant, &t->assistant))
            code = ERR_NOMEM;
    }
    return code;
}

static bool read_thread(struct store_query *query, struct store *store, struct str id)
{
    struct command_thread *t = query->data;
    struct buf ids LOCAL_BUF(SIZE_MAX / 4);
    struct error err = { 0 };
    struct thread_row row;
    int code = store_thread_get(store, id, &row, &err);

    if (code == 0 && !job_scope_includes(store_query_job_scope(query), row.id, row.owner))
        code = ERR_NOT_FOUND;
    if (code == ERR_NOT_FOUND)
        return true;
    if (code == 0) {
        t->is_there = t->has_run = true;
        t->key = row.key;
        t->n_runs = (uint64_t)row.n_runs;
        json_begin_array(&ids);
        put_ids(&ids, row.interrupts);
        code = read_last(query, store, row.key, &ids);
        json_end_array(&ids);
    }
    if (code == 0 && ids.error == 0 && arena_copy(&query->mem, buf_text(&ids), &t->interrupts))
        return true;
    store_query_broke(query, &err);
    return false;
}

/* --- the table ---------------------------------------------------------------------------- */

struct command_kind {
    const char *method;
    /* On the pool: fills query->out with the answer, or query->data for `run`. */
    void (*read)(struct store_query *query,
                 struct store *store,
                 const struct thread_command *c,
                 struct str thread);
    /* On the loop, if it cannot be answered from the store. */
    void (*run)(struct http_request *req, const struct command_thread *thread);
    bool needs_thread;
};

static const struct command_kind kinds[] = {
    { "run.start", NULL, thread_command_run_start, false },
    { "input.respond", NULL, thread_command_input_respond, true },
    { "input.inject", NULL, thread_command_input_inject, true },
    { "state.fork", thread_command_find_checkpoint, thread_command_fork, true },
    { "agent.getTree", thread_command_get_tree, NULL, true },
    { "state.get", thread_command_state_get, NULL, true },
    { "state.listCheckpoints", thread_command_list_checkpoints, NULL, true },
};

static const struct command_kind *kind_of(struct str method)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (str_eq(method, str_of(kinds[i].method)))
            return &kinds[i];
    return NULL;
}

static void run_command(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    const struct command_thread *t = query->data;
    struct str thread = str_make(query->job, query->job_n);
    struct thread_command c LOCAL_THREAD_COMMAND;

    if (!read_thread(query, store, thread) || !t->is_there || !thread_command_init(&c, t->body))
        return;
    const struct command_kind *kind = kind_of(c.method);
    if (kind->read != NULL)
        kind->read(query, store, &c, thread);
}

static bool answer_command(struct store_query *query)
{
    const struct command_thread *t = query->data;
    struct http_request *req = query->req;
    struct thread_command c LOCAL_THREAD_COMMAND;

    (void)thread_command_init(&c, http_body(req)); /* it was read before */
    const struct command_kind *kind = kind_of(c.method);
    if (kind->needs_thread && (!t->is_there || !t->has_run))
        thread_command_refuse(req, "no_such_run",
                              "the thread has no run: start one with run.start");
    else if (kind->run != NULL)
        kind->run(req, t);
    else if (query->out.error != 0)
        (void)api_no_memory(req);
    else
        thread_command_answer(req, buf_text(&query->out), t->n_runs);
    return false;
}

void api_thread_command(struct http_request *req)
{
    struct thread_command c LOCAL_THREAD_COMMAND;

    if (!thread_command_init(&c, http_body(req))) {
        thread_command_refuse(
            req, "invalid_argument",
            "a command is a JSON object with a whole number \"id\" and a text "
            "\"method\"");
        return;
    }
    if (kind_of(c.method) == NULL) {
        if (str_starts(c.method, STR("subscription.")))
            thread_command_refuse(req, "not_supported",
                                  "subscriptions are for WebSockets; over HTTP, open "
                                  "POST /threads/{id}/stream/events");
        else
            thread_command_refuse(req, "unknown_command", "Unknown protocol command: %.*s",
                                  STR_ARG(str_head(c.method, 80)));
        return;
    }
    struct store_query *query = store_query_new_with(
        req, http_param(req, "thread"), run_command, sizeof(struct command_thread));
    struct command_thread *t = query != NULL ? query->data : NULL;
    if (query == NULL)
        return;
    query->answer = answer_command;
    if (arena_copy(&query->mem, http_body(req), &t->body)) {
        store_query_post(query);
        return;
    }
    store_query_free(query);
    (void)api_no_memory(req);
}
