/* Creates runs: in the background, as a stream, or waiting for the result.
 *
 *     RunCreate ──▶ its assistant is found ──▶ langgraph_read_run() ──▶ SUBMIT ──▶ answered */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "api/jobs/jobs.h"
#include "auth/permit.h"
#include "base/error.h"
#include "webhooks/post.h"

enum { PAGE_MS = 200 }; /* between requests that a page makes at once */

/* --- a RunCreate --------------------------------------------------------------------- */

static void refuse_word(struct journal_call *call,
                        const char *name,
                        const char *const *words,
                        struct str given)
{
    struct buf list LOCAL_BUF(1024);

    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0)
            buf_str(&list, words[i + 1] != NULL ? STR(", ") : STR(" or "));
        buf_str(&list, str_of(words[i]));
    }
    http_respond_error(call->req, 422, "\"%s\" must be %.*s, not '%.*s'", name,
                       STR_ARG(buf_text(&list)), STR_ARG(str_head(given, 40)));
}

/* Reads one of a few words; the first one is the default. */
static bool read_word(struct journal_call *call,
                      const yyjson_val *value,
                      const char *name,
                      const char *const *words,
                      struct str *ret)
{
    struct str given = json_text(value);

    *ret = str_of(words[0]);
    if (json_is_null(value))
        return true;
    for (size_t i = 0; words[i] != NULL; i++) {
        *ret = str_of(words[i]);
        if (str_eq(given, *ret))
            return true;
    }
    refuse_word(call, name, words, given);
    return false;
}

static bool read_words(struct journal_call *call, const yyjson_val *body)
{
    static const char *const strategies[] = { "enqueue", "reject", "interrupt", "rollback",
                                              NULL };
    static const char *const absences[] = { "reject", "create", NULL };
    static const char *const leavings[] = { "continue", "cancel", NULL };
    struct journal_request *j = &call->journal;
    struct str absence, leaving;

    if (!read_word(call, langgraph_member(body, "multitask_strategy", "multitaskStrategy"),
                   "multitask_strategy", strategies, &j->submit.run.strategy) ||
        !read_word(call, langgraph_member(body, "if_not_exists", "ifNotExists"),
                   "if_not_exists", absences, &absence) ||
        !read_word(call, langgraph_member(body, "on_disconnect", "onDisconnect"),
                   "on_disconnect", leavings, &leaving))
        return false;
    j->submit.makes_thread |= str_is(absence, "create");
    call->cancels = str_is(leaving, "cancel");
    return true;
}

static bool read_delay(struct journal_call *call, const yyjson_val *value)
{
    int64_t seconds = json_is_null(value) ? 0 : json_int(value, -1);

    if (seconds < 0 || seconds > 366 * 86400)
        return http_respond_error(call->req, 422,
                                  "\"after_seconds\" must be a whole number, at most a "
                                  "year");
    call->journal.submit.delay_ms = seconds * 1000;
    return true;
}

/* A run without a thread gets one of its own, which goes with it unless it is to be kept. */
static bool read_thread_id(struct journal_call *call, const yyjson_val *body)
{
    struct journal_request *j = &call->journal;
    struct str thread = http_param(call->req, "thread");
    yyjson_val *after = langgraph_member(body, "on_completion", "onCompletion");

    j->submit.makes_thread = str_absent(thread);
    j->submit.is_temporary = str_absent(thread) && !str_is(json_text(after), "keep");
    if (!str_absent(thread) && !job_id_valid(thread))
        return http_respond_error(call->req, 422, "a thread's id is " JOB_ID_RULE);
    return (str_absent(thread) ? langgraph_make_id(&j->mem, &j->thread)
                               : arena_copy(&j->mem, thread, &j->thread)) ||
           api_no_memory(call->req);
}

/* A URL that the settings forbid is refused now, since later nobody would notice. */
static bool read_webhook(struct journal_call *call, const yyjson_val *value)
{
    const struct webhook_settings *settings = call->loop->app->webhooks;
    struct webhook_url url;
    struct error why;

    if (json_is_null(value) || settings == NULL)
        return true;
    if (!yyjson_is_str((yyjson_val *)(uintptr_t)value))
        return http_respond_error(call->req, 422, "\"webhook\" must be a URL");
    if (webhook_policy_check(settings->policy, json_text(value), &url, &why) != 0)
        return http_respond_error(call->req, 422, "%s", why.text);
    return arena_copy(&call->journal.mem, json_text(value), &call->journal.submit.webhook) ||
           api_no_memory(call->req);
}

void langgraph_refuse_assistant(struct http_request *req)
{
    http_respond_error(req, 422,
                       "\"assistant_id\" must be an assistant's id or a graph's name");
}

bool langgraph_read_run(struct journal_call *call, const yyjson_val *body)
{
    struct journal_request *j = &call->journal;
    const struct assistant_row *assistant = call->assistant;
    yyjson_val *command = json_at(body, "command");
    yyjson_val *subgraphs = langgraph_member(body, "stream_subgraphs", "streamSubgraphs");
    struct str run;
    uint32_t modes;

    if (assistant == NULL) {
        langgraph_refuse_assistant(call->req);
        return false;
    }
    if (!langgraph_one_context(call->req, json_at(body, "config"), json_at(body, "context")) ||
        !read_thread_id(call, body) || !read_words(call, body) ||
        !read_delay(call, langgraph_member(body, "after_seconds", "afterSeconds")) ||
        !langgraph_read_modes(call->req, langgraph_member(body, "stream_mode", "streamMode"),
                              &modes) ||
        !read_webhook(call, json_at(body, "webhook")))
        return false;
    j->submit.run.modes = modes;
    j->submit.run.subgraphs = yyjson_is_true(subgraphs);
    if (!langgraph_make_id(&j->mem, &run) ||
        !arena_copy(&j->mem, assistant->id, &j->submit.run.assistant))
        return api_no_memory(call->req);
    /* Some clients send both `input` and `command`; the command wins. */
    if (!jobs_fill_submit(call, assistant->graph,
                          json_is_null(command) ? json_at(body, "input") : NULL, run, 0))
        return false;
    j->submit.is_new_id = true;
    return (langgraph_fill_kwargs(call, body) &&
            langgraph_fill_metadata(call, json_at(body, "metadata")) &&
            langgraph_keep_json(&j->mem, json_at(command, "resume"), &j->submit.resume)) ||
           api_no_memory(call->req);
}

/* LangGraph's `useStream` sends what shall wait for a run (`enqueue`) before that run, whose
 * request it makes up more slowly.  So what a page queues lets such a run pass, if it comes
 * soon. */
static void let_pass(struct journal_call *call, const yyjson_val *body)
{
    struct str strategy =
        json_text(langgraph_member(body, "multitask_strategy", "multitaskStrategy"));
    bool resumable =
        yyjson_is_true(langgraph_member(body, "stream_resumable", "streamResumable"));

    if (str_is(strategy, "enqueue") && resumable && call->journal.submit.delay_ms == 0 &&
        !str_empty(http_header(call->req, "Origin")))
        call->journal.submit.delay_ms = PAGE_MS;
}

static bool read_run(struct journal_call *call, struct json_reader *reader)
{
    struct json json;

    return api_read_body(call->req, reader, buf_text(&call->body), &json) &&
           langgraph_read_run(call, json.root);
}

static bool read_queued(struct journal_call *call, struct json_reader *reader)
{
    struct json json;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &json) ||
        !langgraph_read_run(call, json.root))
        return false;
    let_pass(call, json.root);
    return true;
}

/* --- creating a run ------------------------------------------------------------------ */

bool langgraph_refused_run(struct journal_call *call)
{
    if (call->journal.code != ERR_TYPE)
        return journal_call_refused(call);
    http_respond_error(call->req, 422, "%s", call->journal.why.text);
    return true;
}

/* The thread as the client knows it. */
static struct str thread_of(const struct journal_call *call)
{
    return call->journal.submit.is_temporary ? STR_NONE : call->journal.thread;
}

static void answer_create(struct journal_call *call)
{
    if (langgraph_refused_run(call))
        return;
    langgraph_set_location(call->req, thread_of(call), call->journal.row->id, NULL);
    langgraph_put_new_run(&call->out, &call->journal);
    api_json(call->req, 200, &call->out);
}

/* The permit was taken before the run was created: if it were refused afterwards, the client
 * would retry and create a second run. */
static struct permit *permit_of(struct journal_call *call)
{
    struct permit *permit = call->permit;

    call->permit = NULL;
    return permit;
}

static void answer_stream(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;

    if (langgraph_refused_run(call))
        return;
    langgraph_set_location(call->req, thread_of(call), j->row->id, "stream");
    langgraph_stream(call->req, permit_of(call), j->row->id, (uint32_t)j->submit.run.modes,
                     j->submit.run.subgraphs != 0, call->cancels, 0);
}

static void answer_wait(struct journal_call *call)
{
    if (langgraph_refused_run(call))
        return;
    langgraph_set_location(call->req, thread_of(call), call->journal.row->id,
                           call->journal.submit.is_temporary ? NULL : "join");
    langgraph_wait(call->req, permit_of(call), call->journal.row->id, call->cancels);
}

/* It has a reader from its beginning. */
static bool read_streamed(struct journal_call *call, struct json_reader *reader)
{
    bool is_good = read_run(call, reader);

    call->journal.submit.run.modes |= RUN_IS_READ;
    return is_good;
}

static void submit(struct http_request *req,
                   const struct assistant_row *assistant,
                   void (*answer)(struct journal_call *),
                   bool (*read)(struct journal_call *call, struct json_reader *reader))
{
    struct permit *permit = NULL;
    bool may = read == read_queued || api_take_permit(req, &permit);
    struct journal_call *call = may ? journal_call_new(req, JOURNAL_SUBMIT, answer) : NULL;

    if (call == NULL) {
        permit_free(permit);
        return;
    }
    call->permit = permit;
    call->assistant = assistant;
    journal_call_read(call, LANGGRAPH_MAX_DEPTH, read);
}

void langgraph_with_assistant_of_body(struct http_request *req,
                                      void (*then)(struct http_request *,
                                                   const struct assistant_row *))
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    struct json json;

    int code = json_read(&reader, http_body(req), &json, NULL);
    struct str id = code == 0
                        ? json_text(langgraph_member(json.root, "assistant_id", "assistantId"))
                        : STR_NONE;
    if (code == ERR_NOMEM)
        (void)api_no_memory(req);
    else if (id.n > 0)
        langgraph_with_assistant(req, id, then);
    else
        then(req, NULL);
}

static void create(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, answer_create, read_queued);
}

void api_run_create(struct http_request *req)
{
    langgraph_with_assistant_of_body(req, create);
}

static void stream(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, answer_stream, read_streamed);
}

void api_run_stream(struct http_request *req)
{
    langgraph_with_assistant_of_body(req, stream);
}

static void wait_for(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, answer_wait, read_run);
}

void api_run_wait(struct http_request *req)
{
    langgraph_with_assistant_of_body(req, wait_for);
}
