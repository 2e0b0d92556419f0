/* The thread events, in exact bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"
#include "dialect/thread_events.h"

static const struct variant run_2 = { .run = 2 };

/* Record 57 of run 2: (2 << 33) + (57 << 5) + the frame's number. */
#define EVENT(seq, method, ns, rest)                                                          \
    " " method " {'type':'event','event_id':'1771237800123-1717987" seq "','seq':1717987" seq \
    ",'method':'" method "','params':{'namespace':[" ns "],'timestamp':1771237800123" rest    \
    "}}\n"

static void expect_events(const struct record *rec, const char *want)
{
    expect_as(&dialect_thread_events, &run_2, rec, want);
}

static void a_run_begins_and_ends(void **state)
{
    struct record rec = make(REC_JOB_START);

    (void)state;
    rec.agent = STR("triage");
    expect_events(&rec, "57" EVENT("1009", "lifecycle", "",
                                   ",'data':{'event':'running','graph_name':'triage'}"));
    rec = make(REC_JOB_END);
    rec.status = STR("failed");
    rec.error = STR("boom");
    expect_events(
        &rec, "57" EVENT("1009", "lifecycle", "", ",'data':{'event':'failed','error':'boom'}"));
}

static void questions_are_told_when_they_can_be_answered(void **state)
{
    struct record rec = make(REC_JOB_INTERRUPT);

    (void)state;
    rec.id = STR("q1");
    rec.data = STR("\"Send?\"");
    expect_events(&rec, "");
    rec = make(REC_JOB_END);
    rec.status = STR("succeeded");
    rec.outcome = STR("interrupted");
    rec.asks = STR("[{\"value\":\"Send?\",\"id\":\"q1\"}]");
    rec.open = STR("[\"sub:1|inner:2\"]");
    expect_events(
        &rec,
        "57.1" EVENT("1009", "input.requested", "", ",'data':{'interrupt_id':'q1','payload':'Send?'}") "57.2" EVENT(
            "1010", "lifecycle", "'sub:1','inner:2'",
            ",'data':{'event':'interrupted','graph_name':'inner'}") "57" EVENT("1011",
                                                                               "lifecycle", "",
                                                                               ",'data':{'event':'interrupted'}"));
}

static void a_question_is_told_in_the_namespace_of_its_graph(void **state)
{
    struct record rec = make(REC_JOB_END);

    (void)state;
    rec.status = STR("succeeded");
    rec.asks = STR("[{\"value\":1,\"id\":\"q1\",\"ns\":\"sub:1|inner:2\"}]");
    expect_events(
        &rec,
        "57.1" EVENT(
            "1009", "input.requested", "'sub:1','inner:2'",
            ",'data':{'interrupt_id':'q1','payload':1}") "57" EVENT("1010", "lifecycle", "",
                                                                    ",'data':{'event':'completed'}"));
}

static void a_namespace_begins_outermost_first_and_says_its_agent_and_cause(void **state)
{
    struct record rec = make(REC_STATE_TASKS);

    (void)state;
    rec.info.ns = STR("tools:1|model:2");
    rec.opens = 2;
    rec.cause = STR("call_1");
    rec.data =
        STR("{\"id\":\"3\",\"name\":\"n\",\"metadata\":{\"lc_agent_name\":\"researcher\"}}");
    expect_events(
        &rec,
        "57.1" EVENT("1009", "lifecycle", "'tools:1'", ",'data':{'event':'started','graph_name':'tools'}") "57.2" EVENT(
            "1010", "lifecycle", "'tools:1','model:2'",
            ",'data':{'event':'started','graph_name':'researcher',"
            "'cause':{'type':'toolCall','tool_call_id':'call_1'}}") "57" EVENT("1011", "tasks",
                                                                               "'tools:1','model:2'",
                                                                               ",'data':{'id':'3','name':'n','metadata':{'lc_agent_name':'researcher'}}"));
}

static void the_end_of_a_task_ends_its_namespace(void **state)
{
    struct record rec = make(REC_STATE_TASKS);

    (void)state;
    rec.closes = STR("[\"sub:1\"]");
    rec.data = STR("{\"id\":\"1\",\"name\":\"sub\",\"error\":\"boom\"}");
    expect_events(
        &rec,
        "57.1" EVENT("1009", "tasks", "", ",'data':{'id':'1','name':'sub','error':'boom'}") "57" EVENT(
            "1010", "lifecycle", "'sub:1'",
            ",'data':{'event':'failed','graph_name':'sub','error':'boom'}"));
    rec.owes = true;
    rec.data = STR("{\"id\":\"1\",\"name\":\"sub\",\"result\":{}}");
    expect_events(
        &rec, "57" EVENT("1009", "tasks", "", ",'data':{'id':'1','name':'sub','result':{}}"));
    rec.owes = false;
    rec.data = STR("{\"id\":\"2\",\"name\":\"next\",\"input\":{}}");
    expect_events(
        &rec,
        "57.1" EVENT("1009", "lifecycle", "'sub:1'", ",'data':{'event':'completed','graph_name':'sub'}") "57" EVENT(
            "1010", "tasks", "", ",'data':{'id':'2','name':'next','input':{}}"));
}

/* LangGraph.js and Python's LangGraph write them differently. */
static void tools_are_told_in_the_protocols_words(void **state)
{
    static const struct {
        const char *part, *want;
    } rows[] = {
        { "{'event':'on_tool_start','toolCallId':'c','name':'grep','input':'{}'}",
          "{'event':'tool-started','tool_call_id':'c','tool_name':'grep','input':'{}'}" },
        { "{'event':'tool-started','tool_call_id':'c','tool_name':'grep','input':{'q':1}}",
          "{'event':'tool-started','tool_call_id':'c','tool_name':'grep','input':{'q':1}}" },
        { "{'event':'on_tool_event','toolCallId':'c','data':{'n':1}}",
          "{'event':'tool-output-delta','tool_call_id':'c','delta':'{\\'n\\':1}'}" },
        { "{'event':'tool-output-delta','tool_call_id':'c','delta':'half'}",
          "{'event':'tool-output-delta','tool_call_id':'c','delta':'half'}" },
        { "{'event':'on_tool_end','toolCallId':'c','output':{'content':'x'}}",
          "{'event':'tool-finished','tool_call_id':'c','output':{'content':'x'}}" },
        { "{'event':'on_tool_error','toolCallId':'c','error':{'message':'boom'}}",
          "{'event':'tool-error','tool_call_id':'c','message':'boom'}" },
        { "{'event':'tool-error','tool_call_id':'c','message':'boom'}",
          "{'event':'tool-error','tool_call_id':'c','message':'boom'}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf part LOCAL_BUF(MAX_BYTES), want LOCAL_BUF(MAX_BYTES);
        struct record rec = make(REC_STATE_TOOLS);

        put_double_quotes(&part, rows[i].part);
        rec.data = str_of(part.p);
        buf_lit(&want, "57 tools {'type':'event','event_id':'1771237800123-17179871009',"
                       "'seq':17179871009,'method':'tools','params':{'namespace':[],"
                       "'timestamp':1771237800123,'data':");
        buf_str(&want, str_of(rows[i].want));
        buf_lit(&want, "}}\n");
        buf_char(&want, '\0');
        expect_events(&rec, want.p);
        rec.mirror = true; /* events have told it */
        expect_events(&rec, "");
    }
}

static void named_custom_data_is_for_both_kinds_of_clients(void **state)
{
    struct record rec = make(REC_CUSTOM);

    (void)state;
    rec.data = STR("{\"name\":\"progress\",\"step\":1}");
    expect_events(&rec, "57" EVENT("1009", "custom", "",
                                   ",'data':{'name':'progress',"
                                   "'payload':{'name':'progress','step':1},'step':1}"));
    rec.data = STR("{\"step\":1}");
    expect_events(&rec, "57" EVENT("1009", "custom", "", ",'data':{'payload':{'step':1}}"));
    rec.title = STR("stats");
    rec.data = STR("7");
    expect_events(&rec,
                  "57" EVENT("1009", "custom", "", ",'data':{'name':'stats','payload':7}"));
}

static void what_a_transformer_sends_has_the_name_of_its_channel(void **state)
{
    struct record rec = make(REC_CUSTOM);

    (void)state;
    rec.id = STR("stats");
    rec.data = STR("{\"name\":\"other\",\"n\":1}");
    expect_events(&rec, "57" EVENT("1009", "custom", "",
                                   ",'data':{'name':'stats',"
                                   "'payload':{'name':'other','n':1}}"));
}

static void a_message_is_in_the_namespace_of_its_language(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    delta.text = STR("Hi");
    delta.message = STR("m1");
#define HI_DELTA                                                                     \
    ",'data':{'event':'content-block-delta','index':0,'delta':{'type':'text-delta'," \
    "'text':'Hi'},'run_id':'run-llm'}"
    expect_events(&delta, "57" EVENT("1009", "messages", "'writer:1'", HI_DELTA));
    c.llm.info.outer = true;
    expect_events(&delta, "57" EVENT("1009", "messages", "", HI_DELTA));
}

#define WHOLE(content)                                                                                                                                                                                                                          \
    "57.1" EVENT("1009", "messages", "", ",'data':{'event':'message-start','id':'m1','role':'ai'}") "57.2" EVENT("1010", "messages", "", ",'data':{'event':'content-block-start','index':0,'content':{'type':'text','text':''}}") "57.3" EVENT( \
        "1011", "messages", "",                                                                                                                                                                                                                 \
        ",'data':{'event':'content-block-delta','index':0,'delta':{'type':'text-delta','text':'" content                                                                                                                                        \
        "'}}") "57.4" EVENT("1012", "messages", "",                                                                                                                                                                                             \
                            ",'data':{'event':'content-block-finish','index':0,'content':{'type':'text','text':'" content                                                                                                                       \
                            "'}}") "57" EVENT("1013", "messages", "",                                                                                                                                                                           \
                                              ",'data':{'event':'message-finish','reason':'stop'}")

static void a_whole_message_may_be_a_list_of_blocks(void **state)
{
    struct record rec = make(REC_MESSAGE);

    (void)state;
    rec.message = STR("m1");
    rec.data = STR("{\"type\":\"ai\",\"content\":[{\"type\":\"text\",\"text\":\"Hi \"},"
                   "{\"type\":\"text\",\"text\":\"you\",\"index\":0}]}");
    expect_events(&rec, WHOLE("Hi you"));
    rec.data = STR("{\"type\":\"human\",\"content\":\"no answer\"}");
    expect_events(&rec, "");
    rec.data = STR("{\"type\":\"ai\",\"content\":\"Hi you\"}");
    rec.info.outer = true; /* Python: only what a model has said */
    rec.info.ns = STR("writer:1");
    rec.info.meta = STR("{\"langgraph_node\":\"writer\"}");
    expect_events(&rec, "");
    rec.info.meta = STR("{\"ls_model_type\":\"chat\"}");
    expect_events(&rec, WHOLE("Hi you"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_begins_and_ends),
        cmocka_unit_test(questions_are_told_when_they_can_be_answered),
        cmocka_unit_test(a_question_is_told_in_the_namespace_of_its_graph),
        cmocka_unit_test(a_namespace_begins_outermost_first_and_says_its_agent_and_cause),
        cmocka_unit_test(the_end_of_a_task_ends_its_namespace),
        cmocka_unit_test(tools_are_told_in_the_protocols_words),
        cmocka_unit_test(named_custom_data_is_for_both_kinds_of_clients),
        cmocka_unit_test(what_a_transformer_sends_has_the_name_of_its_channel),
        cmocka_unit_test(a_message_is_in_the_namespace_of_its_language),
        cmocka_unit_test(a_whole_message_may_be_a_list_of_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
