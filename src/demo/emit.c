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
    buf_init(&e->chunk, MAX_LINE);
}

void demo_emit_done(struct demo_emit *e)
{
    buf_done(&e->line);
    buf_done(&e->chunk);
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

struct str demo_json_holes(struct demo_emit *e,
                           const char *template,
                           const struct json_hole *holes,
                           size_t n)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    json_format_holes(&b, template, holes, n);
    return demo_keep_buf(e, &b);
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

static void put_parents(struct buf *b, const struct demo_run *parent)
{
    if (parent == NULL) {
        buf_lit(b, "[]");
        return;
    }
    buf_str(b, parent->parents);
    b->n -= b->n > 0; /* its bracket */
    json_put_str(json_next(b), str_make(parent->id, KEY_UUID_CHARS));
    json_end_array(b);
}

static void put_task(struct buf *b, const struct demo_task *task, bool inner)
{
    json_format(b, ",'langgraph_step':%d,'langgraph_node':%s", task->step, task->node);
    if (task->push >= 0)
        json_format(b,
                    ",'langgraph_triggers':['__pregel_push'],"
                    "'langgraph_path':['__pregel_push',%d,false]",
                    task->push);
    else
        json_format(b,
                    ",'langgraph_triggers':['branch:to:%j'],"
                    "'langgraph_path':['__pregel_pull',%s]",
                    task->node, task->node);
    json_format(b, ",'langgraph_checkpoint_ns':%s", task->ns);
    if (inner)
        json_format(b, ",'checkpoint_ns':%s", task->ns);
}

static void put_metadata(struct demo_emit *e,
                         struct buf *b,
                         enum demo_kind kind,
                         const struct demo_task *task)
{
    json_format(b, "{'thread_id':%s,'ls_integration':%s", e->job->thread,
                kind == DEMO_MODEL ? "langchain_chat_model" : "langgraph");
    if (task != NULL)
        put_task(b, task, kind == DEMO_INNER || kind == DEMO_MODEL);
    if (kind == DEMO_MODEL)
        json_format_plain(b, ",'ls_provider':'openai','ls_model_name':'gpt-demo',"
                             "'ls_model_type':'chat','ls_temperature':0.0,"
                             "'lc_versions':{'langchain-core':'1.6.1'}");
    json_end(b);
}

/* What is in the line buffer, which is empty then. */
static struct str keep_line(struct demo_emit *e)
{
    struct str kept = demo_keep(e, buf_text(&e->line));

    if (e->line.error != 0)
        e->outcome = DEMO_NO_MEMORY;
    buf_clear(&e->line);
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
    run->tags = tag != NULL ? demo_json(e, "[%s,'demo']", tag) : STR("[\"demo\"]");
    buf_clear(b);
    put_metadata(e, b, kind, task);
    run->metadata = keep_line(e);
    put_parents(b, parent);
    run->parents = keep_line(e);
}

/* --- events ------------------------------------------------------------------------------ */

/* Python writes the members in three orders. */
enum order {
    NAME_FIRST, /* event data name tags run_id metadata parent_ids */
    ID_FIRST,   /* event data run_id name tags metadata parent_ids */
    DATA_LATE   /* event run_id name tags metadata data parent_ids */
};

static const struct {
    const char *name;
    enum order order;
} events[DEMO_EVENT_MAX] = {
    [DEMO_CHAIN_START] = { "on_chain_start", NAME_FIRST },
    [DEMO_CHAIN_STREAM] = { "on_chain_stream", DATA_LATE },
    [DEMO_CHAIN_END] = { "on_chain_end", ID_FIRST },
    [DEMO_MODEL_START] = { "on_chat_model_start", NAME_FIRST },
    [DEMO_MODEL_STREAM] = { "on_chat_model_stream", ID_FIRST },
    [DEMO_MODEL_END] = { "on_chat_model_end", ID_FIRST },
    [DEMO_TOOL_START] = { "on_tool_start", NAME_FIRST },
    [DEMO_TOOL_END] = { "on_tool_end", ID_FIRST },
    [DEMO_TOOL_ERROR] = { "on_tool_error", ID_FIRST },
    [DEMO_PROMPT_START] = { "on_prompt_start", NAME_FIRST },
    [DEMO_PROMPT_END] = { "on_prompt_end", ID_FIRST },
    [DEMO_PARSER_START] = { "on_parser_start", NAME_FIRST },
    [DEMO_PARSER_END] = { "on_parser_end", ID_FIRST },
    [DEMO_CUSTOM] = { "on_custom_event", DATA_LATE },
};

static void put_run(struct buf *b, const struct demo_run *run, enum order order)
{
    if (order == NAME_FIRST)
        json_format(b, ",'name':%s,'tags':%j,'run_id':%s", run->name, run->tags, run->id);
    else
        json_format(b, ",'run_id':%s,'name':%s,'tags':%j", run->id, run->name, run->tags);
    json_format(b, ",'metadata':%j", run->metadata);
}

void demo_send_holes(struct demo_emit *e,
                     const struct demo_run *run,
                     enum demo_event event,
                     const char *template,
                     const struct json_hole *holes,
                     size_t n)
{
    enum order order = events[event].order;
    struct buf *b = &e->line;

    if (!demo_going(e) || e->muted)
        return;
    buf_clear(b);
    json_format(b, "{'event':%s", events[event].name);
    if (order == DATA_LATE)
        put_run(b, run, order);
    json_key(b, "data");
    json_format_holes(b, template, holes, n);
    if (order != DATA_LATE)
        put_run(b, run, order);
    json_format(b, ",'parent_ids':%j}\n", run->parents);
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
