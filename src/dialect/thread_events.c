/* Thread events: what a reader of LangGraph's thread-scoped protocol gets of each record.
 *
 *     record                       method (channel)
 *     job.start, job.end           lifecycle of the root: running; completed, failed,
 * interrupted state.values, custom, …      values, updates, checkpoints, custom state.tasks
 * tasks llm.*, message               messages, as content blocks: dialect/thread_messages.c
 *     tool.*, state.tools          tools: dialect/thread_tools.c
 *
 * A record that opens or closes a namespace (ingest/fold_scope.c) tells its lifecycle, too.
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

/* `researcher:1` is the graph `researcher`. */
static struct str graph_of(struct str ns)
{
    struct str outer = record_outer_ns(ns);
    struct str segment = str_skip(ns, outer.n > 0 ? outer.n + 1 : 0);

    return str_head(segment, str_find(segment, ':'));
}

static void on_job_start(const struct record *rec, struct frames *out)
{
    put_lifecycle(rec, STR_NONE, STR("running"), rec->agent, STR_NONE, out);
}

static struct str end_of(const struct record *rec)
{
    if (str_is(rec->status, "failed"))
        return STR("failed");
    return str_is(rec->status, "succeeded") && !str_is(rec->outcome, "interrupted")
               ? STR("completed")
               : STR("interrupted");
}

static void put_question(const struct record *rec, const yyjson_val *q, struct frames *out)
{
    struct buf *b = thread_begin(rec, STR("input.requested"), json_text(json_at(q, "ns")), out);

    if (b == NULL)
        return;
    json_key(b, "data");
    json_begin(b);
    json_add_str(b, "interrupt_id", render_some(json_text(json_at(q, "id"))));
    json_key(b, "payload");
    json_put_value(b, json_at(q, "value"));
    json_end(b);
    thread_end(out);
}

/* @list is JSON.  What does not fit is in the state; the root's own end must come. */
static void each_item(struct str list,
                      void (*put)(const struct record *rec,
                                  const yyjson_val *item,
                                  struct frames *out),
                      const struct record *rec,
                      struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;

    if (str_absent(list) || json_read(&reader, list, &json, NULL) != 0)
        return;
    json_each(item, json.root)
        if (out->total < FRAMES_MAX - 1)
            put(rec, item, out);
}

static void put_completed(const struct record *rec, const yyjson_val *ns, struct frames *out)
{
    put_lifecycle(rec, json_text(ns), STR("completed"), graph_of(json_text(ns)), STR_NONE, out);
}

static void put_scope_end(const struct record *rec, const yyjson_val *ns, struct frames *out)
{
    put_lifecycle(rec, json_text(ns), end_of(rec), graph_of(json_text(ns)), STR_NONE, out);
}

/* Questions are told here, not when they are asked: now they can be answered, and the state
 * has them. */
static void on_job_end(const struct record *rec, struct frames *out)
{
    each_item(rec->closes, put_completed, rec, out);
    each_item(rec->asks, put_question, rec, out);
    each_item(rec->open, put_scope_end, rec, out);
    put_lifecycle(rec, STR_NONE, end_of(rec), STR_NONE,
                  str_is(rec->status, "failed") ? render_some(rec->error) : STR_NONE, out);
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

static void put_cause(struct buf *b, struct str call)
{
    if (str_empty(call))
        return;
    json_key(b, "cause");
    json_format(b, "{'type':'toolCall','tool_call_id':%s}", call);
}

/* The outermost first, as clients expect it.  @agent: the name of the agent in the innermost.
 */
static void put_started(const struct record *rec,
                        struct str ns,
                        int64_t n,
                        struct str agent,
                        struct frames *out)
{
    struct str outer = record_outer_ns(ns);

    if (n <= 0 || str_empty(ns))
        return;
    put_started(rec, outer, n - 1, STR_NONE, out);
    struct buf *b = thread_begin(rec, STR("lifecycle"), ns, out);
    if (b == NULL)
        return;
    json_key(b, "data");
    json_begin(b);
    json_add_lit(b, "event", "started");
    json_add_str(b, "graph_name", str_empty(agent) ? graph_of(ns) : agent);
    if (!str_empty(agent)) /* only named agents are started by calls */
        put_cause(b, rec->cause);
    json_end(b);
    thread_end(out);
}

void thread_put_opened(const struct record *rec, struct frames *out)
{
    put_started(rec, record_graph_ns(&rec->info), rec->opens, STR_NONE, out);
}

/* How a task ended says how its namespace has. */
static struct str end_of_task(const yyjson_val *task)
{
    if (!json_is_null(json_at(task, "error")))
        return STR("failed");
    return yyjson_arr_size(json_at(task, "interrupts")) > 0 ? STR("interrupted")
                                                            : STR("completed");
}

static struct str error_of_task(const yyjson_val *task)
{
    const yyjson_val *error = json_at(task, "error");

    if (json_is_null(error) || !str_absent(json_text(error)))
        return json_text(error);
    return render_some(json_text(json_at(error, "message")));
}

static void put_closed(const struct record *rec, const yyjson_val *task, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json closed;

    if (rec->owes || json_read(&reader, rec->closes, &closed, NULL) != 0)
        return;
    json_each(ns, closed.root)
        put_lifecycle(rec, json_text(ns), end_of_task(task), graph_of(json_text(ns)),
                      error_of_task(task), out);
}

/* --- state ------------------------------------------------------------------------------ */

static void on_state_tasks(const struct record *rec, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    bool opens = rec->opens != RECORD_NO_NUMBER, closes = !str_absent(rec->closes);
    struct str ns = record_info(rec)->ns;
    struct json task = { 0 };

    if ((opens || closes) && json_read(&reader, render_some(rec->data), &task, NULL) != 0)
        task.root = NULL;
    bool ends =
        json_at(task.root, "result") != NULL || !json_is_null(json_at(task.root, "error"));
    if (closes && !ends) /* what the step before has closed */
        each_item(rec->closes, put_completed, rec, out);
    if (opens)
        put_started(rec, ns, rec->opens,
                    json_text(json_at(json_at(task.root, "metadata"), "lc_agent_name")), out);
    put_raw(rec, STR("tasks"), ns, rec->data, out);
    if (closes && ends)
        put_closed(rec, task.root, out);
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

/* Python's clients look for the members of a named payload beside its name, JavaScript's in
 * `payload`. */
static void put_members(struct buf *b, const yyjson_val *payload)
{
    json_each_member(key, value, payload) {
        if (str_is(json_text(key), "name") || str_is(json_text(key), "payload"))
            continue;
        json_put_key(b, json_text(key));
        json_put_value(b, value);
    }
}

/* Custom data is for the channel of its name: of the event, or, as Python's LangGraph has it,
 * of the payload.
 *
 * A run dispatches from inside its node, so its graph is the one around; a stream part says the
 * namespace of the graph itself. */
static void on_custom(const struct record *rec, struct frames *out)
{
    const struct run_info *info = record_info(rec);
    bool is_dispatched = !info->derived && !str_absent(info->run);
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json payload = { 0 };
    struct str ns = is_dispatched ? record_outer_ns(info->ns) : info->ns;

    if (!str_starts(render_some(rec->data), STR("{")) ||
        json_read(&reader, rec->data, &payload, NULL) != 0)
        payload.root = NULL;
    struct str name = !str_empty(rec->id)      ? rec->id
                      : !str_empty(rec->title) ? rec->title
                                               : json_text(json_at(payload.root, "name"));
    struct buf *b = thread_begin(rec, STR("custom"), ns, out);
    if (b == NULL)
        return;
    json_key(b, "data");
    json_begin(b);
    if (!str_empty(name))
        json_add_str(b, "name", name); /* first: filters look for it there */
    json_add_raw(b, "payload", rec->data);
    if (str_empty(rec->title) && str_empty(rec->id) && !str_empty(name))
        put_members(b, payload.root);
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
        [REC_RUN_END] = on_run_end,
        [REC_NODE_START] = on_node_start,
        [REC_NODE_END] = on_node_end,
        [REC_LLM_START] = thread_put_opened,
        [REC_LLM_DELTA] = thread_on_delta,
        [REC_LLM_END] = thread_on_llm_end,
        [REC_MESSAGE] = thread_on_message,
        [REC_TOOL_START] = thread_on_tool_start,
        [REC_TOOL_END] = thread_on_tool_end,
        [REC_STATE_VALUES] = on_state_values,
        [REC_STATE_UPDATES] = on_state_updates,
        [REC_STATE_TASKS] = on_state_tasks,
        [REC_STATE_CHECKPOINTS] = on_state_checkpoints,
        [REC_STATE_TOOLS] = thread_on_state_tools,
        [REC_CUSTOM] = on_custom,
        [REC_PROGRESS] = on_custom,
    },
};
