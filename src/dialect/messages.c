/* `messages`: the run-scoped LangGraph protocol with message tuples.
 *
 * The payloads do not carry their own name: it is the event name, and below the top level,
 * when the reader asked for subgraphs, it has the namespace behind a '|'.  The reader chooses
 * names by its stream modes.
 *
 * State of a subgraph is only for readers with subgraphs on; messages and custom data
 * are for all.  A model runs inside a node, so the namespace of the graph that it
 * belongs to is the one around its own.
 *
 *   ns of the model run       agent:1|tools:2
 *   event name                messages|agent:1
 *
 * In mode `events` the LangChain event is rebuilt from the record and its header.  It comes
 * before the record's other frames, as the real server sends it.
 *
 * In the old mode `messages` a message comes whole with every delta (messages/partial), and
 * once more when the state has it (messages/complete).  These frames are counted behind the
 * others, and only for readers of that mode. */
#include "base/json_format.h"
#include "dialect/dialect.h"
#include "dialect/gathered.h"
#include "dialect/render.h"

static struct str or_object(struct str json)
{
    return str_absent(json) ? STR("{}") : json;
}

static struct str or_list(struct str json)
{
    return str_absent(json) ? STR("[]") : json;
}

static bool names_node(struct str meta)
{
    for (size_t at = 0; at < meta.n; at++)
        if (str_starts(str_skip(meta, at), STR(JSON_KEY("langgraph_node"))))
            return true;
    return false;
}

/* The metadata as it was sent.  Events that are not LangGraph's own do not name their node in
 * it, which clients look for. */
static void put_metadata(struct buf *b, const struct run_info *info)
{
    struct str meta = or_object(info->meta);
    bool of_langgraph = !str_absent(info->ns) || info->step != RECORD_NO_NUMBER;

    if (of_langgraph || str_absent(info->node) || names_node(meta)) {
        buf_str(b, meta);
        return;
    }
    json_begin(b);
    json_add_str(b, "langgraph_node", info->node);
    if (meta.n > 2)
        buf_char(b, ',');
    buf_str(b, str_skip(meta, 1));
}

/* --- message objects --------------------------------------------------------- */

#define NOTHING_MORE \
    "," JSON_CONST("additional_kwargs", "{}") "," JSON_CONST("response_metadata", "{}")

/* Up to usage_metadata; the text of @type is a literal of ours. */
static void begin_message(struct buf *b,
                          const struct record *rec,
                          struct str type,
                          struct str tool_calls)
{
    buf_lit(b, "{" JSON_KEY("content"));
    if (str_absent(rec->content))
        json_put_str(b, rec->text);
    else
        buf_str(b, rec->content);
    if (str_absent(rec->extra) && str_absent(rec->response)) { /* most tokens: one copy */
        buf_lit(b, NOTHING_MORE);
    } else {
        json_add_raw(b, "additional_kwargs", or_object(rec->extra));
        json_add_raw(b, "response_metadata", or_object(rec->response));
    }
    json_add_parts(b, "type");
    buf_str(b, type);
    json_end_parts(b);
    json_add_text(b, "id", rec->message);
    json_add_raw(b, "tool_calls", tool_calls);
    json_add_const(b, "invalid_tool_calls", "[]");
    if (!str_absent(rec->usage)) /* clients make zeros of a null */
        json_add_raw(b, "usage_metadata", rec->usage);
}

/* What is new, and nothing else: clients concatenate. */
static void put_delta(struct buf *b, const struct record *rec)
{
    begin_message(b, rec, STR("AIMessageChunk"), STR("[]"));
    json_add_raw(b, "tool_call_chunks", or_list(rec->calls));
    json_end(b);
}

/* The end of a message whose chunks did not say that they were the last.  Only the reason:
 * clients add what they get to what they have, so nothing may come twice. */
static void put_end_delta(struct buf *b, const struct record *rec)
{
    json_format(b,
                "{'content':'','additional_kwargs':{},'response_metadata':{'finish_reason':%s},"
                "'type':'AIMessageChunk','id':%s,'tool_calls':[],'invalid_tool_calls':[],"
                "'tool_call_chunks':[]}",
                render_some(rec->title), rec->message);
}

/* The whole answer of a chat model. */
static void put_answer(struct buf *b, const struct record *rec)
{
    begin_message(b, rec, STR("ai"), or_list(rec->calls));
    json_end(b);
}

/* Text of a completion model. */
static void put_generation(struct buf *b, const struct record *rec)
{
    json_begin(b);
    json_add_str(b, "text", rec->text);
    json_add_raw(b, "generation_info", rec->response);
    json_add_lit(b, "type", "Generation");
    json_end(b);
}

/* --- names ------------------------------------------------------------------- */

/* What goes behind the name of messages and custom data, which are for all readers: the
 * namespace of their graph, for those who have subgraphs on. */
static struct str graph_suffix(const struct frames *out, struct str ns, bool inside_node)
{
    if (!out->variant->subgraphs)
        return STR_NONE;
    return inside_node ? record_outer_ns(ns) : ns;
}

/* Starts a frame of state: what is below the top level is only for readers with
 * subgraphs on. */
static struct buf *begin_state(struct frames *out,
                               struct str name,
                               struct str ns,
                               uint32_t mode)
{
    if (!str_empty(ns) && !out->variant->subgraphs) {
        out->total++; /* not sent, but counted */
        return NULL;
    }
    return frames_begin_ns(out, name, ns, mode);
}

/* --- mode events ------------------------------------------------------------- */

/* Starts `{"event":"on_<type>_<phase>","data":`.  A run that the fold derived from
 * stream parts was never announced by an event, so it has none. */
static struct buf *begin_event(const struct record *rec,
                               struct str otherwise,
                               struct str phase,
                               struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (info->derived || str_absent(info->run))
        return NULL;
    struct buf *b = frames_begin(out, STR("events"), MODE_EVENTS);
    if (b == NULL)
        return NULL;
    json_begin(b);
    json_add_parts(b, "event");
    buf_lit(b, "on_");
    json_put_escaped(b, str_absent(info->type) ? otherwise : info->type);
    buf_str(b, phase);
    json_end_parts(b);
    json_key(b, "data");
    return b;
}

/* Everything after `data`. */
static void end_event(const struct record *rec, struct str name, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = &out->body;

    json_add_text(b, "name", name);
    json_add_raw(b, "tags", or_list(info->tags));
    json_add_text(b, "run_id", info->run);
    json_key(b, "metadata");
    put_metadata(b, info);
    if (!str_absent(info->parents))
        json_add_raw(b, "parent_ids", info->parents);
    render_end(out);
}

/* The input that the run was started with, where an end repeats it: not at the root. */
static void put_header_input(const struct record *rec, struct buf *b)
{
    if (record_info(rec)->root || rec->header == NULL || str_absent(rec->header->input))
        return;
    json_add_raw(b, "input", rec->header->input);
}

static void put_start_event(const struct record *rec, struct str type, struct frames *out)
{
    struct buf *b = begin_event(rec, type, STR("_start"), out);

    if (b == NULL)
        return;
    json_begin(b);
    if (!str_absent(rec->input))
        json_add_raw(b, "input", rec->input);
    json_end(b);
    end_event(rec, record_info(rec)->name, out);
}

static void put_end_event(const struct record *rec, struct str type, struct frames *out)
{
    struct buf *b = begin_event(rec, type, STR("_end"), out);

    if (b == NULL)
        return;
    json_begin(b);
    json_add_raw(b, "output", rec->output);
    put_header_input(rec, b);
    json_end(b);
    end_event(rec, record_info(rec)->name, out);
}

static void put_tool_error_event(const struct record *rec, struct frames *out)
{
    struct buf *b = begin_event(rec, STR("tool"), STR("_error"), out);

    if (b == NULL)
        return;
    json_begin(b);
    json_add_text(b, "error", render_error(rec));
    put_header_input(rec, b);
    json_end(b);
    end_event(rec, record_info(rec)->name, out);
}

static void put_delta_event(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin_event(rec, STR("chat_model"), STR("_stream"), out);

    if (b == NULL)
        return;
    json_begin(b);
    json_key(b, "chunk");
    if (str_is(info->type, "llm"))
        put_generation(b, rec);
    else
        put_delta(b, rec);
    json_end(b);
    end_event(rec, info->name, out);
}

static void put_answer_event(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin_event(rec, STR("chat_model"), STR("_end"), out);

    if (b == NULL)
        return;
    json_begin(b);
    json_key(b, "output");
    if (str_is(info->type, "llm")) {
        buf_lit(b, "{" JSON_KEY("generations") "[[");
        put_generation(b, rec);
        buf_lit(b, "]]," JSON_CONST("llm_output", "null") "}");
    } else {
        put_answer(b, rec);
    }
    put_header_input(rec, b);
    json_end(b);
    end_event(rec, info->name, out);
}

static void put_custom_event(const struct record *rec, struct str name, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (info->derived || str_absent(info->run))
        return;
    struct buf *b = frames_begin(out, STR("events"), MODE_EVENTS);
    if (b == NULL)
        return;
    json_begin(b);
    json_add_lit(b, "event", "on_custom_event");
    json_add_raw(b, "data", rec->data);
    end_event(rec, name, out);
}

/* --- runs and nodes ---------------------------------------------------------- */

static void on_run_start(const struct record *rec, struct frames *out)
{
    put_start_event(rec, STR("chain"), out);
}

/* The root's chunks are what the other modes are made of. */
static void on_run_stream(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (info->root)
        return;
    struct buf *b = begin_event(rec, STR("chain"), STR("_stream"), out);
    if (b == NULL)
        return;
    json_begin(b);
    json_add_raw(b, "chunk", rec->data);
    json_end(b);
    end_event(rec, info->name, out);
}

/* Messages that the state has for the first time. */
static void put_complete(const struct record *rec, struct frames *out)
{
    struct str state = gathered_state(rec);

    if (out->gathered == NULL || str_absent(state))
        return;
    struct buf *b = frames_begin(out, STR("messages/complete"), MODE_PARTIALS);
    if (b != NULL && gathered_put_complete(out->gathered, state, b) > 0)
        frames_end(out);
}

/* The root's output is the graph's last state, which its parts may have sent already. */
static void put_last_values(const struct record *rec, struct frames *out)
{
    bool is_state = record_info(rec)->root && str_starts(rec->output, STR("{"));

    if (!is_state || rec->mirror)
        return;
    struct buf *b = frames_begin(out, STR("values"), MODE_VALUES);
    if (b == NULL)
        return;
    buf_str(b, rec->output);
    frames_end(out);
}

static void on_run_end(const struct record *rec, struct frames *out)
{
    bool ok = render_is_ok(rec);

    /* For LangGraph, a run that stops at a question has ended. */
    if (ok || (str_is(rec->status, "interrupted") && !str_absent(rec->output)))
        put_end_event(rec, STR("chain"), out);
    if (!ok)
        return;
    put_last_values(rec, out);
    put_complete(rec, out);
}

/* --- models, tools, retrievers ----------------------------------------------- */

static void on_llm_start(const struct record *rec, struct frames *out)
{
    put_start_event(rec, STR("chat_model"), out);
}

/* Starts the `[message,metadata]` of a message that @rec belongs to. */
static struct buf *begin_tuple(const struct record *rec, struct frames *out)
{
    struct str suffix = graph_suffix(out, record_info(rec)->ns, true);
    struct buf *b = frames_begin_ns(out, STR("messages"), suffix, MODE_MESSAGES);

    if (b != NULL)
        json_begin_array(b);
    return b;
}

static void end_tuple(const struct record *rec, struct frames *out)
{
    buf_char(&out->body, ',');
    put_metadata(&out->body, record_info(rec));
    json_end_array(&out->body);
    frames_end(out);
}

static void put_message_metadata(const struct record *rec, struct frames *out)
{
    struct buf *b = frames_begin(out, STR("messages/metadata"), MODE_PARTIALS);

    if (b == NULL)
        return;
    json_begin(b);
    json_put_key(b, rec->message);
    json_begin(b);
    json_key(b, "metadata");
    put_metadata(b, record_info(rec));
    buf_lit(b, "}}");
    frames_end(out);
}

/* The message as far as it has come. */
static void put_partial(const struct record *rec, struct frames *out)
{
    if (out->gathered == NULL || str_empty(rec->message))
        return;
    if (rec->first)
        put_message_metadata(rec, out);
    struct buf *b = frames_begin(out, STR("messages/partial"), MODE_PARTIALS);
    if (b == NULL)
        return;
    json_begin_array(b);
    gathered_put(out->gathered, rec->message, b);
    json_end_array(b);
    frames_end(out);
}

static void on_llm_delta(const struct record *rec, struct frames *out)
{
    if (rec->mirror)
        return;
    put_delta_event(rec, out);
    struct buf *b = begin_tuple(rec, out);
    if (b != NULL) {
        put_delta(b, rec);
        end_tuple(rec, out);
    }
    put_partial(rec, out);
}

static void on_llm_end(const struct record *rec, struct frames *out)
{
    if (render_is_ok(rec))
        put_answer_event(rec, out);
    if (!rec->last)
        return;
    struct buf *b = begin_tuple(rec, out);
    if (b != NULL) {
        put_end_delta(b, rec);
        end_tuple(rec, out);
    }
    put_partial(rec, out);
}

static void on_message(const struct record *rec, struct frames *out)
{
    struct buf *b = begin_tuple(rec, out);

    if (b == NULL)
        return;
    json_put_raw_or_null(b, rec->data);
    end_tuple(rec, out);
}

static void on_tool_start(const struct record *rec, struct frames *out)
{
    put_start_event(rec, STR("tool"), out);
}

/* A tool that handled its own error returned a message that says so: that is an end. */
static void on_tool_end(const struct record *rec, struct frames *out)
{
    bool returned = str_absent(rec->error) && !str_absent(rec->output);

    if (render_is_ok(rec) || (str_is(rec->status, "error") && returned))
        put_end_event(rec, STR("tool"), out);
    else if (str_is(rec->status, "error"))
        put_tool_error_event(rec, out);
}

static void on_retriever_start(const struct record *rec, struct frames *out)
{
    put_start_event(rec, STR("retriever"), out);
}

static void on_retriever_end(const struct record *rec, struct frames *out)
{
    if (render_is_ok(rec))
        put_end_event(rec, STR("retriever"), out);
}

/* --- state and custom data --------------------------------------------------- */

static void put_state(const struct record *rec,
                      struct str name,
                      uint32_t mode,
                      struct frames *out)
{
    struct buf *b = begin_state(out, name, record_info(rec)->ns, mode);

    if (b == NULL)
        return;
    json_put_raw_or_null(b, rec->data);
    frames_end(out);
}

static void on_state_values(const struct record *rec, struct frames *out)
{
    put_state(rec, STR("values"), MODE_VALUES, out);
    put_complete(rec, out);
}

static void on_state_updates(const struct record *rec, struct frames *out)
{
    put_state(rec, STR("updates"), MODE_UPDATES, out);
}

static void on_state_tasks(const struct record *rec, struct frames *out)
{
    put_state(rec, STR("tasks"), MODE_TASKS, out);
}

static void on_state_checkpoints(const struct record *rec, struct frames *out)
{
    put_state(rec, STR("checkpoints"), MODE_CHECKPOINTS, out);
}

static void on_state_debug(const struct record *rec, struct frames *out)
{
    put_state(rec, STR("debug"), MODE_DEBUG, out);
}

/* Like messages, tools of subgraphs are for all readers. */
static void on_state_tools(const struct record *rec, struct frames *out)
{
    struct str suffix = graph_suffix(out, record_info(rec)->ns, false);
    struct buf *b = frames_begin_ns(out, STR("tools"), suffix, MODE_TOOLS);

    if (b == NULL)
        return;
    json_put_raw_or_null(b, rec->data);
    frames_end(out);
}

/* A run dispatches from inside its node, so its graph is the one around; a stream
 * part says the namespace of the graph itself. */
static void put_custom(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    bool dispatched = !info->derived && !str_absent(info->run);
    struct str suffix = graph_suffix(out, info->ns, dispatched);

    if (!str_absent(rec->id))
        return; /* of a stream transformer, whose channels only the thread's stream has */
    struct buf *b = frames_begin_ns(out, STR("custom"), suffix, MODE_CUSTOM);
    if (b == NULL)
        return;
    json_put_raw_or_null(b, rec->data);
    frames_end(out);
}

static void on_custom(const struct record *rec, struct frames *out)
{
    put_custom_event(rec, rec->title, out);
    put_custom(rec, out);
}

static void on_progress(const struct record *rec, struct frames *out)
{
    put_custom_event(rec, str_absent(rec->title) ? STR("progress") : rec->title, out);
    put_custom(rec, out);
}

/* --- the job ----------------------------------------------------------------- */

static void on_job_start(const struct record *rec, struct frames *out)
{
    struct buf *b = frames_begin(out, STR("metadata"), MODE_ANY);

    if (b == NULL)
        return;
    json_begin(b);
    json_add_text(b, "run_id", render_job_id(rec));
    render_number(b, "attempt", rec->attempt == RECORD_NO_NUMBER ? 1 : rec->attempt);
    render_end(out);
}

static void on_job_error(const struct record *rec, struct frames *out)
{
    struct buf *b = frames_begin(out, STR("error"), MODE_ANY);

    if (b == NULL)
        return;
    json_begin(b);
    json_add_str(b, "error", str_empty(rec->error_type) ? STR("Error") : rec->error_type);
    json_add_text(b, "message", rec->error);
    render_end(out);
}

static void put_interrupt(const struct record *rec,
                          struct str name,
                          uint32_t mode,
                          struct frames *out)
{
    struct buf *b = frames_begin(out, name, mode);

    if (b == NULL)
        return;
    if (!str_absent(rec->open)) /* some clients show only the newest list */
        json_format(b, "{'__interrupt__':%j}", rec->open);
    else
        json_format(b, "{'__interrupt__':[{'value':%j,'id':%s}]}", rec->data, rec->id);
    frames_end(out);
}

static void on_job_interrupt(const struct record *rec, struct frames *out)
{
    put_interrupt(rec, STR("updates"), MODE_UPDATES, out);
    put_interrupt(rec, STR("values"), MODE_VALUES, out);
}

static void put_pause(struct str name, uint32_t mode, struct frames *out)
{
    struct buf *b = frames_begin(out, name, mode);

    if (b == NULL)
        return;
    json_format_plain(b, "{'__interrupt__':[]}");
    frames_end(out);
}

/* In mode `values` only if the graph itself said so there (`open`), as those in JavaScript do:
 * a client of others takes the last state for the result. */
static void on_job_paused(const struct record *rec, struct frames *out)
{
    put_pause(STR("updates"), MODE_UPDATES, out);
    if (!str_absent(rec->open))
        put_pause(STR("values"), MODE_VALUES, out);
}

const struct dialect dialect_messages = {
    .name = "messages",
    .about = "the LangGraph server's run stream (metadata, messages, values, updates, custom, events)",
    .names_itself = false,
    .on = {
        [REC_JOB_START] = on_job_start,
        [REC_JOB_ERROR] = on_job_error,
        [REC_JOB_INTERRUPT] = on_job_interrupt,
        [REC_JOB_PAUSED] = on_job_paused,
        [REC_RUN_START] = on_run_start,
        [REC_RUN_STREAM] = on_run_stream,
        [REC_RUN_END] = on_run_end,
        [REC_NODE_START] = on_run_start,
        [REC_NODE_END] = on_run_end,
        [REC_LLM_START] = on_llm_start,
        [REC_LLM_DELTA] = on_llm_delta,
        [REC_LLM_END] = on_llm_end,
        [REC_TOOL_START] = on_tool_start,
        [REC_TOOL_END] = on_tool_end,
        [REC_RETRIEVER_START] = on_retriever_start,
        [REC_RETRIEVER_END] = on_retriever_end,
        [REC_STATE_VALUES] = on_state_values,
        [REC_STATE_UPDATES] = on_state_updates,
        [REC_STATE_TASKS] = on_state_tasks,
        [REC_STATE_CHECKPOINTS] = on_state_checkpoints,
        [REC_STATE_DEBUG] = on_state_debug,
        [REC_STATE_TOOLS] = on_state_tools,
        [REC_MESSAGE] = on_message,
        [REC_CUSTOM] = on_custom,
        [REC_PROGRESS] = on_progress,
    },
};
