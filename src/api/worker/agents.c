/* GET /v1/agents: the agents, how much waits for each, and whether its workers can work.
 * POST /v1/worker/agents/{agent}/state: a worker says that it cannot work for an agent, or can
 * again. */
#include "api/admit.h"
#include "api/api.h"

#include "auth/token.h"
#include "base/error.h"
#include "base/utf8.h"
#include "dialect/render.h"

enum { MAX_NAME = 200, MAX_ERROR = 1000, MAX_DEPTH = 4 };

static const struct journal_agent_state *find_state(const struct agents_request *list,
                                                    struct str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->list[i].name, name))
            return &list->list[i];
    return NULL;
}

static void put_agent(struct buf *b,
                      const struct app_agent *agent,
                      const struct journal_agent_state *s)
{
    static const struct journal_agent_state nothing; /* as it just came with a reload */

    if (s == NULL)
        s = &nothing;
    json_begin(b);
    json_add_str(b, "agent", agent->name);
    json_add_str(b, "description", agent->description);
    json_add_str(b, "kind", str_of(agent_kinds[agent->kind].name));
    json_add_uint(b, "queued", s->n_waiting);
    json_add_uint(b, "leased", s->n_running);
    if (s->n_waiting > 0)
        json_add_int(b, "oldest_ms", s->oldest_ms);
    else
        json_add_const(b, "oldest_ms", "null");
    json_add_uint(b, "broken_workers", s->n_broken);
    json_add_text(b, "error", s->error);
    json_end(b);
}

static void answer_agents(struct journal_call *call)
{
    const struct app_settings *now = app_settings(call->loop->app);
    struct buf *b = &call->out;

    if (journal_call_refused(call))
        return;
    json_begin_list(b, "agents");
    for (size_t i = 0; i < now->n_agents; i++) {
        const struct app_agent *agent = &now->agents[i];

        if (agent->is_public && token_has_agent(api_token(call->req), agent->name))
            put_agent(json_next(b), agent, find_state(&call->journal.agents, agent->name));
    }
    json_end_list(b);
    api_json(call->req, 200, b);
}

void api_agents(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_AGENTS, answer_agents);

    if (call != NULL)
        journal_call_post(call);
}

/* --- reports ------------------------------------------------------------------------- */

static void answer_report(struct journal_call *call)
{
    if (!journal_call_refused(call))
        http_respond(call->req, 200, "application/json",
                     STR("{" JSON_CONST("noted", "true") "}"));
}

static bool read_report(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *r = &call->journal;
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    struct str worker = json_text(json_at(j.root, "worker"));
    yyjson_val *error = json_at(j.root, "error");
    if (str_absent(worker) || worker.n == 0 || worker.n > MAX_NAME)
        return http_respond_error(
            call->req, 422, "\"worker\" must be the worker's name, of 1 to %d bytes", MAX_NAME);
    if (error != NULL && !yyjson_is_null(error) && !yyjson_is_str(error))
        return http_respond_error(
            call->req, 422,
            "\"error\" must be a text, or null: the worker can work for the agent");
    return (arena_copy(&r->mem, worker, &r->report.worker) &&
            arena_copy(&r->mem, utf8_head_bytes(json_text(error), MAX_ERROR),
                       &r->report.error)) ||
           api_no_memory(call->req);
}

void api_worker_state(struct http_request *req)
{
    const struct app_agent *agent = api_agent(req);
    struct journal_call *call =
        agent != NULL ? journal_call_new(req, JOURNAL_REPORT, answer_report) : NULL;

    if (call == NULL)
        return;
    call->journal.report.agent = agent->name; /* borrowed as long as the app */
    journal_call_read(call, MAX_DEPTH, read_report);
}
