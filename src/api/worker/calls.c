/* Calls: a client asks a worker of an agent something, and waits for the answer.
 *
 * A pull worker gets the call in the answer to its lease request, and sends its answer as a
 * separate request.  A process of a pool gets it as a line on stdin and answers on stdout.  A
 * process that is started for each job takes no calls: its stdin has only the job. */
#include "api/admit.h"
#include "api/api.h"
#include "api/jobs/jobs.h"
#include "base/error.h"
#include "dialect/render.h"

enum { DEFAULT_S = 10, MAX_S = 60, MAX_NAME = 100, MAX_NAMED = 32, MAX_DEPTH = 64 };

/* --- the caller -------------------------------------------------------------------- */

static void answer_call(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;

    if (j->code == ERR_BUSY && j->call.is_taken) {
        http_respond_error(call->req, 504, "%s", j->why.text);
        return;
    }
    if (journal_call_refused(call))
        return;
    if (j->call.error.p != NULL) {
        http_respond_error(call->req, 502, "the worker answered: %.*s",
                           STR_ARG(str_head(j->call.error, 400)));
        return;
    }
    json_begin(&call->out);
    json_add_raw(&call->out, "answer", j->call.output);
    json_end(&call->out);
    api_json(call->req, 200, &call->out);
}

/* These calls access the saved state of a thread; only the routes of threads may make them,
 * because they check who owns the thread. */
static bool is_open(struct http_request *req, struct str name)
{
    if (!str_is(name, "get_state") && !str_is(name, "update_state") &&
        !str_is(name, "bulk_update_state"))
        return true;
    return http_respond_error(
        req, 403,
        "%.*s is about a thread: use /threads/{thread}/state, which knows whose it "
        "is",
        STR_ARG(name));
}

/* Does a member with this name hold ids of threads, or of jobs or runs?  `thread`, `thread_id`,
 * `threadId`, or their plurals; the same for `job` and `run`. */
static bool is_name_of(struct str key, bool *ret_is_thread)
{
    static const char *const names[] = { "thread", "job", "run" };
    static const char *const ends[] = { "", "s", "_id", "_ids", "Id", "Ids" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct str end = str_skip(key, strlen(names[i]));

        for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
            if (str_starts(key, str_of(names[i])) && str_eq(end, str_of(ends[k]))) {
                *ret_is_thread = i == 0;
                return true;
            }
    }
    return false;
}

/* False: the list is full. */
static bool add_named(const yyjson_val *id,
                      bool is_thread,
                      struct journal_named *list,
                      size_t *n)
{
    if (str_absent(json_text(id)))
        return true;
    if (*n == MAX_NAMED)
        return false;
    list[(*n)++] = (struct journal_named){ json_text(id), is_thread };
    return true;
}

/* Collects the jobs and threads that @value names, at any depth; false: the list is full. */
static bool find_named(const yyjson_val *value, struct journal_named *list, size_t *n)
{
    bool ok = true, is_thread;

    if (value == NULL)
        return true; /* a call without params */
    json_each(member, value)
        ok = ok && find_named(member, list, n);
    json_each_member(key, member, value) {
        if (is_name_of(json_text(key), &is_thread)) {
            ok = ok && add_named(member, is_thread, list, n);
            json_each(one, member)
                ok = ok && add_named(one, is_thread, list, n);
        }
        ok = ok && find_named(member, list, n);
    }
    return ok;
}

/* Keeps the jobs and threads that the params name; the journal checks whether the caller may
 * access them. */
static bool read_named(struct journal_call *call, const yyjson_val *params)
{
    struct journal_request *r = &call->journal;
    struct journal_named *list = arena_alloc(&r->mem, MAX_NAMED * sizeof(*list));

    if (list == NULL)
        return api_no_memory(call->req);
    if (!find_named(params, list, &r->call.n_named))
        return http_respond_error(call->req, 422,
                                  "\"params\" may name at most %d jobs and threads", MAX_NAMED);
    r->call.named = list;
    for (size_t i = 0; i < r->call.n_named; i++)
        if (!arena_copy(&r->mem, list[i].id, &list[i].id))
            return api_no_memory(call->req);
    return true;
}

static bool read_question(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *r = &call->journal;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    struct str name = json_text(json_at(j.root, "name"));
    int64_t timeout = json_int(json_at(j.root, "timeout"), DEFAULT_S);
    if (name.n == 0 || name.n > MAX_NAME)
        return http_respond_error(call->req, 422, "\"name\" must be a text of 1 to %d bytes",
                                  MAX_NAME);
    if (timeout < 1 || timeout > MAX_S)
        return http_respond_error(call->req, 422, "\"timeout\" must be 1 to %d seconds", MAX_S);
    if (!is_open(call->req, name) || !read_named(call, json_at(j.root, "params")))
        return false;
    r->call.wait_ms = timeout * 1000;
    if (!arena_copy(&r->mem, name, &r->call.name) || !jobs_make_id(&r->mem, &r->call.id))
        return api_no_memory(call->req);
    return api_keep_json(&r->mem, json_at(j.root, "params"), &r->call.params) ||
           api_no_memory(call->req);
}

static const struct app_agent *find_agent(const struct app_settings *now, struct str name)
{
    for (size_t i = 0; i < now->n_agents; i++)
        if (str_eq(now->agents[i].name, name))
            return &now->agents[i];
    return NULL;
}

const struct app_agent *api_agent(struct http_request *req)
{
    struct str name = http_param(req, "agent");
    const struct app_agent *agent = find_agent(app_settings(app_loop_of(req)->app), name);

    if (agent == NULL)
        http_respond_error(req, 404, "unknown agent: %.*s", STR_ARG(str_head(name, 80)));
    return agent != NULL && api_may_use_agent(req, name) ? agent : NULL;
}

/* The same, if it takes calls. */
static const struct app_agent *called_agent(struct http_request *req)
{
    const struct app_agent *agent = api_agent(req);

    if (agent != NULL && !agent_kinds[agent->kind].takes_calls) {
        http_respond_error(req, 503,
                           "the agent %.*s has a process for each job, which takes no calls: "
                           "pull workers and pools do",
                           STR_ARG(agent->name));
        return NULL;
    }
    return agent;
}

void api_call(struct http_request *req)
{
    const struct app_agent *agent = called_agent(req);
    struct journal_call *call =
        agent != NULL ? journal_call_new(req, JOURNAL_CALL, answer_call) : NULL;

    if (call == NULL)
        return;
    call->journal.call.agent = agent->name; /* borrowed as long as the app */
    journal_call_read(call, MAX_DEPTH, read_question);
}

/* --- the worker -------------------------------------------------------------------- */

static void answer_delivered(struct journal_call *call)
{
    if (!journal_call_refused(call))
        http_respond(call->req, 200, "application/json",
                     STR("{" JSON_CONST("delivered", "true") "}"));
}

static bool read_reply(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *r = &call->journal;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    struct str error = json_text(json_at(j.root, "error"));
    yyjson_val *value = json_at(j.root, "answer");
    if ((value == NULL) == str_absent(error))
        return http_respond_error(
            call->req, 422, "the body must have \"answer\" (any JSON) or \"error\" (a text)");
    if (!arena_copy(&r->mem, http_param(call->req, "call"), &r->answer.id) ||
        !arena_copy(&r->mem, error, &r->answer.error))
        return api_no_memory(call->req);
    return value == NULL || api_keep_json(&r->mem, value, &r->answer.output) ||
           api_no_memory(call->req);
}

void api_worker_answer(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_ANSWER_CALL, answer_delivered);

    if (call != NULL)
        journal_call_read(call, 256, read_reply);
}
