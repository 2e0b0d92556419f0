/* The fold: what a job's events come to.
 *
 * Events are written with ' for " (and ` for ').  `expect` compares a few fields of the records
 * of some kinds, one record a line; a field that is not there is '-'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fold_story.h"

/* --- executions ----------------------------------------------------------------------- */

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

static void nothing_takes_less_than_no_time(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    s.ms = 600000;
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    s.ms = 0; /* the clock was set back */
    node_ends(&s, writer, "w1", "{}");
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    expect(&s, "node.end job.end", "elapsed", "node.end 0\njob.end 0\n");
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

/* The section is that of a run which the retry closes. */
static void a_retry_inherits_from_what_it_closes(void **state)
{
    struct scene s;
    struct where inside = WITH_META("writer", 1, "writer:a|x:b", NULL, NULL, ",'section':'S'");
    struct where again = TAGGED("writer", 1, "writer:a", "'c1',7", "'graph:step:1'");

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    event(&s, "on_chain_start", "x", "c1", inside, "{}");
    node_starts(&s, again, "w2");
    expect(&s, "node. run.", "run section parent status",
           "run.start root - - -\nnode.start w1 - - -\nrun.start c1 S w1 -\n"
           "run.end c1 S w1 retried\nnode.end w1 - - retried\nnode.start w2 S c1 -\n");
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

/* The job is the envelope's outermost chain, so that a chain with its id would be said twice.
 */
static void settles_as_envelope(struct scene *s)
{
    struct ledger ledger;

    ledger_init(&ledger);
    for (size_t i = 0; i < s->play.stored.n; i++) {
        struct str rest = tape_at(&s->play.frames_of[VIEW_ENVELOPE], i);
        struct sse_frame frame;
        struct entry entry;

        while (rest.n > 0) {
            assert_true(sse_frame_next(&rest, &frame));
            assert_null(ledger_read_frame(VIEW_ENVELOPE, frame.event, frame.data, STR("job-1"),
                                          &entry));
            assert_null(ledger_take(&ledger, &entry));
        }
    }
    assert_null(ledger_settle(&ledger, VIEW_ENVELOPE));
    ledger_done(&ledger);
}

static void a_run_with_the_jobs_own_id_is_said_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "job-1");
    root_ends(&s, "job-1", "{}");
    end_of_stream(&s);
    settles_as_envelope(&s);
    done(&s);
}

static void a_node_with_the_jobs_own_id_is_said_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "{'type':'agent.spawned','agent_id':'job-1','node':'writer'}");
    say(&s, "{'type':'agent.token','agent_id':'job-1','token':'x'}");
    say(&s, "{'type':'agent.done','agent_id':'job-1','node':'writer'}");
    end_of_stream(&s);
    settles_as_envelope(&s);
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

static void the_ending_may_bring_an_output(void **state)
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
static void a_report_in_the_ending_is_told_once(void **state)
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
           "job.error - - no disk OSError node\n"
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

/* --- handing over --------------------------------------------------------------------- */

/* A real run: `alice`, a subgraph, returns Command(goto="bob", graph=Command.PARENT). */
static void a_node_that_hands_over_has_ended_well(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    feed_file(&s, "py-g-command-parent.lcdump.ndjson");
    end_of_stream(&s);
    expect(&s, "run.end node. message job.end", "node name depth status",
           "node.start alice alice 0 -\n"
           "node.start alice inner 1 -\n"
           "node.end alice inner 1 ok\n"
           "run.end alice LangGraph - ok\n"
           "message alice alice 0 -\n"
           "node.end alice alice 0 ok\n"
           "node.start bob bob 0 -\n"
           "message bob bob 0 -\n"
           "node.end bob bob 0 ok\n"
           "run.end - LangGraph - ok\n"
           "job.end - - - succeeded\n");
    done(&s);
}

static void a_node_may_hand_over_on_every_visit(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    for (int i = 0; i < 2; i++) {
        node_starts(&s, (struct where)JS("writer", 1, i == 0 ? "writer:a" : "writer:b"),
                    i == 0 ? "w1" : "w2");
        root_streams(&s, "root", "{'writer':{'x':1}}");
    }
    root_ends(&s, "root", "{}");
    expect(&s, "node.end state.", "run status",
           "node.end w1 ok\nstate.updates - -\nnode.end w2 ok\nstate.updates - -\n");
    done(&s);
}

/* JavaScript sends the update of a visit when the next one has begun. */
static void an_update_of_the_visit_before_ends_nothing(void **state)
{
    const struct where again = JS("writer", 2, "writer:b");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    node_ends(&s, writer, "w1", "{}");
    node_starts(&s, again, "w2");
    root_streams(&s, "root", "{'writer':{'x':1}}");
    expect(&s, "node.end", "run status", "node.end w1 ok\n");
    root_streams(&s, "root", "{'writer':{'x':1}}"); /* and this one hands over */
    expect(&s, "node.end", "run status", "node.end w1 ok\nnode.end w2 ok\n");
    done(&s);
}

static void an_update_of_one_of_two_at_once_ends_only_that(void **state)
{
    const struct where other = JS("writer", 1, "writer:b");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    node_starts(&s, other, "w2");
    node_ends(&s, other, "w2", "{}");
    root_streams(&s, "root", "['updates',{'writer':{'x':1}}]");
    expect(&s, "node.end", "run status", "node.end w2 ok\n");
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_visit_of_a_node_is_a_new_agent),
        cmocka_unit_test(nothing_takes_less_than_no_time),
        cmocka_unit_test(two_executions_at_once_are_not_mixed_by_namespace),
        cmocka_unit_test(two_executions_at_once_are_not_mixed_by_parents),
        cmocka_unit_test(a_retry_inherits_from_what_it_closes),
        cmocka_unit_test(a_retried_node_closes_the_old_execution),
        cmocka_unit_test(with_retry_closes_the_try_before),
        cmocka_unit_test(tools_of_a_nested_agent_belong_to_the_top_level_execution),
        cmocka_unit_test(a_subgraph_with_its_own_thread_is_inside_the_node_that_called_it),
        cmocka_unit_test(the_function_of_a_conditional_edge_is_no_node),
        cmocka_unit_test(without_tags_the_name_is_enough),
        cmocka_unit_test(empty_parents_of_version_1_leave_it_to_the_namespace),
        cmocka_unit_test(plumbing_is_ignored),
        cmocka_unit_test(a_run_with_the_jobs_own_id_is_said_once),
        cmocka_unit_test(a_node_with_the_jobs_own_id_is_said_once),
        cmocka_unit_test(section_comes_from_metadata_first),
        cmocka_unit_test(section_comes_from_the_nearest_map_key),
        cmocka_unit_test(section_comes_from_the_namespace),
        cmocka_unit_test(section_comes_from_the_name_of_the_branch),
        cmocka_unit_test(a_section_is_done_once),
        cmocka_unit_test(a_section_that_failed_is_not_done),
        cmocka_unit_test(what_a_root_left_open_is_closed_innermost_first),
        cmocka_unit_test(a_success_closes_what_is_open_as_ok),
        cmocka_unit_test(the_ending_may_bring_an_output),
        cmocka_unit_test(a_report_in_the_ending_is_told_once),
        cmocka_unit_test(a_failure_closes_what_is_open_as_error),
        cmocka_unit_test(a_cancellation_closes_what_is_open_as_cancelled),
        cmocka_unit_test(a_stream_that_breaks_off_has_failed),
        cmocka_unit_test(an_empty_stream_gives_nothing),
        cmocka_unit_test(nothing_comes_after_the_end),
        cmocka_unit_test(the_end_may_be_said_twice),
        cmocka_unit_test(a_new_attempt_closes_the_old_one_as_retried),
        cmocka_unit_test(what_was_never_announced_is_counted_and_dropped),
        cmocka_unit_test(a_field_over_the_limit_becomes_a_marker),
        cmocka_unit_test(a_long_text_becomes_several_deltas),
        cmocka_unit_test(states_and_the_final_output_are_exempt),
        cmocka_unit_test(long_words_of_an_error_are_cut_with_a_mark),
        cmocka_unit_test(a_question_in_words_over_the_limit_is_still_json),
        cmocka_unit_test(a_node_that_hands_over_has_ended_well),
        cmocka_unit_test(a_node_may_hand_over_on_every_visit),
        cmocka_unit_test(an_update_of_the_visit_before_ends_nothing),
        cmocka_unit_test(an_update_of_one_of_two_at_once_ends_only_that),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
