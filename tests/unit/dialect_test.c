/* Dialects: the exact bytes of every kind of record in each of them, and what no
 * worker can do to them.
 *
 * Expectations are written with ' for ", one frame a line: id, event name, payload. */
#include "dialect/dialect.h"

#include "base/error.h"
#include "base/json.h"
#include "dialect/aiq.h"
#include "dialect/render.h"
#include "framing/framing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

#define TIME "2026-02-16T10:30:00.123Z"

enum { MODE_ALL = 0xFF, MAX_BYTES = 1 << 20 };

static const struct variant usual = { .modes = MODE_DEFAULT };
static const struct variant all_modes = { .modes = MODE_ALL };
static const struct variant all_subgraphs = { .modes = MODE_ALL, .subgraphs = true };

/* --- the records ------------------------------------------------------------- */

/* One record of each sort of run, for others to name as their head. */
struct cast {
    struct record root;
    struct record node;
    struct record inner; /* a chain inside the node */
    struct record llm;
    struct record completion;
    struct record tool;
    struct record prompt;
    struct record retriever;
    struct record part; /* of a stream mode, in a subgraph */
};

static struct record make(enum record_kind kind)
{
    struct record rec;

    record_init(&rec, kind);
    rec.seq = 57;
    rec.ts = INT64_C(1771237800123);
    rec.job_id = STR("job-1");
    return rec;
}

static struct record of(const struct record *head, enum record_kind kind)
{
    struct record rec = make(kind);

    rec.head = head;
    rec.head_seq = 3;
    return rec;
}

static struct record run(enum record_kind kind, struct str id, struct str name, struct str type)
{
    struct record rec = make(kind);

    rec.info.run = id;
    rec.info.name = name;
    rec.info.type = type;
    return rec;
}

static struct record run_in_writer(enum record_kind kind,
                                   struct str id,
                                   struct str name,
                                   struct str type)
{
    struct record rec = run(kind, id, name, type);

    rec.info.parent = STR("run-root");
    rec.info.exec = STR("run-writer");
    rec.info.node = STR("writer");
    rec.info.ns = STR("writer:1");
    rec.info.step = 4;
    rec.info.card = true;
    return rec;
}

static void cast_init(struct cast *c)
{
    c->root = run(REC_RUN_START, STR("run-root"), STR("LangGraph"), STR("chain"));
    c->root.info.root = true;
    c->root.info.path = STR("chain:LangGraph");
    c->root.input = STR("{\"q\":1}");

    c->node = run_in_writer(REC_NODE_START, STR("run-writer"), STR("writer"), STR("chain"));
    c->node.info.top = true;
    c->node.info.counted = true;
    c->node.info.depth = 0;
    c->node.info.path = STR("chain:LangGraph > chain:writer");
    c->node.info.tags = STR("[\"graph:step:4\"]");
    c->node.info.meta = STR("{\"langgraph_step\":4}");
    c->node.info.parents = STR("[\"run-root\"]");
    c->node.input = STR("{\"q\":2}");

    c->inner =
        run_in_writer(REC_RUN_START, STR("run-inner"), STR("RunnableSequence"), STR("chain"));
    c->inner.input = STR("\"in\"");

    c->llm = run_in_writer(REC_LLM_START, STR("run-llm"), STR("ChatOpenAI"), STR("chat_model"));
    c->llm.info.model = STR("gpt-x");
    c->llm.info.meta = STR("{\"ls_model_name\":\"gpt-x\"}");
    c->llm.info.tags = STR("[\"t\"]");
    c->llm.input = STR("{\"messages\":[[]]}");
    c->llm.count = 2;

    c->completion = c->llm;
    c->completion.info.type = STR("llm");
    c->completion.info.exec = STR_NONE;
    c->completion.info.node = STR_NONE;

    c->tool = run_in_writer(REC_TOOL_START, STR("run-tool"), STR("grep"), STR("tool"));
    c->tool.info.path = STR("chain:LangGraph > chain:writer > tool:grep");
    c->tool.input = STR("{\"pattern\":\"x\"}");
    c->tool.preview = STR("{\"pattern\":\"x\"}");
    c->tool.call = STR("call_1");

    c->prompt = run_in_writer(REC_RUN_START, STR("run-prompt"), STR("Prompt"), STR("prompt"));
    c->retriever =
        run_in_writer(REC_RETRIEVER_START, STR("run-ret"), STR("Retriever"), STR("retriever"));
    c->retriever.input = STR("{\"query\":\"q\"}");

    c->part = make(REC_RUN_INFO);
    c->part.info.ns = STR("research:9|think:8");
}

/* --- expecting ----------------------------------------------------------------- */

static void put_double_quotes(struct buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        buf_char(b, *text == '\'' ? '"' : *text);
    buf_char(b, '\0');
}

static void put_frame(const struct frames *f, size_t i, uint64_t seq, struct buf *got)
{
    const struct frame *fr = &f->frame[i];

    buf_u64(got, seq);
    if (fr->k != f->total) {
        buf_char(got, '.');
        buf_u64(got, fr->k);
    }
    buf_char(got, ' ');
    buf_str(got, frame_name(f, fr));
    buf_char(got, ' ');
    buf_str(got, frame_data(f, fr));
    buf_char(got, '\n');
}

static void expect_as(const struct dialect *d,
                      const struct variant *variant,
                      const struct record *rec,
                      const char *want)
{
    struct frames f;
    struct buf got;
    struct buf wanted;

    frames_init(&f, MAX_BYTES);
    buf_init(&got, MAX_BYTES);
    buf_init(&wanted, MAX_BYTES);
    assert_int_equal(dialect_render(d, rec, variant, &f), 0);
    for (size_t i = 0; i < f.n; i++)
        put_frame(&f, i, rec->seq, &got);
    buf_char(&got, '\0');
    put_double_quotes(&wanted, want);
    assert_string_equal(got.p, wanted.p);
    buf_done(&wanted);
    buf_done(&got);
    frames_done(&f);
}

static void expect(const struct dialect *d, const struct record *rec, const char *want)
{
    expect_as(d, &usual, rec, want);
}

/* These kinds say nothing in @d, whatever is in them. */
static void expect_silent(const struct dialect *d, const enum record_kind *kinds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_null(d->on[kinds[i]]);
}

/* --- the registry --------------------------------------------------------------- */

static void dialects_are_found_by_name(void **state)
{
    static const char *const names[] = {
        "agent", "envelope", "messages", "nodes", "aiq", "raw"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct dialect *d = dialect_find(str_of(names[i]));

        assert_non_null(d);
        assert_ptr_equal(dialect_at(i), d);
        assert_string_equal(d->name, names[i]);
        assert_true(strlen(d->about) > 0);
        assert_int_equal(d->names_itself, d != &dialect_messages);
    }
    assert_null(dialect_at(6));
    assert_null(dialect_at(SIZE_MAX));
    assert_null(dialect_find(STR("agen")));
    assert_null(dialect_find(STR_NONE));
}

/* --- times and namespaces ------------------------------------------------------- */

static void expect_time(int64_t ms, const char *want)
{
    struct buf b;

    buf_init(&b, MAX_BYTES);
    render_time(&b, ms);
    buf_char(&b, '\0');
    assert_string_equal(b.p, want);
    buf_done(&b);
}

static void times_are_utc_with_milliseconds(void **state)
{
    (void)state;
    expect_time(0, "1970-01-01T00:00:00.000Z");
    expect_time(INT64_C(1771237800123), TIME);
    expect_time(INT64_C(951782400000) - 1, "2000-02-28T23:59:59.999Z");
    expect_time(INT64_C(951782400000), "2000-02-29T00:00:00.000Z");
    expect_time(INT64_C(4107542400000) - 1, "2100-02-28T23:59:59.999Z");
    expect_time(INT64_C(4107542400000), "2100-03-01T00:00:00.000Z");
    expect_time(INT64_C(253402300799999), "9999-12-31T23:59:59.999Z");
    expect_time(INT64_MAX, "9999-12-31T23:59:59.999Z");
    expect_time(-1, "1970-01-01T00:00:00.000Z");
    expect_time(INT64_MIN, "1970-01-01T00:00:00.000Z");
}

/* Every day until 2400, each at another time of day. */
static void times_agree_with_the_c_library(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, MAX_BYTES);
    for (int64_t ms = 0; ms < INT64_C(13569465600000); ms += 86400000 + 1234567) {
        time_t seconds = (time_t)(ms / 1000);
        struct tm tm;
        char want[32];

        gmtime_r(&seconds, &tm);
        strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S", &tm);
        buf_clear(&b);
        render_time(&b, ms);
        assert_int_equal(b.n, 24);
        assert_memory_equal(b.p, want, 19);
    }
    buf_done(&b);
}

static void the_outer_namespace_is_all_but_the_last_segment(void **state)
{
    (void)state;
    assert_true(str_is(render_outer_ns(STR("a:1|b:2|c:3")), "a:1|b:2"));
    assert_true(str_is(render_outer_ns(STR("a:1|b:2")), "a:1"));
    assert_true(str_empty(render_outer_ns(STR("a:1"))));
    assert_true(str_empty(render_outer_ns(STR("|a"))));
    assert_true(str_empty(render_outer_ns(STR(""))));
    assert_true(str_empty(render_outer_ns(STR_NONE)));
}

/* --- agent ---------------------------------------------------------------------- */

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

/* --- envelope ------------------------------------------------------------------- */

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
    rec.error_type = STR("ValueError");
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
    chunk.head = &c.prompt;
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
    end.head = &c.prompt;
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

/* --- nodes ---------------------------------------------------------------------- */

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
        REC_ARTIFACT,        REC_CUSTOM,        REC_PROGRESS,
    };

    (void)state;
    expect_silent(&dialect_nodes, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

/* --- aiq ------------------------------------------------------------------------ */

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
    end.head = &c.completion;
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
    rec.head = NULL;
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

static void expect_text(struct buf *b, const char *want)
{
    struct buf wanted;

    buf_init(&wanted, MAX_BYTES);
    put_double_quotes(&wanted, want);
    buf_char(b, '\0');
    assert_string_equal(b->p, wanted.p);
    buf_clear(b);
    buf_done(&wanted);
}

#define AIQ_LOCAL(type) "{'type':'" type "','id':null,'name':null,'timestamp':'" TIME "'"

static void aiq_says_what_is_made_for_a_connection(void **state)
{
    static const int64_t now = INT64_C(1771237800123);
    struct buf b;

    (void)state;
    buf_init(&b, MAX_BYTES);
    aiq_put_stream_mode(&b, now, STR("polling"));
    expect_text(&b, AIQ_LOCAL("stream.mode") ",'data':null,'metadata':null,'mode':'polling'}");
    aiq_put_job_status(&b, now, aiq_status_name(AIQ_RUNNING, false), STR_NONE, false);
    expect_text(&b, AIQ_LOCAL("job.status") ",'data':null,'metadata':null,'status':'RUNNING'}");
    aiq_put_job_status(&b, now, aiq_status_name(AIQ_SUBMITTED, true), STR("boom"), true);
    expect_text(
        &b,
        AIQ_LOCAL(
            "job.status") ",'data':null,'metadata':null,'status':'submitted','reconnected':true,"
                          "'error':'boom'}");
    aiq_put_heartbeat(&b, now, 30);
    expect_text(&b,
                AIQ_LOCAL("job.heartbeat") ",'data':{'uptime_seconds':30},'metadata':null}");
    aiq_put_shutdown(&b, now);
    expect_text(
        &b, AIQ_LOCAL(
                "job.shutdown") ",'data':{'message':'Server shutting down'},'metadata':null}");
    buf_done(&b);
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

/* --- messages ------------------------------------------------------------------- */

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
        rec.head = &c.part;
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
    rec.head = &c.part;
    expect(&dialect_messages, &rec, "57 custom 'x'\n");
    expect_as(&dialect_messages, &subgraphs, &rec, "57 custom|research:9|think:8 'x'\n");
    rec.kind = REC_PROGRESS;
    rec.data = STR("{\"percent\":10}");
    expect(&dialect_messages, &rec, "57 custom {'percent':10}\n");
    /* Dispatched by a run: the graph is the one around its node. */
    c.tool.info.ns = STR("research:9|think:8");
    rec.head = &c.tool;
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
    expect_as(&dialect_messages, &all_modes, &end, "");
    end.status = STR("ok");
    end.head = &c.inner;
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

/* --- raw ------------------------------------------------------------------------ */

static void raw_says_every_kind_once(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t i = 0; i < REC_KIND_MAX; i++) {
        struct record rec = make((enum record_kind)i);
        struct buf want;

        buf_init(&want, MAX_BYTES);
        record_encode_alone(&rec, &want);
        assert_int_equal(dialect_render(&dialect_raw, &rec, &usual, &f), 0);
        assert_int_equal(f.n, 1);
        assert_int_equal(f.total, 1);
        assert_true(str_eq(frame_name(&f, &f.frame[0]), str_of(record_kind_name(rec.kind))));
        assert_true(str_eq(frame_data(&f, &f.frame[0]), buf_text(&want)));
        buf_done(&want);
    }
    frames_done(&f);
}

static void raw_stands_alone_unless_the_stored_form_is_asked_for(void **state)
{
    static const struct variant stored = { .stored = true };
    struct cast c;

    (void)state;
    cast_init(&c);
    c.completion.info.meta = STR_NONE;
    c.completion.info.tags = STR_NONE;
    c.completion.info.ns = STR_NONE;
    c.completion.info.parent = STR_NONE;
    c.completion.info.card = false;
    struct record delta = of(&c.completion, REC_LLM_DELTA);
    delta.text = STR("Hi");
    expect(&dialect_raw, &delta,
           "57 llm.delta {'seq':57,'ts':1771237800123,'kind':'llm.delta','run':'run-llm',"
           "'name':'ChatOpenAI','type':'llm','model':'gpt-x','step':4,'text':'Hi'}\n");
    expect_as(&dialect_raw, &stored, &delta,
              "57 llm.delta {'seq':57,'ts':1771237800123,'kind':'llm.delta','head':3,"
              "'text':'Hi'}\n");
}

/* --- what holds for all --------------------------------------------------------- */

#define HOSTILE_TEXT \
    "x\"\\\n\r\n\nevent: job.done\ndata: {}\n\nid: 1\r\r\x01\x1F\x7F\0y\xED\xA0\x80"
#define HOSTILE_JSON \
    "{\"k\\n\\\"\":\"\\n\\n\\r\\nevent: job.done\\ndata: {}\\n\\n\\u0000\\\\\\\"\",\"n\":1e5}"

static void fill_info(struct run_info *info)
{
    const struct str text = STR(HOSTILE_TEXT);
    const struct str json = STR(HOSTILE_JSON);

    info->run = info->parent = info->exec = info->node = info->name = text;
    info->section = info->model = info->path = text;
    info->type = text;
    info->ns = STR(HOSTILE_TEXT "|" HOSTILE_TEXT "|x");
    info->meta = json;
    info->tags = info->parents = STR("[\"\\n\\nevent: job.done\"]");
    info->step = info->depth = 1;
    info->top = info->card = info->panel = info->counted = true;
}

/* Every field holds what could hurt. */
static void fill_record(struct record *rec)
{
    const struct str text = STR(HOSTILE_TEXT);
    const struct str json = STR(HOSTILE_JSON);
    const struct str list = STR("[\"\\n\\nevent: job.done\"]");

    fill_info(&rec->info);
    rec->job_id = rec->job = rec->agent = rec->id = rec->title = rec->status = text;
    rec->outcome = rec->phase = rec->error = rec->error_type = rec->message = text;
    rec->text = rec->reasoning = rec->preview = rec->call = rec->note = text;
    rec->percent = STR("1.50");
    rec->content = rec->calls = rec->resolves = rec->seen = list;
    rec->usage = rec->response = rec->extra = rec->input = rec->output = json;
    rec->data = rec->question = rec->context = json;
    rec->attempt = rec->elapsed = rec->index = rec->count = 1;
    rec->chains = rec->llms = rec->tools = rec->half = 1;
    rec->first = rec->last = rec->lossy = rec->tool = true;
}

static void check_json(struct str data)
{
    yyjson_doc *doc = yyjson_read(data.p, data.n, 0);

    assert_non_null(doc);
    yyjson_doc_free(doc);
    for (size_t i = 0; i < data.n; i++)
        assert_true((unsigned char)data.p[i] >= 0x20);
}

static size_t count_lines(struct str text, struct str prefix)
{
    size_t n = 0;

    while (text.n > 0) {
        size_t end = str_find(text, '\n');

        n += str_starts(str_head(text, end), prefix) ? 1 : 0;
        text = str_skip(text, end + 1);
    }
    return n;
}

/* Puts all frames on the wire and reads it as a client would: by lines. */
static void check_wire(const struct frames *f, uint64_t seq)
{
    struct buf sse;
    struct buf lines;

    buf_init(&sse, MAX_BYTES);
    buf_init(&lines, MAX_BYTES);
    for (size_t i = 0; i < f->n; i++) {
        struct message_out m = { .seq = seq,
                                 .k = f->frame[i].k,
                                 .total = f->total,
                                 .event = frame_name(f, &f->frame[i]),
                                 .data = frame_data(f, &f->frame[i]) };

        check_json(m.data);
        framing_sse.put(&m, &sse);
        m.wrap = true;
        framing_ndjson.put(&m, &lines);
    }
    assert_int_equal(count_lines(buf_text(&sse), STR("id: ")), f->n);
    assert_int_equal(count_lines(buf_text(&sse), STR("event: ")), f->n);
    assert_int_equal(count_lines(buf_text(&sse), STR("data: ")), f->n);
    assert_int_equal(count_lines(buf_text(&sse), STR("")), 4 * f->n);
    assert_int_equal(str_find(buf_text(&sse), '\r'), sse.n);
    assert_int_equal(count_lines(buf_text(&lines), STR("{\"id\":\"57")), f->n);
    assert_int_equal(count_lines(buf_text(&lines), STR("")), f->n);
    buf_done(&lines);
    buf_done(&sse);
}

static void hostile_text_cannot_forge_a_frame(void **state)
{
    struct frames f;
    size_t n_frames = 0;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t i = 0; dialect_at(i) != NULL; i++) {
        for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
            struct record rec = make((enum record_kind)kind);

            fill_record(&rec);
            assert_int_equal(dialect_render(dialect_at(i), &rec, &all_subgraphs, &f), 0);
            check_wire(&f, rec.seq);
            n_frames += f.n;
            rec.info.root = true;
            rec.status = STR("ok");
            assert_int_equal(dialect_render(dialect_at(i), &rec, &all_subgraphs, &f), 0);
            check_wire(&f, rec.seq);
        }
    }
    assert_true(n_frames > 100);
    frames_done(&f);
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char ch = name.p[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
        bool digit = ch >= '0' && ch <= '9';

        if (!letter && !digit && strchr("_.:|-", ch) == NULL)
            return false;
    }
    return name.n > 0;
}

static void names_are_from_a_strict_alphabet(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
        struct record rec = make((enum record_kind)kind);

        fill_record(&rec);
        assert_int_equal(dialect_render(&dialect_messages, &rec, &all_subgraphs, &f), 0);
        for (size_t i = 0; i < f.n; i++)
            assert_true(is_name(frame_name(&f, &f.frame[i])));
    }
    frames_done(&f);
}

static void check_names_itself(const struct frames *f, size_t i)
{
    struct str data = frame_data(f, &f->frame[i]);
    yyjson_doc *doc = yyjson_read(data.p, data.n, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *own = json_at(root, "type");

    if (str_starts(data, STR("{\"event\"")))
        own = json_at(root, "event");
    if (str_starts(data, STR("{\"seq\"")))
        own = json_at(root, "kind");
    assert_true(str_eq(json_text(own), frame_name(f, &f->frame[i])));
    yyjson_doc_free(doc);
}

static void payloads_name_themselves_where_the_dialect_says_so(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t i = 0; dialect_at(i) != NULL; i++) {
        for (size_t kind = 0; dialect_at(i)->names_itself && kind < REC_KIND_MAX; kind++) {
            struct record rec = make((enum record_kind)kind);

            rec.info.top = rec.info.card = rec.info.panel = rec.info.root = true;
            rec.info.counted = true;
            rec.text = STR("x");
            rec.tool = true;
            assert_int_equal(dialect_render(dialect_at(i), &rec, &usual, &f), 0);
            for (size_t k = 0; k < f.n; k++)
                check_names_itself(&f, k);
        }
    }
    frames_done(&f);
}

static void aiq_gives_at_most_one_frame(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
        struct record rec = make((enum record_kind)kind);

        fill_record(&rec);
        rec.info.root = true;
        assert_int_equal(dialect_render(&dialect_aiq, &rec, &usual, &f), 0);
        assert_true(f.total <= 1);
    }
    frames_done(&f);
}

static const struct frame *find_frame(const struct frames *f, uint32_t k)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->frame[i].k == k)
            return &f->frame[i];
    }
    return NULL;
}

/* Whatever a reader asks for, frame k stays frame k, of the same total. */
static void filters_do_not_renumber(void **state)
{
    struct frames full;
    struct frames some;

    (void)state;
    frames_init(&full, MAX_BYTES);
    frames_init(&some, MAX_BYTES);
    for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
        struct record rec = make((enum record_kind)kind);

        fill_record(&rec);
        rec.status = STR("ok");
        rec.info.root = kind % 2 == 0;
        assert_int_equal(dialect_render(&dialect_messages, &rec, &all_subgraphs, &full), 0);
        assert_int_equal(full.n, full.total);
        for (uint32_t v = 0; v < 512; v++) {
            struct variant variant = { .modes = v & MODE_ALL, .subgraphs = v > MODE_ALL };

            assert_int_equal(dialect_render(&dialect_messages, &rec, &variant, &some), 0);
            assert_int_equal(some.total, full.total);
            for (size_t i = 0; i < some.n; i++) {
                const struct frame *same = find_frame(&full, some.frame[i].k);

                assert_non_null(same);
                assert_true(str_eq(frame_data(&some, &some.frame[i]), frame_data(&full, same)));
            }
        }
    }
    frames_done(&some);
    frames_done(&full);
}

static void a_payload_over_the_limit_is_an_error_and_no_frame(void **state)
{
    struct frames f;
    struct buf text;

    (void)state;
    buf_init(&text, MAX_BYTES);
    for (int i = 0; i < 5000; i++)
        buf_char(&text, 'x');
    for (size_t i = 0; dialect_at(i) != NULL; i++) {
        struct record rec = make(REC_LLM_DELTA);

        if (dialect_at(i)->on[REC_LLM_DELTA] == NULL)
            continue;
        rec.info.card = true;
        rec.text = buf_text(&text);
        frames_init(&f, 1000);
        assert_int_equal(dialect_render(dialect_at(i), &rec, &usual, &f), ERR_TOO_LARGE);
        assert_int_equal(f.n, 0);
        /* The next record is not the worse for it. */
        rec.text = STR("x");
        assert_int_equal(dialect_render(dialect_at(i), &rec, &usual, &f), 0);
        assert_int_equal(f.n, 1);
        frames_done(&f);
    }
    buf_done(&text);
}

static void more_frames_than_there_is_room_for_is_an_error(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    frames_clear(&f, &usual);
    for (size_t i = 0; i < FRAMES_MAX; i++) {
        assert_non_null(frames_begin(&f, STR("x"), MODE_ANY));
        frames_end(&f);
    }
    assert_int_equal(frames_error(&f), 0);
    assert_null(frames_begin(&f, STR("x"), MODE_ANY));
    assert_int_equal(frames_error(&f), ERR_TOO_LARGE);
    frames_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialects_are_found_by_name),
        cmocka_unit_test(times_are_utc_with_milliseconds),
        cmocka_unit_test(times_agree_with_the_c_library),
        cmocka_unit_test(the_outer_namespace_is_all_but_the_last_segment),
        cmocka_unit_test(agent_says_executions_as_cards),
        cmocka_unit_test(agent_counts_nodes_without_cards),
        cmocka_unit_test(agent_is_silent_about_nested_nodes),
        cmocka_unit_test(agent_says_tokens_on_card_and_panel),
        cmocka_unit_test(agent_says_a_mirror_only_on_the_panel),
        cmocka_unit_test(agent_says_tools_of_cards),
        cmocka_unit_test(agent_says_questions_and_sections),
        cmocka_unit_test(agent_says_how_a_job_ends),
        cmocka_unit_test(agent_is_silent_about_the_rest),
        cmocka_unit_test(envelope_says_the_job_as_the_outermost_chain),
        cmocka_unit_test(envelope_says_errors_questions_and_answers),
        cmocka_unit_test(envelope_says_chains_and_nodes),
        cmocka_unit_test(envelope_says_state_updates_as_chunks),
        cmocka_unit_test(envelope_says_models),
        cmocka_unit_test(envelope_says_tools),
        cmocka_unit_test(envelope_says_progress),
        cmocka_unit_test(envelope_is_silent_about_the_rest),
        cmocka_unit_test(nodes_says_the_job),
        cmocka_unit_test(nodes_says_top_level_executions),
        cmocka_unit_test(nodes_says_tools),
        cmocka_unit_test(nodes_is_silent_about_the_rest),
        cmocka_unit_test(aiq_says_workflows),
        cmocka_unit_test(aiq_is_silent_about_nested_runs),
        cmocka_unit_test(aiq_says_model_starts_and_chunks),
        cmocka_unit_test(aiq_says_model_ends),
        cmocka_unit_test(aiq_trims_long_thinking_between_code_points),
        cmocka_unit_test(aiq_says_tools_and_artifacts),
        cmocka_unit_test(aiq_says_what_happens_to_the_job),
        cmocka_unit_test(aiq_says_how_a_job_ends),
        cmocka_unit_test(aiq_says_what_is_made_for_a_connection),
        cmocka_unit_test(aiq_is_silent_about_the_rest),
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
        cmocka_unit_test(raw_says_every_kind_once),
        cmocka_unit_test(raw_stands_alone_unless_the_stored_form_is_asked_for),
        cmocka_unit_test(hostile_text_cannot_forge_a_frame),
        cmocka_unit_test(names_are_from_a_strict_alphabet),
        cmocka_unit_test(payloads_name_themselves_where_the_dialect_says_so),
        cmocka_unit_test(aiq_gives_at_most_one_frame),
        cmocka_unit_test(filters_do_not_renumber),
        cmocka_unit_test(a_payload_over_the_limit_is_an_error_and_no_frame),
        cmocka_unit_test(more_frames_than_there_is_room_for_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
