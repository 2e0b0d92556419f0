/* An event is a template; `$x` in it is a value of alphabet x, which may have such places
 * itself. The first byte of an event chooses the template, the second one the flaw, the last
 * one whether a rare event may happen; each of the others is for one place. */
#include "support/sequence.h"

#include <string.h>

/* Written as quoted_text() takes it: ' is ", and ` is '. */
static const struct alphabet {
    char letter;
    const char *value[16];
} alphabets[] = {
    /* runs, agents and tasks */
    { 'r', { "'r1'", "'r2'", "'r3'", "'r4'", "'r5'", "'job-1'" } },
    { 'p', { "'r1'", "'r2'", "'r3'", "'r4'", "null" } },
    { 'P',
      { "[]", "['r1']", "['r2']", "['r1','r2']", "['r1','r3']", "['r2','r1','r4']",
        "['r1',7]" } },
    /* nodes, runs' names, tools and types */
    { 'N', { "'a'", "'b'", "'writer'", "'critic'", "'supervisor'", "'__start__'" } },
    { 'n',
      { "'a'", "'b'", "'writer'", "'LangGraph'", "'report'", "'tavily_search'", "'write_todos'",
        "'write_file'" } },
    { 'Y',
      { "chain", "chain", "chain", "chat_model", "chat_model", "llm", "tool", "tool",
        "retriever", "prompt", "parser" } },
    { 'S', { "1", "2", "'1'", "null" } },
    { 's', { "'report'", "'x'", "'ticket_draft'", "null" } },
    /* where in a graph */
    { 'a',
      { "[]", "['a:1']", "['a:2']", "['b:1']", "['writer:r1']", "['a:1','b:1']",
        "['writer:r1','report:2']", "'a:1'", "null" } },
    { 'z',
      { "'a:1'", "'a:2'", "'b:1'", "'writer:r1'", "'a:1|b:1'", "'writer:r1|report:2'", "''" } },
    { 'm',
      { "{}", "{'langgraph_node':$N,'langgraph_step':1,'langgraph_checkpoint_ns':$z}",
        "{'langgraph_node':'a','langgraph_step':1,'langgraph_checkpoint_ns':'a:1'}",
        "{'langgraph_node':'writer','langgraph_step':2,'langgraph_checkpoint_ns':$z,'section':$s}",
        "{'langgraph_node':$N,'ls_model_name':'gpt'}" } },
    { 't',
      { "[]", "['graph:step:1']", "['graph:step:2']", "['seq:step:1']", "['retry:attempt:2']",
        "['map:key:report']", "['langsmith:hidden']" } },
    /* what is said */
    { 'x', { "'x'", "'y'", "''", "'\\ud83d'", "'\\ude00'", "'see https://example.org/a'" } },
    { 'M', { "'m1'", "'m2'", "'m3'", "null" } },
    { 'k', { "'c1'", "'c2'", "null" } },
    { 'C', { "[]", "[{'name':$n,'args':'{}','id':$k,'index':0,'type':'tool_call_chunk'}]" } },
    { 'c',
      { "{'type':'AIMessageChunk','id':$M,'content':$x,'tool_call_chunks':$C}",
        "{'type':'AIMessageChunk','id':$M,'content':$x,'response_metadata':{'finish_reason':'stop'}}",
        "{'type':'AIMessageChunk','id':$M,'content':[{'type':'text','text':$x}]}",
        "{'type':'ai','id':$M,'content':$x,'tool_calls':[{'name':$n,'args':{},'id':$k}]}",
        "{'type':'tool','id':$M,'content':$x,'tool_call_id':$k,'name':$n}",
        "{'type':'human','id':$M,'content':$x}", "null", "'content=`hi` id=`m1`'",
        "{$N:$o}" } },
    { 'o',
      { "{}", "null", "$x", "{'messages':[$g]}", "{'messages':[$g,$g]}", "$g", "{'report':$x}",
        "{'update':{'messages':[$g]},'goto':$N}", "[]", "{'__interrupt__':$Q}" } },
    { 'g',
      { "{'type':'ai','id':$M,'content':$x}",
        "{'type':'ai','id':$M,'content':$x,'tool_calls':[{'name':$n,'args':{'q':1},'id':$k}]}",
        "{'type':'tool','id':$M,'content':$x,'tool_call_id':$k,'name':$n}",
        "{'type':'human','id':$M,'content':$x}",
        "'content=`hi` additional_kwargs={} id=`m1`'" } },
    { 'i',
      { "{}", "null", "{'messages':[$g]}", "{'messages':[[$g]]}", "{'todos':[{'content':'t'}]}",
        "{'content':$x,'file_path':'f'}", "$x" } },
    { 'd',
      { "{}", "$x", "{'percent':7,'message':$x}", "{'type':'output','content':$x}",
        "{'type':'file','content':$x,'file_path':'f'}", "[1]", "null" } },
    { 'e',
      { "$x", "{'message':$x}", "{'error':'ValueError','message':$x}",
        "{'error':'GraphInterrupt','message':$x}", "{'error':'ParentCommand','message':$x}",
        "'(Interrupt(value=1, id=`i1`),)'", "'cancelled'", "null" } },
    /* questions */
    { 'I', { "'i1'", "'i2'", "null" } },
    { 'q', { "{'question':'Q?','context':'C'}", "'Q?'", "null", "{'kind':'pause'}" } },
    { 'Q',
      { "[]", "[{'id':$I,'value':$q}]", "[{'id':'i1','value':$q},{'value':$q}]",
        "['Interrupt(value=1, id=`i2`)']", "{'value':$q}", "null" } },
    { 'w', { "'ok'", "'error'", "'cancelled'", "'interrupted'", "'retried'", "null" } },
};

static const char *const templates[] = {
    /* astream_events, of Python and of JavaScript */
    "{'event':'on_$Y_start','run_id':$r,'name':$n,'tags':$t,'metadata':$m,'data':{'input':$i},'parent_ids':$P}",
    "{'event':'on_$Y_start','run_id':$r,'name':$n,'tags':$t,'metadata':$m,'data':{'input':$i}}",
    "{'event':'on_chain_start','run_id':$r,'name':'a','tags':['graph:step:1'],'metadata':{'langgraph_node':'a','langgraph_step':1,'langgraph_checkpoint_ns':$z},'data':{'input':$i}}",
    "{'event':'on_chain_start','run_id':$r,'name':'writer','tags':$t,'metadata':{'langgraph_node':'writer','langgraph_step':1,'langgraph_checkpoint_ns':$z},'data':{},'parent_ids':$P}",
    "{'event':'on_chain_start','run_id':$r,'name':'LangGraph','tags':[],'metadata':{},'data':{'input':{}}}",
    "{'event':'on_$Y_stream','run_id':$r,'name':$n,'tags':$t,'metadata':$m,'data':{'chunk':$c},'parent_ids':$P}",
    "{'event':'on_chat_model_stream','run_id':$r,'name':$n,'tags':[],'metadata':$m,'data':{'chunk':$c}}",
    "{'event':'on_chain_stream','run_id':$r,'name':'LangGraph','tags':[],'metadata':{},'data':{'chunk':{'__interrupt__':$Q}}}",
    "{'event':'on_chain_stream','run_id':$r,'name':'LangGraph','tags':[],'metadata':{},'data':{'chunk':['updates',{$N:$o}]}}",
    "{'event':'on_chain_stream','run_id':$r,'name':'LangGraph','tags':[],'metadata':{},'data':{'chunk':[$a,'values',$o]}}",
    "{'event':'on_chain_stream','run_id':$r,'name':'LangGraph','tags':[],'metadata':{},'data':{'chunk':[$a,'messages',[$c,$m]]}}",
    "{'event':'on_$Y_end','run_id':$r,'name':$n,'tags':$t,'metadata':$m,'data':{'output':$o},'parent_ids':$P}",
    "{'event':'on_$Y_end','run_id':$r,'name':$n,'tags':[],'metadata':{},'data':{'output':$o,'input':$i}}",
    "{'event':'on_tool_error','run_id':$r,'name':$n,'tags':[],'metadata':$m,'data':{'error':$e,'tool_call_id':$k}}",
    "{'event':'on_custom_event','run_id':$r,'name':'progress','tags':[],'metadata':$m,'data':$d}",
    "{'event':'on_custom_event','run_id':$r,'name':$n,'tags':[],'metadata':$m,'data':$d}",
    /* a graph from beginning to end, so that this is not rarer than what is odd */
    "{'event':'on_chain_start','run_id':'r1','name':'LangGraph','tags':[],'metadata':{},'data':{'input':{}}}",
    "{'event':'on_chain_start','run_id':$r,'name':$N,'tags':['graph:step:1'],'metadata':{'langgraph_node':$N,'langgraph_step':1,'langgraph_checkpoint_ns':$z},'data':{},'parent_ids':['r1']}",
    "{'event':'on_chain_start','run_id':'r2','name':'a','tags':['graph:step:1'],'metadata':{'langgraph_node':'a','langgraph_step':1,'langgraph_checkpoint_ns':'a:1'},'data':{},'parent_ids':['r1']}",
    "{'event':'on_chat_model_start','run_id':$r,'name':'chat','tags':[],'metadata':{'langgraph_node':'a','langgraph_step':1,'langgraph_checkpoint_ns':'a:1'},'data':{},'parent_ids':['r1','r2']}",
    "{'event':'on_chain_stream','run_id':'r1','name':'LangGraph','tags':[],'metadata':{},'data':{'chunk':{$N:$o}}}",
    "{'event':'on_chain_stream','run_id':'r1','name':'LangGraph','tags':[],'metadata':{},'data':{'chunk':['updates',{$N:$o,$N:$o}]}}",
    "{'event':'on_chain_end','run_id':'r2','name':'a','tags':[],'metadata':{},'data':{'output':$o}}",
    "{'event':'on_chain_end','run_id':'r1','name':'LangGraph','tags':[],'metadata':{},'data':{'output':$o}}",
    /* callbacks */
    "{'method':'on_$Y_start','args':[{'name':$n},$i],'kwargs':{'run_id':$r,'parent_run_id':$p,'tags':$t,'metadata':$m}}",
    "{'method':'on_$Y_start','args':[{'name':$n},$i],'kwargs':{'run_id':$r,'parent_run_id':null,'name':$n}}",
    "{'method':'on_$Y_end','args':[$o],'kwargs':{'run_id':$r,'parent_run_id':$p}}",
    "{'method':'on_$Y_error','args':[$e],'kwargs':{'run_id':$r,'parent_run_id':$p}}",
    "{'method':'on_llm_new_token','args':[$x],'kwargs':{'run_id':$r,'parent_run_id':$p,'chunk':$c}}",
    "{'method':'on_custom_event','args':[$n,$d],'kwargs':{'run_id':$r}}",
    "{'method':'on_retry','args':[$d],'kwargs':{'run_id':$r}}",
    "{'event':'$Y/start','run_id':$r,'parent_run_id':$p,'name':$n,'inputs':$i}",
    "{'event':'$Y/end','run_id':$r,'parent_run_id':$p,'outputs':$o}",
    /* the envelope */
    "{'event':'on_chain_start','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'node':$N,'chain_name':$n,'input':$i,'section':$s}}",
    "{'event':'on_chain_start','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'chain_name':$N}}",
    "{'event':'on_chain_stream','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'node':$N,'chunk':$c}}",
    "{'event':'on_chain_end','timestamp':'t','run_id':'job-2','data':{'node_id':$r,'node':$N,'output':$o,'error':null}}",
    "{'event':'on_chain_end','timestamp':'t','run_id':'job-2','data':{'node_id':$r,'error':$e}}",
    "{'event':'on_chat_model_start','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'model':$n,'input':$i,'model_version':$x,'prompt_id':$x,'message_count':$S}}",
    "{'event':'on_chat_model_stream','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'model':$n,'chunk':$x,'message_id':$M}}",
    "{'event':'on_chat_model_stream','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'model':$n,'model_run_id':$r,'chunk':$x,'tool_call_chunks':$C}}",
    "{'event':'on_chat_model_end','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'model':$n,'final_text':$x,'usage':{},'error':null}}",
    "{'event':'on_chat_model_end','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'model':$n,'model_run_id':$r,'error':$e}}",
    "{'event':'on_tool_start','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'tool_id':$r,'tool_name':$n,'input':$i,'tool_call_id':$k}}",
    "{'event':'on_tool_stream','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'tool_id':$r,'chunk':$d}}",
    "{'event':'on_tool_end','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'tool_id':$r,'tool_name':$n,'result':$o,'error':$e}}",
    "{'event':'on_progress','timestamp':'t','run_id':'job-1','data':{'node_id':$r,'percent':5,'message':$x}}",
    "{'event':'on_interrupt','timestamp':'t','run_id':'job-1','data':{'interrupt_id':$I,'value':$q}}",
    "{'event':'on_resume','timestamp':'t','run_id':'job-1','data':{'interrupt_ids':[$I]}}",
    /* stream modes */
    "{'namespace':$a,'mode':'values','payload':$o}",
    "{'namespace':$a,'mode':'updates','payload':{$N:$o}}",
    "['updates',{$N:$o,'__interrupt__':$Q}]",
    "['updates',{$N:$o,$N:$o}]",
    "['values',{'__interrupt__':$Q,'messages':[$g]}]",
    "['messages',[$c,$m]]",
    "[$a,'messages',[$c,$m]]",
    "{'type':'messages','ns':$a,'data':[$c,$m]}",
    "['tasks',{'id':$r,'name':$N,'input':$i,'triggers':[]}]",
    "['tasks',{'id':$r,'name':$N,'result':$o,'interrupts':$Q,'error':null}]",
    "[$a,'tasks',{'id':$r,'name':$N,'error':$e}]",
    "[$a,'checkpoints',{'metadata':{'step':$S},'values':$o,'next':[],'tasks':[]}]",
    "[$a,'tools',{'event':'tool-started','tool_call_id':$k,'tool_name':$n,'input':$i}]",
    "[$a,'tools',{'event':'on_tool_start','toolCallId':$k,'name':$n,'input':'{}'}]",
    "[$a,'tools',{'event':'tool-finished','tool_call_id':$k,'output':$o}]",
    "[$a,'tools',{'event':'on_tool_error','toolCallId':$k,'name':$n,'error':$e}]",
    "[$a,'tools',{'event':'tool-output-delta','tool_call_id':$k,'delta':$x}]",
    "['debug',{'type':'task','step':$S,'payload':{'id':$r,'name':$N,'input':$i}}]",
    "['debug',{'type':'task_result','step':$S,'payload':{'id':$r,'name':$N,'result':$o,'interrupts':$Q}}]",
    "[$a,'custom',$d]",
    "[$a,'custom:seen',$d]",
    "[$a,'checkpoints',$d]",
    "{'event':'values','data':$o}",
    "{'__interrupt__':$Q}",
    /* native: of `agent` */
    "{'type':'agent.spawned','agent_id':$r,'agent_name':$n,'node':$N}",
    "{'type':'agent.token','agent_id':$r,'token':$x}",
    "{'type':'agent.tool_call','agent_id':$r,'tool_name':$n,'input_preview':$x,'tool_call_id':$k}",
    "{'type':'agent.tool_result','agent_id':$r,'tool_name':$n,'result_summary':$x,'status':$w}",
    "{'type':'agent.done','agent_id':$r,'node':$N,'elapsed_ms':3,'status':$w}",
    "{'type':'output.token','token':$x,'section':$s}",
    "{'type':'output.section_done','section':$s}",
    "{'type':'graph.node_complete','agent_id':$r,'node':$N,'step':$S}",
    "{'type':'graph.node_complete','node':$N,'step':$S}",
    "{'type':'graph.interrupt','interrupt_id':$I,'question':$x,'context':$d}",
    "{'type':'graph.interrupt','value':$q}",
    "{'type':'graph.paused'}",
    "{'type':'graph.resumed','interrupt_id':$I}",
    /* native: of `aiq` */
    "{'type':'workflow.start','id':$r,'name':$n,'data':{'input':$i},'metadata':{'agent_id':$p,'workflow':$n}}",
    "{'type':'workflow.start','id':$r,'name':$n,'data':{'input':$i},'metadata':{}}",
    "{'type':'workflow.end','id':$r,'name':$n,'data':{'output':$o},'metadata':{'agent_id':$p,'status':$w}}",
    "{'type':'llm.start','id':$r,'name':$n,'data':{'input':$i},'metadata':{'agent_id':$p}}",
    "{'type':'llm.chunk','id':$r,'name':$n,'data':{'chunk':$x},'metadata':{'agent_id':$p}}",
    "{'type':'llm.end','id':$r,'name':$n,'data':{'output':$o},'metadata':{'agent_id':$p,'thinking':$x,'usage':{}}}",
    "{'type':'tool.start','id':$r,'name':$n,'data':{'input':$i,'tool_call_id':$k},'metadata':{'agent_id':$p}}",
    "{'type':'tool.end','id':$r,'name':$n,'data':{'output':$o},'metadata':{'agent_id':$p,'error':$e}}",
    "{'type':'artifact.update','id':$r,'name':$n,'data':$d,'metadata':{'agent_id':$p}}",
    "{'type':'job.update','name':$n,'data':{'message':$x}}",
    "{'type':'job.update','name':'interrupt','data':{'value':$q,'interrupt_id':$I}}",
    "{'type':'job.update','name':'resume','data':{'interrupt_ids':[$I]}}",
    "{'type':'job.status','status':'RUNNING'}",
};

/* What happens once in a job, if at all. */
static const char *const rare[] = {
    "{'type':'job.done','output':$o}",
    "{'type':'job.done','status':'cancelled'}",
    "{'type':'job.failed','error':$e}",
    "{'type':'job.error','data':{'error':$e,'error_type':$x}}",
    "{'type':'job.cancelled','data':{'reason':$x}}",
    "{'type':'job.status','status':'SUCCESS','data':{'output':$o}}",
    "{'type':'job.status','status':'INTERRUPTED'}",
    "{'event':'on_error','timestamp':'t','run_id':'job-1','data':{'message':$e,'phase':$n,'details':$d}}",
    "{'event':'on_chain_end','timestamp':'t','run_id':'job-1','data':{'node_id':'job-1','result':$o,'error':$e}}",
    "{'event':'error','data':{'error':$x,'message':$x}}",
    "!attempt",
    "!attempt",
    "!cancel",
    "!pause",
    "!resume",
};

/* In place of a value; NULL: the member is missing. */
static const char *const flaws[] = {
    NULL,
    "null",
    "7",
    "-1.5e300",
    "true",
    "[]",
    "{}",
    "''",
    "[[{}]]",
    "{'a':{'b':[1]}}",
    "'\\u0000\\n'",
    "'a|b:c|'",
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
};

enum {
    N_TEMPLATES = sizeof(templates) / sizeof(templates[0]),
    N_RARE = sizeof(rare) / sizeof(rare[0]),
    N_FLAWS = sizeof(flaws) / sizeof(flaws[0]),
    RARELY = 8,
    FLAWED = 64, /* of 256 events */
    MAX_DEPTH = 4
};

struct maker {
    struct buf *out;
    const unsigned char *choice; /* SEQUENCE_EVENT of them */
    size_t next;                 /* choice */
    size_t place;                /* how many have been filled */
    size_t member;               /* where the member at hand begins in out */
};

static unsigned char choose(struct maker *m)
{
    unsigned char c = m->choice[2 + m->next % (SEQUENCE_EVENT - 3)];

    /* The later rounds over the same bytes choose differently. */
    return (unsigned char)(c + 3 * (m->next++ / (SEQUENCE_EVENT - 3)));
}

static void put_text(struct maker *m, const char *text, int depth);

static bool put_flaw(struct maker *m)
{
    unsigned char flaw = m->choice[1];
    bool is_member = m->out->n > 0 && m->out->p[m->out->n - 1] == ':';

    if (m->place++ != flaw % 8 || flaw >= FLAWED || !is_member)
        return false;
    const char *value = flaws[(flaw / 8 + m->choice[2]) % N_FLAWS];
    if (value == NULL)
        buf_cut(m->out, m->member);
    put_text(m, value != NULL ? value : "'_':0", MAX_DEPTH);
    return true;
}

static void put_place(struct maker *m, char letter, int depth)
{
    size_t i = 0, n = 0;

    if (put_flaw(m))
        return;
    while (alphabets[i].letter != letter)
        i++;
    while (n < 16 && alphabets[i].value[n] != NULL)
        n++;
    /* Deep inside, the first value, which has no places. */
    put_text(m, depth < MAX_DEPTH ? alphabets[i].value[choose(m) % n] : "null", depth + 1);
}

static void put_text(struct maker *m, const char *text, int depth)
{
    for (; *text != '\0'; text++) {
        if (*text == '$') {
            put_place(m, *++text, depth);
            continue;
        }
        buf_char(m->out, *text == '\'' ? '"' : *text == '`' ? '\'' : *text);
        if (*text == '{' || *text == ',')
            m->member = m->out->n;
    }
}

static void put_event(struct buf *out, const unsigned char *choice)
{
    struct maker m = { .out = out, .choice = choice, .member = out->n };
    bool rarely = choice[SEQUENCE_EVENT - 1] % RARELY == 0;
    size_t i = choice[0] % (size_t)(N_TEMPLATES + (rarely ? N_RARE : 0));

    put_text(&m, i < N_TEMPLATES ? templates[i] : rare[i - N_TEMPLATES], 0);
    buf_char(out, '\n');
}

void sequence_put(struct buf *out, struct str choices)
{
    for (; choices.n >= SEQUENCE_EVENT; choices = str_skip(choices, SEQUENCE_EVENT))
        put_event(out, (const unsigned char *)choices.p);
}
