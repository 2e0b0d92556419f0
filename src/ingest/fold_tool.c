/* Tools that parts of the stream mode `tools` tell.
 *
 *     LangGraph.js      Python
 *     on_tool_start     tool-started      toolCallId or tool_call_id, name or tool_name, input
 *     on_tool_end       tool-finished     output
 *     on_tool_error     tool-error        error or message
 *
 * Where nothing but parts comes, each call becomes a run of its own (tool.start, tool.end), as
 * if events had told it: dialects show the same tools whichever way a worker sends.  Readers of
 * threads get the part itself, so the run's records are marked (`mirror`).
 *
 * A part does not say which execution a call is in.  LangGraph.js names the node in the
 * namespace.  Python names the graph, so it is the execution whose task is for that call, else
 * the newest open one. */
#include "ingest/fold_state.h"

#include "base/error.h"

enum { MAX_DEPTH = 256 };

enum tool_phase { PHASE_OTHER, PHASE_START, PHASE_END, PHASE_ERROR };

static enum tool_phase phase_of(struct str event)
{
    if (str_is(event, "tool-started") || str_is(event, "on_tool_start"))
        return PHASE_START;
    if (str_is(event, "tool-finished") || str_is(event, "on_tool_end"))
        return PHASE_END;
    if (str_is(event, "tool-error") || str_is(event, "on_tool_error"))
        return PHASE_ERROR;
    return PHASE_OTHER;
}

static struct str either(const yyjson_val *tool, const char *name, const char *other)
{
    struct str text = json_text(json_get(tool, str_of(name)));

    return str_absent(text) ? json_text(json_get(tool, str_of(other))) : text;
}

static struct run *exec_of_task(struct fold *f, struct str call)
{
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev) {
        const struct str *of =
            r->top ? table_get(&f->seen, fold_key(f, SEEN_TASK, r->id)) : NULL;

        if (of != NULL && str_eq(*of, call))
            return r;
    }
    return NULL;
}

static struct run *exec_of_call(struct fold *f, struct str ns, struct str call)
{
    struct run *exec = NULL;

    if (ns.n > 0)
        return fold_find_exec(f, str_head(ns, str_find(ns, '|')));
    if (call.n > 0)
        exec = exec_of_task(f, call);
    for (struct run *r = f->open.prev; exec == NULL && r != &f->open; r = r->prev)
        if (r->top)
            exec = r;
    return exec;
}

/* LangGraph.js sends the arguments as the text of their JSON. */
static const yyjson_val *input_of(const yyjson_val *tool, struct json_reader *reader)
{
    const yyjson_val *input = json_at(tool, "input");
    struct str text = json_text(input);
    struct json json;

    if (str_starts(text, STR("{")) && json_read(reader, text, &json, NULL) == 0)
        return json.root;
    return input;
}

static int start(struct fold *f, struct str ns, const yyjson_val *tool, struct str call)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct run *exec = exec_of_call(f, ns, call), *run;
    struct event ev;

    event_init(&ev);
    ev.kind = EVENT_RUN_START;
    ev.type = RUN_TOOL;
    ev.name = either(tool, "tool_name", "name");
    ev.call = call;
    ev.input = input_of(tool, &reader);
    ev.parent = exec != NULL ? exec->id : STR_NONE;
    ev.outer = ns.n == 0 && exec != NULL;
    ev.ns = ev.outer ? exec->header->info.ns : ns;
    ev.derived = ev.is_mirror = true;
    return fold_start_run(f, NULL, &ev, &run);
}

/* The open run of @call; of a call without an id, the newest one of its tool. */
static struct run *find(const struct fold *f, const yyjson_val *tool, struct str call)
{
    struct str name = either(tool, "tool_name", "name");

    for (struct run *r = f->open.prev; r != &f->open; r = r->prev) {
        if (r->type != RUN_TOOL || !r->header->mirror)
            continue;
        if (call.n > 0 ? str_eq(r->header->call, call) : str_eq(r->header->info.name, name))
            return r;
    }
    return NULL;
}

/* A tool's own strings and objects are no messages, whatever they look like. */
static int read_output(struct fold *f, struct event *ev)
{
    struct message m;
    int err = json_is_null(ev->output) ? 0 : fold_read_message(f, ev->output, &m);

    if (err != 0 || json_is_null(ev->output) || m.cls != MESSAGE_TOOL)
        return err;
    ev->message = m;
    ev->has_message = true;
    ev->lossy = m.lossy;
    ev->call = m.call;
    return 0;
}

static int end(struct fold *f, struct run *run, const yyjson_val *tool)
{
    struct event ev;

    event_init(&ev);
    ev.kind = EVENT_RUN_END;
    ev.type = RUN_TOOL;
    ev.output = json_at(tool, "output");
    int err = read_output(f, &ev);
    return err == 0 ? fold_end_run(f, run, &ev, STR("ok")) : err;
}

static int fail(struct fold *f, struct run *run, const yyjson_val *tool)
{
    const yyjson_val *error = json_at(tool, "error");
    struct event ev;

    event_init(&ev);
    ev.kind = EVENT_RUN_ERROR;
    ev.type = RUN_TOOL;
    ev.error = json_text(error);
    if (str_absent(ev.error))
        ev.error = json_text(json_at(error != NULL ? error : tool, "message"));
    if (str_absent(ev.error))
        ev.error = STR("failed");
    ev.error_type = json_text(json_at(error, "error"));
    return fold_end_run(f, run, &ev, STR("error"));
}

int fold_tool_part(struct fold *f, struct str ns, const yyjson_val *tool)
{
    enum tool_phase phase = phase_of(json_text(json_at(tool, "event")));
    struct str call = either(tool, "tool_call_id", "toolCallId");
    struct run *run = phase == PHASE_OTHER ? NULL : find(f, tool, call);

    if (phase == PHASE_START && (run == NULL || call.n == 0))
        return start(f, ns, tool, call);
    if (phase == PHASE_END && run != NULL)
        return end(f, run, tool);
    if (phase == PHASE_ERROR && run != NULL)
        return fail(f, run, tool);
    return 0;
}
