/* The dialect envelope, in exact bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"

#define ENVELOPE(event) \
    "57 " event " {'event':'" event "','timestamp':'" TIME "','run_id':'job-1','data':"

static void envelope_says_the_job_as_the_outermost_chain(void **state)
{
    struct record rec = make(REC_JOB_START);

    (void)state;
    expect(
        &dialect_envelope, &rec,
        ENVELOPE("on_chain_start") "{'chain_name':'job','node_id':'job-1','metadata':null}}\n");
    rec.agent = STR("triage");
    rec.job = STR("job-1");
    rec.job_id = STR_NONE;
    expect(
        &dialect_envelope, &rec,
        ENVELOPE(
            "on_chain_start") "{'chain_name':'triage','node_id':'job-1','metadata':null}}\n");
    rec = make(REC_JOB_END);
    rec.status = STR("succeeded");
    rec.outcome = STR("interrupted");
    rec.output = STR("{\"a\":1}");
    rec.elapsed = 9;
    expect(
        &dialect_envelope, &rec,
        ENVELOPE("on_chain_end") "{'node_id':'job-1','node':null,'result':{'a':1},'error':null,"
                                 "'duration_ms':9,'outcome':'interrupted'}}\n");
    rec = make(REC_JOB_END);
    rec.status = STR("cancelled");
    rec.error = STR("cancelled by user");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_chain_end") "{'node_id':'job-1','node':null,'result':null,"
                                    "'error':'cancelled','duration_ms':null}}\n");
    rec.status = STR("failed");
    rec.error = STR("boom");
    expect(
        &dialect_envelope, &rec,
        ENVELOPE("on_chain_end") "{'node_id':'job-1','node':null,'result':null,'error':'boom',"
                                 "'duration_ms':null}}\n");
}

static void envelope_says_errors_questions_and_answers(void **state)
{
    struct record rec = make(REC_JOB_ERROR);

    (void)state;
    rec.phase = STR("worker");
    rec.error = STR("boom");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_error") "{'phase':'worker','message':'boom','details':null}}\n");
    rec.details = STR("{\"url\":\"x\"}");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_error") "{'phase':'worker','message':'boom','details':{'url':'x'}}}\n");
    rec.error_type = STR("ValueError");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_error") "{'phase':'worker','message':'boom',"
                                "'details':{'error_type':'ValueError','url':'x'}}}\n");
    rec.details = STR_NONE;
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_error") "{'phase':'worker','message':'boom',"
                                "'details':{'error_type':'ValueError'}}}\n");
    rec = make(REC_JOB_INTERRUPT);
    rec.id = STR("i1");
    rec.data = STR("\"Go?\"");
    rec.question = STR("\"Go?\"");
    rec.info.exec = STR("run-ask");
    rec.info.node = STR("human_input");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_interrupt") "{'kind':'interrupt','interrupt_id':'i1','value':'Go?',"
                                    "'question':'Go?','context':null,'node_id':'run-ask',"
                                    "'node':'human_input'}}\n");
    rec = make(REC_JOB_PAUSED);
    rec.id = STR("p1");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_interrupt") "{'kind':'pause','interrupt_id':'p1','value':null,"
                                    "'question':null,'context':null}}\n");
    rec = make(REC_JOB_RESUMED);
    rec.resolves = STR("[\"i1\",\"p1\"]");
    expect(&dialect_envelope, &rec, ENVELOPE("on_resume") "{'interrupt_ids':['i1','p1']}}\n");
    rec.resolves = STR_NONE;
    expect(&dialect_envelope, &rec, ENVELOPE("on_resume") "{'interrupt_ids':[]}}\n");
}

static void envelope_says_chains_and_nodes(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(
        &dialect_envelope, &c.root,
        ENVELOPE("on_chain_start") "{'chain_name':'LangGraph','node_id':'run-root','node':null,"
                                   "'metadata':null}}\n");
    expect(&dialect_envelope, &c.node,
           ENVELOPE("on_chain_start") "{'chain_name':'writer','node_id':'run-writer',"
                                      "'node':'writer','metadata':{'langgraph_step':4}}}\n");
    expect(&dialect_envelope, &c.prompt, "");
    struct record chunk = of(&c.node, REC_RUN_STREAM);
    chunk.data = STR("{\"a\":1}");
    expect(
        &dialect_envelope, &chunk,
        ENVELOPE("on_chain_stream") "{'node_id':'run-writer','node':'writer','chunk':{'a':1},"
                                    "'progress':null}}\n");
    chunk.header = &c.prompt;
    expect(&dialect_envelope, &chunk, "");
    struct record end = of(&c.node, REC_NODE_END);
    end.status = STR("ok");
    end.output = STR("[1]");
    end.elapsed = 12;
    expect(&dialect_envelope, &end,
           ENVELOPE("on_chain_end") "{'node_id':'run-writer','node':'writer','result':[1],"
                                    "'error':null,'duration_ms':12}}\n");
    end = of(&c.inner, REC_RUN_END);
    end.status = STR("interrupted");
    expect(&dialect_envelope, &end,
           ENVELOPE("on_chain_end") "{'node_id':'run-inner','node':'writer','result':null,"
                                    "'error':'interrupted','duration_ms':null}}\n");
    end.header = &c.prompt;
    expect(&dialect_envelope, &end, "");
}

static void envelope_says_state_updates_as_chunks(void **state)
{
    struct record rec = make(REC_STATE_UPDATES);

    (void)state;
    rec.data = STR("{\"writer\":{}}");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_chain_stream") "{'node_id':'job-1','node':null,'chunk':{'writer':{}},"
                                       "'progress':null}}\n");
    rec.info.run = STR("run-root");
    expect(
        &dialect_envelope, &rec,
        ENVELOPE("on_chain_stream") "{'node_id':'run-root','node':null,'chunk':{'writer':{}},"
                                    "'progress':null}}\n");
}

static void envelope_says_models(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_envelope, &c.llm,
           ENVELOPE("on_chat_model_start") "{'model':'gpt-x','model_version':null,"
                                           "'prompt_id':null,'model_run_id':'run-llm',"
                                           "'node_id':'run-writer','node':'writer'}}\n");
    expect(&dialect_envelope, &c.completion,
           ENVELOPE("on_chat_model_start") "{'model':'gpt-x','model_version':null,"
                                           "'prompt_id':null,'model_run_id':'run-llm'}}\n");
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    expect(&dialect_envelope, &delta, "");
    delta.text = STR("Hi");
    delta.index = 12;
    expect(&dialect_envelope, &delta,
           ENVELOPE("on_chat_model_stream") "{'model':'gpt-x','chunk':'Hi','token_index':12,"
                                            "'model_run_id':'run-llm','node_id':'run-writer',"
                                            "'node':'writer'}}\n");
    delta.text = STR_NONE;
    delta.reasoning = STR("hm");
    delta.calls = STR("[{\"index\":0}]");
    expect(&dialect_envelope, &delta,
           ENVELOPE("on_chat_model_stream") "{'model':'gpt-x','chunk':'','token_index':12,"
                                            "'model_run_id':'run-llm','node_id':'run-writer',"
                                            "'node':'writer','reasoning':'hm',"
                                            "'tool_call_chunks':[{'index':0}]}}\n");
    delta.mirror = true;
    expect(&dialect_envelope, &delta, "");
    struct record end = of(&c.llm, REC_LLM_END);
    end.status = STR("ok");
    end.text = STR("Hi there");
    end.elapsed = 3;
    expect(
        &dialect_envelope, &end,
        ENVELOPE("on_chat_model_end") "{'model':'gpt-x','final_text':'Hi there','error':null,"
                                      "'duration_ms':3,'model_run_id':'run-llm',"
                                      "'node_id':'run-writer','node':'writer'}}\n");
}

static void envelope_says_tools(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_envelope, &c.tool,
           ENVELOPE("on_tool_start") "{'tool_id':'run-tool','tool_name':'grep',"
                                     "'tool_call_id':'call_1','input':{'pattern':'x'},"
                                     "'node_id':'run-writer','node':'writer'}}\n");
    struct record rec = of(&c.tool, REC_CUSTOM);
    rec.data = STR("\"half\"");
    expect(&dialect_envelope, &rec, "");
    rec.tool = true;
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_tool_stream") "{'tool_id':'run-tool','chunk':'half',"
                                      "'node_id':'run-writer','node':'writer'}}\n");
    rec = of(&c.tool, REC_TOOL_END);
    rec.status = STR("error");
    rec.error = STR("HTTP 429");
    rec.elapsed = 1200;
    expect(
        &dialect_envelope, &rec,
        ENVELOPE("on_tool_end") "{'tool_id':'run-tool','tool_name':'grep','tool_call_id':null,"
                                "'output':null,'error':'HTTP 429','duration_ms':1200,"
                                "'node_id':'run-writer','node':'writer'}}\n");
    rec.status = STR("ok");
    rec.error = STR_NONE;
    rec.output = STR("{\"n\":1.50}");
    rec.call = STR("call_1");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_tool_end") "{'tool_id':'run-tool','tool_name':'grep',"
                                   "'tool_call_id':'call_1','output':{'n':1.50},'error':null,"
                                   "'duration_ms':1200,'node_id':'run-writer',"
                                   "'node':'writer'}}\n");
}

static void envelope_says_progress(void **state)
{
    struct record rec = make(REC_PROGRESS);

    (void)state;
    rec.percent = STR("12.50");
    rec.note = STR("reading");
    expect(&dialect_envelope, &rec,
           ENVELOPE("on_progress") "{'percent':12.50,'message':'reading'}}\n");
}

static void envelope_is_silent_about_the_rest(void **state)
{
    static const enum record_kind kinds[] = {
        REC_JOB_CANCELLED, REC_JOB_CANCEL_REQUESTED,
        REC_JOB_UPDATE,    REC_RUN_INFO,
        REC_LLM_REPEAT,    REC_RETRIEVER_START,
        REC_RETRIEVER_END, REC_STATE_VALUES,
        REC_STATE_TASKS,   REC_STATE_CHECKPOINTS,
        REC_STATE_DEBUG,   REC_MESSAGE,
        REC_SECTION_END,   REC_ARTIFACT,
    };

    (void)state;
    expect_silent(&dialect_envelope, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(envelope_says_the_job_as_the_outermost_chain),
        cmocka_unit_test(envelope_says_errors_questions_and_answers),
        cmocka_unit_test(envelope_says_chains_and_nodes),
        cmocka_unit_test(envelope_says_state_updates_as_chunks),
        cmocka_unit_test(envelope_says_models),
        cmocka_unit_test(envelope_says_tools),
        cmocka_unit_test(envelope_says_progress),
        cmocka_unit_test(envelope_is_silent_about_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
