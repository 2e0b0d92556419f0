#include "api/langgraph/ask.h"

#include "api/admit.h"
#include "api/jobs/jobs.h"
#include "auth/token.h"
#include "base/error.h"

enum { WAIT_MS = 20000, START_MS = 60000 /* a process of a pool may have to load its graph */ };

static const struct app_agent *find_agent(struct http_request *req, struct str graph)
{
    const struct app_settings *now = app_settings(app_loop_of(req)->app);

    for (size_t i = 0; i < now->n_agents; i++)
        if (str_eq(now->agents[i].name, graph))
            return &now->agents[i];
    return NULL;
}

bool ask_is_possible(struct http_request *req, struct str graph)
{
    const struct app_agent *agent = find_agent(req, graph);

    return agent != NULL && agent_kinds[agent->kind].takes_calls &&
           token_has_agent(api_token(req), graph);
}

static const struct app_agent *need_agent(struct http_request *req, struct str graph)
{
    const struct app_agent *agent = find_agent(req, graph);

    if (agent == NULL)
        http_respond_error(req, 404, "there is no graph '%.*s'", STR_ARG(str_head(graph, 80)));
    return agent;
}

static struct journal_call *make(struct http_request *req,
                                 const struct app_agent *agent,
                                 const char *name,
                                 void (*answer)(struct journal_call *))
{
    if (!agent_kinds[agent->kind].takes_calls) {
        http_respond_error(req, 400,
                           "the workers of the graph '%.*s' take no calls: pull workers and "
                           "pools do",
                           STR_ARG(agent->name));
        return NULL;
    }
    struct journal_call *call = journal_call_new(req, JOURNAL_CALL, answer);
    if (call == NULL)
        return NULL;
    struct journal_request *j = &call->journal;
    j->call.agent = agent->name; /* borrowed as long as the app */
    j->call.wait_ms = agent->kind == AGENT_POOL ? START_MS : WAIT_MS;
    j->call.name = str_of(name);
    if (!jobs_make_id(&j->mem, &j->call.id)) {
        (void)api_no_memory(req);
        journal_call_free(call);
        return NULL;
    }
    return call;
}

struct journal_call *ask_new(struct http_request *req,
                             struct str graph,
                             const char *name,
                             void (*answer)(struct journal_call *))
{
    const struct app_agent *agent = need_agent(req, graph);

    /* Asking a worker may start a process. */
    if (agent == NULL || !api_may_use_agent(req, graph) || !api_may_act(req))
        return NULL;
    return make(req, agent, name, answer);
}

struct journal_call *ask_of_server(struct http_request *req,
                                   struct str graph,
                                   const char *name,
                                   void (*answer)(struct journal_call *))
{
    const struct app_agent *agent = need_agent(req, graph);

    return agent != NULL ? make(req, agent, name, answer) : NULL;
}

int ask_failed(const struct journal_call *call, struct str *ret_why)
{
    const struct journal_request *j = &call->journal;

    *ret_why = j->code == 0 ? str_head(j->call.error, 1000) : str_of(j->why.text);
    if (j->code == 0)
        return str_absent(j->call.error) ? 0 : 400;
    return j->code == ERR_BUSY ? 408 : 503;
}

void ask_answer(struct journal_call *call)
{
    struct str why;
    int status = ask_failed(call, &why);

    if (status == 0)
        http_respond(call->req, 200, "application/json", call->journal.call.output);
    else if (status == 503)
        (void)journal_call_refused(call);
    else
        http_respond_error(call->req, status, "%.*s", STR_ARG(why));
}
