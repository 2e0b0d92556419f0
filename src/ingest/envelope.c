/* The envelope, as we write it ourselves and as others do.
 *
 *     {"event":"on_tool_end","timestamp":…,"run_id":<the job>,"data":{…}}
 *
 * The runs are named inside data: node_id, tool_id, model_run_id.  A node_id that is the
 * envelope's own run_id means the job itself: it is the outermost chain. */
#include "ingest/sources.h"

struct body {
    const yyjson_val *data; /* object, or NULL */
    struct str job;
    struct str node_id;
};

static const yyjson_val *get(const struct body *b, struct str key)
{
    const yyjson_val *v = json_get(b->data, key);

    return json_is_null(v) ? NULL : v;
}

#define member(b, literal) get((b), STR(literal))

/* The node run that a tool or a model is inside of. */
static void set_parent(const struct body *b, struct event *ev)
{
    if (str_absent(b->node_id) || str_eq(b->node_id, b->job))
        return;
    ev->parent = b->node_id;
    ev->parents_known = true;
}

/* Numbers are kept as they were written. */
static bool is_number(const yyjson_val *v)
{
    return yyjson_is_num((yyjson_val *)v) || yyjson_is_raw((yyjson_val *)v);
}

/* A start's members; an end or a stream has a part of them. */
static void read_common(const struct body *b, struct event *ev)
{
    const yyjson_val *meta = member(b, "metadata");

    if (yyjson_is_obj((yyjson_val *)meta))
        read_meta(meta, NULL, ev);
    if (str_absent(ev->node))
        ev->node = json_text(member(b, "node"));
    if (member(b, "section") != NULL)
        ev->section = json_text(member(b, "section"));
    ev->elapsed = json_int(member(b, "duration_ms"), ev->elapsed);
    ev->input = member(b, "input");
    ev->chunk = member(b, "chunk");
    ev->progress = is_number(member(b, "progress")) ? member(b, "progress") : NULL;
    ev->output = either(member(b, "output"), member(b, "result"));
}

/* An end with an error is an error. */
static void read_failure(const struct source_line *in, const struct body *b, struct event *ev)
{
    const yyjson_val *error = member(b, "error");

    if (ev->kind != EVENT_RUN_END || error == NULL)
        return;
    ev->kind = EVENT_RUN_ERROR;
    read_error(error, in->scratch, ev);
}

static void read_job(const struct source_line *in, const struct body *b, struct event *ev)
{
    const yyjson_val *error = member(b, "error");

    if (ev->kind != EVENT_RUN_END) {
        ev->kind = EVENT_NOTHING;
        return;
    }
    ev->kind = EVENT_JOB_END;
    ev->output = member(b, "result");
    ev->end = JOB_END_SUCCEEDED;
    if (error == NULL)
        return;
    read_error(error, in->scratch, ev);
    ev->end = str_is(ev->error, "cancelled") ? JOB_END_CANCELLED : JOB_END_FAILED;
}

static int read_chain(const struct source_line *in, const struct body *b, struct event *ev)
{
    int err = need_text(in, member(b, "node_id"), "data.node_id", &ev->run);

    if (err != 0)
        return err;
    if (str_eq(b->node_id, b->job)) {
        read_job(in, b, ev);
        return 0;
    }
    read_common(b, ev);
    ev->run_is_name = true; /* documented examples use names as ids */
    ev->name = json_text(member(b, "chain_name"));
    if (ev->kind == EVENT_RUN_START) {
        /* Our own envelope says "node":null of a chain that is in none, such as the graph. */
        bool in_none = yyjson_is_null(json_at(b->data, "node"));
        ev->top = !in_none && (str_absent(ev->node) || str_eq(ev->node, ev->name));
        if (ev->top && str_absent(ev->node))
            ev->node = ev->name;
    }
    read_failure(in, b, ev);
    return 0;
}

static int read_tool(const struct source_line *in, const struct body *b, struct event *ev)
{
    int err = need_text(in, member(b, "tool_id"), "data.tool_id", &ev->run);

    if (err != 0)
        return err;
    set_parent(b, ev);
    read_common(b, ev);
    ev->name = json_text(member(b, "tool_name"));
    if (str_absent(ev->name))
        ev->name = ev->run; /* documented examples name a tool by its id */
    ev->run_is_name = str_eq(ev->name, ev->run);
    ev->call = json_text(member(b, "tool_call_id"));
    if (ev->kind == EVENT_RUN_STREAM) {
        ev->kind = EVENT_CUSTOM;
        ev->name = json_text(member(b, "name")); /* of the custom event, not of the tool */
        ev->data = ev->chunk;
    } else if (ev->kind == EVENT_RUN_END) {
        read_tool_message(ev->output, in->scratch, ev);
    }
    read_failure(in, b, ev);
    return 0;
}

/* The documented envelope has no ids for models, so place and name identify them. */
static struct str model_run(const struct source_line *in,
                            const struct body *b,
                            struct str model)
{
    struct str id = json_text(member(b, "model_run_id"));
    size_t from = in->scratch->n;

    if (!str_empty(id))
        return id;
    buf_lit(in->scratch, "model:");
    if (!str_absent(b->node_id)) {
        buf_str(in->scratch, b->node_id);
        buf_char(in->scratch, ':');
    }
    buf_str(in->scratch, model);
    return buf_since(in->scratch, from);
}

static void read_model_text(const struct source_line *in,
                            const struct body *b,
                            struct event *ev)
{
    const yyjson_val *text = ev->kind == EVENT_RUN_STREAM ? ev->chunk : member(b, "final_text");
    const yyjson_val *chunks = member(b, "tool_call_chunks"), *calls = member(b, "tool_calls");
    const yyjson_val *usage = either(member(b, "usage_metadata"), member(b, "usage"));
    struct str reasoning = json_text(member(b, "reasoning"));

    if (text == NULL && str_absent(reasoning) && chunks == NULL && calls == NULL)
        return;
    if (yyjson_is_obj((yyjson_val *)text))
        read_model_message(text, in->scratch, ev); /* not as documented, but unambiguous */
    if (!ev->has_message)
        set_text_message(ev, json_text(text), ev->kind == EVENT_RUN_STREAM);
    ev->message.id = json_text(member(b, "message_id"));
    if (!str_empty(reasoning))
        ev->message.reasoning = reasoning;
    if (yyjson_is_arr((yyjson_val *)chunks) && yyjson_arr_size((yyjson_val *)chunks) > 0)
        ev->message.call_chunks = chunks;
    if (yyjson_is_arr((yyjson_val *)calls) && yyjson_arr_size((yyjson_val *)calls) > 0)
        ev->message.calls = calls;
    if (yyjson_is_obj((yyjson_val *)usage))
        ev->message.usage = usage;
}

static int read_model(const struct source_line *in, const struct body *b, struct event *ev)
{
    int err = want_text(in, member(b, "model"), "data.model", &ev->name);

    if (err != 0)
        return err;
    ev->run = model_run(in, b, ev->name);
    ev->run_is_name = str_empty(json_text(member(b, "model_run_id")));
    set_parent(b, ev);
    read_common(b, ev);
    ev->model_version = json_text(member(b, "model_version"));
    ev->prompt_id = json_text(member(b, "prompt_id"));
    if (ev->kind != EVENT_RUN_START)
        read_model_text(in, b, ev);
    read_failure(in, b, ev);
    return 0;
}

/* --- events outside of runs -------------------------------------------------- */

static struct str known_phase(struct str phase)
{
    static const char *const known[] = { "queue", "worker", "node", "server" };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (str_eq(phase, str_of(known[i])))
            return phase;
    return STR_NONE;
}

static int read_fatal(const struct source_line *in, const struct body *b, struct event *ev)
{
    struct str type = json_text(json_at(member(b, "details"), "error_type"));

    ev->kind = EVENT_JOB_END;
    ev->end = JOB_END_FAILED;
    read_error(either(member(b, "message"), member(b, "error")), in->scratch, ev);
    if (!str_empty(type))
        ev->error_type = type;
    ev->details = member(b, "details");
    ev->phase = known_phase(json_text(member(b, "phase")));
    return 0;
}

static int read_progress(const struct source_line *in, const struct body *b, struct event *ev)
{
    (void)in;
    ev->kind = EVENT_CUSTOM;
    ev->name = STR("progress");
    ev->data = b->data;
    ev->parent = b->node_id;
    return 0;
}

static int read_question(const struct source_line *in, const struct body *b, struct event *ev)
{
    ev->kind = EVENT_INTERRUPT;
    ev->data = json_at(b->data, "value"); /* null is a valid answer */
    ev->pause = str_is(json_text(member(b, "kind")), "pause");
    return want_text(in, member(b, "interrupt_id"), "data.interrupt_id", &ev->id);
}

static int read_resume(const struct source_line *in, const struct body *b, struct event *ev)
{
    ev->kind = EVENT_RESUMED;
    ev->data = member(b, "interrupt_ids");
    return want_text(in, member(b, "interrupt_id"), "data.interrupt_id", &ev->id);
}

static const struct {
    struct str name;
    enum event_kind kind;
    enum run_type type;
    int (*read)(const struct source_line *in, const struct body *b, struct event *ev);
} table[] = {
    { { "on_chat_model_stream", 20 }, EVENT_RUN_STREAM, RUN_CHAT, read_model },
    { { "on_chat_model_start", 19 }, EVENT_RUN_START, RUN_CHAT, read_model },
    { { "on_chat_model_end", 17 }, EVENT_RUN_END, RUN_CHAT, read_model },
    { { "on_chain_stream", 15 }, EVENT_RUN_STREAM, RUN_CHAIN, read_chain },
    { { "on_chain_start", 14 }, EVENT_RUN_START, RUN_CHAIN, read_chain },
    { { "on_chain_end", 12 }, EVENT_RUN_END, RUN_CHAIN, read_chain },
    { { "on_tool_stream", 14 }, EVENT_RUN_STREAM, RUN_TOOL, read_tool },
    { { "on_tool_start", 13 }, EVENT_RUN_START, RUN_TOOL, read_tool },
    { { "on_tool_end", 11 }, EVENT_RUN_END, RUN_TOOL, read_tool },
    { { "on_error", 8 }, EVENT_NOTHING, RUN_CHAIN, read_fatal },
    { { "on_progress", 11 }, EVENT_NOTHING, RUN_CHAIN, read_progress },
    { { "on_interrupt", 12 }, EVENT_NOTHING, RUN_CHAIN, read_question },
    { { "on_resume", 9 }, EVENT_NOTHING, RUN_CHAIN, read_resume },
};

int envelope_read(const struct source_line *in, struct event *ev)
{
    struct body b = { 0 };
    struct str event;
    char word[QUOTED_BYTES];

    int err = need_text(in, in->top.event, "event", &event);
    if (err == 0)
        err = want_text(in, in->top.run_id, "run_id", &b.job);
    if (err == 0)
        err = want_object(in, in->top.data, "data", &b.data);
    if (err == 0)
        err = want_text(in, json_at(b.data, "node_id"), "data.node_id", &b.node_id);
    if (err != 0)
        return err;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (str_eq(event, table[i].name)) {
            ev->kind = table[i].kind;
            ev->type = table[i].type;
            return table[i].read(in, &b, ev);
        }
    }
    return error_set(in->err, ERR_TYPE, "unknown event \"%s\" of an envelope",
                     quoted(event, word));
}
