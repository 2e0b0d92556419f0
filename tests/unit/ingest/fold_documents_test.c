/* The fold on the documents' own examples, which tell less than real streams do.
 *
 * Document 001 (the envelope) puts no node id on tools and models, and its examples name runs
 * by what they are: node_id "check_and_execute", tool_id "bing_search", and models by their
 * model.  The sample of document 004 has "metadata": {}.  Document 000 gives tool events no
 * namespace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fold_story.h"

/* An agent whose nodes all have cards. */
static void begin_any(struct scene *s)
{
    begin_with(s, (struct play_options){ .agent = STR("any") });
}

/* --- 001: the envelope ---------------------------------------------------------------- */

/* Section "Examples", word for word (in English). */
#define CHAIN_START                                                                       \
    "{'event':'on_chain_start','timestamp':'2025-12-03T10:15:30Z','run_id':'run-abc123'," \
    "'data':{'chain_name':'plan_and_execute','node_id':'check_and_execute','metadata':null}}"
#define MODEL_STREAM                                                                            \
    "{'event':'on_chat_model_stream','timestamp':'2025-12-03T10:15:31Z','run_id':'run-abc123'," \
    "'data':{'model':'gpt-x','chunk':'李白 was born in ','token_index':12}}"
#define TOOL_ERROR                                                                        \
    "{'event':'on_tool_end','timestamp':'2025-12-03T10:15:45Z','run_id':'run-abc123',"    \
    "'data':{'tool_id':'bing_search','output':null,'error':'HTTP 429 Too Many Requests'," \
    "'duration_ms':1200}}"

/* What its schemas make of the events that have no example. */
#define TOOL_START                                                                       \
    "{'event':'on_tool_start','timestamp':'2025-12-03T10:15:44Z','run_id':'run-abc123'," \
    "'data':{'tool_id':'bing_search','tool_name':'bing_search','input':{'q':'李白'}}}"
#define TOOL_END                                                                       \
    "{'event':'on_tool_end','timestamp':'2025-12-03T10:15:47Z','run_id':'run-abc123'," \
    "'data':{'tool_id':'bing_search','output':{'hits':1},'error':null,'duration_ms':900}}"
#define MODEL_START                                                                            \
    "{'event':'on_chat_model_start','timestamp':'2025-12-03T10:15:31Z','run_id':'run-abc123'," \
    "'data':{'model':'gpt-x','model_version':null,'prompt_id':null}}"
#define MODEL_END                                                                            \
    "{'event':'on_chat_model_end','timestamp':'2025-12-03T10:15:32Z','run_id':'run-abc123'," \
    "'data':{'model':'gpt-x','final_text':null,'error':null,'duration_ms':900}}"
#define CHAIN_END                                                                       \
    "{'event':'on_chain_end','timestamp':'2025-12-03T10:15:50Z','run_id':'run-abc123'," \
    "'data':{'node_id':'check_and_execute','result':{'answer':'Suyab'},'error':null,"   \
    "'duration_ms':20000}}"

static void the_examples_of_001_are_a_job_that_succeeds(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, MODEL_STREAM);
    say(&s, TOOL_ERROR); /* of a tool that was not announced: its start is made up */
    say(&s, TOOL_ERROR); /* again */
    say(&s, CHAIN_END);
    end_of_stream(&s);
    expect(&s, "node. tool. job.end", "name exec status",
           "node.start plan_and_execute check_and_execute -\n"
           "tool.start bing_search check_and_execute -\n"
           "tool.end bing_search check_and_execute error\n"
           "node.end plan_and_execute check_and_execute ok\n"
           "job.end - - succeeded\n");
    expect_frames(&s, VIEW_AGENT, "agent.tool_result",
                  "{'type':'agent.tool_result','agent_id':'check_and_execute','tool_name':"
                  "'bing_search','result_summary':'HTTP 429 Too Many Requests','status':"
                  "'error'}\n");
    expect_frames(&s, VIEW_AGENT, "agent.token",
                  "{'type':'agent.token','agent_id':'check_and_execute','token':'李白 was born "
                  "in '}\n");
    done(&s);
}

static void a_tool_error_that_was_handled_is_not_the_jobs(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, TOOL_START);
    say(&s, TOOL_ERROR);
    say(&s, CHAIN_END);
    end_of_stream(&s);
    expect(&s, "tool. node.end job.", "exec root status error",
           "job.start - - - -\n"
           "tool.start check_and_execute - - -\n"
           "tool.end check_and_execute - error HTTP 429 Too Many Requests\n"
           "node.end check_and_execute - ok -\n"
           "job.end - - succeeded -\n");
    done(&s);
}

static void a_tool_that_failed_after_the_last_node_is_not_the_jobs_end(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, CHAIN_END);
    say(&s, TOOL_START);
    say(&s, TOOL_ERROR);
    end_of_stream(&s);
    expect(&s, "tool.start job.end", "exec root status",
           "tool.start - - -\njob.end - - succeeded\n");
    done(&s);
}

static void names_for_ids_may_come_again(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, MODEL_START);
    say(&s, MODEL_STREAM);
    say(&s, MODEL_END);
    say(&s, TOOL_START);
    say(&s, TOOL_ERROR);
    say(&s, TOOL_START);
    say(&s, TOOL_END);
    say(&s, MODEL_START);
    say(&s, MODEL_STREAM);
    say(&s, MODEL_END);
    say(&s, CHAIN_END);
    end_of_stream(&s);
    expect(&s, "tool. llm. node.end job.end", "exec name index status",
           "llm.start check_and_execute gpt-x - -\n"
           "llm.delta check_and_execute gpt-x 0 -\n"
           "llm.end check_and_execute gpt-x - ok\n"
           "tool.start check_and_execute bing_search - -\n"
           "tool.end check_and_execute bing_search - error\n"
           "tool.start check_and_execute bing_search - -\n"
           "tool.end check_and_execute bing_search - ok\n"
           "llm.start check_and_execute gpt-x - -\n"
           "llm.delta check_and_execute gpt-x 0 -\n"
           "llm.end check_and_execute gpt-x - ok\n"
           "node.end check_and_execute plan_and_execute - ok\n"
           "job.end - - - succeeded\n");
    done(&s);
}

static void two_calls_of_a_tool_at_once_are_two(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, TOOL_START);
    say(&s, TOOL_START);
    say(&s, TOOL_ERROR);
    say(&s, TOOL_END);
    say(&s, CHAIN_END);
    end_of_stream(&s);
    expect(&s, "tool. job.end", "status",
           "tool.start -\ntool.start -\ntool.end error\ntool.end ok\njob.end succeeded\n");
    done(&s);
}

#define AGAIN "efab6e2d-8e55-8373-99a5-8fe34146382e" /* made up, and always the same */

/* The second visit has an agent id of its own, and all that says `check_and_execute` is it. */
static void a_node_that_is_visited_again_is_a_new_agent(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, CHAIN_END);
    say(&s, CHAIN_START);
    say(&s, TOOL_START);
    say(&s, "{'event':'on_chat_model_stream','run_id':'run-abc123','data':{'model':'gpt-x',"
            "'node_id':'check_and_execute','chunk':'a'}}");
    say(&s, TOOL_END);
    say(&s, CHAIN_END);
    say(&s, CHAIN_END); /* of no visit */
    end_of_stream(&s);
    expect(&s, "node. tool. llm.delta job.end", "exec parent status",
           "node.start check_and_execute - -\n"
           "node.end check_and_execute - ok\n"
           "node.start " AGAIN " - -\n"
           "tool.start " AGAIN " " AGAIN " -\n"
           "llm.delta " AGAIN " " AGAIN " -\n"
           "tool.end " AGAIN " " AGAIN " ok\n"
           "node.end " AGAIN " - ok\n"
           "job.end - - succeeded\n");
    done(&s);
}

/* --- 004: native events --------------------------------------------------------------- */

/* Section "Event Structure", and its sisters. */
#define NATIVE(type, id, name, data)                                                         \
    "{'type':'" type "','id':'" id "','name':'" name "','timestamp':'2026-02-16T10:30:00Z'," \
    "'data':" data ",'metadata':{}}"
#define SAMPLE                                           \
    NATIVE("tool.start", "uuid-v4", "tavily_web_search", \
           "{'input':{'query':'renewable energy GDP impact'},'output':null}")

static void the_sample_of_004_belongs_to_the_workflow_that_runs(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, NATIVE("workflow.start", "w1", "researcher", "{'input':'q'}"));
    say(&s, NATIVE("llm.start", "l1", "gpt-x", "{'input':null,'output':null}"));
    say(&s, NATIVE("llm.chunk", "l1", "gpt-x", "{'chunk':'Hel'}"));
    say(&s, NATIVE("llm.end", "l1", "gpt-x", "{'input':null,'output':null}"));
    say(&s, SAMPLE);
    say(&s, NATIVE("tool.end", "uuid-v4", "tavily_web_search", "{'output':'a text'}"));
    say(&s, NATIVE("workflow.end", "w1", "researcher", "{'output':null}"));
    end_of_stream(&s);
    expect_frames(&s, VIEW_AGENT, "agent. job.",
                  "{'type':'agent.spawned','agent_id':'w1','agent_name':'researcher','node':"
                  "'researcher'}\n"
                  "{'type':'agent.token','agent_id':'w1','token':'Hel'}\n"
                  "{'type':'agent.tool_call','agent_id':'w1','tool_name':'tavily_web_search',"
                  "'input_preview':'{\\'query\\':\\'renewable energy GDP impact\\'}'}\n"
                  "{'type':'agent.tool_result','agent_id':'w1','tool_name':"
                  "'tavily_web_search','result_summary':'a text'}\n"
                  "{'type':'agent.done','agent_id':'w1','node':'researcher','elapsed_ms':60}\n"
                  "{'type':'job.done'}\n");
    expect(&s, "artifact", "data", ""); /* a tool's output is not the report */
    done(&s);
}

static void a_tool_outside_of_workflows_decides_nothing(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, SAMPLE);
    say(&s, NATIVE("tool.end", "uuid-v4", "tavily_web_search",
                   "{'output':null,'error':'HTTP 429 Too Many Requests'}"));
    end_of_stream(&s);
    expect(&s, "tool.end artifact job.end", "root status",
           "tool.end - error\njob.end - succeeded\n");
    done(&s);
}

static void an_agent_that_is_named_and_unknown_is_nobody_elses(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, NATIVE("workflow.start", "w1", "researcher", "{'input':'q'}"));
    say(&s,
        "{'type':'tool.start','id':'t1','name':'web','data':{},'metadata':{'agent_id':'w9'}}");
    expect(&s, "tool.start", "exec parent", "tool.start - w9\n");
    done(&s);
}

/* --- the metadata of `messages` ------------------------------------------------------- */

#define TUPLE(text, id, meta)                                                      \
    "[{'content':'" text "','additional_kwargs':{},'response_metadata':{},'type':" \
    "'AIMessageChunk','id':'" id "','tool_calls':[],'invalid_tool_calls':[],"      \
    "'tool_call_chunks':[]}," meta "]\n"

/* Section 5 of document 000, and 004's sample; metadata that is there stays. */
static void messages_name_the_node_that_is_known(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, "{'type':'agent.spawned','agent_id':'a1','agent_name':'critic','node':'critic'}");
    say(&s, "{'type':'llm.chunk','id':'l1','name':'gpt-x','data':{'chunk':'a'},'metadata':{}}");
    say(&s, "{'type':'llm.chunk','id':'l1','name':'gpt-x','data':{'chunk':'b'},"
            "'metadata':{'agent_id':'a1','n':1}}");
    say(&s, "{'type':'llm.chunk','id':'l1','name':'gpt-x','data':{'chunk':'c'},"
            "'metadata':{'langgraph_node':'critic'}}");
    say(&s, "{'type':'agent.done','agent_id':'a1','node':'critic'}");
    say(&s, "{'type':'llm.chunk','id':'l4','name':'gpt-x','data':{'chunk':'d'},'metadata':{}}");
    expect_frames(&s, VIEW_MESSAGES, "messages",
                  TUPLE("a", "lc_run--l1", "{'langgraph_node':'critic'}") TUPLE(
                      "b", "lc_run--l1", "{'langgraph_node':'critic','agent_id':'a1','n':1}")
                      TUPLE("c", "lc_run--l1", "{'langgraph_node':'critic'}")
                          TUPLE("d", "lc_run--l4", "{}"));
    done(&s);
}

/* --- the report ----------------------------------------------------------------------- */

#define REPORT(text) \
    "artifact {'type':'output','content':'" text "','output_category':'final_report'}\n"

static void reports_are(struct scene *s, const char *expected)
{
    end_of_stream(s);
    expect(s, "artifact", "data", expected);
    done(s);
}

static void the_result_of_001_is_the_report(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, TOOL_START);
    say(&s, TOOL_END);
    say(&s, CHAIN_END);
    reports_are(&s, REPORT("Suyab"));
}

static void the_output_of_the_last_workflow_is_the_report(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, NATIVE("workflow.start", "w1", "planner", "{'input':'q'}"));
    say(&s, NATIVE("workflow.end", "w1", "planner", "{'output':'a plan'}"));
    say(&s, NATIVE("workflow.start", "w2", "writer", "{'input':'q'}"));
    say(&s, NATIVE("tool.start", "t1", "web", "{'input':{}}"));
    say(&s, NATIVE("tool.end", "t1", "web", "{'output':'a page'}"));
    say(&s, NATIVE("workflow.end", "w2", "writer", "{'output':'The report.'}"));
    say(&s, NATIVE("workflow.start", "w3", "cleaner", "{'input':null}"));
    say(&s, NATIVE("workflow.end", "w3", "cleaner", "{'output':{'n':1}}"));
    reports_are(&s, REPORT("The report."));
}

static void a_workflows_end_alone_is_enough(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, NATIVE("workflow.end", "w1", "writer", "{'output':'All of it.'}"));
    say(&s, NATIVE("workflow.end", "w1", "writer", "{'output':'again'}"));
    expect(&s, "node.", "run name status", "node.start w1 writer -\nnode.end w1 writer ok\n");
    reports_are(&s, REPORT("All of it."));
}

static void nor_does_it_need_an_id(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, "{'type':'workflow.end','data':{'output':'All of it.'}}");
    reports_are(&s, REPORT("All of it."));
}

static void a_chains_end_alone_is_enough(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_END);
    reports_are(&s, REPORT("Suyab"));
}

static void a_models_end_alone_has_its_text(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, CHAIN_START);
    say(&s, MODEL_END); /* without a text it says nothing */
    say(&s, "{'event':'on_chat_model_end','run_id':'run-abc123','data':{'model':'gpt-x',"
            "'final_text':'Suyab','error':null,'duration_ms':900}}");
    expect(&s, "llm.", "exec text",
           "llm.start check_and_execute -\n"
           "llm.delta check_and_execute Suyab\n"
           "llm.end check_and_execute Suyab\n");
    done(&s);
}

static void a_workflow_that_failed_reports_nothing(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, NATIVE("workflow.start", "w1", "writer", "{'input':'q'}"));
    say(&s, NATIVE("workflow.end", "w1", "writer", "{'output':'half','error':'cut off'}"));
    reports_are(&s, "");
}

/* With its members in another order than ours. */
static void a_report_that_the_worker_sent_is_the_report(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, NATIVE("workflow.start", "w1", "writer", "{'input':'q'}"));
    say(&s, NATIVE("artifact.update", "a1", "report",
                   "{'output_category':'final_report','type':'output','content':'sent'}"));
    say(&s, NATIVE("workflow.end", "w1", "writer", "{'output':'Done.'}"));
    reports_are(&s, "artifact {'output_category':'final_report','type':'output','content':"
                    "'sent'}\n");
}

static void an_output_that_the_worker_gave_at_the_end_goes_first(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, NATIVE("workflow.start", "w1", "writer", "{'input':'q'}"));
    say(&s, NATIVE("workflow.end", "w1", "writer", "{'output':'Done.'}"));
    say(&s, "{'type':'job.done','output':{'report':'R'}}");
    reports_are(&s, REPORT("R"));
}

/* Stream parts alone: what a graph's events would give. */
static void the_last_update_may_have_the_report(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, "['updates',{'planner':{'plan':'p'}}]");
    say(&s,
        "['updates',{'writer':{'messages':[{'type':'ai','id':'m1','content':'An answer'}]}}]");
    reports_are(&s, REPORT("An answer"));
}

static void a_large_output_of_a_workflow_is_stored_whole(void **state)
{
    struct scene s;

    (void)state;
    begin_with(&s, (struct play_options){ .agent = STR("any"), .field_limit = 16 });
    say(&s, NATIVE("workflow.start", "w1", "writer", "{'input':'q'}"));
    say(&s, NATIVE("workflow.end", "w1", "writer", "{'output':'longer than the limit'}"));
    reports_are(&s, REPORT("longer than the limit"));
}

/* --- 000 and plain events ------------------------------------------------------------- */

/* Section 2 lists langgraph_node and langgraph_step for tools, and no namespace. */
static void a_node_without_a_namespace_is_the_newest_of_that_name(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, "{'event':'on_chain_start','name':'writer','run_id':'w1','tags':[],"
            "'metadata':{'langgraph_node':'writer','langgraph_step':1},'data':{'input':{}}}");
    say(&s, "{'event':'on_chain_start','name':'critic','run_id':'c1','tags':[],"
            "'metadata':{'langgraph_node':'critic','langgraph_step':1},'data':{'input':{}}}");
    say(&s, "{'event':'on_tool_start','name':'web','run_id':'t1','tags':[],"
            "'metadata':{'langgraph_node':'writer','langgraph_step':1},'data':{'input':{}}}");
    say(&s, "{'event':'on_tool_start','name':'web','run_id':'t2','tags':[],"
            "'metadata':{'langgraph_node':'other','langgraph_step':1},'data':{'input':{}}}");
    expect(&s, "tool.start", "run exec", "tool.start t1 w1\ntool.start t2 -\n");
    done(&s);
}

/* Section 3: both come from one on_chain_end; nothing says which is sent first. */
static void a_node_that_is_complete_before_it_is_done_keeps_its_step(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, "{'type':'agent.spawned','agent_id':'a1','agent_name':'critic','node':'critic'}");
    say(&s, "{'type':'graph.node_complete','node':'critic','step':4}");
    say(&s, "{'type':'agent.done','agent_id':'a1','node':'critic'}");
    say(&s, "{'type':'job.done'}");
    expect_frames(&s, VIEW_AGENT, "agent.done graph. job.",
                  "{'type':'agent.done','agent_id':'a1','node':'critic','elapsed_ms':10}\n"
                  "{'type':'graph.node_complete','node':'critic','step':4}\n"
                  "{'type':'job.done'}\n");
    done(&s);
}

/* Section 6: _handle_chain_end sends it of the graph, which has no langgraph_node. */
static void a_graph_that_is_complete_is_no_node(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, "{'type':'graph.node_complete','node':'critic','step':1}");
    say(&s, "{'type':'graph.node_complete','node':'','step':null}");
    say(&s, "{'type':'job.done'}");
    expect(&s, "node. job.end", "name", "node.start critic\nnode.end critic\njob.end -\n");
    done(&s);
}

/* Section 7: `if "__interrupt__" in event`, and what a worker prints then. */
static void a_bare_interrupt_is_a_question(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s,
        "{'__interrupt__':[{'value':{'question':'Which one?','context':'two pools'},'id':'q1'}]}");
    end_of_stream(&s);
    assert_int_equal(s.play.n_bad, 0);
    expect(&s, "job. state.", "id question context",
           "job.start - - -\njob.interrupt q1 Which one? two pools\n");
    done(&s);
}

/* What graph.invoke returns when it stops at a question. */
static void a_state_with_an_interrupt_is_both(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    say(&s, "{'n':1,'__interrupt__':[{'value':'Which one?','id':'q1'}]}");
    end_of_stream(&s);
    assert_int_equal(s.play.n_bad, 0);
    expect(&s, "job. state. node.", "id data",
           "job.start - -\n"
           "state.values - {'n':1,'__interrupt__':[{'value':'Which one?','id':'q1'}]}\n"
           "job.interrupt q1 Which one?\n");
    done(&s);
}

static void a_run_without_a_node_belongs_to_the_newest_execution(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    root_starts(&s, "root");
    tool_starts(&s, nowhere, "before", "t0", "{}");
    node_starts(&s, writer, "w1");
    tool_starts(&s, nowhere, "web", "t1", "{}");
    event(&s, "on_tool_error", "web", "t1", nowhere, "{'error':'HTTP 429','input':{}}");
    node_ends(&s, writer, "w1", "{}");
    tool_ends(&s, nowhere, "before", "t0", "'a text'");
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    expect(&s, "tool. artifact job.end", "run exec status",
           "tool.start t0 - -\n"
           "tool.start t1 w1 -\n"
           "tool.end t1 w1 error\n"
           "tool.end t0 - ok\n"
           "job.end - - succeeded\n");
    done(&s);
}

/* A graph that is called beside another one is not a part of that one's node. */
static void a_second_graph_is_not_inside_of_a_node(void **state)
{
    struct scene s;

    (void)state;
    begin_any(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    root_starts(&s, "another");
    expect(&s, "run.start", "run exec root", "run.start root - true\nrun.start another - -\n");
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_001_are_a_job_that_succeeds),
        cmocka_unit_test(a_tool_error_that_was_handled_is_not_the_jobs),
        cmocka_unit_test(a_tool_that_failed_after_the_last_node_is_not_the_jobs_end),
        cmocka_unit_test(names_for_ids_may_come_again),
        cmocka_unit_test(two_calls_of_a_tool_at_once_are_two),
        cmocka_unit_test(a_node_that_is_visited_again_is_a_new_agent),
        cmocka_unit_test(the_sample_of_004_belongs_to_the_workflow_that_runs),
        cmocka_unit_test(a_tool_outside_of_workflows_decides_nothing),
        cmocka_unit_test(an_agent_that_is_named_and_unknown_is_nobody_elses),
        cmocka_unit_test(messages_name_the_node_that_is_known),
        cmocka_unit_test(the_result_of_001_is_the_report),
        cmocka_unit_test(the_output_of_the_last_workflow_is_the_report),
        cmocka_unit_test(a_workflows_end_alone_is_enough),
        cmocka_unit_test(nor_does_it_need_an_id),
        cmocka_unit_test(a_chains_end_alone_is_enough),
        cmocka_unit_test(a_models_end_alone_has_its_text),
        cmocka_unit_test(a_workflow_that_failed_reports_nothing),
        cmocka_unit_test(a_report_that_the_worker_sent_is_the_report),
        cmocka_unit_test(an_output_that_the_worker_gave_at_the_end_goes_first),
        cmocka_unit_test(the_last_update_may_have_the_report),
        cmocka_unit_test(a_large_output_of_a_workflow_is_stored_whole),
        cmocka_unit_test(a_node_without_a_namespace_is_the_newest_of_that_name),
        cmocka_unit_test(a_node_that_is_complete_before_it_is_done_keeps_its_step),
        cmocka_unit_test(a_graph_that_is_complete_is_no_node),
        cmocka_unit_test(a_bare_interrupt_is_a_question),
        cmocka_unit_test(a_state_with_an_interrupt_is_both),
        cmocka_unit_test(a_run_without_a_node_belongs_to_the_newest_execution),
        cmocka_unit_test(a_second_graph_is_not_inside_of_a_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
