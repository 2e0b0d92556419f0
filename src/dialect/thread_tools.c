/* Thread events of the channel `tools`.
 *
 * Runs of tools that the worker's events tell, and parts of the stream mode `tools`, whose
 * names differ by language.  What the other of the two has told (`mirror`) is not told again.
 *
 *     LangGraph.js      Python           event
 *     on_tool_start     tool-started     tool-started         tool_call_id, tool_name, input
 *     on_tool_event     …                tool-output-delta    delta
 *     on_tool_end       …                tool-finished        output
 *     on_tool_error     …                tool-error           message */
#include "base/json.h"
#include "dialect/render.h"
#include "dialect/thread_render.h"

enum { MAX_DEPTH = 256 };

static struct buf *begin(const struct record *rec,
                         struct str event,
                         struct str call,
                         struct frames *out)
{
    struct buf *b = thread_begin(rec, STR("tools"), record_graph_ns(record_info(rec)), out);

    if (b == NULL)
        return NULL;
    json_key(b, "data");
    json_begin(b);
    json_add_str(b, "event", event);
    json_add_str(b, "tool_call_id", call);
    return b;
}

static void end(struct frames *out)
{
    json_end(&out->body);
    thread_end(out);
}

/* --- runs --------------------------------------------------------------------------------- */

static struct str call_of(const struct record *rec)
{
    return str_empty(rec->call) ? render_some(record_info(rec)->run) : rec->call;
}

void thread_on_tool_start(const struct record *rec, struct frames *out)
{
    struct buf *b = rec->mirror ? NULL : begin(rec, STR("tool-started"), call_of(rec), out);

    if (b == NULL)
        return;
    json_add_str(b, "tool_name", render_some(record_info(rec)->name));
    json_add_raw(b, "input", rec->input);
    end(out);
}

void thread_on_tool_end(const struct record *rec, struct frames *out)
{
    bool is_error = !str_absent(rec->error);
    struct str event = is_error ? STR("tool-error") : STR("tool-finished");
    struct buf *b = rec->mirror ? NULL : begin(rec, event, call_of(rec), out);

    if (b == NULL)
        return;
    if (is_error)
        json_add_str(b, "message", rec->error);
    else
        json_add_raw(b, "output", rec->output);
    end(out);
}

/* --- parts -------------------------------------------------------------------------------- */

/* The event in the protocol's words; absent when it is none that we know. */
static struct str event_of(struct str name)
{
    static const struct {
        const char *theirs, *event;
    } names[] = { { "on_tool_start", "tool-started" },
                  { "on_tool_event", "tool-output-delta" },
                  { "on_tool_end", "tool-finished" },
                  { "on_tool_error", "tool-error" } };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_eq(name, str_of(names[i].theirs)) || str_eq(name, str_of(names[i].event)))
            return str_of(names[i].event);
    return STR_NONE;
}

static yyjson_val *either(const yyjson_val *tool, const char *name, const char *other)
{
    yyjson_val *found = json_get(tool, str_of(name));

    return found != NULL ? found : json_get(tool, str_of(other));
}

/* A text as it is; anything else as the text of its JSON. */
static void add_text(struct buf *b, const char *key, const yyjson_val *value)
{
    struct buf json LOCAL_BUF(SIZE_MAX / 4);

    json_put_key(b, str_of(key));
    if (!str_absent(json_text(value))) {
        json_put_str(b, json_text(value));
        return;
    }
    if (json_is_null(value))
        buf_lit(&json, "null");
    else
        json_put_value(&json, value);
    json_put_str(b, buf_text(&json));
}

static void add_value(struct buf *b, const char *key, const yyjson_val *value)
{
    json_put_key(b, str_of(key));
    if (value == NULL)
        buf_lit(b, "null");
    else
        json_put_value(b, value);
}

static void put_rest(struct buf *b, struct str event, const yyjson_val *tool)
{
    yyjson_val *error = either(tool, "error", "message");

    if (str_is(event, "tool-started")) {
        add_text(b, "tool_name", either(tool, "tool_name", "name"));
        add_value(b, "input", json_at(tool, "input"));
    } else if (str_is(event, "tool-finished")) {
        add_value(b, "output", json_at(tool, "output"));
    } else if (str_is(event, "tool-error")) {
        add_text(b, "message",
                 json_at(error, "message") != NULL ? json_at(error, "message") : error);
    } else {
        add_text(b, "delta", either(tool, "delta", "data"));
    }
}

void thread_on_state_tools(const struct record *rec, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json tool;

    if (rec->mirror || json_read(&reader, render_some(rec->data), &tool, NULL) != 0)
        return;
    struct str event = event_of(json_text(json_at(tool.root, "event")));
    if (str_absent(event))
        return;
    thread_put_opened(rec, out);
    struct buf *b =
        begin(rec, event,
              render_some(json_text(either(tool.root, "tool_call_id", "toolCallId"))), out);
    if (b == NULL)
        return;
    put_rest(b, event, tool.root);
    end(out);
}
