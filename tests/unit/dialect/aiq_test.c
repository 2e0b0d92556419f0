/* The dialect aiq, in exact bytes. */
#include "dialect/aiq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"

#define AIQ(type, id, name) \
    "57 " type " {'type':'" type "','id':" id ",'name':" name ",'timestamp':'" TIME "'"
#define AIQ_JOB(type, name) AIQ(type, "'job-1:57'", name)
#define IN_WRITER           "'workflow':'writer','agent_id':'run-writer'"

static void aiq_says_workflows(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_aiq, &c.root,
           AIQ("workflow.start", "'run-root'",
               "'LangGraph'") ",'data':{'input':{'q':1},'output':null},"
                              "'metadata':{'workflow':'LangGraph','agent_id':'run-root'}}\n");
    expect(&dialect_aiq, &c.node,
           AIQ("workflow.start", "'run-writer'",
               "'writer'") ",'data':{'input':{'q':2},'output':null},'metadata':{" IN_WRITER
                           "}}\n");
    struct record end = of(&c.node, REC_NODE_END);
    end.status = STR("ok");
    end.output = STR("{\"a\":1}");
    expect(&dialect_aiq, &end,
           AIQ("workflow.end", "'run-writer'",
               "'writer'") ",'data':{'input':null,'output':{'a':1}},"
                           "'metadata':{" IN_WRITER ",'status':'ok'}}\n");
    end = of(&c.root, REC_RUN_END);
    end.status = STR("error");
    end.error = STR("boom");
    expect(
        &dialect_aiq, &end,
        AIQ("workflow.end", "'run-root'",
            "'LangGraph'") ",'data':{'input':null,'output':null},'metadata':{'workflow':'LangGraph',"
                           "'agent_id':'run-root','status':'error','error':'boom'}}\n");
}

static void aiq_is_silent_about_nested_runs(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_aiq, &c.inner, "");
    struct record end = of(&c.inner, REC_RUN_END);
    expect(&dialect_aiq, &end, "");
    c.node.info.top = false;
    expect(&dialect_aiq, &c.node, "");
    end = of(&c.node, REC_NODE_END);
    expect(&dialect_aiq, &end, "");
}

static void aiq_says_model_starts_and_chunks(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_aiq, &c.llm,
           AIQ("llm.start", "'run-llm'", "'gpt-x'") ",'data':null,'metadata':{" IN_WRITER
                                                    ",'message_count':2}}\n");
    expect(&dialect_aiq, &c.completion,
           AIQ("llm.start", "'run-llm'",
               "'gpt-x'") ",'data':null,'metadata':{'prompt_count':2}}\n");
    c.completion.count = RECORD_NO_NUMBER;
    expect(&dialect_aiq, &c.completion,
           AIQ("llm.start", "'run-llm'", "'gpt-x'") ",'data':null,'metadata':{}}\n");
    struct record delta = of(&c.llm, REC_LLM_DELTA);
    expect(&dialect_aiq, &delta, "");
    delta.text = STR("Hi");
    expect(&dialect_aiq, &delta,
           AIQ("llm.chunk", "'run-llm'",
               "'gpt-x'") ",'data':{'chunk':'Hi'},'metadata':{" IN_WRITER "}}\n");
    delta.mirror = true;
    expect(&dialect_aiq, &delta, "");
}

static void aiq_says_model_ends(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    struct record end = of(&c.llm, REC_LLM_END);
    end.status = STR("ok");
    end.text = STR("Hi");
    expect(&dialect_aiq, &end,
           AIQ("llm.end", "'run-llm'", "'gpt-x'") ",'data':null,'metadata':{" IN_WRITER "}}\n");
    end.reasoning = STR("hm");
    end.usage = STR("{\"total_tokens\":3}");
    end.status = STR("cancelled");
    expect(
        &dialect_aiq, &end,
        AIQ("llm.end", "'run-llm'",
            "'gpt-x'") ",'data':null,'metadata':{" IN_WRITER
                       ",'thinking':'hm','usage':{'total_tokens':3},'error':'cancelled'}}\n");
    end.header = &c.completion;
    end.error = STR("boom");
    expect(&dialect_aiq, &end,
           AIQ("llm.end", "'run-llm'",
               "'gpt-x'") ",'data':null,'metadata':{'thinking':'hm','usage':{'total_tokens':3},"
                          "'error':'boom'}}\n");
}

static void aiq_trims_long_thinking_between_code_points(void **state)
{
    static const char trimmed[] = " [Trimmed - check traces for full logs]\"";
    struct frames f;
    struct buf text;
    struct cast c;

    (void)state;
    cast_init(&c);
    buf_init(&text, MAX_BYTES);
    frames_init(&f, MAX_BYTES);
    for (int i = 0; i < 300; i++)
        buf_lit(&text, "\xC3\xA9");
    struct record end = of(&c.llm, REC_LLM_END);
    end.reasoning = buf_text(&text);
    assert_int_equal(dialect_render(&dialect_aiq, &end, &usual, &f), 0);
    size_t whole = f.body.n;
    buf_lit(&text, "\xC3\xA9");
    end.reasoning = buf_text(&text);
    assert_int_equal(dialect_render(&dialect_aiq, &end, &usual, &f), 0);
    assert_int_equal(f.body.n, whole + sizeof(trimmed) - 2);
    buf_char(&f.body, '\0');
    assert_non_null(strstr(f.body.p, trimmed));
    frames_done(&f);
    buf_done(&text);
}

static void aiq_says_tools_and_artifacts(void **state)
{
    struct cast c;

    (void)state;
    cast_init(&c);
    expect(&dialect_aiq, &c.tool,
           AIQ("tool.start", "'run-tool'",
               "'grep'") ",'data':{'input':{'pattern':'x'},'output':null},"
                         "'metadata':{" IN_WRITER ",'tool_call_id':'call_1'}}\n");
    struct record rec = of(&c.tool, REC_TOOL_END);
    rec.output = STR("\"found\"");
    expect(&dialect_aiq, &rec,
           AIQ("tool.end", "'run-tool'",
               "'grep'") ",'data':{'input':null,'output':'found'},'metadata':{" IN_WRITER
                         ",'status':'ok'}}\n");
    c.tool.info.exec = STR_NONE;
    rec.status = STR("error");
    rec.error = STR("boom");
    rec.output = STR_NONE;
    expect(
        &dialect_aiq, &rec,
        AIQ("tool.end", "'run-tool'",
            "'grep'") ",'data':{'input':null,'output':null},'metadata':{'status':'error','error':'boom'}}\n");
    rec = of(&c.node, REC_ARTIFACT);
    rec.title = STR("/a.md");
    rec.data = STR("{\"type\":\"file\",\"content\":\"x\"}");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("artifact.update",
                   "'/a.md'") ",'data':{'type':'file','content':'x'},'metadata':{" IN_WRITER
                              "}}\n");
    rec.header = NULL;
    rec.title = STR_NONE;
    expect(&dialect_aiq, &rec,
           AIQ_JOB("artifact.update",
                   "null") ",'data':{'type':'file','content':'x'},'metadata':{}}\n");
}

static void aiq_says_what_happens_to_the_job(void **state)
{
    struct record rec = make(REC_JOB_UPDATE);

    (void)state;
    rec.text = STR("Retrying");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.update", "'retry'") ",'data':{'output':'Retrying'},'metadata':null}\n");
    rec.title = STR("note");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.update", "'note'") ",'data':{'output':'Retrying'},'metadata':null}\n");
    rec = make(REC_JOB_INTERRUPT);
    rec.id = STR("i1");
    rec.data = STR("{\"question\":\"Go?\"}");
    rec.question = STR("\"Go?\"");
    expect(
        &dialect_aiq, &rec,
        AIQ_JOB(
            "job.update",
            "'interrupt'") ",'data':{'interrupt_id':'i1','value':{'question':'Go?'},'question':'Go?',"
                           "'context':null},'metadata':null}\n");
    rec = make(REC_JOB_PAUSED);
    expect(
        &dialect_aiq, &rec,
        AIQ_JOB(
            "job.update",
            "'pause'") ",'data':{'interrupt_id':null,'value':null,'question':null,'context':null},"
                       "'metadata':null}\n");
    rec = make(REC_JOB_RESUMED);
    rec.resolves = STR("[\"i1\"]");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.update",
                   "'resume'") ",'data':{'interrupt_ids':['i1']},'metadata':null}\n");
    rec = make(REC_JOB_ERROR);
    rec.error = STR("boom");
    rec.error_type = STR("ValueError");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.error",
                   "null") ",'data':{'error':'boom','error_type':'ValueError'},'metadata':null,"
                           "'error':'boom'}\n");
    rec = make(REC_JOB_CANCEL_REQUESTED);
    rec.error = STR("cancelled by user");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.cancellation_requested",
                   "null") ",'data':{'reason':'cancelled by user'},'metadata':null}\n");
    rec.kind = REC_JOB_CANCELLED;
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.cancelled",
                   "null") ",'data':{'reason':'cancelled by user'},'metadata':null}\n");
}

static void aiq_says_how_a_job_ends(void **state)
{
    static const struct variant compat = { .modes = MODE_DEFAULT, .aiq_compat = true };
    struct record rec = make(REC_JOB_END);

    (void)state;
    rec.status = STR("succeeded");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.status", "null") ",'data':null,'metadata':null,'status':'SUCCESS'}\n");
    expect_as(
        &dialect_aiq, &compat, &rec,
        AIQ_JOB("job.status", "null") ",'data':null,'metadata':null,'status':'success'}\n");
    rec.outcome = STR("interrupted");
    expect(
        &dialect_aiq, &rec,
        AIQ_JOB(
            "job.status",
            "null") ",'data':null,'metadata':null,'status':'SUCCESS','outcome':'interrupted'}\n");
    rec = make(REC_JOB_END);
    rec.status = STR("failed");
    rec.error = STR("boom");
    expect(&dialect_aiq, &rec,
           AIQ_JOB("job.status",
                   "null") ",'data':null,'metadata':null,'status':'FAILURE','error':'boom'}\n");
    rec.status = STR("cancelled");
    expect_as(
        &dialect_aiq, &compat, &rec,
        AIQ_JOB(
            "job.status",
            "null") ",'data':null,'metadata':null,'status':'interrupted','error':'boom'}\n");
}

static void aiq_names_every_state(void **state)
{
    static const char *const names[][3] = {
        { "queued", "SUBMITTED", "submitted" }, { "running", "RUNNING", "running" },
        { "waiting", "RUNNING", "running" },    { "succeeded", "SUCCESS", "success" },
        { "failed", "FAILURE", "failure" },     { "cancelled", "INTERRUPTED", "interrupted" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(str_eq(aiq_status(str_of(names[i][0]), false), str_of(names[i][1])));
        assert_true(str_eq(aiq_status(str_of(names[i][0]), true), str_of(names[i][2])));
    }
}

#define AIQ_LOCAL(type) type " {'type':'" type "','id':null,'name':null,'timestamp':'" TIME "'"

static void aiq_says_what_is_made_for_a_connection(void **state)
{
    static const struct variant compat = { .modes = MODE_DEFAULT, .aiq_compat = true };

    (void)state;
    expect_connection(
        &dialect_aiq, &usual,
        (struct connection_frame){ .kind = FRAME_STREAM_MODE, .mode = STR("polling") },
        AIQ_LOCAL("stream.mode") ",'data':null,'metadata':null,'mode':'polling'}\n");
    expect_connection(
        &dialect_aiq, &usual,
        (struct connection_frame){ .kind = FRAME_JOB_STATUS, .state = STR("waiting") },
        AIQ_LOCAL("job.status") ",'data':null,'metadata':null,'status':'RUNNING'}\n");
    expect_connection(
        &dialect_aiq, &compat,
        (struct connection_frame){
            .kind = FRAME_JOB_STATUS, .state = STR("queued"), .reconnected = true },
        AIQ_LOCAL(
            "job.status") ",'data':null,'metadata':null,'status':'submitted','reconnected':true}\n");
    expect_connection(
        &dialect_aiq, &usual,
        (struct connection_frame){ .kind = FRAME_HEARTBEAT, .uptime_seconds = 30 },
        AIQ_LOCAL("job.heartbeat") ",'data':{'uptime_seconds':30},'metadata':null}\n");
    expect_connection(
        &dialect_aiq, &usual,
        (struct connection_frame){ .kind = FRAME_HEARTBEAT,
                                   .uptime_seconds = 30,
                                   .worker = STR("dask tcp://h:1 \"a\"") },
        AIQ_LOCAL("job.heartbeat") ",'data':{'uptime_seconds':30,'worker':'dask tcp://h:1 "
                                   "\\\"a\\\"'},'metadata':null}\n");
    expect_connection(
        &dialect_aiq, &usual, (struct connection_frame){ .kind = FRAME_SHUTDOWN },
        AIQ_LOCAL(
            "job.shutdown") ",'data':{'message':'Server shutting down'},'metadata':null}\n");
}

static void aiq_is_silent_about_the_rest(void **state)
{
    static const enum record_kind kinds[] = {
        REC_JOB_START,       REC_RUN_STREAM,    REC_RUN_INFO,          REC_LLM_REPEAT,
        REC_RETRIEVER_START, REC_RETRIEVER_END, REC_STATE_VALUES,      REC_STATE_UPDATES,
        REC_STATE_TASKS,     REC_STATE_DEBUG,   REC_STATE_CHECKPOINTS, REC_MESSAGE,
        REC_SECTION_END,     REC_CUSTOM,        REC_PROGRESS,
    };

    (void)state;
    expect_silent(&dialect_aiq, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aiq_says_workflows),
        cmocka_unit_test(aiq_is_silent_about_nested_runs),
        cmocka_unit_test(aiq_says_model_starts_and_chunks),
        cmocka_unit_test(aiq_says_model_ends),
        cmocka_unit_test(aiq_trims_long_thinking_between_code_points),
        cmocka_unit_test(aiq_says_tools_and_artifacts),
        cmocka_unit_test(aiq_says_what_happens_to_the_job),
        cmocka_unit_test(aiq_says_how_a_job_ends),
        cmocka_unit_test(aiq_names_every_state),
        cmocka_unit_test(aiq_says_what_is_made_for_a_connection),
        cmocka_unit_test(aiq_is_silent_about_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
