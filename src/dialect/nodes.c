/* `nodes`: one start and one end for each top-level execution.
 *
 * What happens inside is counted in the end frame and not shown, except tools, and progress for
 * readers of mode `events`.  The job itself is the run around all of them. */
#include "dialect/dialect.h"
#include "dialect/render.h"

static void on_job_start(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "run.start");

    if (b == NULL)
        return;
    json_add_text(b, "run_id", render_job_id(rec));
    json_add_timestamp(b, "timestamp", rec->ts);
    render_end(out);
}

/* The job's status as this dialect names it. */
static struct str job_status(struct str status)
{
    if (str_is(status, "succeeded"))
        return STR("ok");
    return str_is(status, "cancelled") ? STR("cancelled") : STR("error");
}

static void on_job_end(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "run.end");

    if (b == NULL)
        return;
    json_add_text(b, "run_id", render_job_id(rec));
    json_add_timestamp(b, "timestamp", rec->ts);
    json_add_text(b, "status", job_status(rec->status));
    render_number(b, "duration_ms", rec->elapsed);
    if (!str_absent(rec->error))
        json_add_text(b, "error", rec->error);
    if (!str_absent(rec->outcome))
        json_add_text(b, "outcome", rec->outcome);
    render_end(out);
}

/* What a node's start and end have in common. */
static void put_node(const struct record *rec, struct buf *b)
{
    const struct run_info *info = record_info(rec);

    json_add_text(b, "run_id", info->exec);
    json_add_text(b, "node", info->node);
    render_number(b, "step", info->step);
    json_add_text(b, "run_path", info->path);
    json_add_timestamp(b, "timestamp", rec->ts);
}

static void put_outcome(const struct record *rec, struct buf *b)
{
    json_add_text(b, "status", str_absent(rec->status) ? STR("ok") : rec->status);
    render_number(b, "duration_ms", rec->elapsed);
}

static void on_node_start(const struct record *rec, struct frames *out)
{
    if (!record_info(rec)->top)
        return;
    struct buf *b = render_begin_typed(out, "node.start");
    if (b == NULL)
        return;
    put_node(rec, b);
    render_end(out);
}

static void on_node_end(const struct record *rec, struct frames *out)
{
    if (!record_info(rec)->top)
        return;
    struct buf *b = render_begin_typed(out, "node.end");
    if (b == NULL)
        return;
    put_node(rec, b);
    put_outcome(rec, b);
    if (!str_absent(rec->error))
        json_add_text(b, "error", rec->error);
    render_number(b, "chains", rec->chains);
    render_number(b, "llm_calls", rec->llms);
    render_number(b, "tools", rec->tools);
    render_end(out);
}

static void put_tool(const struct record *rec, struct buf *b)
{
    const struct run_info *info = record_info(rec);

    json_add_text(b, "run_id", info->run);
    json_add_text(b, "tool", info->name);
    json_add_text(b, "node", info->node);
    json_add_text(b, "run_path", info->path);
    json_add_timestamp(b, "timestamp", rec->ts);
}

static void on_tool_start(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "tool.start");

    if (b == NULL)
        return;
    put_tool(rec, b);
    json_add_raw(b, "input", rec->input);
    render_end(out);
}

static void on_tool_end(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "tool.end");

    if (b == NULL)
        return;
    put_tool(rec, b);
    put_outcome(rec, b);
    json_add_raw(b, "output", rec->output);
    if (!str_absent(rec->error))
        json_add_text(b, "error", rec->error);
    render_end(out);
}

static void on_progress(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = frames_begin(out, STR("progress"), MODE_EVENTS);

    if (b == NULL)
        return;
    json_begin(b);
    json_add_lit(b, "type", "progress");
    json_add_text(b, "run_id", info->exec);
    json_add_text(b, "node", info->node);
    json_add_timestamp(b, "timestamp", rec->ts);
    json_add_raw(b, "percent", rec->percent);
    json_add_text(b, "message", rec->note);
    render_end(out);
}

const struct dialect dialect_nodes = {
    .name = "nodes",
    .about = "one start and one end for each top-level node, and its tools",
    .names_itself = true,
    .on = {
        [REC_JOB_START] = on_job_start,
        [REC_JOB_END] = on_job_end,
        [REC_NODE_START] = on_node_start,
        [REC_NODE_END] = on_node_end,
        [REC_TOOL_START] = on_tool_start,
        [REC_TOOL_END] = on_tool_end,
        [REC_PROGRESS] = on_progress,
    },
};
