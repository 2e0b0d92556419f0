/* `aiq`: category.state events with one shape for all.
 *
 * Every payload has `type id name timestamp data metadata`, in this order, with null for
 * what is absent; `status`, `error`, `mode` and `reconnected` follow at the top level.
 * A record gives at most one frame, so SSE ids are plain integers.
 *
 * The `id` inside is the run's, so that start and end can be paired; a frame that is not about
 * a run has "<job>:<seq>", and one made for a connection has none. */
#include "dialect/aiq.h"

#include "base/utf8.h"
#include "dialect/dialect.h"
#include "dialect/render.h"

enum { THINKING_POINTS = 300 };

/* --- the common shape -------------------------------------------------------- */

/* Starts a frame up to `"id":`. */
#define begin(out, type) \
    render_begin((out), STR(type), STR("{" JSON_LIT("type", type) "," JSON_KEY("id")))

static void put_name_and_time(struct buf *b, struct str name, int64_t ms)
{
    json_add_text(b, "name", name);
    json_add_timestamp(b, "timestamp", ms);
}

/* The id of a frame that is not about a run. */
static void put_own_id(const struct record *rec, struct buf *b)
{
    json_begin_parts(b);
    json_put_escaped(b, render_job_id(rec));
    buf_char(b, ':');
    buf_u64(b, rec->seq);
    json_end_parts(b);
}

/* Id, name and time of a run's frame. */
static void put_run_header(const struct record *rec, struct str name, struct buf *b)
{
    json_put_str_or_null(b, record_info(rec)->run);
    put_name_and_time(b, name, rec->ts);
}

/* Id, name and time of any other frame. */
static void put_own_header(const struct record *rec, struct str name, struct buf *b)
{
    put_own_id(rec, b);
    put_name_and_time(b, name, rec->ts);
}

static void put_input(struct buf *b, struct str input)
{
    json_add_object(b, "data");
    json_add_raw(b, "input", input);
    json_add_const(b, "output", "null");
    json_end(b);
}

static void put_output(struct buf *b, struct str output)
{
    json_add_object(b, "data");
    json_add_const(b, "input", "null");
    json_add_raw(b, "output", output);
    json_end(b);
}

/* Opens `metadata` with the execution that something happened in, if any. */
static void open_meta(struct buf *b, const struct run_info *info)
{
    json_add_object(b, "metadata");
    if (str_absent(info->exec))
        return;
    json_add_text(b, "workflow", info->node);
    json_add_text(b, "agent_id", info->exec);
}

static void end_meta(struct frames *out)
{
    json_end(&out->body);
    render_end(out);
}

/* Ends a frame that has `data` and no `metadata`. */
static void end_data(struct frames *out)
{
    json_end(&out->body);
    json_add_const(&out->body, "metadata", "null");
    render_end(out);
}

static void put_no_data(struct buf *b)
{
    json_add_members(b, JSON_CONST("data", "null") "," JSON_CONST("metadata", "null"));
}

/* How a run ended: its status, and its error when there is one. */
static void put_meta_outcome(const struct record *rec, struct buf *b)
{
    json_add_str(b, "status", str_absent(rec->status) ? STR("ok") : rec->status);
    if (!str_empty(rec->error))
        json_add_text(b, "error", rec->error);
}

/* --- workflows: the root run and the top-level executions -------------------- */

static struct str workflow_name(const struct run_info *info)
{
    return info->top && !str_absent(info->node) ? info->node : info->name;
}

static void open_workflow_meta(struct buf *b, const struct run_info *info)
{
    json_add_object(b, "metadata");
    json_add_text(b, "workflow", workflow_name(info));
    json_add_text(b, "agent_id", str_absent(info->exec) ? info->run : info->exec);
}

static void put_workflow_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, "workflow.start");

    if (b == NULL)
        return;
    put_run_header(rec, workflow_name(info), b);
    put_input(b, rec->input);
    open_workflow_meta(b, info);
    end_meta(out);
}

static void put_workflow_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, "workflow.end");

    if (b == NULL)
        return;
    put_run_header(rec, workflow_name(info), b);
    put_output(b, rec->output);
    open_workflow_meta(b, info);
    put_meta_outcome(rec, b);
    end_meta(out);
}

static void on_run_start(const struct record *rec, struct frames *out)
{
    if (record_info(rec)->root)
        put_workflow_start(rec, out);
}

static void on_run_end(const struct record *rec, struct frames *out)
{
    if (record_info(rec)->root)
        put_workflow_end(rec, out);
}

static void on_node_start(const struct record *rec, struct frames *out)
{
    if (record_info(rec)->top)
        put_workflow_start(rec, out);
}

static void on_node_end(const struct record *rec, struct frames *out)
{
    if (record_info(rec)->top)
        put_workflow_end(rec, out);
}

/* --- models ------------------------------------------------------------------ */

static void on_llm_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, "llm.start");

    if (b == NULL)
        return;
    put_run_header(rec, info->model, b);
    json_add_const(b, "data", "null");
    open_meta(b, info);
    if (rec->count != RECORD_NO_NUMBER) {
        if (str_is(info->type, "llm"))
            json_key(b, "prompt_count");
        else
            json_key(b, "message_count");
        buf_i64(b, rec->count);
    }
    end_meta(out);
}

static void on_llm_delta(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (rec->mirror || str_empty(rec->text))
        return;
    struct buf *b = begin(out, "llm.chunk");
    if (b == NULL)
        return;
    put_run_header(rec, info->model, b);
    json_add_const(b, "data", "{" JSON_KEY("chunk") "\"");
    json_put_escaped(b, rec->text);
    buf_lit(b, "\"}");
    open_meta(b, info);
    end_meta(out);
}

static void put_thinking(struct buf *b, struct str reasoning)
{
    struct str header = utf8_head(reasoning, THINKING_POINTS);

    json_add_parts(b, "thinking");
    json_put_escaped(b, header);
    if (header.n < reasoning.n)
        buf_lit(b, " [Trimmed - check traces for full logs]");
    json_end_parts(b);
}

static void on_llm_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, "llm.end");

    if (b == NULL)
        return;
    put_run_header(rec, info->model, b);
    json_add_const(b, "data", "null");
    open_meta(b, info);
    if (!str_empty(rec->reasoning))
        put_thinking(b, rec->reasoning);
    if (!str_absent(rec->usage))
        json_add_raw(b, "usage", rec->usage);
    if (!str_empty(render_error(rec)))
        json_add_str(b, "error", render_error(rec));
    end_meta(out);
}

/* --- tools and artifacts ----------------------------------------------------- */

static void put_call(const struct record *rec, struct buf *b)
{
    if (str_absent(rec->call))
        return;
    json_add_str(b, "tool_call_id", rec->call);
}

static void on_tool_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, "tool.start");

    if (b == NULL)
        return;
    put_run_header(rec, info->name, b);
    put_input(b, rec->input);
    open_meta(b, info);
    put_call(rec, b);
    end_meta(out);
}

static void on_tool_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = begin(out, "tool.end");

    if (b == NULL)
        return;
    put_run_header(rec, info->name, b);
    put_output(b, rec->output);
    open_meta(b, info);
    put_call(rec, b);
    put_meta_outcome(rec, b);
    end_meta(out);
}

static void on_artifact(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, "artifact.update");

    if (b == NULL)
        return;
    put_own_header(rec, rec->title, b);
    json_add_raw(b, "data", rec->data);
    open_meta(b, record_info(rec));
    end_meta(out);
}

/* --- the job ----------------------------------------------------------------- */

static void on_job_update(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, "job.update");

    if (b == NULL)
        return;
    put_own_header(rec, str_absent(rec->title) ? STR("retry") : rec->title, b);
    json_add_object(b, "data");
    json_add_text(b, "output", rec->text);
    end_data(out);
}

static void put_interrupt(const struct record *rec, struct str name, struct frames *out)
{
    struct buf *b = begin(out, "job.update");

    if (b == NULL)
        return;
    put_own_header(rec, name, b);
    json_add_object(b, "data");
    json_add_text(b, "interrupt_id", rec->id);
    json_add_raw(b, "value", rec->data);
    json_add_raw(b, "question", rec->question);
    json_add_raw(b, "context", rec->context);
    end_data(out);
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
    struct buf *b = begin(out, "job.update");

    if (b == NULL)
        return;
    put_own_header(rec, STR("resume"), b);
    json_add_object(b, "data");
    json_add_raw(b, "interrupt_ids", str_absent(rec->resolves) ? STR("[]") : rec->resolves);
    end_data(out);
}

static void on_job_error(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, "job.error");

    if (b == NULL)
        return;
    put_own_header(rec, STR_NONE, b);
    json_add_object(b, "data");
    json_add_text(b, "error", rec->error);
    json_add_text(b, "error_type", rec->error_type);
    if (!str_absent(rec->details))
        json_add_raw(b, "details", rec->details);
    json_end(b);
    json_add_const(b, "metadata", "null");
    json_add_text(b, "error", rec->error);
    render_end(out);
}

static void put_reason(const struct record *rec, struct buf *b)
{
    put_own_header(rec, STR_NONE, b);
    json_add_object(b, "data");
    json_add_text(b, "reason", rec->error);
}

static void on_job_cancelled(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, "job.cancelled");

    if (b == NULL)
        return;
    put_reason(rec, b);
    end_data(out);
}

static void on_job_cancel_requested(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, "job.cancellation_requested");

    if (b == NULL)
        return;
    put_reason(rec, b);
    end_data(out);
}

enum aiq_status {
    AIQ_SUBMITTED,
    AIQ_RUNNING,
    AIQ_SUCCESS,
    AIQ_FAILURE,
    AIQ_INTERRUPTED, /* cancelled by the user */
    AIQ_STATUS_MAX
};

static struct str status_name(enum aiq_status status, bool compat)
{
    static const char *const names[AIQ_STATUS_MAX][2] = {
        [AIQ_SUBMITTED] = { "SUBMITTED", "submitted" },
        [AIQ_RUNNING] = { "RUNNING", "running" },
        [AIQ_SUCCESS] = { "SUCCESS", "success" },
        [AIQ_FAILURE] = { "FAILURE", "failure" },
        [AIQ_INTERRUPTED] = { "INTERRUPTED", "interrupted" },
    };

    return str_of(names[status][compat ? 1 : 0]);
}

struct str aiq_status(struct str state, bool compat)
{
    enum aiq_status status = str_is(state, "queued")      ? AIQ_SUBMITTED
                             : str_is(state, "succeeded") ? AIQ_SUCCESS
                             : str_is(state, "failed")    ? AIQ_FAILURE
                             : str_is(state, "cancelled") ? AIQ_INTERRUPTED
                                                          : AIQ_RUNNING;

    return status_name(status, compat);
}

static enum aiq_status terminal_status(struct str status)
{
    if (str_is(status, "succeeded"))
        return AIQ_SUCCESS;
    return str_is(status, "cancelled") ? AIQ_INTERRUPTED : AIQ_FAILURE;
}

static void on_job_end(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(out, "job.status");

    if (b == NULL)
        return;
    put_own_header(rec, STR_NONE, b);
    put_no_data(b);
    json_add_text(b, "status",
                  status_name(terminal_status(rec->status), out->variant->aiq_compat));
    if (out->variant->reconnected)
        json_add_const(b, "reconnected", "true");
    if (!str_empty(rec->error))
        json_add_text(b, "error", rec->error);
    if (!str_absent(rec->outcome))
        json_add_text(b, "outcome", rec->outcome);
    render_end(out);
}

/* --- made for a connection --------------------------------------------------- */

static void put_no_id(const struct connection_frame *what, struct buf *b)
{
    buf_lit(b, "null");
    put_name_and_time(b, STR_NONE, what->ms);
}

static void put_stream_mode(const struct connection_frame *what, struct frames *out)
{
    struct buf *b = begin(out, "stream.mode");

    if (b == NULL)
        return;
    put_no_id(what, b);
    put_no_data(b);
    json_add_text(b, "mode", what->mode);
    render_end(out);
}

static void put_job_status(const struct connection_frame *what, struct frames *out)
{
    struct buf *b = begin(out, "job.status");

    if (b == NULL)
        return;
    put_no_id(what, b);
    put_no_data(b);
    json_add_text(b, "status", aiq_status(what->state, out->variant->aiq_compat));
    if (what->reconnected)
        json_add_const(b, "reconnected", "true");
    render_end(out);
}

void aiq_put_heartbeat(const struct connection_frame *what, struct frames *out)
{
    struct buf *b = begin(out, "job.heartbeat");

    if (b == NULL)
        return;
    put_no_id(what, b);
    json_add_object(b, "data");
    json_add_uint(b, "uptime_seconds", what->uptime_seconds);
    if (!str_empty(what->worker))
        json_add_text(b, "worker", what->worker);
    end_data(out);
}

void aiq_put_shutdown(const struct connection_frame *what, struct frames *out)
{
    struct buf *b = begin(out, "job.shutdown");

    if (b == NULL)
        return;
    put_no_id(what, b);
    json_add_object(b, "data");
    json_add_lit(b, "message", "Server shutting down");
    end_data(out);
}

const struct dialect dialect_aiq = {
    .name = "aiq",
    .about = "category.state events of the asynchronous job API (workflow.*, llm.*, tool.*, job.*)",
    .names_itself = true,
    .says_reconnected = true,
    .on = {
        [REC_JOB_END] = on_job_end,
        [REC_JOB_ERROR] = on_job_error,
        [REC_JOB_CANCELLED] = on_job_cancelled,
        [REC_JOB_CANCEL_REQUESTED] = on_job_cancel_requested,
        [REC_JOB_UPDATE] = on_job_update,
        [REC_JOB_INTERRUPT] = on_job_interrupt,
        [REC_JOB_PAUSED] = on_job_paused,
        [REC_JOB_RESUMED] = on_job_resumed,
        [REC_RUN_START] = on_run_start,
        [REC_RUN_END] = on_run_end,
        [REC_NODE_START] = on_node_start,
        [REC_NODE_END] = on_node_end,
        [REC_LLM_START] = on_llm_start,
        [REC_LLM_DELTA] = on_llm_delta,
        [REC_LLM_END] = on_llm_end,
        [REC_TOOL_START] = on_tool_start,
        [REC_TOOL_END] = on_tool_end,
        [REC_ARTIFACT] = on_artifact,
    },
    .connection = {
        [FRAME_STREAM_MODE] = put_stream_mode,
        [FRAME_JOB_STATUS] = put_job_status,
        [FRAME_HEARTBEAT] = aiq_put_heartbeat,
        [FRAME_SHUTDOWN] = aiq_put_shutdown,
    },
};
