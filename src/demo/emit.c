/* Lines of astream_events, in the order of members that Python gives them.
 *
 * A token repeats its run's tags, metadata and parents, so these are made once per run and
 * copied into each line. */
#include "demo/emit.h"

#include "base/json.h"

#include <stdio.h>

enum { MAX_LINE = 256 * 1024 * 1024 };

/* --- ids and chance ------------------------------------------------------------------- */

void demo_emit_init(struct demo_emit *e, const struct demo_job *job, struct demo_sink *sink)
{
    *e =
        (struct demo_emit){ .job = job, .sink = sink, .lanes = 1, .chance = job->options.seed };
    e->story = key_stable(job->options.seed, job->id);
    e->attempt = key_stable(e->story.a ^ (uint64_t)job->attempt, job->id);
    arena_init(&e->mem);
    buf_init(&e->line, MAX_LINE);
}

void demo_emit_done(struct demo_emit *e)
{
    buf_done(&e->line);
    arena_done(&e->mem);
}

struct str demo_keep(struct demo_emit *e, struct str s)
{
    struct str copy = STR("");

    if (!arena_copy(&e->mem, s, &copy))
        e->outcome = DEMO_NO_MEMORY;
    return copy;
}

struct str demo_keep_buf(struct demo_emit *e, struct buf *b)
{
    struct str copy = demo_keep(e, buf_text(b));

    if (b->error != 0)
        e->outcome = DEMO_NO_MEMORY;
    buf_done(b);
    return copy;
}

/* splitmix64 */
static uint64_t next_chance(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t demo_chance(struct demo_emit *e, uint64_t n)
{
    return next_chance(&e->chance) % n;
}

void demo_new_id(struct demo_emit *e, char out[KEY_UUID_CHARS + 1])
{
    char label[32];

    (void)snprintf(label, sizeof(label), "%llu", (unsigned long long)e->n_ids++);
    key_uuid(key_stable(e->attempt.a ^ e->attempt.b, str_of(label)), out);
    out[KEY_UUID_CHARS] = '\0';
}

void demo_fixed_id(const struct demo_emit *e, const char *label, char out[KEY_UUID_CHARS + 1])
{
    key_uuid(key_stable(e->story.a ^ e->story.b, str_of(label)), out);
    out[KEY_UUID_CHARS] = '\0';
}

/* --- tasks and runs ------------------------------------------------------------------- */

void demo_task_init(struct demo_emit *e,
                    struct demo_task *task,
                    const char *node,
                    unsigned step,
                    int push)
{
    char label[96], ns[96];

    *task = (struct demo_task){ .node = node, .step = step, .push = push };
    (void)snprintf(label, sizeof(label), "task %s %u %d", node, step, push);
    demo_fixed_id(e, label, task->id);
    int n = snprintf(ns, sizeof(ns), "%s:%s", node, task->id);
    task->ns = demo_keep(e, str_make(ns, (size_t)n));
}

static void put_tags(struct buf *b, const char *tag)
{
    buf_char(b, '[');
    if (tag != NULL) {
        json_put_str(b, str_of(tag));
        buf_char(b, ',');
    }
    buf_lit(b, "\"demo\"]");
}

static void put_parents(struct buf *b, const struct demo_run *parent)
{
    if (parent == NULL) {
        buf_lit(b, "[]");
        return;
    }
    buf_str(b, parent->parents);
    b->n -= b->n > 0; /* its bracket */
    if (parent->parent != NULL)
        buf_char(b, ',');
    json_put_str(b, str_make(parent->id, KEY_UUID_CHARS));
    buf_char(b, ']');
}

static void put_task(struct buf *b, const struct demo_task *task, bool inner)
{
    buf_lit(b, ",\"langgraph_step\":");
    buf_u64(b, task->step);
    buf_lit(b, ",\"langgraph_node\":");
    json_put_str(b, str_of(task->node));
    if (task->push >= 0) {
        buf_lit(b, ",\"langgraph_triggers\":[\"__pregel_push\"],"
                   "\"langgraph_path\":[\"__pregel_push\",");
        buf_u64(b, (uint64_t)task->push);
        buf_lit(b, ",false]");
    } else {
        buf_lit(b, ",\"langgraph_triggers\":[\"branch:to:");
        buf_str(b, str_of(task->node));
        buf_lit(b, "\"],\"langgraph_path\":[\"__pregel_pull\",");
        json_put_str(b, str_of(task->node));
        buf_char(b, ']');
    }
    buf_lit(b, ",\"langgraph_checkpoint_ns\":");
    json_put_str(b, task->ns);
    if (inner) {
        buf_lit(b, ",\"checkpoint_ns\":");
        json_put_str(b, task->ns);
    }
}

static void put_metadata(struct demo_emit *e,
                         struct buf *b,
                         enum demo_kind kind,
                         const struct demo_task *task)
{
    buf_lit(b, "{\"thread_id\":");
    json_put_str(b, e->job->thread);
    if (kind == DEMO_MODEL)
        buf_lit(b, ",\"ls_integration\":\"langchain_chat_model\"");
    else
        buf_lit(b, ",\"ls_integration\":\"langgraph\"");
    if (task != NULL)
        put_task(b, task, kind == DEMO_INNER || kind == DEMO_MODEL);
    if (kind == DEMO_MODEL)
        buf_lit(b, ",\"ls_provider\":\"openai\",\"ls_model_name\":\"gpt-demo\","
                   "\"ls_model_type\":\"chat\",\"ls_temperature\":0.0,"
                   "\"lc_versions\":{\"langchain-core\":\"1.6.1\"}");
    buf_char(b, '}');
}

/* What was appended to the line buffer since @from, kept; the buffer is as before. */
static struct str keep_since(struct demo_emit *e, size_t from)
{
    struct str kept = demo_keep(e, buf_since(&e->line, from));

    if (e->line.error != 0)
        e->outcome = DEMO_NO_MEMORY;
    buf_cut(&e->line, from);
    return kept;
}

void demo_run_init(struct demo_emit *e,
                   struct demo_run *run,
                   enum demo_kind kind,
                   const struct demo_run *parent,
                   const struct demo_task *task,
                   const char *name,
                   const char *tag)
{
    struct buf *b = &e->line;

    *run = (struct demo_run){ .parent = parent, .task = task, .name = name };
    demo_new_id(e, run->id);
    buf_clear(b);
    put_tags(b, tag);
    run->tags = keep_since(e, 0);
    put_metadata(e, b, kind, task);
    run->metadata = keep_since(e, 0);
    put_parents(b, parent);
    run->parents = keep_since(e, 0);
}

/* --- events ------------------------------------------------------------------------------ */

/* Python writes the members in three orders. */
enum order {
    NAME_FIRST, /* event data name tags run_id metadata parent_ids */
    ID_FIRST,   /* event data run_id name tags metadata parent_ids */
    DATA_LATE   /* event run_id name tags metadata data parent_ids */
};

#define NAME(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

static const struct {
    struct str name;
    enum order order;
} events[DEMO_EVENT_MAX] = {
    [DEMO_CHAIN_START] = { NAME("on_chain_start"), NAME_FIRST },
    [DEMO_CHAIN_STREAM] = { NAME("on_chain_stream"), DATA_LATE },
    [DEMO_CHAIN_END] = { NAME("on_chain_end"), ID_FIRST },
    [DEMO_MODEL_START] = { NAME("on_chat_model_start"), NAME_FIRST },
    [DEMO_MODEL_STREAM] = { NAME("on_chat_model_stream"), ID_FIRST },
    [DEMO_MODEL_END] = { NAME("on_chat_model_end"), ID_FIRST },
    [DEMO_TOOL_START] = { NAME("on_tool_start"), NAME_FIRST },
    [DEMO_TOOL_END] = { NAME("on_tool_end"), ID_FIRST },
    [DEMO_TOOL_ERROR] = { NAME("on_tool_error"), ID_FIRST },
    [DEMO_PROMPT_START] = { NAME("on_prompt_start"), NAME_FIRST },
    [DEMO_PROMPT_END] = { NAME("on_prompt_end"), ID_FIRST },
    [DEMO_PARSER_START] = { NAME("on_parser_start"), NAME_FIRST },
    [DEMO_PARSER_END] = { NAME("on_parser_end"), ID_FIRST },
    [DEMO_CUSTOM] = { NAME("on_custom_event"), DATA_LATE },
};

static void put_run_id(struct buf *b, const struct demo_run *run)
{
    buf_lit(b, ",\"run_id\":\"");
    buf_put(b, run->id, KEY_UUID_CHARS);
    buf_char(b, '"');
}

static void put_name_and_tags(struct buf *b, const struct demo_run *run)
{
    buf_lit(b, ",\"name\":\"");
    buf_str(b, str_of(run->name)); /* ours: nothing to escape */
    buf_lit(b, "\",\"tags\":");
    buf_str(b, run->tags);
}

static void put_run(struct buf *b, const struct demo_run *run, enum order order)
{
    if (order != NAME_FIRST)
        put_run_id(b, run);
    put_name_and_tags(b, run);
    if (order == NAME_FIRST)
        put_run_id(b, run);
    buf_lit(b, ",\"metadata\":");
    buf_str(b, run->metadata);
}

struct buf *demo_event(struct demo_emit *e, const struct demo_run *run, enum demo_event event)
{
    struct buf *b = &e->line;

    e->run = run;
    e->event = event;
    buf_clear(b);
    buf_lit(b, "{\"event\":\"");
    buf_str(b, events[event].name);
    buf_char(b, '"');
    if (events[event].order == DATA_LATE)
        put_run(b, run, DATA_LATE);
    buf_lit(b, ",\"data\":");
    return b;
}

void demo_event_send(struct demo_emit *e)
{
    struct buf *b = &e->line;

    if (events[e->event].order != DATA_LATE)
        put_run(b, e->run, events[e->event].order);
    buf_lit(b, ",\"parent_ids\":");
    buf_str(b, e->run->parents);
    buf_lit(b, "}\n");
    if (!demo_going(e) || e->muted)
        return;
    if (b->error != 0)
        e->outcome = DEMO_NO_MEMORY;
    else if (e->sink->line(e->sink, buf_text(b)) != 0)
        e->outcome = DEMO_STOPPED;
}

void demo_pause(struct demo_emit *e, int64_t us)
{
    double speed = e->job->options.speed;

    if (!demo_going(e) || e->muted || speed <= 0)
        return;
    double scaled = (double)us * (0.5 + (double)(next_chance(&e->jitter) % 1000) / 1000.0) /
                    (speed * (double)(e->lanes > 0 ? e->lanes : 1));
    if (e->sink->pause(e->sink, (int64_t)scaled) != 0)
        e->outcome = DEMO_STOPPED;
}
