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

struct str demo_json_list(struct demo_emit *e,
                          const char *template,
                          const struct str *args,
                          size_t n)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    json_format_list(&b, template, args, n);
    return demo_keep_buf(e, &b);
}

struct str demo_number(struct demo_emit *e, uint64_t number)
{
    struct buf b;

    buf_init(&b, 32);
    buf_u64(&b, number);
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
    if (parent->parent != NULL)
        buf_char(b, ',');
    json_put_str(b, str_make(parent->id, KEY_UUID_CHARS));
    buf_char(b, ']');
}

static void put_task(struct demo_emit *e,
                     struct buf *b,
                     const struct demo_task *task,
                     bool inner)
{
    struct str node = str_of(task->node);

    json_format(b, ",'langgraph_step':%j,'langgraph_node':%s", demo_number(e, task->step),
                node);
    if (task->push >= 0)
        json_format(b,
                    ",'langgraph_triggers':['__pregel_push'],"
                    "'langgraph_path':['__pregel_push',%j,false]",
                    demo_number(e, (uint64_t)task->push));
    else
        json_format(b,
                    ",'langgraph_triggers':['branch:to:%j'],"
                    "'langgraph_path':['__pregel_pull',%s]",
                    node, node);
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
                kind == DEMO_MODEL ? STR("langchain_chat_model") : STR("langgraph"));
    if (task != NULL)
        put_task(e, b, task, kind == DEMO_INNER || kind == DEMO_MODEL);
    if (kind == DEMO_MODEL)
        buf_lit(b, ",\"ls_provider\":\"openai\",\"ls_model_name\":\"gpt-demo\","
                   "\"ls_model_type\":\"chat\",\"ls_temperature\":0.0,"
                   "\"lc_versions\":{\"langchain-core\":\"1.6.1\"}");
    buf_char(b, '}');
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
    run->tags = tag != NULL ? demo_json(e, "[%s,'demo']", str_of(tag)) : STR("[\"demo\"]");
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

static void put_run(struct buf *b, const struct demo_run *run, enum order order)
{
    struct str name = str_of(run->name), id = str_make(run->id, KEY_UUID_CHARS);

    if (order == NAME_FIRST)
        json_format(b, ",'name':%s,'tags':%j,'run_id':%s", name, run->tags, id);
    else
        json_format(b, ",'run_id':%s,'name':%s,'tags':%j", id, name, run->tags);
    json_format(b, ",'metadata':%j", run->metadata);
}

void demo_send_list(struct demo_emit *e,
                    const struct demo_run *run,
                    enum demo_event event,
                    const char *template,
                    const struct str *args,
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
    buf_lit(b, ",\"data\":");
    json_format_list(b, template, args, n);
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
