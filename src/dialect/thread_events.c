/* Thread events: what a reader of LangGraph's thread-scoped protocol gets of each record.
 *
 *     record                 method (channel)
 *     job.start, job.end     lifecycle of the root: running, then completed, failed,
 * interrupted state.tasks            tasks; lifecycle of the task's namespace: started,
 * completed, … state.values, …        values, updates, checkpoints, custom llm.*, message
 * messages, as content blocks: dialect/thread_messages.c tool.*, state.tools    tools
 *     job.interrupt          input.requested
 *
 * A pure function of the record, as every dialect. */
#include "dialect/thread_events.h"

#include "base/json_format.h"
#include "dialect/render.h"
#include "dialect/thread_render.h"

enum { MAX_DEPTH = 256 };

/* --- the frame -------------------------------------------------------------------------- */

static void put_namespace(struct buf *b, struct str ns)
{
    json_begin_array(b);
    while (ns.n > 0) {
        struct str segment = str_head(ns, str_find(ns, '|'));

        json_put_str(json_next(b), segment);
        ns = str_skip(ns, segment.n + 1);
    }
    json_end_array(b);
}

struct buf *thread_begin(const struct record *rec,
                         struct str method,
                         struct str ns,
                         struct frames *out)
{
    if (out->total >= FRAMES_MAX)
        return NULL; /* further blocks of this message are in the state */
    struct buf *b = frames_begin(out, method, MODE_ANY);
    if (b == NULL)
        return NULL;
    uint64_t seq = thread_seq(out->variant->run, rec->seq, out->total);
    buf_lit(b, "{" JSON_LIT("type", "event") "," JSON_KEY("event_id") "\"");
    buf_i64(b, rec->ts);
    buf_char(b, '-');
    buf_u64(b, seq);
    buf_lit(b, "\"," JSON_KEY("seq"));
    buf_u64(b, seq);
    buf_lit(b, "," JSON_KEY("method") "\"");
    buf_str(b, method);
    buf_lit(b, "\"," JSON_KEY("params") "{" JSON_KEY("namespace"));
    put_namespace(b, ns);
    buf_lit(b, "," JSON_KEY("timestamp"));
    buf_i64(b, rec->ts);
    return b;
}

void thread_end(struct frames *out)
{
    buf_lit(&out->body, "}}");
    frames_end(out);
}

/* A frame whose data is JSON that is there already. */
static void put_raw(const struct record *rec,
                    struct str method,
                    struct str ns,
                    struct str data,
                    struct frames *out)
{
    struct buf *b = thread_begin(rec, method, ns, out);

    if (b == NULL)
        return;
    json_key(b, "data");
    json_put_raw_or_null(b, data);
    thread_end(out);
}

/* --- lifecycle -------------------------------------------------------------------------- */

static void put_lifecycle(const struct record *rec,
                          struct str ns,
                          struct str event,
                          struct str graph,
                          struct str error,
                          struct frames *out)
{
    struct buf *b = thread_begin(rec, STR("lifecycle"), ns, out);

    if (b == NULL)
        return;
    json_key(b, "data");
    json_begin(b);
    json_add_str(b, "event", event);
    if (!str_empty(graph))
        json_add_str(b, "graph_name", graph);
    if (!str_absent(error))
        json_add_str(b, "error", error);
    json_end(b);
    thread_end(out);
}

static void on_job_start(const struct record *rec, struct frames *out)
{
    put_lifecycle(rec, STR_NONE, STR("running"), rec->agent, STR_NONE, out);
}

static void on_job_end(const struct record *rec, struct frames *out)
{
    bool is_failed = str_is(rec->status, "failed");
    bool is_done = str_is(rec->status, "succeeded") && !str_is(rec->outcome, "interrupted");

    put_lifecycle(rec, STR_NONE,
                  is_failed ? STR("failed")
                  : is_done ? STR("completed")
                            : STR("interrupted"),
                  STR_NONE, is_failed ? render_some(rec->error) : STR_NONE, out);
}

/* A run that is not of LangGraph has no tasks: its nodes are told by their own records. */
static bool has_tasks(const struct run_info *info)
{
    return info->derived || !str_absent(info->ns);
}

static void on_node_start(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);

    if (info->top && !has_tasks(info))
        put_lifecycle(rec, info->node, STR("started"), info->node, STR_NONE, out);
}

static void on_node_end(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    bool is_ok = render_is_ok(rec);

    if (!info->top || has_tasks(info))
        return;
    put_lifecycle(rec, info->node,
                  is_ok                          ? STR("completed")
                  : str_is(rec->status, "error") ? STR("failed")
                                                 : STR("interrupted"),
                  info->node, is_ok ? STR_NONE : render_error(rec), out);
}

/* What a task's record says of the namespace in which the task runs. */
static void put_task_lifecycle(const struct record *rec,
                               const yyjson_val *task,
                               struct frames *out)
{
    struct str id = json_text(json_at(task, "id")), name = json_text(json_at(task, "name"));
    const yyjson_val *error = json_at(task, "error"), *result = json_at(task, "result");
    struct str around = record_info(rec)->ns, text = STR_NONE;
    struct buf ns LOCAL_BUF(4096);

    if (str_absent(id) || str_absent(name) || str_starts(name, STR("__")))
        return;
    if (!str_empty(around)) {
        buf_str(&ns, around);
        buf_char(&ns, '|');
    }
    buf_str(&ns, name);
    buf_char(&ns, ':');
    buf_str(&ns, id);
    if (!json_is_null(error)) {
        text = json_text(error);
        if (str_absent(text))
            text = render_some(json_text(json_at(error, "message")));
    }
    bool asks = yyjson_arr_size(json_at(task, "interrupts")) > 0;
    if (ns.error == 0)
        put_lifecycle(rec, buf_text(&ns),
                      !str_absent(text) ? STR("failed")
                      : asks            ? STR("interrupted")
                      : result != NULL  ? STR("completed")
                                        : STR("started"),
                      name, text, out);
}

/* --- state ------------------------------------------------------------------------------ */

static void on_state_tasks(const struct record *rec, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json task;

    put_raw(rec, STR("tasks"), record_info(rec)->ns, rec->data, out);
    if (json_read(&reader, render_some(rec->data), &task, NULL) == 0)
        put_task_lifecycle(rec, task.root, out);
}

static bool has_interrupt(struct str data)
{
    struct str key = STR("\"__interrupt__\"");

    for (size_t at = 0; at + key.n <= data.n; at++)
        if (data.p[at] == '"' && memcmp(data.p + at, key.p, key.n) == 0)
            return true;
    return false;
}

/* The state without the questions, which are told by job.interrupt. */
static void put_without_interrupt(struct buf *b, struct str data)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json state;

    if (!has_interrupt(data) || json_read(&reader, data, &state, NULL) != 0 ||
        !yyjson_is_obj(state.root)) {
        json_put_raw_or_null(b, data);
        return;
    }
    json_begin(b);
    json_each_member(key, value, state.root) {
        if (str_is(json_text(key), "__interrupt__"))
            continue;
        json_put_key(b, json_text(key));
        json_put_value(b, value);
    }
    json_end(b);
}

static void on_state_values(const struct record *rec, struct frames *out)
{
    struct buf *b = thread_begin(rec, STR("values"), record_info(rec)->ns, out);

    if (b == NULL)
        return;
    json_key(b, "data");
    put_without_interrupt(b, rec->data);
    thread_end(out);
}

/* The only member of an object: one node's update. */
static yyjson_val *only_member(yyjson_val *object, struct str *ret_name)
{
    if (!yyjson_is_obj(object) || yyjson_obj_size(object) != 1)
        return NULL;
    yyjson_val *key = unsafe_yyjson_get_first(object);
    *ret_name = json_text(key);
    return key + 1;
}

static void on_state_updates(const struct record *rec, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct buf *b = thread_begin(rec, STR("updates"), record_info(rec)->ns, out);
    struct str node = STR_NONE;
    yyjson_val *update = NULL;
    struct json json;

    if (b == NULL)
        return;
    if (json_read(&reader, render_some(rec->data), &json, NULL) == 0)
        update = only_member(json.root, &node);
    if (update != NULL)
        json_add_str(b, "node", node);
    json_key(b, "data");
    if (update != NULL)
        json_put_value(b, update);
    else
        json_put_raw_or_null(b, rec->data);
    thread_end(out);
}

static struct str checkpoint_of(const yyjson_val *config)
{
    return json_text(json_at(json_at(config, "configurable"), "checkpoint_id"));
}

static void on_state_checkpoints(const struct record *rec, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;

    if (json_read(&reader, render_some(rec->data), &json, NULL) != 0)
        return;
    struct str id = checkpoint_of(json_at(json.root, "config"));
    yyjson_val *parent = json_at(json.root, "parent_config");
    yyjson_val *metadata = json_at(json.root, "metadata");
    if (json_is_null(parent))
        parent = json_at(json.root, "parentConfig");
    if (str_absent(id))
        return; /* without a checkpointer there is nothing to name */
    struct buf *b = thread_begin(rec, STR("checkpoints"), record_info(rec)->ns, out);
    if (b == NULL)
        return;
    json_key(b, "data");
    json_begin(b);
    json_add_str(b, "id", id);
    if (!str_absent(checkpoint_of(parent)))
        json_add_str(b, "parent_id", checkpoint_of(parent));
    json_key(b, "step");
    json_put_value(b, json_at(metadata, "step"));
    json_key(b, "source");
    json_put_value(b, json_at(metadata, "source"));
    json_end(b);
    thread_end(out);
}

/* A root's output, where its parts have not told the state. */
static void on_run_end(const struct record *rec, struct frames *out)
{
    if (record_info(rec)->root && !rec->mirror && render_is_ok(rec) &&
        str_starts(rec->output, STR("{")))
        put_raw(rec, STR("values"), STR_NONE, rec->output, out);
}

/* --- custom data ------------------------------------------------------------------------ */

/* A run dispatches from inside its node, so its graph is the one around; a stream part says the
 * namespace of the graph itself. */
static void on_custom(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    bool is_dispatched = !info->derived && !str_absent(info->run);
    struct buf *b = thread_begin(rec, STR("custom"),
                                 is_dispatched ? render_outer_ns(info->ns) : info->ns, out);

    if (b == NULL)
        return;
    json_key(b, "data");
    json_begin(b);
    if (!str_empty(rec->title))
        json_add_str(b, "name", rec->title);
    json_add_raw(b, "payload", rec->data);
    json_end(b);
    thread_end(out);
}

/* --- tools ------------------------------------------------------------------------------ */

static struct buf *begin_tool(const struct record *rec, const char *event, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    struct buf *b = thread_begin(rec, STR("tools"), info->ns, out);

    if (b == NULL)
        return NULL;
    json_key(b, "data");
    json_begin(b);
    json_add_str(b, "event", str_of(event));
    json_add_str(b, "tool_call_id", str_empty(rec->call) ? render_some(info->run) : rec->call);
    return b;
}

static void end_tool(struct frames *out)
{
    json_end(&out->body);
    thread_end(out);
}

static void on_tool_start(const struct record *rec, struct frames *out)
{
    struct buf *b = begin_tool(rec, "tool-started", out);

    if (b == NULL)
        return;
    json_add_str(b, "tool_name", render_some(record_info(rec)->name));
    json_add_raw(b, "input", rec->input);
    end_tool(out);
}

static void on_tool_end(const struct record *rec, struct frames *out)
{
    bool is_error = !str_absent(rec->error);
    struct buf *b = begin_tool(rec, is_error ? "tool-error" : "tool-finished", out);

    if (b == NULL)
        return;
    if (is_error)
        json_add_str(b, "message", rec->error);
    else
        json_add_raw(b, "output", rec->output);
    end_tool(out);
}

/* --- questions -------------------------------------------------------------------------- */

static void on_job_interrupt(const struct record *rec, struct frames *out)
{
    struct buf *b = thread_begin(rec, STR("input.requested"), STR_NONE, out);

    if (b == NULL)
        return;
    json_key(b, "data");
    json_begin(b);
    json_add_str(b, "interrupt_id", render_some(rec->id));
    json_add_raw(b, "payload", rec->data);
    json_end(b);
    thread_end(out);
}

const struct dialect dialect_thread_events = {
    .name = "thread_events",
    .about = "the LangGraph server's thread stream",
    .names_itself = true,
    .on = {
        [REC_JOB_START] = on_job_start,
        [REC_JOB_END] = on_job_end,
        [REC_JOB_INTERRUPT] = on_job_interrupt,
        [REC_RUN_END] = on_run_end,
        [REC_NODE_START] = on_node_start,
        [REC_NODE_END] = on_node_end,
        [REC_LLM_DELTA] = thread_on_delta,
        [REC_LLM_END] = thread_on_llm_end,
        [REC_MESSAGE] = thread_on_message,
        [REC_TOOL_START] = on_tool_start,
        [REC_TOOL_END] = on_tool_end,
        [REC_STATE_VALUES] = on_state_values,
        [REC_STATE_UPDATES] = on_state_updates,
        [REC_STATE_TASKS] = on_state_tasks,
        [REC_STATE_CHECKPOINTS] = on_state_checkpoints,
        [REC_CUSTOM] = on_custom,
        [REC_PROGRESS] = on_custom,
    },
};
