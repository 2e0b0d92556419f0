/* The fold: questions to people, and artifacts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fold_story.h"

/* --- failures --------------------------------------------------------------------------- */

#define SENT(name, members) \
    "{'event':'" name "','timestamp':'t','run_id':'job-1','data':{" members "}}"

static void what_an_envelope_says_comes_back_in_one(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, SENT("on_chain_start", "'chain_name':'plan','node_id':'n1','metadata':null"));
    say(&s, SENT("on_chat_model_start",
                 "'model':'gpt','model_version':'v4','prompt_id':'p-7','node_id':'n1'"));
    say(&s, SENT("on_chain_stream", "'node_id':'n1','chunk':'half','progress':0.50"));
    say(&s, SENT("on_chain_stream", "'node_id':'n1','chunk':'more','progress':'much'"));
    say(&s, SENT("on_error", "'phase':'queue','message':'no space','details':{'error_type':"
                             "'DiskFull','free':0}"));
    expect(&s, "llm.start run.stream job.", "model_version prompt_id percent phase details",
           "job.start - - - - -\n"
           "llm.start v4 p-7 - - -\n"
           "run.stream - - 0.50 - -\n"
           "run.stream - - - - -\n"
           "job.error - - - queue {'free':0}\n"
           "job.end - - - - {'free':0}\n");
    done(&s);
}

static void failure_is(const char *line, const char *expected)
{
    struct scene s;

    begin(&s);
    say(&s, "%s", line);
    expect(&s, "job.error", "error error_type phase details", expected);
    done(&s);
}

static void details_are_an_object_without_the_class(void **state)
{
    (void)state;
    failure_is(SENT("on_error", "'phase':'moon','message':'x','details':['a']"),
               "job.error x - worker {'value':['a']}\n");
    failure_is(SENT("on_error", "'message':'x','details':{'error_type':'E'}"),
               "job.error x E worker -\n");
    failure_is("{'type':'job.failed','error':'x','details':{'stderr':'y'}}",
               "job.error x - worker {'stderr':'y'}\n");
    failure_is("{'type':'job.error','data':{'error':'x','error_type':'E','details':{'a':1}}}",
               "job.error x E worker {'a':1}\n");
}

static void an_exception_in_a_node_fails_in_the_node(void **state)
{
    struct scene s;

    (void)state;
    begin(&s); /* the execution is open */
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    say(&s, "{'type':'job.failed','error':'boom'}");
    expect(&s, "job.error", "phase", "job.error node\n");
    done(&s);
    begin(&s); /* it has failed */
    say(&s, SENT("on_chain_start", "'chain_name':'plan','node_id':'n1','metadata':null"));
    say(&s, SENT("on_chain_end", "'node_id':'n1','result':null,'error':'boom'"));
    say(&s, SENT("on_chain_end", "'node_id':'job-1','result':null,'error':'boom'"));
    expect(&s, "job.error", "phase", "job.error node\n");
    done(&s);
    begin(&s); /* it went well: the worker failed behind it */
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    node_ends(&s, writer, "w1", "{}");
    say(&s, "{'type':'job.failed','error':'boom'}");
    expect(&s, "job.error", "phase", "job.error worker\n");
    done(&s);
}

static void the_count_that_was_sent_is_kept(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    say(&s, "{'type':'llm.start','id':'a','name':'gpt','metadata':{'message_count':3}}");
    say(&s, "{'type':'llm.start','id':'b','name':'gpt','metadata':{'prompt_count':2}}");
    say(&s, "{'type':'llm.start','id':'c','name':'gpt','data':{'message_count':4,'input':"
            "{'messages':[[]]}}}");
    say(&s, "{'type':'llm.start','id':'d','name':'gpt','metadata':{'message_count':'x'}}");
    expect(&s, "llm.start", "count type",
           "llm.start 3 chat_model\nllm.start 2 llm\nllm.start 4 chat_model\n"
           "llm.start - chat_model\n");
    done(&s);
}

/* --- questions ------------------------------------------------------------------------ */

static void interrupts_are(const char *chunk, const char *fields, const char *expected)
{
    struct scene s;

    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", chunk);
    expect(&s, "job.interrupt job.paused", fields, expected);
    done(&s);
}

static void a_plain_chunk_may_hold_a_question(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[{'value':{'question':'Go?','context':'c'},'id':'q1'}]}",
                   "id question context data",
                   "job.interrupt q1 Go? c {'question':'Go?','context':'c'}\n");
    interrupts_are("{'__interrupt__':[{'value':'just text','id':'q1'}]}", "id question data",
                   "job.interrupt q1 - just text\n");
}

static void a_chunk_with_its_mode_may_hold_a_question(void **state)
{
    (void)state;
    interrupts_are("['updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]", "id data",
                   "job.interrupt q1 1\n");
    interrupts_are("['values',{'x':1,'__interrupt__':[{'value':1,'id':'q1'}]}]", "id data",
                   "job.interrupt q1 1\n");
}

static void a_chunk_with_its_namespace_may_hold_a_question(void **state)
{
    (void)state;
    interrupts_are("[[],'updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]", "id data",
                   "job.interrupt q1 1\n");
    interrupts_are("[['writer:a'],'updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]",
                   "id data", "job.interrupt q1 1\n");
}

static void an_empty_list_is_a_pause(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[]}", "question", "job.paused -\n");
}

static void a_value_of_kind_pause_is_a_pause(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[{'value':{'kind':'pause'},'id':'q1'}]}", "id data",
                   "job.paused q1 {'kind':'pause'}\n");
}

static void several_questions_are_several_records(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[{'value':1,'id':'q1'},{'value':2,'id':'q2'}]}", "id data",
                   "job.interrupt q1 1\njob.interrupt q2 2\n");
}

static void a_question_is_asked_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", "['updates',{'__interrupt__':[{'value':1,'id':'q1'}]}]");
    root_streams(&s, "root", "['values',{'__interrupt__':[{'value':1,'id':'q1'}]}]");
    expect(&s, "job.interrupt", "id", "job.interrupt q1\n");
    done(&s);
}

static void a_question_without_an_id_gets_one(void **state)
{
    struct scene s, again;

    (void)state;
    begin(&s);
    begin(&again);
    for (struct scene *one = &s; one != NULL; one = one == &s ? &again : NULL) {
        root_starts(one, "root");
        root_streams(one, "root", "{'__interrupt__':[{'value':1},{'value':2}]}");
    }
    struct buf a, b;
    buf_init(&a, SIZE_MAX / 4);
    buf_init(&b, SIZE_MAX / 4);
    tell(&s, "job.interrupt", "id", &a);
    tell(&again, "job.interrupt", "id", &b);
    assert_true(str_eq(buf_text(&a), buf_text(&b)));
    assert_int_equal(a.n, 2 * (sizeof("job.interrupt ") - 1 + 36 + 1));
    assert_memory_not_equal(a.p, a.p + a.n / 2, a.n / 2);
    buf_done(&a);
    buf_done(&b);
    done(&s);
    done(&again);
}

static void a_question_in_words_is_marked_lossy(void **state)
{
    (void)state;
    /* langchain_core.load.dumps */
    interrupts_are(
        "{'__interrupt__':[{'lc':1,'type':'not_implemented','id':['langgraph','types',"
        "'Interrupt'],'repr':'Interrupt(value=1, id=`q1`)'}]}",
        "id lossy", "job.interrupt q1 true\n");
    /* json.dumps(default=str) */
    interrupts_are("{'__interrupt__':['Interrupt(value=1, id=`q1`)']}", "id lossy",
                   "job.interrupt q1 true\n");
}

static void a_question_in_words_says_what_it_asks(void **state)
{
    (void)state;
    /* langchain_core.load.dumps and json.dumps(default=str) of an Interrupt */
    interrupts_are(
        "{'__interrupt__':[{'lc':1,'type':'not_implemented','id':['Interrupt'],'repr':"
        "'Interrupt(value=HumanExchange(question=`Which (of two)?`, context=`a, b`),"
        " id=`q1`)'}]}",
        "id question context lossy", "job.interrupt q1 Which (of two)? a, b true\n");
    interrupts_are("{'__interrupt__':['Interrupt(value={`context`: `c`, `question`: `Go?`,"
                   " `id`: `no`}, id=`q1`)']}",
                   "id question context", "job.interrupt q1 Go? c\n");
    /* ... of its value alone: repr(), pydantic's str(), a serializable class */
    interrupts_are(
        "{'__interrupt__':[{'id':'q1','value':{'lc':1,'type':'not_implemented','id':"
        "['x','HumanExchange'],'repr':'HumanExchange(question=`Go?`, context=None)'}}]}",
        "id question context lossy", "job.interrupt q1 Go? null true\n");
    interrupts_are("{'__interrupt__':[{'id':'q1','value':'question=`Go?` context=7'}]}",
                   "id question context data",
                   "job.interrupt q1 Go? 7 question=`Go?` context=7\n");
    interrupts_are("{'__interrupt__':[{'id':'q1','value':{'lc':1,'type':'constructor','id':"
                   "['x','HumanExchange'],'kwargs':{'question':'Go?','context':'c'}}}]}",
                   "id question context lossy", "job.interrupt q1 Go? c -\n");
}

static void only_a_repr_is_read_as_one(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':[{'id':'q1','value':'Is the question=`x` right?'}]}",
                   "question lossy", "job.interrupt - -\n");
    interrupts_are("{'__interrupt__':[{'id':'q1','value':{'repr':'A(question=`x`)'}}]}",
                   "question lossy", "job.interrupt - -\n");
    interrupts_are("{'__interrupt__':['Interrupt(value=A(question=`x), id=`q1`)']}",
                   "id question lossy", "job.interrupt q1 - true\n");
}

static void a_pause_in_words_is_a_pause(void **state)
{
    (void)state;
    interrupts_are("{'__interrupt__':['Interrupt(value={`kind`: `pause`}, id=`q1`)']}", "id",
                   "job.paused q1\n");
}

static void the_root_that_ends_at_a_question_is_interrupted(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    root_streams(&s, "root", "{'__interrupt__':[{'value':1,'id':'q1'}]}");
    expect(&s, "node.end", "status", ""); /* siblings may still run */
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    expect(&s, "node.end run.end job.end", "run status",
           "node.end w1 interrupted\nrun.end root interrupted\n");
    assert_false(fold_ended(s.play.fold));
    done(&s);
}

static void a_new_root_resumes_the_job(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", "{'__interrupt__':[{'value':1,'id':'q1'},{'value':2,'id':'q2'}]}");
    root_ends(&s, "root", "{}");
    root_starts(&s, "root2");
    root_ends(&s, "root2", "{}");
    end_of_stream(&s);
    expect(&s, "job.", "resolves status",
           "job.start - -\n"
           "job.interrupt - -\n"
           "job.interrupt - -\n"
           "job.resumed ['q1','q2'] -\n"
           "job.end - succeeded\n");
    done(&s);
}

static void a_pause_is_resumed_too(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    root_streams(&s, "root", "{'__interrupt__':[]}");
    root_ends(&s, "root", "{}");
    end_of_stream(&s);
    assert_false(fold_ended(s.play.fold));
    root_starts(&s, "root2");
    root_ends(&s, "root2", "{}");
    end_of_stream(&s);
    expect_frames(&s, VIEW_AGENT, "graph.paused graph.resumed job.",
                  "{'type':'graph.paused','job_id':'job-1'}\n"
                  "{'type':'graph.resumed','job_id':'job-1','interrupt_ids':[]}\n"
                  "{'type':'job.done'}\n");
    done(&s);
}

/* --- artifacts ------------------------------------------------------------------------ */

static void todos_and_files_are_artifacts(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "write_todos", "t1",
                "{'todos':[{'content':'a','status':'pending'}]}");
    tool_starts(&s, writer, "Write_File", "t2", "{'file_path':'/r.md','content':'# R'}");
    tool_starts(&s, writer, "other", "t3", "{'todos':[],'content':'x'}");
    expect(&s, "artifact", "title exec data",
           "artifact - w1 {'type':'todo','content':[{'content':'a','status':'pending'}],"
           "'source':'agent','workflow':'writer'}\n"
           "artifact /r.md w1 {'type':'file','content':'# R','file_path':'/r.md'}\n");
    done(&s);
}

static void urls_in_search_results_are_sources_once(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "web_search", "t1", "{}");
    tool_ends(&s, writer, "web_search", "t1",
              "'see (https://a.example/x), https://A.example/x/ and https://b.example.'");
    tool_starts(&s, writer, "read", "t2", "{}");
    tool_ends(&s, writer, "read", "t2", "'https://c.example/'");
    expect(
        &s, "artifact", "title data",
        "artifact https://a.example/x {'type':'citation_source','content':'https://a.example/x',"
        "'url':'https://a.example/x','tool':'web_search','workflow':'writer'}\n"
        "artifact https://b.example {'type':'citation_source','content':'https://b.example',"
        "'url':'https://b.example','tool':'web_search','workflow':'writer'}\n");
    done(&s);
}

/* Two hundred and some characters, without a URL. */
#define LONG_TEXT                                                                                \
    "A long answer that says a lot about nothing in particular, only to be long enough to "      \
    "count as an output of its own. A long answer that says a lot about nothing in particular, " \
    "only to be long enough to count as an output of its own."

static void a_long_answer_is_an_output_and_cites_its_sources(void **state)
{
    struct scene s;

    (void)state;
    begin(&s);
    root_starts(&s, "root");
    node_starts(&s, writer, "w1");
    tool_starts(&s, writer, "web_search", "t1", "{}");
    tool_ends(&s, writer, "web_search", "t1", "'https://a.example/x'");
    model_starts(&s, writer, "l1");
    model_ends(&s, writer, "l1", "m1", "short, https://a.example/x", "");
    model_starts(&s, writer, "l2");
    model_ends(&s, writer, "l2", "m2",
               LONG_TEXT " https://a.example/x https://a.example/x https://d.example/y", "");
    expect(
        &s, "artifact", "title data",
        "artifact https://a.example/x {'type':'citation_source','content':'https://a.example/x',"
        "'url':'https://a.example/x','tool':'web_search','workflow':'writer'}\n"
        "artifact - {'type':'output','content':'" LONG_TEXT
        " https://a.example/x https://a.example/x https://d.example/y',"
        "'output_category':'intermediate','workflow':'writer'}\n"
        "artifact https://a.example/x {'type':'citation_use','content':'https://a.example/x',"
        "'url':'https://a.example/x'}\n");
    done(&s);
}

static void the_report_is_in_the_final_state(void **state)
{
    static const struct {
        const char *output, *report;
    } cases[] = {
        { "{'report':'R','answer':'A'}", "R" },
        { "{'messages':[{'type':'human','content':'q'},{'type':'ai','content':'last'}]}",
          "last" },
        { "'plain'", "plain" },
        { "{'type':'ai','content':'message'}", "message" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[256];
        struct scene s;

        begin(&s);
        root_starts(&s, "root");
        root_ends(&s, "root", cases[i].output);
        (void)snprintf(
            expected, sizeof(expected),
            "artifact {'type':'output','content':'%s','output_category':'final_report'}\n",
            cases[i].report);
        expect(&s, "artifact", "data", expected);
        done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_envelope_says_comes_back_in_one),
        cmocka_unit_test(details_are_an_object_without_the_class),
        cmocka_unit_test(an_exception_in_a_node_fails_in_the_node),
        cmocka_unit_test(the_count_that_was_sent_is_kept),
        cmocka_unit_test(a_plain_chunk_may_hold_a_question),
        cmocka_unit_test(a_chunk_with_its_mode_may_hold_a_question),
        cmocka_unit_test(a_chunk_with_its_namespace_may_hold_a_question),
        cmocka_unit_test(an_empty_list_is_a_pause),
        cmocka_unit_test(a_value_of_kind_pause_is_a_pause),
        cmocka_unit_test(several_questions_are_several_records),
        cmocka_unit_test(a_question_is_asked_once),
        cmocka_unit_test(a_question_without_an_id_gets_one),
        cmocka_unit_test(a_question_in_words_is_marked_lossy),
        cmocka_unit_test(a_question_in_words_says_what_it_asks),
        cmocka_unit_test(only_a_repr_is_read_as_one),
        cmocka_unit_test(a_pause_in_words_is_a_pause),
        cmocka_unit_test(the_root_that_ends_at_a_question_is_interrupted),
        cmocka_unit_test(a_new_root_resumes_the_job),
        cmocka_unit_test(a_pause_is_resumed_too),
        cmocka_unit_test(todos_and_files_are_artifacts),
        cmocka_unit_test(urls_in_search_results_are_sources_once),
        cmocka_unit_test(a_long_answer_is_an_output_and_cites_its_sources),
        cmocka_unit_test(the_report_is_in_the_final_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
