/* The fold: what a job's events come to.
 *
 * Events are written with ' for " (and ` for ').  `expect` compares a few fields of the records
 * of some kinds, one record a line; a field that is not there is '-'. */
#include "base/error.h"
#include "base/json.h"
#include "support/ledger.h"
#include "support/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

/* --- telling a story ------------------------------------------------------------------ */

struct scene {
    struct play play;
    struct buf text;
    int64_t ms;
};

static void begin_with(struct scene *s, struct play_options options)
{
    options.render = true;
    play_init(&s->play, options);
    buf_init(&s->text, SIZE_MAX / 4);
    s->ms = 0;
}

static void begin(struct scene *s)
{
    begin_with(s, (struct play_options){ 0 });
}

static void done(struct scene *s)
{
    play_done(&s->play);
    buf_done(&s->text);
}

/* Feeds one line, written as quoted_text() takes it. */
__attribute__((format(printf, 2, 3))) static void say(struct scene *s, const char *format, ...)
{
    char line[8192];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    assert_true(n > 0 && (size_t)n < sizeof(line) - 1);
    line[n] = '\n';
    line[n + 1] = '\0';
    buf_clear(&s->text);
    assert_int_equal(play_feed(&s->play, quoted_text(&s->text, line), s->ms += 10), 0);
}

static void feed_file(struct scene *s, const char *name)
{
    char path[256];
    struct recording r;

    (void)snprintf(path, sizeof(path), "tests/recordings/%s", name);
    assert_true(recording_open(&r, path));
    assert_int_equal(play_feed(&s->play, str_make(r.bytes, r.n), s->ms += 10), 0);
    recording_done(&r);
}

static void end_of_stream(struct scene *s)
{
    assert_int_equal(play_end(&s->play, s->ms += 10), 0);
}

/* Where in a graph something happens. */
struct where {
    const char *node;
    int step;
    const char *ns;
    const char *parents; /* in JSON; NULL: as JavaScript sends it */
    const char *tags;    /* in JSON; NULL: none */
    const char *more;    /* of the metadata, comma first; or NULL */
};

#define JS(node_, step_, ns_)                   \
    {                                           \
        .node = node_, .step = step_, .ns = ns_ \
    }
#define PY(node_, step_, ns_, parents_)                              \
    {                                                                \
        .node = node_, .step = step_, .ns = ns_, .parents = parents_ \
    }
#define TAGGED(node_, step_, ns_, parents_, tags_)                                  \
    {                                                                               \
        .node = node_, .step = step_, .ns = ns_, .parents = parents_, .tags = tags_ \
    }
#define WITH_META(node_, step_, ns_, parents_, tags_, more_)                         \
    {                                                                                \
        .node = node_, .step = step_, .ns = ns_, .parents = parents_, .tags = tags_, \
        .more = more_                                                                \
    }

static void event(struct scene *s,
                  const char *name,
                  const char *run_name,
                  const char *run,
                  struct where at,
                  const char *data)
{
    char parents[512] = "", meta[512] = "";

    if (at.parents != NULL)
        (void)snprintf(parents, sizeof(parents), ",'parent_ids':[%s]", at.parents);
    if (at.node != NULL)
        (void)snprintf(
            meta, sizeof(meta),
            "'langgraph_node':'%s','langgraph_step':%d,'langgraph_checkpoint_ns':'%s'%s",
            at.node, at.step, at.ns, at.more != NULL ? at.more : "");
    say(s, "{'event':'%s','name':'%s','run_id':'%s','tags':[%s],'metadata':{%s},'data':%s%s}",
        name, run_name, run, at.tags != NULL ? at.tags : "", meta, data, parents);
}

static const struct where nowhere;

static void root_starts(struct scene *s, const char *run)
{
    event(s, "on_chain_start", "LangGraph", run, nowhere, "{'input':{}}");
}

static void root_streams(struct scene *s, const char *run, const char *chunk)
{
    char data[2048];

    (void)snprintf(data, sizeof(data), "{'chunk':%s}", chunk);
    event(s, "on_chain_stream", "LangGraph", run, nowhere, data);
}

static void root_ends(struct scene *s, const char *run, const char *output)
{
    char data[4096];

    (void)snprintf(data, sizeof(data), "{'output':%s}", output);
    event(s, "on_chain_end", "LangGraph", run, nowhere, data);
}

static struct where tagged(struct where at, char tag[32])
{
    if (at.tags == NULL) {
        (void)snprintf(tag, 32, "'graph:step:%d'", at.step);
        at.tags = tag;
    }
    return at;
}

static void node_starts(struct scene *s, struct where at, const char *run)
{
    char tag[32];

    event(s, "on_chain_start", at.node, run, tagged(at, tag), "{'input':{}}");
}

static void node_ends(struct scene *s, struct where at, const char *run, const char *output)
{
    char tag[32], data[2048];

    (void)snprintf(data, sizeof(data), "{'output':%s}", output);
    event(s, "on_chain_end", at.node, run, tagged(at, tag), data);
}

static void model_starts(struct scene *s, struct where at, const char *run)
{
    event(s, "on_chat_model_start", "Chat", run, at, "{'input':{'messages':[[]]}}");
}

/* @more are members of the chunk, comma first. */
static void token_with(struct scene *s,
                       struct where at,
                       const char *run,
                       const char *id,
                       const char *text,
                       const char *more)
{
    char data[4096];

    (void)snprintf(data, sizeof(data),
                   "{'chunk':{'type':'AIMessageChunk','id':'%s','content':'%s'%s}}", id, text,
                   more);
    event(s, "on_chat_model_stream", "Chat", run, at, data);
}

static void token(struct scene *s,
                  struct where at,
                  const char *run,
                  const char *id,
                  const char *text)
{
    token_with(s, at, run, id, text, "");
}

/* @more are members of the message, comma first. */
static void model_ends(struct scene *s,
                       struct where at,
                       const char *run,
                       const char *id,
                       const char *text,
                       const char *more)
{
    char data[4096];

    (void)snprintf(data, sizeof(data), "{'output':{'type':'ai','id':'%s','content':'%s'%s}}",
                   id, text, more);
    event(s, "on_chat_model_end", "Chat", run, at, data);
}

static void tool_starts(struct scene *s,
                        struct where at,
                        const char *name,
                        const char *run,
                        const char *input)
{
    char data[2048];

    (void)snprintf(data, sizeof(data), "{'input':%s}", input);
    event(s, "on_tool_start", name, run, at, data);
}

static void tool_ends(struct scene *s,
                      struct where at,
                      const char *name,
                      const char *run,
                      const char *output)
{
    char data[2048];

    (void)snprintf(data, sizeof(data), "{'output':%s}", output);
    event(s, "on_tool_end", name, run, at, data);
}

/* --- comparing ------------------------------------------------------------------------ */

static bool is_among(struct str kind, const char *prefixes)
{
    struct str rest = str_of(prefixes);

    while (rest.n > 0) {
        struct str prefix = str_head(rest, str_find(rest, ' '));

        if (str_starts(kind, prefix))
            return true;
        rest = str_skip(rest, prefix.n + 1);
    }
    return false;
}

static void put_fields(struct buf *out, yyjson_val *rec, const char *fields)
{
    struct str rest = str_of(fields);

    while (rest.n > 0) {
        struct str name = str_head(rest, str_find(rest, ' '));
        yyjson_val *v = json_get(rec, name);

        buf_char(out, ' ');
        if (v == NULL)
            buf_char(out, '-');
        else if (yyjson_is_str(v))
            buf_str(out, json_text(v));
        else
            json_put_value(out, v);
        rest = str_skip(rest, name.n + 1);
    }
}

/* Every record of the @kinds (prefixes): its kind, then its @fields. */
static void tell(struct scene *s, const char *kinds, const char *fields, struct buf *out)
{
    const struct tape *raw = &s->play.frames_of[VIEW_RAW];
    struct json_reader reader;

    json_reader_init(&reader, 1 << 24, 64);
    for (size_t i = 0; i < raw->n; i++) {
        struct str rest = tape_at(raw, i);
        struct sse_frame frame;
        struct json j;

        assert_true(sse_frame_next(&rest, &frame));
        if (!is_among(frame.event, kinds))
            continue;
        assert_int_equal(json_read(&reader, frame.data, &j, NULL), 0);
        buf_str(out, frame.event);
        put_fields(out, j.root, fields);
        buf_char(out, '\n');
    }
    json_reader_done(&reader);
}

static void same_text(struct buf *got, const char *expected)
{
    struct buf want;

    buf_init(&want, SIZE_MAX / 4);
    (void)quoted_text(&want, expected);
    buf_char(&want, '\0');
    buf_char(got, '\0');
    assert_string_equal(got->p, want.p);
    buf_done(&want);
}

static void expect(struct scene *s, const char *kinds, const char *fields, const char *expected)
{
    struct buf got;

    buf_init(&got, SIZE_MAX / 4);
    tell(s, kinds, fields, &got);
    same_text(&got, expected);
    buf_done(&got);
}

/* The payloads of one view's events of the @names (prefixes). */
static void expect_frames(struct scene *s, size_t view, const char *names, const char *expected)
{
    const struct tape *frames = &s->play.frames_of[view];
    struct buf got;

    buf_init(&got, SIZE_MAX / 4);
    for (size_t i = 0; i < frames->n; i++) {
        struct str rest = tape_at(frames, i);
        struct sse_frame frame;

        while (rest.n > 0) {
            assert_true(sse_frame_next(&rest, &frame));
            if (!is_among(frame.event, names))
                continue;
            buf_str(&got, frame.data);
            buf_char(&got, '\n');
        }
    }
    same_text(&got, expected);
    buf_done(&got);
}

/* --- executions ----------------------------------------------------------------------- */

static const struct where writer = JS("writer", 1, "writer:a");

static void second_visit_of_a_node_is_a_new_agent(void **state)
{
    const struct where again = JS("writer", 3, "writer:b");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    node_ends(&s, writer, "w1", "{}");
    node_starts(&s, again, "w2");
    model_starts(&s, again, "l1");
    token(&s, again, "l1", "m1", "two");
    node_ends(&s, again, "w2", "{}");
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    expect(&s, "node. llm.delta", "exec step status",
           "node.start w1 1 -\n"
           "node.end w1 1 ok\n"
           "node.start w2 3 -\n"
           "llm.delta w2 3 -\n"
           "node.end w2 3 ok\n");
    done(&s);
}

static void two_executions_at_once_are_not_mixed_by_namespace(void **state)
{
    const struct where one = JS("writer", 1, "writer:a"), two = JS("writer", 1, "writer:b");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, one, "w1");
    node_starts(&s, two, "w2");
    model_starts(&s, one, "l1");
    model_starts(&s, two, "l2");
    token(&s, one, "l1", "m1", "a");
    token(&s, two, "l2", "m2", "b");
    token(&s, one, "l1", "m1", "c");
    node_ends(&s, two, "w2", "{}");
    node_ends(&s, one, "w1", "{}");
    expect(&s, "llm.delta node.end", "exec text",
           "llm.delta w1 a\nllm.delta w2 b\nllm.delta w1 c\nnode.end w2 -\nnode.end w1 -\n");
    done(&s);
}

static void two_executions_at_once_are_not_mixed_by_parents(void **state)
{
    /* The same namespace for both: only the parents tell. */
    const struct where node = PY("writer", 1, "writer:a", "'root'");
    const struct where in_one = PY("writer", 1, "other:x", "'root','w1'");
    const struct where in_two = PY("writer", 1, "other:x", "'root','w2'");
    struct scene s;

    (void)state;
    begin(&s);
    event(&s, "on_chain_start", "LangGraph", "root", (struct where){ .parents = "" }, "{}");
    node_starts(&s, node, "w1");
    node_starts(&s, (struct where)PY("writer", 1, "writer:b", "'root'"), "w2");
    model_starts(&s, in_two, "l2");
    model_starts(&s, in_one, "l1");
    token(&s, in_one, "l1", "m1", "a");
    token(&s, in_two, "l2", "m2", "b");
    expect(&s, "llm.delta", "exec parent text", "llm.delta w1 w1 a\nllm.delta w2 w2 b\n");
    done(&s);
}

static void a_retried_node_closes_the_old_execution(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "half");
    node_starts(&s, writer, "w2");
    node_ends(&s, writer, "w2", "{}");
    expect(&s, "node. llm.end", "run status",
           "node.start w1 -\n"
           "llm.end l1 retried\n"
           "node.end w1 retried\n"
           "node.start w2 -\n"
           "node.end w2 ok\n");
    expect(&s, "job.update", "title text run", "job.update retry Retrying writer w1\n");
    done(&s);
}

static void with_retry_closes_the_try_before(void **state)
{
    const struct where inside = PY("writer", 1, "writer:a", "'root','w1'");
    const struct where second =
        TAGGED("writer", 1, "writer:a", "'root','w1'", "'retry:attempt:2'");
    struct scene s;

    (void)state;
    begin(&s);
    event(&s, "on_chain_start", "LangGraph", "root", (struct where){ .parents = "" }, "{}");
    node_starts(&s, (struct where)PY("writer", 1, "writer:a", "'root'"), "w1");
    event(&s, "on_chain_start", "flaky", "f1", inside, "{}");
    event(&s, "on_chain_start", "flaky", "f2", second, "{}");
    event(&s, "on_chain_end", "flaky", "f2", second, "{'output':1}");
    expect(&s, "run.end", "run status", "run.end f1 retried\nrun.end f2 ok\n");
    done(&s);
}

static void tools_of_a_nested_agent_belong_to_the_top_level_execution(void **state)
{
    const struct where inner = JS("tools", 2, "writer:a|tools:b");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    node_starts(&s, inner, "n1");
    tool_starts(&s, inner, "look", "t1", "{}");
    tool_ends(&s, inner, "look", "t1", "'found'");
    node_ends(&s, inner, "n1", "{}");
    node_ends(&s, writer, "w1", "{}");
    expect(&s, "node.start tool.", "run exec node depth",
           "node.start w1 w1 writer 0\n"
           "node.start n1 w1 writer 1\n"
           "tool.start t1 w1 writer -\n"
           "tool.end t1 w1 writer -\n");
    expect(&s, "node.end", "run chains tools", "node.end n1 - -\nnode.end w1 1 1\n");
    expect_frames(
        &s, VIEW_AGENT, "agent.tool",
        "{'type':'agent.tool_call','agent_id':'w1','tool_name':'look','input_preview':"
        "'{}'}\n"
        "{'type':'agent.tool_result','agent_id':'w1','tool_name':'look',"
        "'result_summary':'found'}\n");
    done(&s);
}

static void a_subgraph_with_its_own_thread_is_inside_the_node_that_called_it(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    feed_file(&s, "py-b-namespace-edge-cases.server.ndjson");
    end_of_stream(&s);
    struct buf got;
    buf_init(&got, SIZE_MAX / 4);
    tell(&s, "llm.delta", "node text", &got);
    /* Nothing but the two executions that the graph has. */
    for (struct str rest = buf_text(&got); rest.n > 0;) {
        struct str line = str_head(rest, str_find(rest, '\n'));

        assert_true(str_starts(line, STR("llm.delta investigator ")) ||
                    str_starts(line, STR("llm.delta critic ")));
        rest = str_skip(rest, line.n + 1);
    }
    buf_done(&got);
    expect_frames(&s, VIEW_AGENT, "graph.node_complete",
                  "{'type':'graph.node_complete','node':'investigator','step':1}\n"
                  "{'type':'graph.node_complete','node':'critic','step':2}\n");
    done(&s);
}

static void the_function_of_a_conditional_edge_is_no_node(void **state)
{
    const struct where edge = TAGGED("writer", 1, "writer:a", "'root','w1'", "'seq:step:3'");
    struct scene s;

    (void)state;
    begin(&s);
    event(&s, "on_chain_start", "LangGraph", "root", (struct where){ .parents = "" }, "{}");
    node_starts(&s, (struct where)PY("writer", 1, "writer:a", "'root'"), "w1");
    event(&s, "on_chain_start", "route", "e1", edge, "{'input':{}}");
    event(&s, "on_chain_end", "route", "e1", edge, "{'output':'critic'}");
    /* Named like its node, and no node run all the same: the tag is another one. */
    event(&s, "on_chain_start", "writer", "e2", edge, "{'input':{}}");
    event(&s, "on_chain_end", "writer", "e2", edge, "{'output':1}");
    expect(&s, "node. run.", "run exec",
           "run.start root -\n"
           "node.start w1 w1\n"
           "run.start e1 w1\n"
           "run.end e1 w1\n"
           "run.start e2 w1\n"
           "run.end e2 w1\n");
    done(&s);
}

static void without_tags_the_name_is_enough(void **state)
{
    const struct where stripped = TAGGED("writer", 1, "writer:a", NULL, "");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, stripped, "w1");
    model_starts(&s, stripped, "l1");
    token(&s, stripped, "l1", "m1", "x");
    node_ends(&s, stripped, "w1", "{}");
    expect(&s, "node. llm.delta", "exec", "node.start w1\nllm.delta w1\nnode.end w1\n");
    done(&s);
}

static void empty_parents_of_version_1_leave_it_to_the_namespace(void **state)
{
    const struct where v1 = PY("writer", 1, "writer:a", "");
    const struct where inner = PY("tools", 2, "writer:a|tools:b", "");
    struct scene s;

    (void)state;
    begin(&s);
    event(&s, "on_chain_start", "LangGraph", "root", (struct where){ .parents = "" }, "{}");
    node_starts(&s, v1, "w1");
    node_starts(&s, inner, "n1");
    model_starts(&s, inner, "l1");
    event(
        &s, "on_chat_model_end", "Chat", "l1", inner,
        "{'output':{'generations':[[{'text':'hi','message':{'type':'ai','content':'hi'}}]]}}");
    expect(&s, "node.start llm.delta", "run exec depth text",
           "node.start w1 w1 0 -\nnode.start n1 w1 1 -\nllm.delta l1 w1 - hi\n");
    done(&s);
}

static void a_run_with_the_jobs_own_id_is_said_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "job-1");
    root_ends(&s, "job-1", "{}");
    end_of_stream(&s);
    struct ledger ledger;
    ledger_init(&ledger);
    for (size_t i = 0; i < s.play.stored.n; i++) {
        struct str rest = tape_at(&s.play.frames_of[VIEW_ENVELOPE], i);
        struct sse_frame frame;
        struct entry entry;

        while (rest.n > 0) {
            assert_true(sse_frame_next(&rest, &frame));
            assert_null(
                frame_read(VIEW_ENVELOPE, frame.event, frame.data, STR("job-1"), &entry));
            assert_null(ledger_take(&ledger, &entry));
        }
    }
    assert_null(ledger_settle(&ledger, VIEW_ENVELOPE));
    ledger_done(&ledger);
    done(&s);
}

static void plumbing_is_ignored(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    event(&s, "on_chain_start", "__start__", "x",
          (struct where)TAGGED("__start__", 0, "__start__:a", NULL,
                               "'graph:step:0','langsmith:hidden'"),
          "{}");
    expect(&s, "run. node.", "run", "run.start root\n");
    done(&s);
}

/* --- sections ------------------------------------------------------------------------- */

/* The section of one token of a model that runs at @at, inside a run at @around. */
static void section_is(struct where around,
                       const char *name,
                       struct where at,
                       const char *section)
{
    char expected[64];
    struct scene s;

    begin(&s);
    event(&s, "on_chain_start", "LangGraph", "root",
          (struct where){ .parents = at.parents != NULL ? "" : NULL }, "{}");
    node_starts(&s,
                (struct where)PY("writer", 1, "writer:a", at.parents != NULL ? "'root'" : NULL),
                "w1");
    if (name != NULL)
        event(&s, "on_chain_start", name, "branch", around, "{}");
    model_starts(&s, at, "l1");
    token(&s, at, "l1", "m1", "x");
    (void)snprintf(expected, sizeof(expected), "llm.delta w1 %s\n", section);
    expect(&s, "llm.delta", "exec section", expected);
    done(&s);
}

static void section_comes_from_metadata_first(void **state)
{
    (void)state;
    section_is(
        writer, "report",
        (struct where)WITH_META("writer", 1, "writer:a", NULL, NULL, ",'section':'mine'"),
        "mine");
}

static void section_comes_from_the_nearest_map_key(void **state)
{
    const struct where branch =
        TAGGED("writer", 1, "writer:a", "'root','w1'", "'map:key:report'");
    const struct where model = PY("writer", 1, "writer:a", "'root','w1','branch'");

    (void)state;
    section_is(branch, "RunnableSequence", model, "report");
    section_is((struct where)TAGGED("writer", 1, "writer:a", "'root','w1'", "'map:key:other'"),
               "RunnableSequence", model, "-");
    section_is(
        writer, NULL,
        (struct where)TAGGED("writer", 1, "writer:a", "'root','w1'", "'map:key:ticket_draft'"),
        "ticket_draft");
}

static void section_comes_from_the_namespace(void **state)
{
    (void)state;
    section_is(writer, NULL, (struct where)JS("report", 2, "writer:a|report:b"), "report");
    section_is(writer, NULL, (struct where)JS("x", 2, "writer:a|sub:b|comment_draft:c"),
               "comment_draft");
    section_is(writer, NULL, (struct where)JS("x", 2, "writer:a|sub:b"), "-");
}

static void section_comes_from_the_name_of_the_branch(void **state)
{
    const struct where inside = PY("writer", 1, "writer:a", "'root','w1','branch'");
    const struct where branch = PY("writer", 1, "writer:a", "'root','w1'");

    (void)state;
    section_is(branch, "report", inside, "report");
    section_is(branch, "nothing", inside, "-");
}

static void a_section_is_done_once(void **state)
{
    const struct where branch =
        TAGGED("writer", 1, "writer:a", "'root','w1'", "'map:key:report'");
    struct scene s;

    (void)state;
    begin(&s);
    event(&s, "on_chain_start", "LangGraph", "root", (struct where){ .parents = "" }, "{}");
    node_starts(&s, (struct where)PY("writer", 1, "writer:a", "'root'"), "w1");
    event(&s, "on_chain_start", "RunnableSequence", "b1", branch, "{}");
    event(&s, "on_chain_start", "Inner", "b2",
          (struct where)PY("writer", 1, "writer:a", "'root','w1','b1'"), "{}");
    event(&s, "on_chain_end", "Inner", "b2",
          (struct where)PY("writer", 1, "writer:a", "'root','w1','b1'"), "{'output':1}");
    expect(&s, "section.end", "text", "");
    event(&s, "on_chain_end", "RunnableSequence", "b1", branch, "{'output':1}");
    expect(&s, "section.end", "text exec", "section.end report w1\n");
    event(&s, "on_chain_start", "RunnableSequence", "b3", branch, "{}");
    event(&s, "on_chain_end", "RunnableSequence", "b3", branch, "{'output':1}");
    expect(&s, "section.end", "text exec", "section.end report w1\n");
    done(&s);
}

static void a_section_that_failed_is_not_done(void **state)
{
    const struct where branch =
        TAGGED("writer", 1, "writer:a", "'root','w1'", "'map:key:report'");
    struct scene s;

    (void)state;
    begin(&s);
    event(&s, "on_chain_start", "LangGraph", "root", (struct where){ .parents = "" }, "{}");
    node_starts(&s, (struct where)PY("writer", 1, "writer:a", "'root'"), "w1");
    event(&s, "on_chain_start", "RunnableSequence", "b1", branch, "{}");
    assert_int_equal(play_finish(&s.play, JOB_END_FAILED, STR("broken"), 99), 0);
    expect(&s, "section.end", "text", "");
    done(&s);
}

/* --- models --------------------------------------------------------------------------- */

static void a_wrapping_model_is_dropped_and_noted_once(void **state)
{
    struct fold_stats stats;
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    model_starts(&s, writer, "outer");
    model_starts(&s, writer, "inner");
    token(&s, writer, "inner", "m1", "one");
    token(&s, writer, "outer", "m1", "one");
    token(&s, writer, "inner", "m1", "two");
    token(&s, writer, "outer", "m1", "two");
    model_ends(&s, writer, "inner", "m1", "onetwo", "");
    model_ends(&s, writer, "outer", "m1", "onetwo", "");
    expect(&s, "llm.", "run text",
           "llm.start outer -\n"
           "llm.start inner -\n"
           "llm.delta inner one\n"
           "llm.repeat outer -\n"
           "llm.delta inner two\n"
           "llm.end inner onetwo\n"
           "llm.end outer onetwo\n");
    fold_stats(s.play.fold, &stats);
    assert_true(stats.repeats >= 2);
    done(&s);
}

static void one_message_in_two_executions_is_no_repeat(void **state)
{
    const struct where one = JS("writer", 1, "writer:a"), two = JS("critic", 2, "critic:b");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, one, "w1");
    model_starts(&s, one, "l1");
    token(&s, one, "l1", "fake", "a");
    node_ends(&s, one, "w1", "{}");
    node_starts(&s, two, "c1");
    model_starts(&s, two, "l2");
    token(&s, two, "l2", "fake", "b");
    expect(&s, "llm.delta llm.repeat", "exec text", "llm.delta w1 a\nllm.delta c1 b\n");
    done(&s);
}

static void a_model_that_did_not_stream_gives_one_delta(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    model_starts(&s, writer, "l1");
    model_ends(&s, writer, "l1", "m1", "all",
               ",'tool_calls':[{'name':'look','args':{'q':[1.50]},'id':'c1'},"
               "{'name':'see','args':{},'id':'c2'}],'usage_metadata':{'total_tokens':3}");
    expect(
        &s, "llm.delta", "text first index message usage calls",
        "llm.delta all true 0 m1 {'total_tokens':3} "
        "[{'name':'look','args':'{\\'q\\':[1.50]}','id':'c1','index':0,'type':'tool_call_chunk'},"
        "{'name':'see','args':'{}','id':'c2','index':1,'type':'tool_call_chunk'}]\n");
    done(&s);
}

static void deltas_are_counted_and_the_first_is_marked(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "");
    token(&s, writer, "l1", "m1", "a");
    token(&s, writer, "l1", "m-changed", "b");
    expect(&s, "llm.delta", "index first message text",
           "llm.delta 0 true m1 \nllm.delta 1 - m1 a\nllm.delta 2 - m1 b\n");
    done(&s);
}

static void a_message_without_an_id_is_named_after_its_run(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    model_starts(&s, writer, "l1");
    event(&s, "on_chat_model_stream", "Chat", "l1", writer,
          "{'chunk':{'type':'AIMessageChunk','id':null,'content':'x'}}");
    expect(&s, "llm.delta", "message", "llm.delta lc_run--l1\n");
    done(&s);
}

static void a_finish_that_a_chunk_carried_is_not_repeated(void **state)
{
    static const char finish[] = ",'response_metadata':{'finish_reason':'stop'}";
    struct scene s;

    (void)state;
    begin(&s);
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "a");
    token_with(&s, writer, "l1", "m1", "", finish);
    model_ends(&s, writer, "l1", "m1", "a", finish);
    model_starts(&s, writer, "l2");
    token(&s, writer, "l2", "m2", "b");
    model_ends(&s, writer, "l2", "m2", "b", finish);
    expect(&s, "llm.end", "run last", "llm.end l1 -\nllm.end l2 true\n");
    done(&s);
}

static void tokens_without_a_start_get_one(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    token(&s, writer, "l1", "m1", "a");
    model_ends(&s, writer, "l1", "m1", "a", "");
    token(&s, writer, "l1", "m1", "late");
    expect(&s, "llm.", "run text", "llm.start l1 -\nllm.delta l1 a\nllm.end l1 a\n");
    done(&s);
}

static void a_token_of_a_run_that_is_no_model_is_dropped(void **state)
{
    struct fold_stats stats;
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    token(&s, writer, "root", "m1", "a");
    fold_stats(s.play.fold, &stats);
    assert_int_equal(stats.orphans, 1);
    expect(&s, "llm.", "run", "");
    done(&s);
}

static void metadata_that_changes_is_stored_anew(void **state)
{
    const struct where changed = WITH_META("writer", 1, "writer:a", NULL, NULL, ",'more':1");
    struct scene s;

    (void)state;
    begin(&s);
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "a");
    token(&s, changed, "l1", "m1", "b");
    token(&s, changed, "l1", "m1", "c");
    expect(
        &s, "llm.delta run.info", "text meta",
        "llm.delta a {'langgraph_node':'writer','langgraph_step':1,'langgraph_checkpoint_ns':'writer:a'}\n"
        "run.info - {'langgraph_node':'writer','langgraph_step':1,'langgraph_checkpoint_ns':'writer:a','more':1}\n"
        "llm.delta b {'langgraph_node':'writer','langgraph_step':1,'langgraph_checkpoint_ns':'writer:a','more':1}\n"
        "llm.delta c {'langgraph_node':'writer','langgraph_step':1,'langgraph_checkpoint_ns':'writer:a','more':1}\n");
    done(&s);
}

/* --- halves --------------------------------------------------------------------------- */

static void halves_of_a_character_are_joined(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "a\\ud83d");
    token(&s, writer, "l1", "m1", "");
    token(&s, writer, "l1", "m1", "\\ude00b");
    expect(&s, "llm.delta", "text half",
           "llm.delta a 55357\nllm.delta  55357\nllm.delta \xF0\x9F\x98\x80"
           "b -\n");
    done(&s);
}

static void a_half_that_stays_alone_is_replaced(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "a\\ud83d");
    token(&s, writer, "l1", "m1", "b\\ude00");
    token(&s, writer, "l1", "m1", "\\ud83d");
    model_ends(&s, writer, "l1", "m1", "x", "");
    model_starts(&s, writer, "l2");
    token(&s, writer, "l2", "m2", "\\ude00");
    expect(&s, "llm.delta", "text",
           "llm.delta a\n"
           "llm.delta \xEF\xBF\xBD"
           "b\xEF\xBF\xBD\n"
           "llm.delta \n"
           "llm.delta \xEF\xBF\xBD\n"
           "llm.delta \xEF\xBF\xBD\n");
    done(&s);
}

static void a_half_that_waits_when_the_job_fails_is_not_lost(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "a\\ud83d");
    assert_int_equal(play_finish(&s.play, JOB_END_FAILED, STR("x"), 99), 0);
    expect(&s, "llm.delta", "text", "llm.delta a\nllm.delta \xEF\xBF\xBD\n");
    done(&s);
}

/* --- tools ---------------------------------------------------------------------------- */

static void a_tool_run_finds_the_call_that_the_model_announced(void **state)
{
    const struct where other = JS("critic", 1, "critic:b");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    node_starts(&s, other, "c1");
    model_starts(&s, writer, "l1");
    model_ends(&s, writer, "l1", "m1", "",
               ",'tool_calls':[{'name':'look','args':{},'id':'call-1'},"
               "{'name':'look','args':{},'id':'call-2'}]");
    tool_starts(&s, other, "look", "t0", "{}");
    tool_starts(&s, writer, "look", "t1", "{}");
    tool_starts(&s, writer, "see", "t2", "{}");
    tool_starts(&s, writer, "look", "t3", "{}");
    tool_starts(&s, writer, "look", "t4", "{}");
    expect(&s, "tool.start", "run call",
           "tool.start t0 -\n"
           "tool.start t1 call-1\n"
           "tool.start t2 -\n"
           "tool.start t3 call-2\n"
           "tool.start t4 -\n");
    tool_ends(&s, writer, "look", "t1", "'x'");
    tool_ends(&s, writer, "look", "t4",
              "{'type':'tool','content':'y','tool_call_id':'call-9'}");
    expect(&s, "tool.end", "run call", "tool.end t1 call-1\ntool.end t4 call-9\n");
    done(&s);
}

static void previews_are_cut_between_code_points(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    tool_starts(
        &s, writer, "look", "t1",
        "'\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
        "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
        "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
        "0123456789012345678901234567890123456789'");
    expect(
        &s, "tool.start", "preview",
        "tool.start '\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
        "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
        "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
        "\xC3\xA4"
        "01234567890123456789012345678\n");
    done(&s);
}

static void a_tool_error_is_a_result_with_a_status(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "look", "t1", "{}");
    event(&s, "on_tool_error", "look", "t1", writer, "{'error':'no disk'}");
    expect(&s, "tool.end", "status preview", "tool.end error no disk\n");
    expect_frames(&s, VIEW_AGENT, "agent.tool_result",
                  "{'type':'agent.tool_result','agent_id':'w1','tool_name':'look',"
                  "'result_summary':'no disk','status':'error'}\n");
    done(&s);
}

static void custom_events_inside_a_tool_are_its_stream(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "look", "t1", "{}");
    event(&s, "on_custom_event", "rows", "t1", writer, "{'n':1}");
    event(&s, "on_custom_event", "rows", "w1", writer, "{'n':2}");
    event(&s, "on_custom_event", "progress", "w1", writer,
          "{'percent':12.50,'message':'so far'}");
    event(&s, "on_custom_event", "rows", "nobody", writer, "{'n':3}");
    expect(&s, "custom progress", "title run tool percent note",
           "custom rows t1 true - -\n"
           "custom rows w1 - - -\n"
           "progress progress w1 - 12.50 so far\n"
           "custom rows nobody - - -\n");
    done(&s);
}

/* --- questions ------------------------------------------------------------------------ */

static void interrupts_are(const char *chunk, const char *fields, const char *expected)
{
    struct scene s;

    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", chunk);
    expect(&s, "job.interrupt job.paused", fields, expected);
    done(&s);
}

static void a_plain_chunk_may_hold_a_question(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[{'value':{'question':'Go?','context':'c'},'id':'q1'}]}",
                   "id question context data",
                   "job.interrupt q1 Go? c {'question':'Go?','context':'c'}\n");
    interrupts_are("{'__interrupt__':[{'value':'just text','id':'q1'}]}", "id question data",
                   "job.interrupt q1 - just text\n");
}

static void a_chunk_with_its_mode_may_hold_a_question(void **state)
{
    (void)state;
    interrupts_are("['updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]", "id data",
                   "job.interrupt q1 1\n");
    interrupts_are("['values',{'x':1,'__interrupt__':[{'value':1,'id':'q1'}]}]", "id data",
                   "job.interrupt q1 1\n");
}

static void a_chunk_with_its_namespace_may_hold_a_question(void **state)
{
    (void)state;
    interrupts_are("[[],'updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]", "id data",
                   "job.interrupt q1 1\n");
    interrupts_are("[['writer:a'],'updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]",
                   "id data", "job.interrupt q1 1\n");
}

static void an_empty_list_is_a_pause(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[]}", "question", "job.paused -\n");
}

static void a_value_of_kind_pause_is_a_pause(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[{'value':{'kind':'pause'},'id':'q1'}]}", "id data",
                   "job.paused q1 {'kind':'pause'}\n");
}

static void several_questions_are_several_records(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[{'value':1,'id':'q1'},{'value':2,'id':'q2'}]}", "id data",
                   "job.interrupt q1 1\njob.interrupt q2 2\n");
}

static void a_question_is_asked_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", "['updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]");
    root_streams(&s, "root", "['values',{'__interrupt__':[{'value':1,'id':'q1'}]}]");
    expect(&s, "job.interrupt", "id", "job.interrupt q1\n");
    done(&s);
}

static void a_question_without_an_id_gets_one(void **state)
{
    struct scene s, again;

    (void)state;
    begin(&s);
    begin(&again);
    for (struct scene *one = &s; one != NULL; one = one == &s ? &again : NULL) {
        root_starts(one, "root");
        root_streams(one, "root", "{'__interrupt__':[{'value':1},{'value':2}]}");
    }
    struct buf a, b;
    buf_init(&a, SIZE_MAX / 4);
    buf_init(&b, SIZE_MAX / 4);
    tell(&s, "job.interrupt", "id", &a);
    tell(&again, "job.interrupt", "id", &b);
    assert_true(str_eq(buf_text(&a), buf_text(&b)));
    assert_int_equal(a.n, 2 * (sizeof("job.interrupt ") - 1 + 36 + 1));
    assert_memory_not_equal(a.p, a.p + a.n / 2, a.n / 2);
    buf_done(&a);
    buf_done(&b);
    done(&s);
    done(&again);
}

static void a_question_in_words_is_marked_lossy(void **state)
{
    (void)state;
    /* langchain_core.load.dumps */
    interrupts_are(
        "{'__interrupt__':[{'lc':1,'type':'not_implemented','id':['langgraph','types',"
        "'Interrupt'],'repr':'Interrupt(value=1, id=`q1`)'}]}",
        "id lossy", "job.interrupt q1 true\n");
    /* json.dumps(default=str) */
    interrupts_are("{'__interrupt__':['Interrupt(value=1, id=`q1`)']}", "id lossy",
                   "job.interrupt q1 true\n");
}

static void the_root_that_ends_at_a_question_is_interrupted(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    root_streams(&s, "root", "{'__interrupt__':[{'value':1,'id':'q1'}]}");
    expect(&s, "node.end", "status", ""); /* siblings may still run */
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    expect(&s, "node.end run.end job.end", "run status",
           "node.end w1 interrupted\nrun.end root interrupted\n");
    assert_false(fold_ended(s.play.fold));
    done(&s);
}

static void a_new_root_resumes_the_job(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", "{'__interrupt__':[{'value':1,'id':'q1'},{'value':2,'id':'q2'}]}");
    root_ends(&s, "root", "{}");
    root_starts(&s, "root2");
    root_ends(&s, "root2", "{}");
    end_of_stream(&s);
    expect(&s, "job.", "resolves status",
           "job.start - -\n"
           "job.interrupt - -\n"
           "job.interrupt - -\n"
           "job.resumed ['q1','q2'] -\n"
           "job.end - succeeded\n");
    done(&s);
}

static void a_pause_is_resumed_too(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", "{'__interrupt__':[]}");
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    assert_false(fold_ended(s.play.fold));
    root_starts(&s, "root2");
    root_ends(&s, "root2", "{}");
    end_of_stream(&s);
    expect_frames(&s, VIEW_AGENT, "graph.paused graph.resumed job.",
                  "{'type':'graph.paused','job_id':'job-1'}\n"
                  "{'type':'graph.resumed','job_id':'job-1','interrupt_ids':[]}\n"
                  "{'type':'job.done'}\n");
    done(&s);
}

/* --- artifacts ------------------------------------------------------------------------ */

static void todos_and_files_are_artifacts(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "write_todos", "t1",
                "{'todos':[{'content':'a','status':'pending'}]}");
    tool_starts(&s, writer, "Write_File", "t2", "{'file_path':'/r.md','content':'# R'}");
    tool_starts(&s, writer, "other", "t3", "{'todos':[],'content':'x'}");
    expect(&s, "artifact", "title exec data",
           "artifact - w1 {'type':'todo','content':[{'content':'a','status':'pending'}],"
           "'source':'agent','workflow':'writer'}\n"
           "artifact /r.md w1 {'type':'file','content':'# R','file_path':'/r.md'}\n");
    done(&s);
}

static void urls_in_search_results_are_sources_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "web_search", "t1", "{}");
    tool_ends(&s, writer, "web_search", "t1",
              "'see (https://a.example/x), https://A.example/x/ and https://b.example.'");
    tool_starts(&s, writer, "read", "t2", "{}");
    tool_ends(&s, writer, "read", "t2", "'https://c.example/'");
    expect(
        &s, "artifact", "title data",
        "artifact https://a.example/x {'type':'citation_source','content':'https://a.example/x',"
        "'url':'https://a.example/x','tool':'web_search','workflow':'writer'}\n"
        "artifact https://b.example {'type':'citation_source','content':'https://b.example',"
        "'url':'https://b.example','tool':'web_search','workflow':'writer'}\n");
    done(&s);
}

/* Two hundred and some characters, without a URL. */
#define LONG_TEXT                                                                                \
    "A long answer that says a lot about nothing in particular, only to be long enough to "      \
    "count as an output of its own. A long answer that says a lot about nothing in particular, " \
    "only to be long enough to count as an output of its own."

static void a_long_answer_is_an_output_and_cites_its_sources(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "web_search", "t1", "{}");
    tool_ends(&s, writer, "web_search", "t1", "'https://a.example/x'");
    model_starts(&s, writer, "l1");
    model_ends(&s, writer, "l1", "m1", "short, https://a.example/x", "");
    model_starts(&s, writer, "l2");
    model_ends(&s, writer, "l2", "m2",
               LONG_TEXT " https://a.example/x https://a.example/x https://d.example/y", "");
    expect(
        &s, "artifact", "title data",
        "artifact https://a.example/x {'type':'citation_source','content':'https://a.example/x',"
        "'url':'https://a.example/x','tool':'web_search','workflow':'writer'}\n"
        "artifact - {'type':'output','content':'" LONG_TEXT
        " https://a.example/x https://a.example/x https://d.example/y',"
        "'output_category':'intermediate','workflow':'writer'}\n"
        "artifact https://a.example/x {'type':'citation_use','content':'https://a.example/x',"
        "'url':'https://a.example/x'}\n");
    done(&s);
}

static void the_report_is_in_the_final_state(void **state)
{
    static const struct {
        const char *output, *report;
    } cases[] = {
        { "{'report':'R','answer':'A'}", "R" },
        { "{'messages':[{'type':'human','content':'q'},{'type':'ai','content':'last'}]}",
          "last" },
        { "'plain'", "plain" },
        { "{'type':'ai','content':'message'}", "message" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[256];
        struct scene s;

        begin(&s);
        root_starts(&s, "root");
        root_ends(&s, "root", cases[i].output);
        (void)snprintf(
            expected, sizeof(expected),
            "artifact {'type':'output','content':'%s','output_category':'final_report'}\n",
            cases[i].report);
        expect(&s, "artifact", "data", expected);
        done(&s);
    }
}

/* --- whole messages ------------------------------------------------------------------- */

static void messages_that_were_not_streamed_are_sent_whole_and_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    char tag[32];
    event(&s, "on_chain_start", "writer", "w1", tagged(writer, tag),
          "{'input':{'messages':[{'type':'human','id':'h1','content':'q'},"
          "{'type':'ai','id':'old','content':'history'}]}}");
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "streamed");
    model_ends(&s, writer, "l1", "m1", "streamed", "");
    node_ends(&s, writer, "w1",
              "{'messages':[{'type':'ai','id':'old','content':'history'},"
              "{'type':'ai','id':'m1','content':'streamed'},"
              "{'type':'tool','id':'t1','content':'result','tool_call_id':'c1'},"
              "{'type':'ai','content':'plain'}]}");
    expect(&s, "message", "message call",
           "message t1 c1\n"
           "message lc_run--w1-3 -\n");
    node_starts(&s, (struct where)JS("critic", 2, "critic:b"), "c1");
    node_ends(
        &s, (struct where)JS("critic", 2, "critic:b"), "c1",
        "{'messages':[{'type':'tool','id':'t1','content':'result','tool_call_id':'c1'}]}");
    expect(&s, "message", "message", "message t1\nmessage lc_run--w1-3\n");
    done(&s);
}

/* --- the end -------------------------------------------------------------------------- */

static void what_a_root_left_open_is_closed_innermost_first(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "look", "t1", "{}");
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    expect(&s, "tool.end node.end run.end job.end", "run status error",
           "tool.end t1 error no end was sent for this run\n"
           "node.end w1 error no end was sent for this run\n"
           "run.end root ok -\n"
           "job.end - succeeded -\n");
    done(&s);
}

static void a_success_closes_what_is_open_as_ok(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    say(&s, "{'type':'job.done'}");
    expect(&s, "node.end run.end job.", "run status",
           "job.start - -\nnode.end w1 ok\nrun.end root ok\njob.end - succeeded\n");
    done(&s);
}

static void the_last_word_may_bring_an_output(void **state)
{
    static const struct {
        const char *said, *end;
    } words[] = {
        { "{'type':'job.done','output':{'a':[1.0]}}", "job.end succeeded {\"a\":[1.0]}\n" },
        { "{'type':'job.done','result':'text'}", "job.end succeeded text\n" },
        { "{'type':'job.done','data':{'output':false}}", "job.end succeeded false\n" },
        { "{'type':'job.status','status':'SUCCESS','output':7}", "job.end succeeded 7\n" },
        { "{'type':'job.done','output':null}", "job.end succeeded -\n" },
        { "{'type':'job.done','status':'cancelled','output':7}", "job.end cancelled -\n" },
        { "{'type':'job.failed','error':'x','output':7}", "job.end failed -\n" },
    };
    struct scene s;

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        begin(&s);
        root_starts(&s, "root");
        say(&s, "%s", words[i].said);
        expect(&s, "job.end", "status output", words[i].end);
        done(&s);
    }
}

#define REPORT(text)                                          \
    "artifact {\"type\":\"output\",\"content\":\"" text "\"," \
    "\"output_category\":\"final_report\"}\n"

/* What the last run has ended with is the job's report already. */
static void a_report_in_the_last_word_is_told_once(void **state)
{
    struct scene s;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin(&s);
        root_starts(&s, "root");
        root_ends(&s, "root", "{'report':'old'}");
        say(&s, "{'type':'job.done','output':{'report':'%s'}}", i == 0 ? "old" : "new");
        expect(&s, "artifact", "data", i == 0 ? REPORT("old") : REPORT("old") REPORT("new"));
        done(&s);
    }
}

static void a_failure_closes_what_is_open_as_error(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    say(&s, "{'type':'job.failed','error':'no disk','error_type':'OSError'}");
    expect(&s, "node.end run.end job.", "run status error error_type phase",
           "job.start - - - - -\n"
           "node.end w1 error no disk - -\n"
           "run.end root error no disk - -\n"
           "job.error - - no disk OSError worker\n"
           "job.end - failed no disk OSError -\n");
    done(&s);
}

static void a_cancellation_closes_what_is_open_as_cancelled(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    assert_int_equal(fold_cancel_requested(s.play.fold, STR("enough"), (int64_t)PLAY_TS * 1000),
                     0);
    assert_int_equal(play_finish(&s.play, JOB_END_CANCELLED, STR("enough"), 99), 0);
    expect(&s, "run.end job.", "run status error",
           "job.start - - -\n"
           "job.cancel_requested - - enough\n"
           "run.end root cancelled -\n"
           "job.cancelled - - enough\n"
           "job.end - cancelled enough\n");
    done(&s);
}

static void a_stream_that_breaks_off_has_failed(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    end_of_stream(&s);
    expect(&s, "job.end", "status error_type", "job.end failed IncompleteStream\n");
    done(&s);
}

static void an_empty_stream_gives_nothing(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    end_of_stream(&s);
    assert_int_equal(fold_seq(s.play.fold), 0);
    done(&s);
}

static void nothing_comes_after_the_end(void **state)
{
    struct fold_stats stats;
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    say(&s, "{'type':'job.done'}");
    size_t n = s.play.stored.n;
    node_starts(&s, writer, "w1");
    assert_int_equal(s.play.n_bad, 1);
    end_of_stream(&s);
    assert_int_equal(play_finish(&s.play, JOB_END_FAILED, STR("x"), 99), ERR_CLOSED);
    assert_int_equal(s.play.stored.n, n);
    fold_stats(s.play.fold, &stats);
    assert_int_equal(stats.late, 1);
    assert_int_equal(stats.open_runs, 0);
    done(&s);
}

static void the_end_may_be_said_twice(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    say(&s, "{'type':'job.failed','error':'first'}");
    say(&s, "{'type':'job.done'}");
    assert_int_equal(s.play.n_bad, 0);
    expect(&s, "job.end", "status error", "job.end failed first\n");
    done(&s);
}

static void a_new_attempt_closes_the_old_one_as_retried(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    assert_int_equal(
        fold_new_attempt(s.play.fold, 2, STR("the worker was lost"), (int64_t)PLAY_TS * 1000),
        0);
    root_starts(&s, "root2");
    node_starts(&s, writer, "w2");
    expect(&s, "node. run. job.update", "run status attempt text",
           "run.start root - - -\n"
           "node.start w1 - - -\n"
           "node.end w1 retried - -\n"
           "run.end root retried - -\n"
           "job.update - - 2 the worker was lost\n"
           "run.start root2 - - -\n"
           "node.start w2 - - -\n");
    done(&s);
}

static void what_was_never_announced_is_counted_and_dropped(void **state)
{
    struct fold_stats stats;
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    root_starts(&s, "root");
    tool_ends(&s, writer, "look", "unknown", "1");
    event(&s, "on_chain_stream", "x", "unknown", writer, "{'chunk':1}");
    fold_stats(s.play.fold, &stats);
    assert_int_equal(stats.orphans, 3);
    expect(&s, "run. tool.", "run", "run.start root\n");
    done(&s);
}

/* --- parts of stream modes ------------------------------------------------------------ */

static void updates_alone_make_executions(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "['updates',{'writer':{'x':1}}]");
    say(&s, "['updates',{'writer':{'x':2}}]");
    say(&s, "['updates',{'critic':null}]");
    end_of_stream(&s);
    expect(&s, "node. job.end", "node derived status",
           "node.start writer true -\n"
           "node.end writer true ok\n"
           "node.start writer true -\n"
           "node.end writer true ok\n"
           "node.start critic true -\n"
           "node.end critic true ok\n"
           "job.end - - succeeded\n");
    struct buf ids;
    buf_init(&ids, SIZE_MAX / 4);
    tell(&s, "node.start", "exec", &ids);
    size_t line = ids.n / 3;
    assert_memory_not_equal(ids.p, ids.p + line, line);
    assert_memory_not_equal(ids.p, ids.p + 2 * line, line);
    buf_done(&ids);
    done(&s);
}

static void the_first_token_of_a_namespace_starts_its_execution(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s,
        "['messages',[{'type':'AIMessageChunk','id':'m1','content':'a'},"
        "{'langgraph_node':'writer','langgraph_step':4,'langgraph_checkpoint_ns':'writer:u1'}]]");
    say(&s,
        "['messages',[{'type':'AIMessageChunk','id':'m1','content':'b'},"
        "{'langgraph_node':'writer','langgraph_step':4,'langgraph_checkpoint_ns':'writer:u1'}]]");
    say(&s, "['updates',{'writer':{}}]");
    expect(&s, "node. llm.", "exec step text",
           "node.start u1 4 -\n"
           "llm.start u1 4 -\n"
           "llm.delta u1 4 a\n"
           "llm.delta u1 4 b\n"
           "llm.end u1 4 -\n"
           "node.end u1 4 -\n");
    done(&s);
}

/* Document 000 says the end of an execution twice; only the second word has the step. */
static void a_node_is_complete_once_with_its_step(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s,
        "{'type':'agent.spawned','agent_id':'a','agent_name':'investigator','node':'investigator'}");
    say(&s, "{'type':'agent.done','agent_id':'a','node':'investigator'}");
    say(&s, "{'type':'graph.node_complete','node':'investigator','step':7}");
    say(&s, "{'type':'agent.spawned','agent_id':'b','agent_name':'critic','node':'critic'}");
    say(&s, "{'type':'agent.done','agent_id':'b','node':'critic'}");
    say(&s,
        "{'type':'agent.spawned','agent_id':'c','agent_name':'web_search','node':'web_search'}");
    say(&s, "{'type':'graph.node_complete','node':'critic','step':8}"); /* too late */
    say(&s, "{'type':'agent.done','agent_id':'c','node':'web_search','status':'error'}");
    say(&s, "{'type':'agent.spawned','agent_id':'d','agent_name':'writer','node':'writer'}");
    say(&s, "{'type':'agent.done','agent_id':'d','node':'writer'}");
    say(&s, "{'type':'job.done'}");
    expect(
        &s, "node. job.end", "node step owes",
        "node.start investigator - -\nnode.end investigator - true\nnode.complete investigator 7 -\n"
        "node.start critic - -\nnode.end critic - true\nnode.complete critic - -\n"
        "node.start web_search - -\nnode.end web_search - -\n"
        "node.start writer - -\nnode.end writer - true\nnode.complete writer - -\n"
        "job.end - - -\n");
    expect_frames(&s, VIEW_AGENT, "graph.node_complete",
                  "{'type':'graph.node_complete','node':'investigator','step':7}\n"
                  "{'type':'graph.node_complete','node':'critic','step':null}\n"
                  "{'type':'graph.node_complete','node':'writer','step':null}\n");
    done(&s);
}

/* The id that the fold makes up for a tool call of document 000, which has none. */
static void made_up_id(struct scene *s, const char *agent, struct buf *id)
{
    say(s, "{'type':'agent.spawned','agent_id':'%s','agent_name':'writer'}", agent);
    say(s, "{'type':'agent.tool_call','agent_id':'%s','tool_name':'look'}", agent);
    buf_clear(id);
    tell(s, "tool.start", "run", id);
    memmove(id->p, id->p + sizeof("tool.start ") - 1, 36);
    id->p[36] = '\0';
}

static void a_made_up_id_is_new_in_its_job(void **state)
{
    struct scene s, again;
    struct buf first, second;

    (void)state;
    begin(&s);
    begin(&again);
    buf_init(&first, SIZE_MAX / 4);
    buf_init(&second, SIZE_MAX / 4);
    made_up_id(&s, "mine", &first);
    /* A worker that sends just this id, in a job of the same name. */
    made_up_id(&again, first.p, &second);
    assert_string_not_equal(first.p, second.p);
    buf_done(&first);
    buf_done(&second);
    done(&s);
    done(&again);
}

static void tasks_start_and_end_executions(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "['tasks',{'id':'k1','name':'writer','input':{'q':1},'triggers':[]}]");
    say(&s, "['tasks',{'id':'k2','name':'writer','input':{'q':2},'triggers':[]}]");
    say(&s,
        "['tasks',{'id':'k2','name':'writer','error':null,'result':{'x':2},'interrupts':[]}]");
    say(&s,
        "['tasks',{'id':'k1','name':'writer','error':'boom','result':null,'interrupts':[]}]");
    expect(&s, "node.", "run exec input output status error",
           "node.start k1 k1 {'q':1} - - -\n"
           "node.start k2 k2 {'q':2} - - -\n"
           "node.end k2 k2 - {'x':2} ok -\n"
           "node.end k1 k1 - null error boom\n");
    done(&s);
}

static void a_task_that_asks_is_interrupted(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "['tasks',{'id':'k1','name':'ask','input':{},'triggers':[]}]");
    say(&s, "['tasks',{'id':'k1','name':'ask','error':null,'result':{},"
            "'interrupts':[{'value':1,'id':'q1'}]}]");
    say(&s, "['updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]");
    end_of_stream(&s);
    expect(&s, "node.end job.", "status id",
           "job.start - -\njob.interrupt - q1\nnode.end interrupted -\n");
    done(&s);
}

static void parts_beside_events_make_no_executions_and_no_tokens(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    model_starts(&s, writer, "l1");
    token(&s, writer, "l1", "m1", "a");
    say(&s,
        "['messages',[{'type':'AIMessageChunk','id':'m1','content':'a'},"
        "{'langgraph_node':'writer','langgraph_step':1,'langgraph_checkpoint_ns':'writer:a'}]]");
    say(&s, "['updates',{'writer':{'x':1}}]");
    expect(&s, "node. llm.delta state.", "run data",
           "node.start w1 -\nllm.delta l1 -\nstate.updates - {'writer':{'x':1}}\n");
    done(&s);
}

static void parts_keep_their_namespace(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "[['sub:1','deep:2'],'values',{'v':1}]");
    say(&s, "['custom',{'c':1}]");
    expect(&s, "state.values custom", "ns data",
           "state.values sub:1|deep:2 {'v':1}\ncustom - {'c':1}\n");
    done(&s);
}

static void an_event_name_that_is_not_utf8_is_a_bad_line(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    assert_int_equal(play_feed(&s.play, STR("event: values|w\xFF:1\ndata: {\"x\":1}\n\n"), 0),
                     0);
    assert_int_equal(s.play.n_bad, 1);
    expect(&s, "state.", "ns", "");
    done(&s);
}

/* --- limits --------------------------------------------------------------------------- */

static void a_field_over_the_limit_becomes_a_marker(void **state)
{
    struct scene s;

    (void)state;
    begin_with(&s, (struct play_options){ .field_limit = 32 });
    root_starts(&s, "root");
    tool_starts(&s, writer, "look", "t1", "{'q':'0123456789012345678901234567890123456789'}");
    expect(&s, "tool.start", "input",
           "tool.start {'truncated':true,'bytes':48,'preview':"
           "'{\\'q\\':\\'0123456789012345678901234567890123456789\\'}'}\n");
    done(&s);
}

static void a_long_text_becomes_several_deltas(void **state)
{
    struct scene s;

    (void)state;
    begin_with(&s, (struct play_options){ .field_limit = 8 });
    model_starts(&s, writer, "l1");
    token_with(&s, writer, "l1", "m1",
               "0123456\xC3\xA4"
               "89",
               ",'usage_metadata':{'n':1}");
    expect(&s, "llm.delta", "index first text usage",
           "llm.delta 0 true 0123456 {'n':1}\n"
           "llm.delta 1 - \xC3\xA4"
           "89 -\n");
    done(&s);
}

static void states_and_the_final_output_are_exempt(void **state)
{
    struct scene s;

    (void)state;
    begin_with(&s, (struct play_options){ .field_limit = 16 });
    root_starts(&s, "root");
    say(&s, "['values',{'v':'01234567890123456789'}]");
    root_ends(&s, "root", "{'v':'01234567890123456789'}");
    expect(&s, "state.values run.end", "data output",
           "state.values {'v':'01234567890123456789'} -\n"
           "run.end - {'v':'01234567890123456789'}\n");
    done(&s);
}

static void long_words_of_an_error_are_cut_with_a_mark(void **state)
{
    struct scene s;

    (void)state;
    begin_with(&s, (struct play_options){ .field_limit = 16 });
    root_starts(&s, "root");
    say(&s, "{'type':'job.failed','error':'01234567890123456789'}");
    expect(&s, "job.error", "error",
           "job.error 01234567890123456789\xE2\x80\xA6 [20 bytes, over the field limit]\n");
    done(&s);
}

static void a_question_in_words_over_the_limit_is_still_json(void **state)
{
    struct scene s;

    (void)state;
    begin_with(&s, (struct play_options){ .field_limit = 16 });
    root_starts(&s, "root");
    root_streams(&s, "root", "{'__interrupt__':['Interrupt(value=1, id=`q1`)']}");
    expect(&s, "job.interrupt", "id data",
           "job.interrupt q1 Interrupt(value=1, id=`q1`)\xE2\x80\xA6 [27 bytes, over the "
           "field limit]\n");
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_visit_of_a_node_is_a_new_agent),
        cmocka_unit_test(two_executions_at_once_are_not_mixed_by_namespace),
        cmocka_unit_test(two_executions_at_once_are_not_mixed_by_parents),
        cmocka_unit_test(a_retried_node_closes_the_old_execution),
        cmocka_unit_test(with_retry_closes_the_try_before),
        cmocka_unit_test(tools_of_a_nested_agent_belong_to_the_top_level_execution),
        cmocka_unit_test(a_subgraph_with_its_own_thread_is_inside_the_node_that_called_it),
        cmocka_unit_test(the_function_of_a_conditional_edge_is_no_node),
        cmocka_unit_test(without_tags_the_name_is_enough),
        cmocka_unit_test(empty_parents_of_version_1_leave_it_to_the_namespace),
        cmocka_unit_test(plumbing_is_ignored),
        cmocka_unit_test(a_run_with_the_jobs_own_id_is_said_once),
        cmocka_unit_test(section_comes_from_metadata_first),
        cmocka_unit_test(section_comes_from_the_nearest_map_key),
        cmocka_unit_test(section_comes_from_the_namespace),
        cmocka_unit_test(section_comes_from_the_name_of_the_branch),
        cmocka_unit_test(a_section_is_done_once),
        cmocka_unit_test(a_section_that_failed_is_not_done),
        cmocka_unit_test(a_wrapping_model_is_dropped_and_noted_once),
        cmocka_unit_test(one_message_in_two_executions_is_no_repeat),
        cmocka_unit_test(a_model_that_did_not_stream_gives_one_delta),
        cmocka_unit_test(deltas_are_counted_and_the_first_is_marked),
        cmocka_unit_test(a_message_without_an_id_is_named_after_its_run),
        cmocka_unit_test(a_finish_that_a_chunk_carried_is_not_repeated),
        cmocka_unit_test(tokens_without_a_start_get_one),
        cmocka_unit_test(a_token_of_a_run_that_is_no_model_is_dropped),
        cmocka_unit_test(metadata_that_changes_is_stored_anew),
        cmocka_unit_test(halves_of_a_character_are_joined),
        cmocka_unit_test(a_half_that_stays_alone_is_replaced),
        cmocka_unit_test(a_half_that_waits_when_the_job_fails_is_not_lost),
        cmocka_unit_test(a_tool_run_finds_the_call_that_the_model_announced),
        cmocka_unit_test(previews_are_cut_between_code_points),
        cmocka_unit_test(a_tool_error_is_a_result_with_a_status),
        cmocka_unit_test(custom_events_inside_a_tool_are_its_stream),
        cmocka_unit_test(a_plain_chunk_may_hold_a_question),
        cmocka_unit_test(a_chunk_with_its_mode_may_hold_a_question),
        cmocka_unit_test(a_chunk_with_its_namespace_may_hold_a_question),
        cmocka_unit_test(an_empty_list_is_a_pause),
        cmocka_unit_test(a_value_of_kind_pause_is_a_pause),
        cmocka_unit_test(several_questions_are_several_records),
        cmocka_unit_test(a_question_is_asked_once),
        cmocka_unit_test(a_question_without_an_id_gets_one),
        cmocka_unit_test(a_question_in_words_is_marked_lossy),
        cmocka_unit_test(the_root_that_ends_at_a_question_is_interrupted),
        cmocka_unit_test(a_new_root_resumes_the_job),
        cmocka_unit_test(a_pause_is_resumed_too),
        cmocka_unit_test(todos_and_files_are_artifacts),
        cmocka_unit_test(urls_in_search_results_are_sources_once),
        cmocka_unit_test(a_long_answer_is_an_output_and_cites_its_sources),
        cmocka_unit_test(the_report_is_in_the_final_state),
        cmocka_unit_test(messages_that_were_not_streamed_are_sent_whole_and_once),
        cmocka_unit_test(what_a_root_left_open_is_closed_innermost_first),
        cmocka_unit_test(a_success_closes_what_is_open_as_ok),
        cmocka_unit_test(the_last_word_may_bring_an_output),
        cmocka_unit_test(a_report_in_the_last_word_is_told_once),
        cmocka_unit_test(a_failure_closes_what_is_open_as_error),
        cmocka_unit_test(a_cancellation_closes_what_is_open_as_cancelled),
        cmocka_unit_test(a_stream_that_breaks_off_has_failed),
        cmocka_unit_test(an_empty_stream_gives_nothing),
        cmocka_unit_test(nothing_comes_after_the_end),
        cmocka_unit_test(the_end_may_be_said_twice),
        cmocka_unit_test(a_new_attempt_closes_the_old_one_as_retried),
        cmocka_unit_test(what_was_never_announced_is_counted_and_dropped),
        cmocka_unit_test(updates_alone_make_executions),
        cmocka_unit_test(the_first_token_of_a_namespace_starts_its_execution),
        cmocka_unit_test(a_node_is_complete_once_with_its_step),
        cmocka_unit_test(a_made_up_id_is_new_in_its_job),
        cmocka_unit_test(tasks_start_and_end_executions),
        cmocka_unit_test(a_task_that_asks_is_interrupted),
        cmocka_unit_test(parts_beside_events_make_no_executions_and_no_tokens),
        cmocka_unit_test(parts_keep_their_namespace),
        cmocka_unit_test(an_event_name_that_is_not_utf8_is_a_bad_line),
        cmocka_unit_test(a_field_over_the_limit_becomes_a_marker),
        cmocka_unit_test(a_long_text_becomes_several_deltas),
        cmocka_unit_test(states_and_the_final_output_are_exempt),
        cmocka_unit_test(long_words_of_an_error_are_cut_with_a_mark),
        cmocka_unit_test(a_question_in_words_over_the_limit_is_still_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
