/* The fold: parts of stream modes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fold_story.h"

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
           "llm.end u1 4 ab\n"
           "node.end u1 4 -\n");
    done(&s);
}

/* `agent` says the end of an execution twice; only the second word has the step. */
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

/* An agent_id says which execution it is only where it is that of one of the same node. */
static void completions_may_share_an_agent_id(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "{'type':'graph.node_complete','agent_id':'t1','node':'a'}");
    say(&s, "{'type':'graph.node_complete','agent_id':'t1','node':'b'}");
    say(&s, "{'type':'graph.node_complete','agent_id':'t1','node':'a'}"); /* a repeat */
    say(&s, "{'type':'agent.spawned','agent_id':'t2','node':'c'}");
    say(&s, "{'type':'graph.node_complete','agent_id':'t2','node':'d'}");
    say(&s, "{'type':'agent.tool_call','agent_id':'t2','tool_name':'look'}");
    say(&s, "{'type':'tool.start','id':'u1','name':'look','metadata':{'agent_id':'t2'}}");
    say(&s, "{'type':'graph.node_complete','agent_id':'u1','node':'e'}");
    say(&s, "{'type':'agent.done','agent_id':'t2','node':'c'}");
    say(&s, "{'type':'job.done'}");
    expect(&s, "node.start node.end tool.end", "node status",
           "node.start a -\nnode.end a ok\nnode.start b -\nnode.end b ok\n"
           "node.start c -\nnode.start d -\nnode.end d ok\nnode.start e -\nnode.end e ok\n"
           "tool.end c ok\nnode.end c ok\ntool.end c ok\n");
    done(&s);
}

/* Two executions of one node are open: the id tells which of them is complete. */
static void a_completion_with_an_agent_id_ends_that_execution(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "{'type':'agent.spawned','agent_id':'t1','node':'a'}");
    say(&s, "{'type':'agent.spawned','agent_id':'t2','node':'a'}");
    say(&s, "{'type':'graph.node_complete','agent_id':'t1','node':'a'}");
    say(&s, "{'type':'graph.node_complete','agent_id':'t1','node':'a'}"); /* a repeat */
    say(&s, "{'type':'graph.node_complete','node':'a'}");
    expect(&s, "node.", "run status",
           "node.start t1 -\nnode.start t2 -\nnode.end t1 ok\nnode.end t2 ok\n");
    done(&s);
}

/* The id that the fold makes up for a tool call of `agent`, which has none. */
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

static void a_question_names_the_graph_that_asks_and_a_pause_its_place(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "[['sub:1'],'updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]");
    say(&s, "['updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]");
    say(&s, "['values',{'__interrupt__':[]}]");
    expect(&s, "job.interrupt job.paused", "ns open",
           "job.interrupt sub:1 -\njob.paused - []\n");
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
    say(&s, "[['sub:1'],'custom:seen',{}]");
    say(&s, "{'namespace':[],'mode':'custom:a:b','payload':{'__interrupt__':1}}");
    expect(&s, "custom", "id ns data",
           "custom - - {'c':1}\ncustom seen sub:1 {}\ncustom a:b  {'__interrupt__':1}\n");
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

/* --- messages ------------------------------------------------------------------------- */

static void part_of(struct scene *s, const char *message)
{
    say(s,
        "['messages',[%s,{'langgraph_node':'n','langgraph_step':1,"
        "'langgraph_checkpoint_ns':'n:1'}]]",
        message);
}

/* What three calls of pushMessage and one with a RemoveMessage give. */
static void a_message_that_changes_is_sent_again(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    part_of(&s, "{'type':'ai','id':'m1','content':'one'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'two'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'two'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'one'}");
    part_of(&s, "{'type':'remove','id':'m1','content':''}");
    part_of(&s, "{'type':'remove','id':'m1','content':''}");
    expect(&s, "message", "message data",
           "message m1 {'type':'ai','id':'m1','content':'one'}\n"
           "message m1 {'type':'ai','id':'m1','content':'two'}\n"
           "message m1 {'type':'ai','id':'m1','content':'one'}\n"
           "message m1 {'type':'remove','id':'m1','content':''}\n");
    done(&s);
}

static void a_message_that_was_streamed_is_sent_whole_when_it_differs(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    part_of(&s, "{'type':'AIMessageChunk','id':'m1','content':'Hel'}");
    part_of(&s, "{'type':'AIMessageChunk','id':'m1','content':'lo'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'Hello'}");
    say(&s, "['updates',{'n':{'x':1}}]"); /* which ends the model too */
    part_of(&s, "{'type':'ai','id':'m1','content':'Hello'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'Hello!'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'Hello'}");
    expect(&s, "message llm.delta", "text data",
           "llm.delta Hel -\n"
           "llm.delta lo -\n"
           "message - {'type':'ai','id':'m1','content':'Hello!'}\n"
           "message - {'type':'ai','id':'m1','content':'Hello'}\n");
    done(&s);
}

/* Only the beginning of a long text is kept. */
static void a_long_message_that_was_streamed_is_known_again(void **state)
{
    struct scene s;

    (void)state;
    begin_with(&s, (struct play_options){ .field_limit = 8 });
    part_of(&s, "{'type':'AIMessageChunk','id':'m1','content':'12345'}");
    part_of(&s, "{'type':'AIMessageChunk','id':'m1','content':'67890'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'1234567890'}");
    say(&s, "['updates',{'n':{'x':1}}]");
    part_of(&s, "{'type':'ai','id':'m1','content':'1234567890'}");
    part_of(&s, "{'type':'ai','id':'m1','content':'123456789'}");
    expect(&s, "message llm.end", "text data",
           "llm.end 12345678… [10 bytes, over the field limit] -\n"
           "message - {'type':'ai','id':'m1','content':'123456789'}\n");
    done(&s);
}

/* --- the final text ------------------------------------------------------------------- */

static void a_model_that_was_only_streamed_has_its_final_text(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    part_of(&s, "{'type':'AIMessageChunk','id':'m1','content':'Hel'}");
    part_of(&s, "{'type':'AIMessageChunk','id':'m1','content':'lo'}");
    say(&s, "['updates',{'n':{'x':1}}]");
    say(&s, "{'type':'agent.spawned','agent_id':'a1','agent_name':'critic','node':'critic'}");
    say(&s, "{'type':'agent.token','agent_id':'a1','token':'Fi'}");
    say(&s, "{'type':'agent.token','agent_id':'a1','token':'ne'}");
    say(&s, "{'type':'agent.done','agent_id':'a1','node':'critic'}");
    say(&s, "{'type':'llm.start','id':'l1','name':'gpt-x','data':{},'metadata':{}}");
    say(&s, "{'type':'llm.chunk','id':'l1','name':'gpt-x','data':{'chunk':'O'},'metadata':{}}");
    say(&s, "{'type':'llm.chunk','id':'l1','name':'gpt-x','data':{'chunk':'K'},'metadata':{}}");
    say(&s, "{'type':'llm.end','id':'l1','name':'gpt-x','data':{},'metadata':{}}");
    say(&s, "{'event':'on_chat_model_stream','run_id':'r','data':{'model':'m','chunk':'So'}}");
    say(&s,
        "{'event':'on_chat_model_end','run_id':'r','data':{'model':'m','final_text':null}}");
    expect(&s, "llm.end", "text", "llm.end Hello\nllm.end Fine\nllm.end OK\nllm.end So\n");
    done(&s);
}

static void a_model_that_was_cut_off_has_none(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "{'type':'llm.chunk','id':'l1','name':'gpt-x','data':{'chunk':'O'},'metadata':{}}");
    say(&s, "{'type':'llm.end','id':'l1','name':'gpt-x','data':{'error':'cut off'}}");
    part_of(&s, "{'type':'AIMessageChunk','id':'m1','content':'Hel'}");
    assert_int_equal(play_finish(&s.play, JOB_END_FAILED, STR("lost"), s.ms), 0);
    expect(&s, "llm.end", "status text", "llm.end error -\nllm.end error -\n");
    done(&s);
}

/* A subgraph, inside of it a named agent that a tool call has started. */
static void namespaces_begin_and_end(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "[[],'tasks',{'id':'1','name':'sub','input':{}}]");
    say(&s, "[['sub:1'],'values',{'x':1}]");
    say(&s,
        "[['sub:1'],'tasks',{'id':'2','name':'tools','input':[{'id':'call_1','name':'task','args':{}}]}]");
    say(&s, "[['sub:1','tools:2'],'tasks',{'id':'3','name':'model','input':{}}]");
    say(&s, "[['sub:1'],'tasks',{'id':'2','name':'tools','result':{}}]");
    say(&s, "[[],'tasks',{'id':'1','name':'sub','result':{}}]");
    say(&s, "[[],'tasks',{'id':'4','name':'next','input':{}}]");
    expect(&s, "state.tasks", "ns opens call cause closes owes",
           "state.tasks  - - - - -\n"
           "state.tasks sub:1 1 call_1 - - -\n"
           "state.tasks sub:1|tools:2 1 - call_1 - -\n"
           "state.tasks sub:1 - - - [\"sub:1|tools:2\"] -\n"
           "state.tasks  - - - [\"sub:1\"] true\n"
           "state.tasks  - - - [\"sub:1\"] -\n");
    done(&s);
}

static void what_is_open_ends_with_the_job(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "[[],'tasks',{'id':'1','name':'sub','input':{}}]");
    say(&s, "[['sub:1','in:2'],'tasks',{'id':'3','name':'n','input':{}}]");
    end_of_stream(&s);
    expect(&s, "job.end", "open", "job.end [\"sub:1\",\"sub:1|in:2\"]\n");
    done(&s);
}

/* Python's parts say the namespace of the graph, LangGraph.js's that of the node. */
static void the_namespace_of_a_message_depends_on_the_language(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "[[],'messages',[{'type':'AIMessageChunk','id':'m1','content':'a'},"
            "{'langgraph_node':'writer','langgraph_checkpoint_ns':'writer:1'}]]");
    say(&s, "[['critic:2'],'messages',[{'type':'AIMessageChunk','id':'m2','content':'b'},"
            "{'langgraph_node':'critic','langgraph_checkpoint_ns':'critic:2'}]]");
    expect(&s, "llm.start", "ns outer opens",
           "llm.start writer:1 true -\n"
           "llm.start critic:2 - 1\n");
    done(&s);
}

/* Python's parts name the graph that a tool is called in, and not the node. */
static void a_tool_is_inside_of_the_execution_that_called_it(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "['checkpoints',{'metadata':{'step':3}}]");
    say(&s, "['tasks',{'id':'t1','name':'tools','input':{'tool_call':{'id':'c1'}}}]");
    say(&s, "['tasks',{'id':'t2','name':'tools','input':{'tool_call':{'id':'c2'}}}]");
    say(&s,
        "[[],'tools',{'event':'tool-started','tool_call_id':'c1','tool_name':'a','input':{}}]");
    say(&s,
        "[[],'tools',{'event':'tool-started','tool_call_id':'c2','tool_name':'a','input':{}}]");
    say(&s,
        "[[],'tools',{'event':'tool-started','tool_call_id':'c3','tool_name':'b','input':{}}]");
    say(&s,
        "[['tools:t1'],'tools',{'event':'on_tool_start','toolCallId':'c4','name':'b','input':'{}'}]");
    expect(&s, "node. tool.", "exec step call ns outer mirror",
           "node.start t1 4 - tools:t1 - -\n"
           "node.start t2 4 - tools:t2 - -\n"
           "tool.start t1 - c1 tools:t1 true true\n"
           "tool.start t2 - c2 tools:t2 true true\n"
           "tool.start t2 - c3 tools:t2 true true\n"
           "tool.start t1 - c4 tools:t1 - true\n");
    done(&s);
}

static void tools_of_parts_end_as_they_say(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "['tasks',{'id':'t1','name':'tools','input':{}}]");
    say(&s, "[[],'tools',{'event':'tool-started','tool_call_id':'c1','tool_name':'a'}]");
    say(&s, "[[],'tools',{'event':'tool-started','tool_call_id':'c1','tool_name':'a'}]");
    say(&s, "[[],'tools',{'event':'tool-started','tool_call_id':'c2','tool_name':'b'}]");
    say(&s,
        "[['tools:t1'],'tools',{'event':'on_tool_start','toolCallId':'c3','name':'c','input':'{\\\"q\\\":1}'}]");
    say(&s, "[[],'tools',{'event':'tool-output-delta','tool_call_id':'c1','delta':'x'}]");
    say(&s, "[[],'tools',{'event':'tool-finished','tool_call_id':'c1','output':"
            "{'type':'tool','content':'yes','tool_call_id':'c1'}}]");
    say(&s, "[[],'tools',{'event':'tool-finished','tool_call_id':'c1','output':'again'}]");
    say(&s, "[[],'tools',{'event':'tool-error','tool_call_id':'c2','message':'no'}]");
    say(&s, "['tasks',{'id':'t1','name':'tools','result':{},'error':null}]");
    expect(&s, "tool. node.end", "call preview status error tools",
           "tool.start c1 - - - -\n"
           "tool.start c2 - - - -\n"
           "tool.start c3 {\"q\":1} - - -\n"
           "tool.end c1 yes ok - -\n"
           "tool.end c2 no error no -\n"
           "tool.end - - ok - -\n"
           "node.end - - ok - 3\n");
    done(&s);
}

static void events_tell_tools_alone(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s,
        "{'event':'on_chain_start','run_id':'r','name':'LangGraph','data':{},'parent_ids':[]}");
    say(&s, "['tools',{'event':'tool-started','tool_call_id':'c1','tool_name':'a'}]");
    expect(&s, "tool. state.tools", "mirror", "state.tools true\n");
    done(&s);
}

/* LangChain's last chunk is empty, and has an id of its own when the model's have others. */
static void the_last_chunk_belongs_to_the_model_that_streams(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "['messages',[{'type':'AIMessageChunk','id':'m1','content':'a'},"
            "{'langgraph_node':'writer','langgraph_checkpoint_ns':'writer:u1'}]]");
    say(&s,
        "['messages',[{'type':'AIMessageChunk','id':'lc_run--7','content':'','chunk_position':'last'},"
        "{'langgraph_node':'writer','langgraph_checkpoint_ns':'writer:u1'}]]");
    say(&s, "['updates',{'writer':{}}]");
    expect(&s, "node.end llm.start", "llms", "llm.start -\nnode.end 1\n");
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_is_inside_of_the_execution_that_called_it),
        cmocka_unit_test(tools_of_parts_end_as_they_say),
        cmocka_unit_test(events_tell_tools_alone),
        cmocka_unit_test(the_last_chunk_belongs_to_the_model_that_streams),
        cmocka_unit_test(namespaces_begin_and_end),
        cmocka_unit_test(what_is_open_ends_with_the_job),
        cmocka_unit_test(the_namespace_of_a_message_depends_on_the_language),
        cmocka_unit_test(updates_alone_make_executions),
        cmocka_unit_test(the_first_token_of_a_namespace_starts_its_execution),
        cmocka_unit_test(a_node_is_complete_once_with_its_step),
        cmocka_unit_test(completions_may_share_an_agent_id),
        cmocka_unit_test(a_completion_with_an_agent_id_ends_that_execution),
        cmocka_unit_test(a_made_up_id_is_new_in_its_job),
        cmocka_unit_test(tasks_start_and_end_executions),
        cmocka_unit_test(a_task_that_asks_is_interrupted),
        cmocka_unit_test(a_question_names_the_graph_that_asks_and_a_pause_its_place),
        cmocka_unit_test(parts_beside_events_make_no_executions_and_no_tokens),
        cmocka_unit_test(parts_keep_their_namespace),
        cmocka_unit_test(a_message_that_changes_is_sent_again),
        cmocka_unit_test(a_message_that_was_streamed_is_sent_whole_when_it_differs),
        cmocka_unit_test(a_long_message_that_was_streamed_is_known_again),
        cmocka_unit_test(a_model_that_was_only_streamed_has_its_final_text),
        cmocka_unit_test(a_model_that_was_cut_off_has_none),
        cmocka_unit_test(an_event_name_that_is_not_utf8_is_a_bad_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
