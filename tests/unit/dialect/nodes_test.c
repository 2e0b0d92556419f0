/* The dialect nodes, in exact bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"

static void nodes_says_the_job(void **state)
{
    struct record rec = make(REC_JOB_START);

    (void)state;
    expect(&dialect_nodes, &rec,
           "57 run.start {'type':'run.start','run_id':'job-1','timestamp':'" TIME "'}\n");
    rec = make(REC_JOB_END);
    rec.status = STR("succeeded");
    rec.outcome = STR("interrupted");
    rec.elapsed = 7;
    expect(&dialect_nodes, &rec,
           "57 run.end {'type':'run.end','run_id':'job-1','timestamp':'" TIME
           "','status':'ok','duration_ms':7,'outcome':'interrupted'}\n");
    rec = make(REC_JOB_END);
    rec.status = STR("failed");
    rec.error = STR("boom");
    expect(&dialect_nodes, &rec,
           "57 run.end {'type':'run.end','run_id':'job-1','timestamp':'" TIME
           "','status':'error','duration_ms':null,'error':'boom'}\n");
    rec.status = STR("cancelled");
    rec.error = STR_NONE;
    expect(&dialect_nodes, &rec,
           "57 run.end {'type':'run.end','run_id':'job-1','timestamp':'" TIME
           "','status':'cancelled','duration_ms':null}\n");
}

static void nodes_says_top_level_executions(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_nodes, &c.node,
           "57 node.start {'type':'node.start','run_id':'run-writer','node':'writer','step':4,"
           "'run_path':'chain:LangGraph > chain:writer','timestamp':'" TIME "'}\n");
    struct record end = of(&c.node, REC_NODE_END);
    end.status = STR("ok");
    end.elapsed = 5;
    end.chains = 3;
    end.llms = 2;
    end.tools = 1;
    expect(&dialect_nodes, &end,
           "57 node.end {'type':'node.end','run_id':'run-writer','node':'writer','step':4,"
           "'run_path':'chain:LangGraph > chain:writer','timestamp':'" TIME
           "','status':'ok','duration_ms':5,'chains':3,'llm_calls':2,'tools':1}\n");
    end.status = STR("retried");
    end.error = STR("boom");
    expect(&dialect_nodes, &end,
           "57 node.end {'type':'node.end','run_id':'run-writer','node':'writer','step':4,"
           "'run_path':'chain:LangGraph > chain:writer','timestamp':'" TIME
           "','status':'retried','duration_ms':5,'error':'boom','chains':3,'llm_calls':2,"
           "'tools':1}\n");
    c.node.info.top = false;
    expect(&dialect_nodes, &c.node, "");
    expect(&dialect_nodes, &end, "");
}

static void nodes_says_tools(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_nodes, &c.tool,
           "57 tool.start {'type':'tool.start','run_id':'run-tool','tool':'grep',"
           "'node':'writer','run_path':'chain:LangGraph > chain:writer > tool:grep',"
           "'timestamp':'" TIME "','input':{'pattern':'x'}}\n");
    struct record end = of(&c.tool, REC_TOOL_END);
    end.elapsed = 5;
    end.output = STR("\"found\"");
    expect(&dialect_nodes, &end,
           "57 tool.end {'type':'tool.end','run_id':'run-tool','tool':'grep','node':'writer',"
           "'run_path':'chain:LangGraph > chain:writer > tool:grep','timestamp':'" TIME
           "','status':'ok','duration_ms':5,'output':'found'}\n");
    end.status = STR("error");
    end.error = STR("boom");
    end.output = STR_NONE;
    expect(&dialect_nodes, &end,
           "57 tool.end {'type':'tool.end','run_id':'run-tool','tool':'grep','node':'writer',"
           "'run_path':'chain:LangGraph > chain:writer > tool:grep','timestamp':'" TIME
           "','status':'error','duration_ms':5,'output':null,'error':'boom'}\n");
}

static void nodes_says_progress_when_asked_to(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record rec = of(&c.node, REC_PROGRESS);
    rec.percent = STR("12.50");
    rec.note = STR("reading");
    expect(&dialect_nodes, &rec, "");
    expect_as(
        &dialect_nodes, &all_modes, &rec,
        "57 progress {'type':'progress','run_id':'run-writer','node':'writer','timestamp':'" TIME
        "','percent':12.50,'message':'reading'}\n");
}

static void nodes_is_silent_about_the_rest(void **state)
{
    static const enum record_kind kinds[] = {
        REC_JOB_ERROR,       REC_JOB_CANCELLED, REC_JOB_CANCEL_REQUESTED,
        REC_JOB_UPDATE,      REC_JOB_INTERRUPT, REC_JOB_PAUSED,
        REC_JOB_RESUMED,     REC_RUN_START,     REC_RUN_STREAM,
        REC_RUN_END,         REC_RUN_INFO,      REC_LLM_START,
        REC_LLM_DELTA,       REC_LLM_END,       REC_LLM_REPEAT,
        REC_RETRIEVER_START, REC_RETRIEVER_END, REC_STATE_VALUES,
        REC_STATE_UPDATES,   REC_STATE_TASKS,   REC_STATE_CHECKPOINTS,
        REC_STATE_DEBUG,     REC_MESSAGE,       REC_SECTION_END,
        REC_ARTIFACT,        REC_CUSTOM,        REC_NODE_COMPLETE,
    };

    (void)state;
    expect_silent(&dialect_nodes, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_says_the_job),
        cmocka_unit_test(nodes_says_top_level_executions),
        cmocka_unit_test(nodes_says_tools),
        cmocka_unit_test(nodes_says_progress_when_asked_to),
        cmocka_unit_test(nodes_is_silent_about_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
