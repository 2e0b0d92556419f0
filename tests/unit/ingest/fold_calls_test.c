/* The fold: models, the halves of their messages, tools, whole messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fold_story.h"

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

/* Python's models count to the graph around their node, which is told by the text of their
 * header. */
static void metadata_of_a_python_model_may_change(void **state)
{
    const struct where before = PY("writer", 1, "writer:a", "'root'");
    const struct where changed =
        WITH_META("writer", 1, "writer:a", "'root'", NULL, ",'more':1");
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    model_starts(&s, before, "l1");
    token(&s, changed, "l1", "m1", "a");
    expect(
        &s, "run.info", "meta",
        "run.info {'langgraph_node':'writer','langgraph_step':1,'langgraph_checkpoint_ns':'writer:a','more':1}\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrapping_model_is_dropped_and_noted_once),
        cmocka_unit_test(one_message_in_two_executions_is_no_repeat),
        cmocka_unit_test(a_model_that_did_not_stream_gives_one_delta),
        cmocka_unit_test(deltas_are_counted_and_the_first_is_marked),
        cmocka_unit_test(a_message_without_an_id_is_named_after_its_run),
        cmocka_unit_test(a_finish_that_a_chunk_carried_is_not_repeated),
        cmocka_unit_test(tokens_without_a_start_get_one),
        cmocka_unit_test(a_token_of_a_run_that_is_no_model_is_dropped),
        cmocka_unit_test(metadata_that_changes_is_stored_anew),
        cmocka_unit_test(metadata_of_a_python_model_may_change),
        cmocka_unit_test(halves_of_a_character_are_joined),
        cmocka_unit_test(a_half_that_stays_alone_is_replaced),
        cmocka_unit_test(a_half_that_waits_when_the_job_fails_is_not_lost),
        cmocka_unit_test(a_tool_run_finds_the_call_that_the_model_announced),
        cmocka_unit_test(previews_are_cut_between_code_points),
        cmocka_unit_test(a_tool_error_is_a_result_with_a_status),
        cmocka_unit_test(custom_events_inside_a_tool_are_its_stream),
        cmocka_unit_test(messages_that_were_not_streamed_are_sent_whole_and_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
