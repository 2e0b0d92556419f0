/* The dialect agent, in exact bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"

static void agent_says_executions_as_cards(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_agent, &c.node,
           "57 agent.spawned {'type':'agent.spawned','agent_id':'run-writer',"
           "'agent_name':'writer','node':'writer'}\n");
    struct record end = of(&c.node, REC_NODE_END);
    end.status = STR("ok");
    end.elapsed = 1500;
    expect(&dialect_agent, &end,
           "57.1 agent.done {'type':'agent.done','agent_id':'run-writer','node':'writer',"
           "'elapsed_ms':1500}\n"
           "57 graph.node_complete {'type':'graph.node_complete','node':'writer','step':4}\n");
    end.status = STR("interrupted");
    expect(&dialect_agent, &end,
           "57 agent.done {'type':'agent.done','agent_id':'run-writer','node':'writer',"
           "'elapsed_ms':1500,'status':'interrupted'}\n");
}

static void agent_counts_nodes_without_cards(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    c.node.info.card = false;
    c.node.info.step = RECORD_NO_NUMBER;
    expect(&dialect_agent, &c.node, "");
    struct record end = of(&c.node, REC_NODE_END);
    end.status = STR("ok");
    expect(
        &dialect_agent, &end,
        "57 graph.node_complete {'type':'graph.node_complete','node':'writer','step':null}\n");
    c.node.info.counted = false;
    expect(&dialect_agent, &end, "");
}

static void agent_is_silent_about_nested_nodes(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    c.node.info.top = false;
    expect(&dialect_agent, &c.node, "");
    struct record end = of(&c.node, REC_NODE_END);
    end.status = STR("ok");
    expect(&dialect_agent, &end, "");
}

static void agent_says_tokens_on_card_and_panel(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    delta.text = STR("Hi");
    expect(&dialect_agent, &delta,
           "57 agent.token {'type':'agent.token','agent_id':'run-writer','token':'Hi'}\n");
    c.llm.info.panel = true;
    expect(&dialect_agent, &delta,
           "57.1 agent.token {'type':'agent.token','agent_id':'run-writer','token':'Hi'}\n"
           "57 output.token {'type':'output.token','token':'Hi','section':null}\n");
    c.llm.info.section = STR("report");
    c.llm.info.card = false;
    expect(&dialect_agent, &delta,
           "57 output.token {'type':'output.token','token':'Hi','section':'report'}\n");
    delta.text = STR("");
    expect(&dialect_agent, &delta, "");
    delta.text = STR_NONE;
    expect(&dialect_agent, &delta, "");
}

static void agent_says_a_mirror_only_on_the_panel(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    c.llm.info.section = STR("report");
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    delta.text = STR("Hi");
    delta.mirror = true;
    expect(&dialect_agent, &delta, "");
    c.llm.info.panel = true;
    expect(&dialect_agent, &delta,
           "57 output.token {'type':'output.token','token':'Hi','section':'report'}\n");
    delta.title = STR("ticket_draft");
    expect(&dialect_agent, &delta,
           "57 output.token {'type':'output.token','token':'Hi','section':'ticket_draft'}\n");
}

static void agent_says_tools_of_cards(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_agent, &c.tool,
           "57 agent.tool_call {'type':'agent.tool_call','agent_id':'run-writer',"
           "'tool_name':'grep','input_preview':'{\\'pattern\\':\\'x\\'}'}\n");
    struct record end = of(&c.tool, REC_TOOL_END);
    end.status = STR("ok");
    end.preview = STR("found");
    expect(&dialect_agent, &end,
           "57 agent.tool_result {'type':'agent.tool_result','agent_id':'run-writer',"
           "'tool_name':'grep','result_summary':'found'}\n");
    end.status = STR("error");
    end.preview = STR_NONE;
    expect(&dialect_agent, &end,
           "57 agent.tool_result {'type':'agent.tool_result','agent_id':'run-writer',"
           "'tool_name':'grep','result_summary':'','status':'error'}\n");
    end.status = STR("cancelled");
    expect(&dialect_agent, &end,
           "57 agent.tool_result {'type':'agent.tool_result','agent_id':'run-writer',"
           "'tool_name':'grep','result_summary':'','status':'cancelled'}\n");
    c.tool.info.card = false;
    expect(&dialect_agent, &c.tool, "");
    expect(&dialect_agent, &end, "");
}

static void agent_says_questions_and_sections(void **state)
{
    (void)state;
    struct record rec = make(REC_SECTION_END);
    rec.text = STR("report");
    expect(&dialect_agent, &rec,
           "57 output.section_done {'type':'output.section_done','section':'report'}\n");
    rec = make(REC_JOB_INTERRUPT);
    rec.id = STR("i1");
    rec.data = STR("{\"question\":\"Go?\",\"context\":[1]}");
    expect(&dialect_agent, &rec,
           "57 graph.interrupt {'type':'graph.interrupt','interrupt_id':'i1',"
           "'value':{'question':'Go?','context':[1]}}\n");
    rec.question = STR("\"Go?\"");
    rec.context = STR("[1]");
    expect(&dialect_agent, &rec,
           "57 graph.interrupt {'type':'graph.interrupt','question':'Go?','context':[1],"
           "'interrupt_id':'i1','value':{'question':'Go?','context':[1]}}\n");
    rec = make(REC_JOB_PAUSED);
    expect(&dialect_agent, &rec, "57 graph.paused {'type':'graph.paused','job_id':'job-1'}\n");
    rec = make(REC_JOB_RESUMED);
    expect(&dialect_agent, &rec,
           "57 graph.resumed {'type':'graph.resumed','job_id':'job-1','interrupt_ids':null}\n");
}

static void agent_says_how_a_job_ends(void **state)
{
    struct record rec = make(REC_JOB_END);

    (void)state;
    rec.status = STR("succeeded");
    expect(&dialect_agent, &rec, "57 job.done {'type':'job.done'}\n");
    rec.outcome = STR("interrupted");
    expect(&dialect_agent, &rec, "57 job.done {'type':'job.done','outcome':'interrupted'}\n");
    rec = make(REC_JOB_END);
    rec.status = STR("failed");
    rec.error = STR("boom");
    expect(&dialect_agent, &rec, "57 job.failed {'type':'job.failed','error':'boom'}\n");
    rec.error = STR_NONE;
    expect(&dialect_agent, &rec, "57 job.failed {'type':'job.failed','error':'failed'}\n");
    rec.status = STR("cancelled");
    expect(&dialect_agent, &rec,
           "57 job.failed {'type':'job.failed','error':'cancelled','status':'cancelled'}\n");
    rec.error = STR("cancelled by user");
    expect(&dialect_agent, &rec,
           "57 job.failed {'type':'job.failed','error':'cancelled by user',"
           "'status':'cancelled'}\n");
}

static void agent_is_silent_about_the_rest(void **state)
{
    static const enum record_kind kinds[] = {
        REC_JOB_START,     REC_JOB_ERROR,   REC_JOB_CANCELLED,     REC_JOB_CANCEL_REQUESTED,
        REC_JOB_UPDATE,    REC_RUN_START,   REC_RUN_STREAM,        REC_RUN_END,
        REC_RUN_INFO,      REC_LLM_START,   REC_LLM_END,           REC_LLM_REPEAT,
        REC_RETRIEVER_END, REC_MESSAGE,     REC_RETRIEVER_START,   REC_STATE_VALUES,
        REC_STATE_UPDATES, REC_STATE_TASKS, REC_STATE_CHECKPOINTS, REC_STATE_DEBUG,
        REC_ARTIFACT,      REC_CUSTOM,      REC_PROGRESS,
    };

    (void)state;
    expect_silent(&dialect_agent, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agent_says_executions_as_cards),
        cmocka_unit_test(agent_counts_nodes_without_cards),
        cmocka_unit_test(agent_is_silent_about_nested_nodes),
        cmocka_unit_test(agent_says_tokens_on_card_and_panel),
        cmocka_unit_test(agent_says_a_mirror_only_on_the_panel),
        cmocka_unit_test(agent_says_tools_of_cards),
        cmocka_unit_test(agent_says_questions_and_sections),
        cmocka_unit_test(agent_says_how_a_job_ends),
        cmocka_unit_test(agent_is_silent_about_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
