/* `agent`: cards, an output panel and a timeline.
 *
 * Which executions have a card, which write to the panel and which count was decided when the
 * record was made; this file only writes it.  A token of an execution with both gives two
 * frames, the card's first. */
#include "dialect/dialect.h"
#include "dialect/render.h"

static void on_node_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (!info->top || !info->card)
        return;
    struct buf *b = render_begin_typed(out, "agent.spawned");
    if (b == NULL)
        return;
    json_add_text(b, "agent_id", info->exec);
    json_add_text(b, "agent_name", info->node);
    json_add_text(b, "node", info->node);
    render_end(out);
}

static void put_agent_token(const struct record *rec, struct frames *out)
{
    struct str opening = STR("{" JSON_LIT("type", "agent.token") "," JSON_KEY("agent_id") "\"");
    struct buf *b = render_begin(out, STR("agent.token"), opening);

    if (b == NULL)
        return;
    json_end_str(b, record_info(rec)->exec);
    json_add_str(b, "token", rec->text);
    render_end(out);
}

static void put_output_token(const struct record *rec, struct str section, struct frames *out)
{
    struct str opening = STR("{" JSON_LIT("type", "output.token") "," JSON_KEY("token") "\"");
    struct buf *b = render_begin(out, STR("output.token"), opening);

    if (b == NULL)
        return;
    json_end_str(b, rec->text);
    json_add_text(b, "section", section);
    render_end(out);
}

static void on_llm_delta(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct str section = info->section;

    if (str_empty(rec->text))
        return;
    if (rec->mirror && !str_absent(rec->title))
        section = rec->title;
    if (info->card && !rec->mirror)
        put_agent_token(rec, out);
    if (info->panel)
        put_output_token(rec, section, out);
}

static void on_tool_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (!info->card)
        return;
    struct buf *b = render_begin_typed(out, "agent.tool_call");
    if (b == NULL)
        return;
    json_add_text(b, "agent_id", info->exec);
    json_add_text(b, "tool_name", info->name);
    json_add_str(b, "input_preview", render_some(rec->preview));
    render_end(out);
}

static void on_tool_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (!info->card)
        return;
    struct buf *b = render_begin_typed(out, "agent.tool_result");
    if (b == NULL)
        return;
    json_add_text(b, "agent_id", info->exec);
    json_add_text(b, "tool_name", info->name);
    json_add_str(b, "result_summary", render_some(rec->preview));
    if (!render_is_ok(rec))
        json_add_text(b, "status", rec->status);
    render_end(out);
}

static void put_done(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = render_begin_typed(out, "agent.done");

    if (b == NULL)
        return;
    json_add_text(b, "agent_id", info->exec);
    json_add_text(b, "node", info->node);
    render_number(b, "elapsed_ms", rec->elapsed);
    if (!render_is_ok(rec))
        json_add_text(b, "status", rec->status);
    render_end(out);
}

static void on_node_complete(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = render_begin_typed(out, "graph.node_complete");

    if (b == NULL)
        return;
    json_add_text(b, "node", info->node);
    render_number(b, "step", info->step);
    render_end(out);
}

static void on_node_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (!info->top)
        return;
    if (info->card)
        put_done(rec, out);
    if (info->counted && render_is_ok(rec) && !rec->owes)
        on_node_complete(rec, out);
}

static void on_section_end(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "output.section_done");

    if (b == NULL)
        return;
    json_add_text(b, "section", rec->text);
    render_end(out);
}

static void on_job_interrupt(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "graph.interrupt");

    if (b == NULL)
        return;
    if (!str_absent(rec->question))
        json_add_raw(b, "question", rec->question);
    if (!str_absent(rec->context))
        json_add_raw(b, "context", rec->context);
    json_add_text(b, "interrupt_id", rec->id);
    json_add_raw(b, "value", rec->data);
    render_end(out);
}

static void on_job_paused(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "graph.paused");

    if (b == NULL)
        return;
    json_add_text(b, "job_id", render_job_id(rec));
    render_end(out);
}

static void on_job_resumed(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "graph.resumed");

    if (b == NULL)
        return;
    json_add_text(b, "job_id", render_job_id(rec));
    json_add_raw(b, "interrupt_ids", rec->resolves);
    render_end(out);
}

static void put_job_done(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "job.done");

    if (b == NULL)
        return;
    if (!str_absent(rec->outcome))
        json_add_text(b, "outcome", rec->outcome);
    render_end(out);
}

static void put_job_failed(const struct record *rec, struct frames *out)
{
    struct buf *b = render_begin_typed(out, "job.failed");

    if (b == NULL)
        return;
    json_add_text(b, "error", render_error(rec));
    if (str_is(rec->status, "cancelled"))
        json_add_lit(b, "status", "cancelled");
    if (!str_absent(rec->details))
        json_add_raw(b, "details", rec->details);
    render_end(out);
}

static void on_job_end(const struct record *rec, struct frames *out)
{
    if (str_is(rec->status, "succeeded"))
        put_job_done(rec, out);
    else
        put_job_failed(rec, out);
}

const struct dialect dialect_agent = {
    .name = "agent",
    .about = "agent cards, output panel and timeline (agent.*, output.*, graph.*, job.*)",
    .names_itself = true,
    .on = {
        [REC_JOB_END] = on_job_end,
        [REC_JOB_INTERRUPT] = on_job_interrupt,
        [REC_JOB_PAUSED] = on_job_paused,
        [REC_JOB_RESUMED] = on_job_resumed,
        [REC_NODE_START] = on_node_start,
        [REC_NODE_END] = on_node_end,
        [REC_NODE_COMPLETE] = on_node_complete,
        [REC_LLM_DELTA] = on_llm_delta,
        [REC_TOOL_START] = on_tool_start,
        [REC_TOOL_END] = on_tool_end,
        [REC_SECTION_END] = on_section_end,
    },
};
