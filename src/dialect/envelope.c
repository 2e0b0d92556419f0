/* `envelope`: {"event","timestamp","run_id","data"}.
 *
 * The job is the outermost chain, so it has an on_chain_start and an on_chain_end of
 * its own, with its id as node_id.  Everything inside says which execution it belongs
 * to (`node_id`, `node`) where it belongs to one.  Prompts, parsers and retrievers
 * have no event in this protocol. */
#include "dialect/dialect.h"
#include "dialect/render.h"

/* Starts the frame up to the first member of `data`, whose key comes with it.  Every token has
 * these: what is constant is one copy. */
#define begin(out, rec, event, first_key)                                         \
    begin_event((out), (rec), STR(event),                                         \
                STR("{" JSON_LIT("event", event) "," JSON_KEY("timestamp") "\""), \
                STR("\"," JSON_KEY("data") "{" JSON_KEY(first_key)))

static struct buf *begin_event(struct frames *out,
                               const struct record *rec,
                               struct str event,
                               struct str header,
                               struct str data)
{
    struct buf *b = render_begin(out, event, header);

    if (b == NULL)
        return NULL;
    calendar_put(b, rec->ts);
    buf_lit(b, "\"," JSON_KEY("run_id") "\"");
    json_put_escaped(b, render_job_id(rec));
    buf_str(b, data);
    return b;
}

/* Closes `data`, the envelope and the frame. */
static void end(struct frames *out)
{
    buf_lit(&out->body, "}}");
    frames_end(out);
}

/* The execution that something happened in, if any. */
static void put_owner(struct buf *b, const struct run_info *info)
{
    if (str_absent(info->exec))
        return;
    json_add_text(b, "node_id", info->exec);
    json_add_text(b, "node", info->node);
}

static bool is_chain(const struct run_info *info)
{
    return str_absent(info->type) || str_is(info->type, "chain");
}

/* --- the job ----------------------------------------------------------------- */

static void on_job_start(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, rec, "on_chain_start", "chain_name");

    if (b == NULL)
        return;
    json_put_str(b, str_empty(rec->agent) ? STR("job") : rec->agent);
    json_add_text(b, "node_id", render_job_id(rec));
    json_add_const(b, "metadata", "null");
    end(out);
}

static struct str job_error(const struct record *rec)
{
    if (str_is(rec->status, "succeeded"))
        return STR_NONE;
    return str_is(rec->status, "cancelled") ? STR("cancelled") : render_error(rec);
}

static void on_job_end(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, rec, "on_chain_end", "node_id");

    if (b == NULL)
        return;
    json_put_str_or_null(b, render_job_id(rec));
    json_add_const(b, "node", "null");
    json_add_raw(b, "result", rec->output);
    json_add_text(b, "error", job_error(rec));
    render_number(b, "duration_ms", rec->elapsed);
    if (!str_absent(rec->outcome))
        json_add_text(b, "outcome", rec->outcome);
    end(out);
}

/* The error's class before what the record has in its own object. */
static void put_details(const struct record *rec, struct buf *b)
{
    struct str more = str_skip(rec->details, 1); /* behind the brace */

    if (str_absent(rec->error_type)) {
        json_add_raw(b, "details", rec->details);
        return;
    }
    json_add_object(b, "details");
    json_add_str(b, "error_type", rec->error_type);
    if (more.n > 1)
        buf_char(b, ',');
    buf_str(b, more.n > 0 ? more : STR("}"));
}

static void on_job_error(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, rec, "on_error", "phase");

    if (b == NULL)
        return;
    json_put_str_or_null(b, rec->phase);
    json_add_text(b, "message", rec->error);
    put_details(rec, b);
    end(out);
}

static void put_interrupt(const struct record *rec, struct str kind, struct frames *out)
{
    struct buf *b = begin(out, rec, "on_interrupt", "kind");

    if (b == NULL)
        return;
    json_put_str(b, kind);
    json_add_text(b, "interrupt_id", rec->id);
    json_add_raw(b, "value", rec->data);
    json_add_raw(b, "question", rec->question);
    json_add_raw(b, "context", rec->context);
    put_owner(b, record_info(rec));
    end(out);
}

static void on_job_interrupt(const struct record *rec, struct frames *out)
{
    put_interrupt(rec, STR("interrupt"), out);
}

static void on_job_paused(const struct record *rec, struct frames *out)
{
    put_interrupt(rec, STR("pause"), out);
}

static void on_job_resumed(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, rec, "on_resume", "interrupt_ids");

    if (b == NULL)
        return;
    buf_str(b, str_absent(rec->resolves) ? STR("[]") : rec->resolves);
    end(out);
}

/* --- chains and nodes -------------------------------------------------------- */

/* A worker may give its graph, or a node, the job's id: then the job's own start and end are
 * its. */
static bool is_the_job(const struct record *rec)
{
    return str_eq(record_info(rec)->run, rec->job_id);
}

static void on_node_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (is_the_job(rec))
        return;
    struct buf *b = begin(out, rec, "on_chain_start", "chain_name");

    if (b == NULL)
        return;
    json_put_str(b, render_some(info->name));
    json_add_text(b, "node_id", info->run);
    json_add_text(b, "node", info->node);
    json_add_raw(b, "metadata", info->meta);
    end(out);
}

static void put_stream(const struct record *rec, struct str id, struct frames *out)
{
    struct buf *b = begin(out, rec, "on_chain_stream", "node_id");

    if (b == NULL)
        return;
    json_put_str_or_null(b, id);
    json_add_text(b, "node", record_info(rec)->node);
    json_add_raw(b, "chunk", rec->data);
    json_add_raw(b, "progress", rec->percent);
    end(out);
}

static void on_node_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (is_the_job(rec))
        return;
    struct buf *b = begin(out, rec, "on_chain_end", "node_id");

    if (b == NULL)
        return;
    json_put_str_or_null(b, info->run);
    json_add_text(b, "node", info->node);
    json_add_raw(b, "result", rec->output);
    json_add_text(b, "error", render_error(rec));
    render_number(b, "duration_ms", rec->elapsed);
    end(out);
}

static void on_run_start(const struct record *rec, struct frames *out)
{
    if (is_chain(record_info(rec)))
        on_node_start(rec, out);
}

static void on_run_stream(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (is_chain(info))
        put_stream(rec, info->run, out);
}

static void on_run_end(const struct record *rec, struct frames *out)
{
    if (is_chain(record_info(rec)))
        on_node_end(rec, out);
}

static void on_state_updates(const struct record *rec, struct frames *out)
{
    struct str run = record_info(rec)->run;

    put_stream(rec, str_absent(run) ? render_job_id(rec) : run, out);
}

/* --- models ------------------------------------------------------------------ */

static void on_llm_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, rec, "on_chat_model_start", "model");

    if (b == NULL)
        return;
    json_put_str_or_null(b, info->model);
    json_add_text(b, "model_version", rec->model_version);
    json_add_text(b, "prompt_id", rec->prompt_id);
    json_add_text(b, "model_run_id", info->run);
    put_owner(b, info);
    end(out);
}

static void on_llm_delta(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (rec->mirror ||
        (str_empty(rec->text) && str_empty(rec->reasoning) && str_empty(rec->calls)))
        return;
    struct buf *b = begin(out, rec, "on_chat_model_stream", "model");
    if (b == NULL)
        return;
    json_put_str_or_null(b, info->model);
    json_add_str(b, "chunk", rec->text);
    render_number(b, "token_index", rec->index);
    json_add_text(b, "model_run_id", info->run);
    put_owner(b, info);
    if (!str_empty(rec->reasoning))
        json_add_text(b, "reasoning", rec->reasoning);
    if (!str_empty(rec->calls))
        json_add_raw(b, "tool_call_chunks", rec->calls);
    end(out);
}

static void on_llm_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, rec, "on_chat_model_end", "model");

    if (b == NULL)
        return;
    json_put_str_or_null(b, info->model);
    json_add_text(b, "final_text", rec->text);
    json_add_text(b, "error", render_error(rec));
    render_number(b, "duration_ms", rec->elapsed);
    json_add_text(b, "model_run_id", info->run);
    put_owner(b, info);
    end(out);
}

/* --- tools ------------------------------------------------------------------- */

static void on_tool_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, rec, "on_tool_start", "tool_id");

    if (b == NULL)
        return;
    json_put_str_or_null(b, info->run);
    json_add_text(b, "tool_name", info->name);
    json_add_text(b, "tool_call_id", rec->call);
    json_add_raw(b, "input", rec->input);
    put_owner(b, info);
    end(out);
}

static void on_tool_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, rec, "on_tool_end", "tool_id");

    if (b == NULL)
        return;
    json_put_str_or_null(b, info->run);
    json_add_text(b, "tool_name", info->name);
    json_add_text(b, "tool_call_id", rec->call);
    json_add_raw(b, "output", rec->output);
    json_add_text(b, "error", render_error(rec));
    render_number(b, "duration_ms", rec->elapsed);
    put_owner(b, info);
    end(out);
}

static void on_custom(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (!rec->tool)
        return;
    struct buf *b = begin(out, rec, "on_tool_stream", "tool_id");
    if (b == NULL)
        return;
    json_put_str_or_null(b, info->run);
    json_add_raw(b, "chunk", rec->data);
    put_owner(b, info);
    end(out);
}

static void on_progress(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, rec, "on_progress", "percent");

    if (b == NULL)
        return;
    json_put_raw_or_null(b, rec->percent);
    json_add_text(b, "message", rec->note);
    put_owner(b, record_info(rec));
    end(out);
}

const struct dialect dialect_envelope = {
    .name = "envelope",
    .about = "on_* events in an envelope of event, timestamp, run_id and data",
    .names_itself = true,
    .on = {
        [REC_JOB_START] = on_job_start,
        [REC_JOB_END] = on_job_end,
        [REC_JOB_ERROR] = on_job_error,
        [REC_JOB_INTERRUPT] = on_job_interrupt,
        [REC_JOB_PAUSED] = on_job_paused,
        [REC_JOB_RESUMED] = on_job_resumed,
        [REC_RUN_START] = on_run_start,
        [REC_RUN_STREAM] = on_run_stream,
        [REC_RUN_END] = on_run_end,
        [REC_NODE_START] = on_node_start,
        [REC_NODE_END] = on_node_end,
        [REC_LLM_START] = on_llm_start,
        [REC_LLM_DELTA] = on_llm_delta,
        [REC_LLM_END] = on_llm_end,
        [REC_TOOL_START] = on_tool_start,
        [REC_TOOL_END] = on_tool_end,
        [REC_STATE_UPDATES] = on_state_updates,
        [REC_CUSTOM] = on_custom,
        [REC_PROGRESS] = on_progress,
    },
};
