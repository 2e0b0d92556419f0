/* Commands that start a run: run.start, state.fork, input.inject, and input.respond, which
 * continues with answers.
 *
 * They are written as the body of a RunCreate, and read by langgraph_read_run() as any other,
 * so that a run is the same whichever protocol has started it. */
#include "api/langgraph/commands.h"

#include "base/error.h"
#include "base/json_format.h"

/* Adds a member of @from, unless it is null. */
static void pass_on(struct buf *b, const yyjson_val *from, const char *name)
{
    yyjson_val *value = json_get(from, str_of(name));

    if (json_is_null(value))
        return;
    json_put_key(b, str_of(name));
    json_put_value(b, value);
}

/* An unknown strategy is the default one, as in the real servers. */
static struct str strategy_of(const yyjson_val *params)
{
    static const char *const known[] = { "reject", "interrupt", "rollback" };
    struct str given =
        json_text(langgraph_member(params, "multitask_strategy", "multitaskStrategy"));

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(given, str_of(known[i])))
            return given;
    return STR("enqueue");
}

/* Everything but the input or the command. */
static void put_options(struct buf *b, const yyjson_val *params)
{
    static const char *const passed[] = {
        "config",           "metadata",        "context",    "checkpoint",      "checkpoint_id",
        "interrupt_before", "interrupt_after", "durability", "langsmith_tracer"
    };

    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        pass_on(b, params, passed[i]);
    json_add_str(b, "multitask_strategy", strategy_of(params));
    json_add_lit(b, "if_not_exists", "create");
    json_add_const(b, "stream_subgraphs", "true");
    json_key(b, "stream_mode");
    buf_lit(b,
            "[\"values\",\"updates\",\"messages-tuple\",\"custom\",\"tasks\",\"checkpoints\","
            "\"tools\"]");
}

static bool read_body(struct journal_call *call, const struct buf *body)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    struct json json;

    if (body->error != 0 || json_read(&reader, buf_text(body), &json, NULL) != 0)
        return api_no_memory(call->req);
    return langgraph_read_run(call, json.root);
}

static void answer_started(struct journal_call *call)
{
    if (langgraph_refused_run(call))
        return;
    json_format(&call->out, "{'run_id':%s}", call->journal.row->id);
    thread_command_answer(call->req, buf_text(&call->out),
                          (uint64_t)call->journal.row->ordinal);
}

static void submit(struct http_request *req,
                   const struct assistant_row *assistant,
                   bool (*read)(struct journal_call *call, struct json_reader *reader),
                   void (*answer)(struct journal_call *call))
{
    struct journal_call *call = journal_call_new(req, JOURNAL_SUBMIT, answer);

    if (call == NULL)
        return;
    call->assistant = assistant;
    journal_call_read(call, LANGGRAPH_MAX_DEPTH, read);
}

/* --- run.start ---------------------------------------------------------------------------- */

static bool read_start(struct journal_call *call, struct json_reader *unused)
{
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    (void)unused;
    (void)thread_command_init(&c, buf_text(&call->body)); /* it was read before */
    json_begin(&body);
    pass_on(&body, c.params, "input");
    put_options(&body, c.params);
    json_end(&body);
    return read_body(call, &body);
}

/* The thread waits for an answer: the input is it. */
static bool read_start_as_answer(struct journal_call *call, struct json_reader *unused)
{
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    (void)unused;
    (void)thread_command_init(&c, buf_text(&call->body)); /* it was read before */
    json_begin(&body);
    json_key(&body, "command");
    json_begin(&body);
    json_key(&body, "resume");
    json_put_value(&body, json_at(c.params, "input"));
    json_end(&body);
    put_options(&body, c.params);
    json_end(&body);
    return read_body(call, &body);
}

static void start(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, read_start, answer_started);
}

static void start_as_answer(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, read_start_as_answer, answer_started);
}

/* A run that begins at another checkpoint does not answer the newest question. */
static bool forks(const yyjson_val *params)
{
    yyjson_val *configurable = json_at(json_at(params, "config"), "configurable");

    return !str_empty(json_text(json_at(configurable, "checkpoint_id")));
}

void thread_command_run_start(struct http_request *req, const struct command_thread *thread)
{
    struct thread_command c LOCAL_THREAD_COMMAND;

    (void)thread_command_init(&c, http_body(req)); /* it was read before */
    struct str assistant = json_text(langgraph_member(c.params, "assistant_id", "assistantId"));
    if (str_empty(assistant))
        assistant = thread->assistant;
    if (str_empty(assistant))
        thread_command_refuse(
            req, "invalid_argument",
            "run.start needs \"assistant_id\": an assistant's id or a graph's name");
    else if (!json_is_null(json_at(c.params, "input")) && thread->interrupts.n > 2 &&
             !forks(c.params))
        langgraph_with_assistant(req, assistant, start_as_answer);
    else
        langgraph_with_assistant(req, assistant, start);
}

/* --- state.fork ----------------------------------------------------------------------------
 */

static void answer_forked(struct journal_call *call)
{
    if (langgraph_refused_run(call))
        return;
    json_format(&call->out, "{'run_id':%s,'thread_id':%s}", call->journal.row->id,
                http_param(call->req, "thread"));
    thread_command_answer(call->req, buf_text(&call->out),
                          (uint64_t)call->journal.row->ordinal);
}

static bool read_fork(struct journal_call *call, struct json_reader *unused)
{
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    (void)unused;
    (void)thread_command_init(&c, buf_text(&call->body)); /* it was read before */
    json_begin(&body);
    pass_on(&body, c.params, "input");
    json_key(&body, "checkpoint");
    json_format(&body, "{'checkpoint_id':%s,'checkpoint_ns':''}",
                json_text(json_at(c.params, "checkpoint_id")));
    put_options(&body, c.params);
    json_end(&body);
    return read_body(call, &body);
}

static void fork_run(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, read_fork, answer_forked);
}

void thread_command_fork(struct http_request *req, const struct command_thread *thread)
{
    if (thread->has_checkpoint)
        langgraph_with_assistant(req, thread->assistant, fork_run);
    else
        thread_command_refuse(req, "no_such_checkpoint", "the thread has no such checkpoint");
}

/* --- input.respond ------------------------------------------------------------------------ */

/* Calls back for each answer: the one in @params, or those of its list. */
static void each_answer(const yyjson_val *params,
                        void (*take)(void *arg, struct str id, const yyjson_val *response),
                        void *arg)
{
    yyjson_val *list = json_at(params, "responses");

    if (list == NULL)
        take(arg, json_text(json_at(params, "interrupt_id")), json_at(params, "response"));
    json_each(one, list)
        take(arg, json_text(json_at(one, "interrupt_id")), json_at(one, "response"));
}

static void put_answer(void *arg, struct str id, const yyjson_val *response)
{
    struct buf *b = arg;

    json_put_key(b, id);
    if (response == NULL)
        buf_lit(b, "null");
    else
        json_put_value(b, response);
}

static bool read_respond(struct journal_call *call, struct json_reader *unused)
{
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    (void)unused;
    (void)thread_command_init(&c, buf_text(&call->body)); /* it was read before */
    json_begin(&body);
    json_key(&body, "command");
    json_begin(&body);
    json_key(&body, "resume");
    json_begin(&body);
    each_answer(c.params, put_answer, &body);
    json_end(&body);
    pass_on(&body, c.params, "update");
    pass_on(&body, c.params, "goto");
    json_end(&body);
    put_options(&body, c.params);
    json_end(&body);
    return read_body(call, &body);
}

static void respond(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, read_respond, answer_started);
}

/* What is wrong with the answers. */
struct answer_check {
    const yyjson_val *open; /* ids of the open questions */
    size_t n;
    struct str unknown; /* absent: none */
};

static void check_answer(void *arg, struct str id, const yyjson_val *response)
{
    struct answer_check *check = arg;

    (void)response;
    check->n++;
    json_each(one, check->open)
        if (str_eq(json_text(one), id))
            return;
    check->unknown = str_absent(id) ? STR("") : id;
}

void thread_command_input_respond(struct http_request *req, const struct command_thread *thread)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 8);
    struct answer_check check = { .unknown = STR_NONE };
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct json open;

    (void)thread_command_init(&c, http_body(req)); /* it was read before */
    if (json_read(&reader, thread->interrupts, &open, NULL) != 0) {
        (void)api_no_memory(req);
        return;
    }
    check.open = open.root;
    each_answer(c.params, check_answer, &check);
    if (yyjson_arr_size(open.root) == 0)
        thread_command_refuse(req, "invalid_argument",
                              "input.respond can only be used while the run is interrupted.");
    else if (check.n == 0)
        thread_command_refuse(
            req, "invalid_argument",
            "input.respond needs \"interrupt_id\" and \"response\", or \"responses\"");
    else if (!str_absent(check.unknown))
        thread_command_refuse(req, "no_such_interrupt",
                              "the thread does not wait for an answer to '%.*s'",
                              STR_ARG(str_head(check.unknown, 80)));
    else
        langgraph_with_assistant(req, thread->assistant, respond);
}

/* --- input.inject ------------------------------------------------------------------------- */

static void put_message(struct buf *b, const yyjson_val *message)
{
    json_key(b, "input");
    json_begin(b);
    json_key(b, "messages");
    json_begin_array(b);
    json_put_value(json_next(b), message);
    json_end_array(b);
    json_end(b);
}

static bool read_inject(struct journal_call *call, struct json_reader *unused)
{
    struct thread_command c LOCAL_THREAD_COMMAND;
    struct buf body LOCAL_BUF(SIZE_MAX / 4);

    (void)unused;
    (void)thread_command_init(&c, buf_text(&call->body)); /* it was read before */
    json_begin(&body);
    put_message(&body, json_at(c.params, "message"));
    put_options(&body, c.params);
    json_end(&body);
    return read_body(call, &body);
}

static void inject(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, read_inject, answer_started);
}

static bool is_message(const yyjson_val *message)
{
    struct str role = json_text(json_at(message, "role"));

    return (str_is(role, "user") || str_is(role, "system")) &&
           !str_absent(json_text(json_at(message, "content")));
}

/* A message of a user while the agent works.  A graph takes input only at its beginning, so it
 * is the input of a run that waits for the one at work: the next thing that the agent reads.
 * LangGraph's servers do the same with a run.start while a run is at work. */
void thread_command_input_inject(struct http_request *req, const struct command_thread *thread)
{
    struct thread_command c LOCAL_THREAD_COMMAND;

    (void)thread_command_init(&c, http_body(req)); /* it was read before */
    if (!is_message(json_at(c.params, "message")))
        thread_command_refuse(
            req, "invalid_argument",
            "input.inject needs \"message\" with a \"role\" (user or system) and a text "
            "\"content\"");
    else if (yyjson_arr_size(json_at(c.params, "namespace")) > 0)
        thread_command_refuse(req, "not_supported",
                              "a message can be given to the outermost graph only");
    else if (thread->interrupts.n > 2)
        thread_command_refuse(req, "invalid_argument",
                              "the thread waits for an answer: use input.respond");
    else if (str_empty(thread->assistant))
        thread_command_refuse(req, "no_such_run",
                              "the thread has no run: start one with run.start");
    else
        langgraph_with_assistant(req, thread->assistant, inject);
}
