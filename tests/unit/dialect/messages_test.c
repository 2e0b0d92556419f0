/* The dialect messages, in exact bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"

#define NO_KWARGS "'additional_kwargs':{},'response_metadata':{}"
#define DELTA_END ",'tool_calls':[],'invalid_tool_calls':[],'tool_call_chunks':[]}"
#define HI        "{'content':'Hi'," NO_KWARGS ",'type':'AIMessageChunk','id':'m1'" DELTA_END
#define LLM_META  "{'ls_model_name':'gpt-x'}"

static void messages_says_the_job(void **state)
{
    static const struct variant no_modes = { .modes = 0 };
    struct record rec = make(REC_JOB_START);

    (void)state;
    expect_as(&dialect_messages, &no_modes, &rec,
              "57 metadata {'run_id':'job-1','attempt':1}\n");
    rec.attempt = 3;
    expect(&dialect_messages, &rec, "57 metadata {'run_id':'job-1','attempt':3}\n");
    rec = make(REC_JOB_ERROR);
    rec.error = STR("boom");
    expect_as(&dialect_messages, &no_modes, &rec,
              "57 error {'error':'Error','message':'boom'}\n");
    rec.error_type = STR("ValueError");
    expect(&dialect_messages, &rec, "57 error {'error':'ValueError','message':'boom'}\n");
}

static void messages_says_questions_as_updates_and_values(void **state)
{
    static const struct variant values = { .modes = MODE_VALUES };
    static const struct variant updates = { .modes = MODE_UPDATES };
    struct record rec = make(REC_JOB_INTERRUPT);

    (void)state;
    rec.id = STR("i1");
    rec.data = STR("{\"question\":\"Go?\"}");
    expect(&dialect_messages, &rec,
           "57.1 updates {'__interrupt__':[{'value':{'question':'Go?'},'id':'i1'}]}\n"
           "57 values {'__interrupt__':[{'value':{'question':'Go?'},'id':'i1'}]}\n");
    expect_as(&dialect_messages, &values, &rec,
              "57 values {'__interrupt__':[{'value':{'question':'Go?'},'id':'i1'}]}\n");
    expect_as(&dialect_messages, &updates, &rec,
              "57.1 updates {'__interrupt__':[{'value':{'question':'Go?'},'id':'i1'}]}\n");
    rec = make(REC_JOB_PAUSED);
    expect(&dialect_messages, &rec, "57 updates {'__interrupt__':[]}\n");
    rec.open = STR("[]");
    expect(&dialect_messages, &rec,
           "57.1 updates {'__interrupt__':[]}\n57 values {'__interrupt__':[]}\n");
}

static void messages_says_deltas_as_tuples(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    delta.text = STR("Hi");
    delta.message = STR("m1");
    /* The second of two: the first is for those who want events. */
    expect(&dialect_messages, &delta, "57 messages [" HI "," LLM_META "]\n");
    delta.mirror = true;
    expect_as(&dialect_messages, &all_modes, &delta, "");
    delta.mirror = false;
    delta.text = STR("");
    c.llm.info.meta = STR_NONE;
    expect(&dialect_messages, &delta,
           "57 messages [{'content':''," NO_KWARGS
           ",'type':'AIMessageChunk','id':'m1'" DELTA_END ",{}]\n");
}

static void messages_says_all_of_a_delta(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    delta.message = STR("m1");
    delta.content = STR("[{\"type\":\"text\",\"text\":\"Hi\"}]");
    delta.extra = STR("{\"x\":1}");
    delta.usage = STR("{\"total_tokens\":3}");
    delta.calls = STR("[{\"index\":0,\"args\":\"{\"}]");
    expect(&dialect_messages, &delta,
           "57 messages [{'content':[{'type':'text','text':'Hi'}],'additional_kwargs':{'x':1},"
           "'response_metadata':{},'type':'AIMessageChunk','id':'m1',"
           "'tool_calls':[],'invalid_tool_calls':[],'usage_metadata':{'total_tokens':3},"
           "'tool_call_chunks':[{'index':0,'args':'{'}]}," LLM_META "]\n");
}

static void messages_says_an_end_delta_when_one_is_due(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record end = of(&c.llm, REC_LLM_END);
    end.status = STR("ok");
    end.message = STR("m1");
    end.text = STR("Hi there");
    end.calls = STR("[{\"name\":\"f\"}]");
    end.response = STR("{\"finish_reason\":\"stop\"}");
    end.usage = STR("{\"total_tokens\":3}");
    end.title = STR("stop");
    expect(&dialect_messages, &end, "");
    end.last = true;
    expect(&dialect_messages, &end,
           "57 messages [{'content':'','additional_kwargs':{},"
           "'response_metadata':{'finish_reason':'stop'},'type':'AIMessageChunk',"
           "'id':'m1','tool_calls':[],'invalid_tool_calls':[],"
           "'tool_call_chunks':[]}," LLM_META "]\n");
}

static void messages_says_whole_messages(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record rec = of(&c.node, REC_MESSAGE);
    rec.message = STR("t1");
    rec.data = STR("{\"type\":\"tool\",\"id\":\"t1\"}");
    expect(&dialect_messages, &rec,
           "57 messages [{'type':'tool','id':'t1'},{'langgraph_step':4}]\n");
    c.node.info.ns = STR("outer:1|writer:2");
    expect_as(&dialect_messages, &all_subgraphs, &rec,
              "57 messages|outer:1 [{'type':'tool','id':'t1'},{'langgraph_step':4}]\n");
}

static void messages_names_the_outer_namespace_with_subgraphs_on(void **state)
{
    static const struct variant subgraphs = { .modes = MODE_DEFAULT, .subgraphs = true };
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    delta.text = STR("Hi");
    delta.message = STR("m1");
    expect_as(&dialect_messages, &subgraphs, &delta, "57 messages [" HI "," LLM_META "]\n");
    c.llm.info.ns = STR("research:9|think:8|x:7");
    expect(&dialect_messages, &delta, "57 messages [" HI "," LLM_META "]\n");
    expect_as(&dialect_messages, &subgraphs, &delta,
              "57 messages|research:9|think:8 [" HI "," LLM_META "]\n");
    c.llm.info.ns = STR("a b\n\xC3\xA9:1|x");
    expect_as(&dialect_messages, &subgraphs, &delta,
              "57 messages|a_b___:1 [" HI "," LLM_META "]\n");
}

static void messages_says_state_by_mode(void **state)
{
    static const struct {
        enum record_kind kind;
        uint32_t mode;
        const char *want;
        const char *want_below;
    } rows[] = {
        { REC_STATE_VALUES, MODE_VALUES, "57 values {'a':1}\n",
          "57 values|research:9|think:8 {'a':1}\n" },
        { REC_STATE_UPDATES, MODE_UPDATES, "57 updates {'a':1}\n",
          "57 updates|research:9|think:8 {'a':1}\n" },
        { REC_STATE_TASKS, MODE_TASKS, "57 tasks {'a':1}\n",
          "57 tasks|research:9|think:8 {'a':1}\n" },
        { REC_STATE_CHECKPOINTS, MODE_CHECKPOINTS, "57 checkpoints {'a':1}\n",
          "57 checkpoints|research:9|think:8 {'a':1}\n" },
        { REC_STATE_DEBUG, MODE_DEBUG, "57 debug {'a':1}\n",
          "57 debug|research:9|think:8 {'a':1}\n" },
    };
    struct cast c;

    (void)state;
    cast_init(&c);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct variant only = { .modes = rows[i].mode };
        struct variant others = { .modes = MODE_ALL & ~rows[i].mode };
        struct record rec = make(rows[i].kind);

        rec.data = STR("{\"a\":1}");
        expect_as(&dialect_messages, &only, &rec, rows[i].want);
        expect_as(&dialect_messages, &others, &rec, "");
        rec.header = &c.part;
        expect_as(&dialect_messages, &only, &rec, "");
        only.subgraphs = true;
        expect_as(&dialect_messages, &only, &rec, rows[i].want_below);
    }
}

static void messages_says_custom_data_to_all(void **state)
{
    static const struct variant subgraphs = { .modes = MODE_CUSTOM, .subgraphs = true };
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record rec = make(REC_CUSTOM);
    rec.data = STR("\"x\"");
    expect(&dialect_messages, &rec, "57 custom 'x'\n");
    rec.id = STR("seen"); /* of a stream transformer: for readers of threads */
    expect(&dialect_messages, &rec, "");
    rec.id = STR_NONE;
    rec.header = &c.part;
    expect(&dialect_messages, &rec, "57 custom 'x'\n");
    expect_as(&dialect_messages, &subgraphs, &rec, "57 custom|research:9|think:8 'x'\n");
    rec.kind = REC_PROGRESS;
    rec.data = STR("{\"percent\":10}");
    expect(&dialect_messages, &rec, "57 custom {'percent':10}\n");
    /* Dispatched by a run: the graph is the one around its node. */
    c.tool.info.ns = STR("research:9|think:8");
    rec.header = &c.tool;
    expect_as(&dialect_messages, &subgraphs, &rec, "57 custom|research:9 {'percent':10}\n");
}

static void messages_says_the_last_state_at_the_roots_end(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record end = of(&c.root, REC_RUN_END);
    end.status = STR("ok");
    end.output = STR("{\"a\":1}");
    expect(&dialect_messages, &end, "57 values {'a':1}\n");
    end.output = STR("\"text\"");
    expect(&dialect_messages, &end, "");
    end.output = STR_NONE;
    expect(&dialect_messages, &end, "");
    end.output = STR("{\"a\":1}");
    end.status = STR("interrupted");
    expect(&dialect_messages, &end, "");
    expect_as(&dialect_messages, &all_modes, &end,
              "57 events {'event':'on_chain_end','data':{'output':{'a':1}},'name':'LangGraph',"
              "'tags':[],'run_id':'run-root','metadata':{}}\n");
    end.status = STR("ok");
    end.mirror = true;
    expect(&dialect_messages, &end, "");
    end.mirror = false;
    end.header = &c.inner;
    expect(&dialect_messages, &end, "");
}

#define NODE_EVENT                                                    \
    ",'name':'writer','tags':['graph:step:4'],'run_id':'run-writer'," \
    "'metadata':{'langgraph_step':4},'parent_ids':['run-root']}\n"
#define LLM_EVENT \
    ",'name':'ChatOpenAI','tags':['t'],'run_id':'run-llm','metadata':" LLM_META "}\n"
#define TOOL_EVENT ",'name':'grep','tags':[],'run_id':'run-tool','metadata':{}}\n"

static void messages_puts_chain_events_together_again(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect_as(&dialect_messages, &all_modes, &c.node,
              "57 events {'event':'on_chain_start','data':{'input':{'q':2}}" NODE_EVENT);
    struct record rec = of(&c.node, REC_RUN_STREAM);
    rec.data = STR("{\"a\":1}");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57 events {'event':'on_chain_stream','data':{'chunk':{'a':1}}" NODE_EVENT);
    rec = of(&c.node, REC_NODE_END);
    rec.output = STR("{\"a\":1}");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57 events {'event':'on_chain_end','data':{'output':{'a':1},"
              "'input':{'q':2}}" NODE_EVENT);
    rec.status = STR("error");
    expect_as(&dialect_messages, &all_modes, &rec, "");
    expect_as(&dialect_messages, &all_modes, &c.prompt,
              "57 events {'event':'on_prompt_start','data':{},'name':'Prompt','tags':[],"
              "'run_id':'run-prompt','metadata':{}}\n");
    c.node.info.derived = true;
    expect_as(&dialect_messages, &all_modes, &c.node, "");
}

static void messages_has_no_events_of_the_roots_chunks(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record rec = of(&c.root, REC_RUN_STREAM);
    rec.data = STR("{\"a\":1}");
    expect_as(&dialect_messages, &all_modes, &rec, "");
    rec = of(&c.root, REC_RUN_END);
    rec.output = STR("{\"a\":1}");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57.1 events {'event':'on_chain_end','data':{'output':{'a':1}},"
              "'name':'LangGraph','tags':[],'run_id':'run-root','metadata':{}}\n"
              "57 values {'a':1}\n");
}

static void messages_puts_model_events_together_again(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect_as(
        &dialect_messages, &all_modes, &c.llm,
        "57 events {'event':'on_chat_model_start','data':{'input':{'messages':[[]]}}" LLM_EVENT);
    struct record rec = of(&c.llm, REC_LLM_DELTA);
    rec.text = STR("Hi");
    rec.message = STR("m1");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57.1 events {'event':'on_chat_model_stream','data':{'chunk':" HI "}" LLM_EVENT
              "57 messages [" HI "," LLM_META "]\n");
    rec = of(&c.llm, REC_LLM_END);
    rec.text = STR("Hi");
    rec.message = STR("m1");
    rec.calls = STR("[{\"name\":\"f\"}]");
    expect_as(
        &dialect_messages, &all_modes, &rec,
        "57 events {'event':'on_chat_model_end','data':{'output':{'content':'Hi'," NO_KWARGS
        ",'type':'ai','id':'m1','tool_calls':[{'name':'f'}],"
        "'invalid_tool_calls':[]},"
        "'input':{'messages':[[]]}}" LLM_EVENT);
    rec.status = STR("error");
    expect_as(&dialect_messages, &all_modes, &rec, "");
}

static void messages_puts_completion_events_together_again(void **state)
{
    static const struct variant events = { .modes = MODE_EVENTS };
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record rec = of(&c.completion, REC_LLM_DELTA);
    rec.text = STR("old");
    expect_as(&dialect_messages, &events, &rec,
              "57.1 events {'event':'on_llm_stream','data':{'chunk':{'text':'old',"
              "'generation_info':null,'type':'Generation'}}" LLM_EVENT);
    rec.kind = REC_LLM_END;
    rec.response = STR("{\"f\":1}");
    expect_as(&dialect_messages, &events, &rec,
              "57 events {'event':'on_llm_end','data':{'output':{'generations':[[{'text':'old',"
              "'generation_info':{'f':1},'type':'Generation'}]],'llm_output':null},"
              "'input':{'messages':[[]]}}" LLM_EVENT);
}

static void messages_puts_tool_events_together_again(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect_as(&dialect_messages, &all_modes, &c.tool,
              "57 events {'event':'on_tool_start','data':{'input':{'pattern':'x'}}" TOOL_EVENT);
    struct record rec = of(&c.tool, REC_TOOL_END);
    rec.output = STR("\"found\"");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57 events {'event':'on_tool_end','data':{'output':'found',"
              "'input':{'pattern':'x'}}" TOOL_EVENT);
    rec.status = STR("error"); /* the tool said so itself, in its message */
    expect_as(&dialect_messages, &all_modes, &rec,
              "57 events {'event':'on_tool_end','data':{'output':'found',"
              "'input':{'pattern':'x'}}" TOOL_EVENT);
    rec.error = STR("boom");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57 events {'event':'on_tool_error','data':{'error':'boom',"
              "'input':{'pattern':'x'}}" TOOL_EVENT);
    rec.status = STR("cancelled");
    expect_as(&dialect_messages, &all_modes, &rec, "");
}

static void messages_puts_retriever_and_custom_events_together_again(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect_as(&dialect_messages, &all_modes, &c.retriever,
              "57 events {'event':'on_retriever_start','data':{'input':{'query':'q'}},"
              "'name':'Retriever','tags':[],'run_id':'run-ret','metadata':{}}\n");
    struct record rec = of(&c.retriever, REC_RETRIEVER_END);
    rec.output = STR("[]");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57 events {'event':'on_retriever_end','data':{'output':[],"
              "'input':{'query':'q'}},'name':'Retriever','tags':[],'run_id':'run-ret',"
              "'metadata':{}}\n");
    rec.status = STR("error");
    expect_as(&dialect_messages, &all_modes, &rec, "");
    rec = of(&c.tool, REC_CUSTOM);
    rec.title = STR("note");
    rec.data = STR("7");
    expect_as(&dialect_messages, &all_modes, &rec,
              "57.1 events {'event':'on_custom_event','data':7,'name':'note','tags':[],"
              "'run_id':'run-tool','metadata':{}}\n"
              "57 custom 7\n");
    rec.kind = REC_PROGRESS;
    rec.title = STR_NONE;
    expect_as(&dialect_messages, &all_modes, &rec,
              "57.1 events {'event':'on_custom_event','data':7,'name':'progress','tags':[],"
              "'run_id':'run-tool','metadata':{}}\n"
              "57 custom 7\n");
}

static void messages_is_silent_about_the_rest(void **state)
{
    static const enum record_kind kinds[] = {
        REC_JOB_END,    REC_JOB_CANCELLED, REC_JOB_CANCEL_REQUESTED,
        REC_JOB_UPDATE, REC_JOB_RESUMED,   REC_RUN_INFO,
        REC_LLM_REPEAT, REC_SECTION_END,   REC_ARTIFACT,
    };

    (void)state;
    expect_silent(&dialect_messages, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_says_the_job),
        cmocka_unit_test(messages_says_questions_as_updates_and_values),
        cmocka_unit_test(messages_says_deltas_as_tuples),
        cmocka_unit_test(messages_says_all_of_a_delta),
        cmocka_unit_test(messages_says_an_end_delta_when_one_is_due),
        cmocka_unit_test(messages_says_whole_messages),
        cmocka_unit_test(messages_names_the_outer_namespace_with_subgraphs_on),
        cmocka_unit_test(messages_says_state_by_mode),
        cmocka_unit_test(messages_says_custom_data_to_all),
        cmocka_unit_test(messages_says_the_last_state_at_the_roots_end),
        cmocka_unit_test(messages_puts_chain_events_together_again),
        cmocka_unit_test(messages_has_no_events_of_the_roots_chunks),
        cmocka_unit_test(messages_puts_model_events_together_again),
        cmocka_unit_test(messages_puts_completion_events_together_again),
        cmocka_unit_test(messages_puts_tool_events_together_again),
        cmocka_unit_test(messages_puts_retriever_and_custom_events_together_again),
        cmocka_unit_test(messages_is_silent_about_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
