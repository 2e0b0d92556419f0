/* Native events: `aiq`'s category.state (workflow.*, llm.*, tool.*, artifact.*,
 * job.*), and `agent`'s, which are already transformed (agent.*, graph.*, output.*,
 * job.*).
 *
 *     {"type":"tool.start","id","name","timestamp","data":{…},"metadata":{"agent_id"}}
 *     {"type":"agent.token","agent_id","token"}
 *
 * Servers of `aiq` move the type into the SSE `event:` line, so that is taken where the JSON
 * has none.  The tools and tokens of `agent` have no run ids: the fold pairs them by agent
 * and name. */
#include "ingest/sources.h"

#include <strings.h>

struct native {
    const yyjson_val *root;
    const yyjson_val *data; /* object, or NULL */
    struct str agent_id;    /* `agent`: of the event; `aiq`: of its metadata */
};

static const yyjson_val *get(const yyjson_val *object, struct str key)
{
    const yyjson_val *v = json_get(object, key);

    return json_is_null(v) ? NULL : v;
}

#define top(in, literal)   get((in)->root, STR(literal))
#define inner(in, literal) get((in)->data, STR(literal))

/* --- category.state: runs ---------------------------------------------------- */

/* An end with an error, or with a status other than ok, is an error.  The status is its
 * type: `interrupted` and `cancelled` are no failures. */
static void read_outcome(const struct source_line *in,
                         const struct native *n,
                         const yyjson_val *status,
                         struct event *ev)
{
    const yyjson_val *error = either(inner(n, "error"), top(n, "error"));
    struct str word = json_text(status);
    bool ok = str_empty(word) || str_is(word, "ok") || str_is(word, "success");

    error = either(error, json_at(in->top.metadata, "error"));
    if (ok && error == NULL)
        return;
    ev->kind = EVENT_RUN_ERROR;
    if (error != NULL)
        read_error(error, in->scratch, ev);
    else
        ev->error = word;
    if (!ok && (str_absent(ev->error_type) || !str_is(word, "error")))
        ev->error_type = word;
}

static void read_failure(const struct source_line *in, const struct native *n, struct event *ev)
{
    if (ev->kind == EVENT_RUN_END)
        read_outcome(in, n, json_at(in->top.metadata, "status"), ev);
}

static void read_run(const struct source_line *in, const struct native *n, struct event *ev)
{
    ev->run = json_text(in->top.id);
    ev->name = json_text(in->top.name);
    ev->input = inner(n, "input");
    ev->output = inner(n, "output");
    ev->call =
        json_text(either(inner(n, "tool_call_id"), json_at(in->top.metadata, "tool_call_id")));
    read_meta(in->top.metadata, in->top.metadata_key, ev);
    if (!str_absent(n->agent_id)) {
        ev->parent = n->agent_id;
        ev->parents_known = true;
    }
}

/* Agents.  AI-Q's own server makes a new id for every event, and metadata.agent_id is the
 * agent's; in our streams both are the agent's.  Another agent's id is the parent's. */
static int read_workflow(const struct source_line *in, const struct native *n, struct event *ev)
{
    struct str workflow = json_text(json_at(in->top.metadata, "workflow"));

    read_run(in, n, ev);
    if (!str_absent(n->agent_id) && str_eq(workflow, ev->name))
        ev->run = n->agent_id;
    if (str_absent(n->agent_id) || str_eq(n->agent_id, ev->run)) {
        ev->parent = STR_NONE;
        ev->parents_known = false;
        ev->top = true;
        if (str_absent(ev->node))
            ev->node = ev->name;
    }
    read_failure(in, n, ev);
    return 0;
}

static int read_llm(const struct source_line *in, const struct native *n, struct event *ev)
{
    const yyjson_val *prompts =
        either(json_at(in->top.metadata, "prompt_count"), inner(n, "prompt_count"));
    const yyjson_val *messages =
        either(json_at(in->top.metadata, "message_count"), inner(n, "message_count"));

    read_run(in, n, ev);
    if (prompts != NULL)
        ev->type = RUN_LLM;
    ev->count = json_int(either(prompts, messages), ev->count);
    return 0;
}

static int read_llm_chunk(const struct source_line *in,
                          const struct native *n,
                          struct event *ev)
{
    struct str text;
    int err = want_text(in, inner(n, "chunk"), "data.chunk", &text);

    read_run(in, n, ev);
    set_text_message(ev, text, true);
    return err;
}

static int read_llm_end(const struct source_line *in, const struct native *n, struct event *ev)
{
    const yyjson_val *usage = either(json_at(in->top.metadata, "usage"), inner(n, "usage"));
    struct str thinking =
        json_text(either(json_at(in->top.metadata, "thinking"), inner(n, "thinking")));

    read_run(in, n, ev);
    if (ev->output == NULL)
        ev->output = inner(n, "text");
    read_model_message(ev->output, in->scratch, ev);
    if (!ev->has_message && (yyjson_is_obj((yyjson_val *)usage) || !str_empty(thinking)))
        set_text_message(ev, STR(""), false);
    if (yyjson_is_obj((yyjson_val *)usage))
        ev->message.usage = usage;
    if (!str_empty(thinking))
        ev->message.reasoning = thinking;
    read_failure(in, n, ev);
    return 0;
}

static int read_start(const struct source_line *in, const struct native *n, struct event *ev)
{
    read_run(in, n, ev);
    return 0;
}

static int read_tool_end(const struct source_line *in, const struct native *n, struct event *ev)
{
    read_run(in, n, ev);
    read_tool_message(ev->output, in->scratch, ev);
    read_failure(in, n, ev);
    return 0;
}

static int read_artifact(const struct source_line *in, const struct native *n, struct event *ev)
{
    read_run(in, n, ev);
    if (n->data == NULL)
        return error_set(in->err, ERR_TYPE, "an artifact.update needs its \"data\"");
    ev->data = n->data;
    ev->input = NULL;
    ev->output = NULL;
    return 0;
}

/* --- the job ----------------------------------------------------------------- */

static bool is_word(struct str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

static void end_job(struct event *ev, enum job_end end)
{
    ev->kind = EVENT_JOB_END;
    ev->end = end;
}

/* The error, from whichever member has it; @otherwise when there is none. */
static void read_job_error(const struct source_line *in,
                           const struct native *n,
                           struct str otherwise,
                           struct event *ev)
{
    const yyjson_val *error = either(inner(n, "error"), top(n, "error"));
    struct str type = json_text(either(inner(n, "error_type"), top(n, "error_type")));

    if (error == NULL)
        error = either(inner(n, "reason"), either(inner(n, "message"), top(n, "message")));
    if (error != NULL)
        read_error(error, in->scratch, ev);
    else
        ev->error = otherwise;
    if (!str_absent(type))
        ev->error_type = type;
    ev->details = either(inner(n, "details"), top(n, "details"));
}

static void read_job_output(const struct native *n, struct event *ev)
{
    ev->output = either(top(n, "output"), top(n, "result"));
    if (ev->output == NULL)
        ev->output = either(inner(n, "output"), inner(n, "result"));
}

static int read_status(const struct source_line *in, const struct native *n, struct event *ev)
{
    struct str status = json_text(either(top(n, "status"), inner(n, "status")));

    if (is_word(status, "success")) {
        end_job(ev, JOB_END_SUCCEEDED);
        read_job_output(n, ev);
    } else if (is_word(status, "failure")) {
        end_job(ev, JOB_END_FAILED);
        read_job_error(in, n, STR("unknown error"), ev);
    } else if (is_word(status, "interrupted")) { /* the user cancelled it */
        end_job(ev, JOB_END_CANCELLED);
        read_job_error(in, n, STR_NONE, ev);
    }
    return 0;
}

static int read_error_event(const struct source_line *in,
                            const struct native *n,
                            struct event *ev)
{
    end_job(ev, JOB_END_FAILED);
    read_job_error(in, n, STR("unknown error"), ev);
    return 0;
}

static int read_cancelled(const struct source_line *in,
                          const struct native *n,
                          struct event *ev)
{
    end_job(ev, JOB_END_CANCELLED);
    read_job_error(in, n, STR_NONE, ev);
    return 0;
}

/* job.done and job.failed: a `status` may say more than the name. */
static int read_done(const struct source_line *in, const struct native *n, struct event *ev)
{
    struct str status = json_text(top(n, "status"));

    ev->kind = EVENT_JOB_END;
    if (is_word(status, "cancelled"))
        ev->end = JOB_END_CANCELLED;
    else if (is_word(status, "failed") || is_word(status, "error"))
        ev->end = JOB_END_FAILED;
    if (ev->end == JOB_END_SUCCEEDED)
        read_job_output(n, ev);
    else
        read_job_error(in, n, ev->end == JOB_END_FAILED ? STR("unknown error") : STR_NONE, ev);
    return 0;
}

static int read_failed(const struct source_line *in, const struct native *n, struct event *ev)
{
    ev->end = JOB_END_FAILED;
    return read_done(in, n, ev);
}

static int read_succeeded(const struct source_line *in,
                          const struct native *n,
                          struct event *ev)
{
    ev->end = JOB_END_SUCCEEDED;
    return read_done(in, n, ev);
}

/* job.update: our `aiq` dialect sends questions and answers as this event, too. */
static int read_update(const struct source_line *in, const struct native *n, struct event *ev)
{
    const yyjson_val *text = either(inner(n, "output"), inner(n, "message"));

    ev->name = json_text(in->top.name);
    ev->pause = str_is(ev->name, "pause");
    if ((ev->pause || str_is(ev->name, "interrupt")) && json_at(n->data, "value") != NULL) {
        ev->kind = EVENT_INTERRUPT;
        ev->data = json_at(n->data, "value");
        return want_text(in, inner(n, "interrupt_id"), "data.interrupt_id", &ev->id);
    }
    if (str_is(ev->name, "resume") && json_at(n->data, "interrupt_ids") != NULL) {
        ev->kind = EVENT_RESUMED;
        ev->data = inner(n, "interrupt_ids");
        return 0;
    }
    ev->pause = false;
    text = either(text, either(inner(n, "text"), top(n, "message")));
    ev->text = text_of(either(text, n->data), in->scratch);
    return 0;
}

static int read_nothing(const struct source_line *in, const struct native *n, struct event *ev)
{
    (void)in;
    (void)n;
    (void)ev;
    return 0;
}

/* --- the events of `agent` ---------------------------------------------------- */

static int read_spawned(const struct source_line *in, const struct native *n, struct event *ev)
{
    int err = need_text(in, top(n, "agent_id"), "agent_id", &ev->run);

    if (err == 0)
        err = want_text(in, top(n, "agent_name"), "agent_name", &ev->name);
    if (err == 0)
        err = want_text(in, top(n, "node"), "node", &ev->node);
    ev->top = true;
    if (str_absent(ev->node))
        ev->node = ev->name;
    if (str_absent(ev->name))
        ev->name = ev->node;
    return err;
}

static int read_agent_done(const struct source_line *in,
                           const struct native *n,
                           struct event *ev)
{
    ev->node = json_text(top(n, "node"));
    ev->name = ev->node;
    ev->elapsed = json_int(top(n, "elapsed_ms"), ev->elapsed);
    ev->owes = true;
    read_outcome(in, n, top(n, "status"), ev);
    return need_text(in, top(n, "agent_id"), "agent_id", &ev->run);
}

static int read_token(const struct source_line *in, const struct native *n, struct event *ev)
{
    struct str token;
    int err = want_text(in, top(n, "token"), "token", &token);

    ev->parent = n->agent_id;
    ev->parents_known = !str_absent(n->agent_id);
    set_text_message(ev, token, true);
    return err;
}

static int read_tool_call(const struct source_line *in,
                          const struct native *n,
                          struct event *ev)
{
    const yyjson_val *preview = top(n, "input_preview");

    ev->parent = n->agent_id;
    ev->parents_known = !str_absent(n->agent_id);
    ev->preview = json_text(preview);
    ev->input = either(top(n, "input"), preview);
    ev->call = json_text(top(n, "tool_call_id"));
    return want_text(in, either(top(n, "tool_name"), top(n, "name")), "tool_name", &ev->name);
}

static int read_tool_result(const struct source_line *in,
                            const struct native *n,
                            struct event *ev)
{
    const yyjson_val *summary = top(n, "result_summary");

    ev->parent = n->agent_id;
    ev->parents_known = !str_absent(n->agent_id);
    ev->text = json_text(summary);
    ev->preview = ev->text;
    ev->output = either(top(n, "output"), summary);
    ev->call = json_text(top(n, "tool_call_id"));
    ev->elapsed = json_int(top(n, "elapsed_ms"), ev->elapsed);
    read_outcome(in, n, top(n, "status"), ev);
    if (ev->kind == EVENT_RUN_ERROR && top(n, "error") == NULL && !str_empty(ev->text))
        ev->error = ev->text;
    return want_text(in, either(top(n, "tool_name"), top(n, "name")), "tool_name", &ev->name);
}

static int read_panel_token(const struct source_line *in,
                            const struct native *n,
                            struct event *ev)
{
    int err = want_text(in, top(n, "token"), "token", &ev->text);

    if (str_absent(ev->text))
        ev->text = STR("");
    ev->parent = n->agent_id;
    return err != 0 ? err : want_text(in, top(n, "section"), "section", &ev->section);
}

static int read_section(const struct source_line *in, const struct native *n, struct event *ev)
{
    ev->parent = n->agent_id;
    return need_text(in, top(n, "section"), "section", &ev->section);
}

static int read_node_done(const struct source_line *in,
                          const struct native *n,
                          struct event *ev)
{
    const yyjson_val *node = top(n, "node");

    ev->step = json_int(top(n, "step"), ev->step);
    ev->run = n->agent_id;
    if (yyjson_is_str((yyjson_val *)node) && json_text(node).n == 0) {
        ev->kind = EVENT_NOTHING; /* senders of `agent` events send it for the graph itself */
        return 0;
    }
    return need_text(in, node, "node", &ev->node);
}

static int read_interrupt(const struct source_line *in,
                          const struct native *n,
                          struct event *ev)
{
    const yyjson_val *value = json_at(n->root, "value");

    ev->data = value != NULL ? value : n->root;
    ev->pause = str_is(json_text(json_at(ev->data, "kind")), "pause");
    return want_text(in, either(top(n, "interrupt_id"), top(n, "id")), "interrupt_id", &ev->id);
}

static int read_paused(const struct source_line *in, const struct native *n, struct event *ev)
{
    ev->pause = true;
    ev->data = json_at(n->root, "value");
    return want_text(in, either(top(n, "interrupt_id"), top(n, "id")), "interrupt_id", &ev->id);
}

static int read_resumed(const struct source_line *in, const struct native *n, struct event *ev)
{
    ev->data = either(top(n, "resolves"), top(n, "interrupt_ids"));
    return want_text(in, top(n, "interrupt_id"), "interrupt_id", &ev->id);
}

/* --- the table --------------------------------------------------------------- */

static const struct {
    struct str type;
    enum event_kind kind;
    enum run_type run;
    int (*read)(const struct source_line *in, const struct native *n, struct event *ev);
} table[] = {
    { STR("agent.token"), EVENT_RUN_STREAM, RUN_CHAT, read_token },
    { STR("output.token"), EVENT_PANEL_TOKEN, RUN_CHAIN, read_panel_token },
    { STR("llm.chunk"), EVENT_RUN_STREAM, RUN_CHAT, read_llm_chunk },
    { STR("llm.start"), EVENT_RUN_START, RUN_CHAT, read_llm },
    { STR("llm.end"), EVENT_RUN_END, RUN_CHAT, read_llm_end },
    { STR("tool.start"), EVENT_RUN_START, RUN_TOOL, read_start },
    { STR("tool.end"), EVENT_RUN_END, RUN_TOOL, read_tool_end },
    { STR("workflow.start"), EVENT_RUN_START, RUN_CHAIN, read_workflow },
    { STR("workflow.end"), EVENT_RUN_END, RUN_CHAIN, read_workflow },
    { STR("artifact.update"), EVENT_ARTIFACT, RUN_CHAIN, read_artifact },
    { STR("agent.spawned"), EVENT_RUN_START, RUN_CHAIN, read_spawned },
    { STR("agent.tool_call"), EVENT_RUN_START, RUN_TOOL, read_tool_call },
    { STR("agent.tool_result"), EVENT_RUN_END, RUN_TOOL, read_tool_result },
    { STR("agent.done"), EVENT_RUN_END, RUN_CHAIN, read_agent_done },
    { STR("output.section_done"), EVENT_SECTION_END, RUN_CHAIN, read_section },
    { STR("graph.node_complete"), EVENT_NODE_DONE, RUN_CHAIN, read_node_done },
    { STR("graph.interrupt"), EVENT_INTERRUPT, RUN_CHAIN, read_interrupt },
    { STR("graph.paused"), EVENT_INTERRUPT, RUN_CHAIN, read_paused },
    { STR("graph.resumed"), EVENT_RESUMED, RUN_CHAIN, read_resumed },
    { STR("job.update"), EVENT_UPDATE, RUN_CHAIN, read_update },
    { STR("job.status"), EVENT_NOTHING, RUN_CHAIN, read_status },
    { STR("job.done"), EVENT_NOTHING, RUN_CHAIN, read_succeeded },
    { STR("job.failed"), EVENT_NOTHING, RUN_CHAIN, read_failed },
    { STR("job.error"), EVENT_NOTHING, RUN_CHAIN, read_error_event },
    { STR("job.cancelled"), EVENT_NOTHING, RUN_CHAIN, read_cancelled },
    { STR("job.cancellation_requested"), EVENT_NOTHING, RUN_CHAIN, read_nothing },
    { STR("job.heartbeat"), EVENT_NOTHING, RUN_CHAIN, read_nothing },
    { STR("job.shutdown"), EVENT_NOTHING, RUN_CHAIN, read_nothing },
    { STR("stream.mode"), EVENT_NOTHING, RUN_CHAIN, read_nothing },
};

int native_read(const struct source_line *in, struct event *ev)
{
    struct native n = { .root = in->json->root };
    struct str type = json_text(in->top.type);
    char word[QUOTED_BYTES];

    if (in->top.type == NULL)
        type = in->sse_event;
    if (str_empty(type))
        return error_set(in->err, ERR_TYPE, "\"type\" must be a string, like \"tool.start\"");
    if (yyjson_is_obj((yyjson_val *)in->top.data))
        n.data = in->top.data;
    n.agent_id = json_text(json_at(in->top.metadata, "agent_id"));
    if (str_empty(n.agent_id))
        n.agent_id = json_text(json_at(n.root, "agent_id"));
    if (str_empty(n.agent_id))
        n.agent_id = STR_NONE;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (str_eq(type, table[i].type)) {
            ev->kind = table[i].kind;
            ev->type = table[i].run;
            return table[i].read(in, &n, ev);
        }
    }
    return error_set(in->err, ERR_TYPE, "unknown event type \"%s\"", quoted(type, word));
}
