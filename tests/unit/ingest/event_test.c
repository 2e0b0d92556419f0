/* Lines of every source format, and the recordings: what each says, and what is refused. */
#include "ingest/event.h"

#include "base/error.h"
#include "ingest/sse.h"
#include "record/record.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "expect.h"

struct fixture {
    struct json_reader reader;
    struct buf scratch;
    struct json json;
    struct event ev;
    struct error err;
};

static int setup(void **state)
{
    static struct fixture fx;

    json_reader_init(&fx.reader, 1 << 24, 64);
    buf_init(&fx.scratch, 1 << 28);
    *state = &fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;

    json_reader_done(&fx->reader);
    buf_done(&fx->scratch);
    return 0;
}

static int try_read(struct fixture *fx, enum event_source from, struct str sse, struct str line)
{
    int code = json_read(&fx->reader, line, &fx->json, &fx->err);

    return code != 0 ? code : event_read(&fx->json, sse, from, &fx->scratch, &fx->ev, &fx->err);
}

static const struct event *read_named(void **state, const char *sse, const char *line)
{
    struct fixture *fx = *state;

    if (try_read(fx, SOURCE_AUTO, str_of(sse), str_of(line)) != 0)
        fail_msg("%s: %s", fx->err.text, line);
    return &fx->ev;
}

static const struct event *read(void **state, const char *line)
{
    return read_named(state, NULL, line);
}

/* The sentence must hold @part. */
static void refuses_named(void **state,
                          const char *sse,
                          const char *line,
                          int code,
                          const char *part)
{
    struct fixture *fx = *state;
    int got = try_read(fx, SOURCE_AUTO, str_of(sse), str_of(line));

    if (got != code)
        fail_msg("%d instead of %d: %s", got, code, line);
    if (strstr(fx->err.text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fx->err.text, part);
}

static void refuses(void **state, const char *line, int code, const char *part)
{
    refuses_named(state, NULL, line, code, part);
}

/* --- astream_events --------------------------------------------------------------- */

static void a_token_is_read(void **state)
{
    const struct event *ev = read(
        state,
        "{\"event\":\"on_chat_model_stream\",\"data\":{\"chunk\":{\"lc\":1,\"type\":\"constructor\","
        "\"id\":[\"langchain_core\",\"messages\",\"AIMessageChunk\"],\"kwargs\":{\"content\":\"i94 \","
        "\"id\":\"run-1\"}}},\"run_id\":\"r1\",\"name\":\"Chat\",\"tags\":[\"t\"],\"metadata\":"
        "{\"langgraph_step\":3,\"langgraph_node\":\"inv\",\"langgraph_checkpoint_ns\":\"inv:1|a:2\","
        "\"section\":\"report\"},\"parent_ids\":[\"p0\",\"p1\"]}");

    assert_int_equal(ev->source, SOURCE_EVENTS);
    assert_int_equal(ev->kind, EVENT_RUN_STREAM);
    assert_int_equal(ev->type, RUN_CHAT);
    expect_str(ev->run, "r1");
    expect_str(ev->name, "Chat");
    expect_str(ev->parent, "p1");
    assert_true(ev->parents_known);
    assert_int_equal(yyjson_arr_size((yyjson_val *)ev->parents), 2);
    assert_int_equal(yyjson_arr_size((yyjson_val *)ev->tags), 1);
    expect_str(ev->node, "inv");
    assert_int_equal(ev->step, 3);
    expect_str(ev->ns, "inv:1|a:2");
    expect_str(ev->section, "report");
    assert_true(ev->has_message);
    expect_str(ev->message.text, "i94 ");
    expect_str(ev->message.id, "run-1");
    assert_non_null(ev->meta);
    assert_int_equal(json_raw_member(&((struct fixture *)*state)->json, ev->meta_key).p[0],
                     '{');
}

static void javascript_says_nothing_about_parents(void **state)
{
    const struct event *ev =
        read(state, "{\"event\":\"on_chain_start\",\"name\":\"a\",\"run_id\":"
                    "\"r\",\"tags\":[],\"metadata\":{},\"data\":{\"input\":1}}");

    assert_int_equal(ev->kind, EVENT_RUN_START);
    assert_int_equal(ev->type, RUN_CHAIN);
    assert_false(ev->parents_known);
    expect_str(ev->parent, NULL);
    assert_int_equal(ev->step, RECORD_NO_NUMBER);
    assert_non_null(ev->input);
    ev = read(state,
              "{\"event\":\"on_chain_end\",\"name\":\"a\",\"run_id\":\"r\",\"parent_ids\":[],"
              "\"data\":{\"output\":null}}");
    assert_true(ev->parents_known);
    assert_null(ev->parents);
    assert_int_equal(ev->kind, EVENT_RUN_END);
}

static void every_type_and_phase_is_known(void **state)
{
    static const char *const types[RUN_TYPE_MAX] = { "chain",      "prompt", "parser",
                                                     "chat_model", "llm",    "tool",
                                                     "retriever" };
    static const struct {
        const char *name;
        enum event_kind kind;
    } phases[] = { { "start", EVENT_RUN_START },
                   { "stream", EVENT_RUN_STREAM },
                   { "end", EVENT_RUN_END },
                   { "error", EVENT_RUN_ERROR } };
    char line[120];

    for (size_t t = 0; t < RUN_TYPE_MAX; t++) {
        for (size_t p = 0; p < sizeof(phases) / sizeof(*phases); p++) {
            (void)snprintf(line, sizeof(line),
                           "{\"event\":\"on_%s_%s\",\"name\":\"n\",\"run_id\":\"r\"}", types[t],
                           phases[p].name);
            const struct event *ev = read(state, line);
            assert_int_equal(ev->kind, phases[p].kind);
            assert_string_equal(run_type_name(ev->type), types[t]);
        }
    }
    refuses(state, "{\"event\":\"on_chain_begin\",\"name\":\"n\",\"run_id\":\"r\"}", ERR_TYPE,
            "on_chain_begin");
}

static void hidden_runs_are_nothing(void **state)
{
    assert_int_equal(
        read(state, "{\"event\":\"on_chain_start\",\"name\":\"__start__\",\"run_id\":\"r\","
                    "\"tags\":[7,\"langsmith:hidden\"]}")
            ->kind,
        EVENT_NOTHING);
}

static void a_custom_events_data_is_its_payload(void **state)
{
    const struct event *ev = read(state, "{\"event\":\"on_custom_event\",\"name\":\"progress\","
                                         "\"run_id\":\"r\",\"data\":\"half\"}");

    assert_int_equal(ev->kind, EVENT_CUSTOM);
    expect_str(json_text(ev->data), "half");
    expect_str(ev->name, "progress");
}

static void v1_models_hide_their_message_in_generations(void **state)
{
    const struct event *ev = read(
        state,
        "{\"event\":\"on_chat_model_end\",\"name\":\"m\",\"run_id\":\"r\",\"data\":"
        "{\"output\":{\"generations\":[[{\"text\":\"hi\",\"generation_info\":null,\"type\":"
        "\"ChatGeneration\",\"message\":{\"content\":\"hi\",\"type\":\"ai\",\"id\":\"m1\"}}]],"
        "\"llm_output\":null}}}");

    assert_true(ev->has_message);
    expect_str(ev->message.id, "m1");
    ev = read(state,
              "{\"event\":\"on_llm_end\",\"name\":\"m\",\"run_id\":\"r\",\"data\":{\"output\":"
              "{\"generations\":[[{\"text\":\"old style\",\"generationInfo\":{}}]]}}}");
    assert_true(ev->has_message);
    assert_int_equal(ev->message.cls, MESSAGE_GENERATION);
    expect_str(ev->message.text, "old style");
    ev = read(state, "{\"event\":\"on_retriever_end\",\"name\":\"m\",\"run_id\":\"r\",\"data\":"
                     "{\"output\":{\"documents\":[1,2]}}}");
    assert_int_equal(yyjson_arr_size((yyjson_val *)ev->output), 2);
    assert_false(
        read(state, "{\"event\":\"on_chat_model_end\",\"name\":\"m\",\"run_id\":\"r\",\"data\":"
                    "{\"output\":{\"generations\":[[]]}}}")
            ->has_message);
}

static void a_tools_message_gives_the_call(void **state)
{
    const struct event *ev = read(
        state,
        "{\"event\":\"on_tool_end\",\"name\":\"web\",\"run_id\":\"r\",\"data\":{\"output\":"
        "{\"content\":\"ok\",\"type\":\"tool\",\"tool_call_id\":\"c1\"},\"input\":{}}}");

    assert_true(ev->has_message);
    expect_str(ev->call, "c1");
    /* A tool's own values are no messages, whatever they look like. */
    assert_false(read(state,
                      "{\"event\":\"on_tool_end\",\"name\":\"web\",\"run_id\":\"r\",\"data\":"
                      "{\"output\":\"plain\"}}")
                     ->has_message);
    assert_false(read(state,
                      "{\"event\":\"on_tool_end\",\"name\":\"web\",\"run_id\":\"r\",\"data\":"
                      "{\"output\":{\"text\":\"mine\"}}}")
                     ->has_message);
}

static void errors_are_read_in_every_encoding(void **state)
{
    static const struct {
        const char *json, *error, *type;
    } cases[] = {
        { "{\"error\":\"RuntimeError\",\"message\":\"HTTP 429\"}", "HTTP 429", "RuntimeError" },
        { "{\"status_code\":500,\"message\":\"Internal\"}", "Internal", NULL },
        { "{\"name\":\"TypeError\",\"message\":\"no\",\"stack\":\"x\"}", "no", "TypeError" },
        { "{\"lc\":1,\"type\":\"not_implemented\",\"id\":[\"builtins\",\"KeyError\"],\"repr\":"
          "\"KeyError('it\\\\'s \\\\n')\"}",
          "it's \n", "KeyError" },
        { "{\"lc\":1,\"type\":\"not_implemented\",\"id\":[\"a\",\"E\"],\"repr\":\"E(404, 'x')\"}",
          "404, 'x'", "E" },
        { "\"no disk\"", "no disk", NULL },
        { "\"no disk\\n\\nError: no disk\\n    at file:///app/a.js:1:2\"", "no disk", "Error" },
        { "\"TypeError: x\\n    at a (b:1:2)\"", "TypeError: x", NULL },
        { "{}", "unknown error", NULL },
        { "null", "unknown error", NULL },
        { "\"\"", "unknown error", NULL },
        { "{\"code\":7}", "{\"code\":7}", NULL },
        { "[1, 2]", "[1,2]", NULL },
    };
    char line[400];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        (void)snprintf(line, sizeof(line),
                       "{\"event\":\"on_tool_error\",\"name\":\"t\",\"run_id\":\"r\",\"data\":"
                       "{\"error\":%s,\"input\":{},\"tool_call_id\":\"c\"}}",
                       cases[i].json);
        const struct event *ev = read(state, line);
        assert_int_equal(ev->kind, EVENT_RUN_ERROR);
        assert_int_equal(ev->type, RUN_TOOL);
        expect_str(ev->error, cases[i].error);
        expect_str(ev->error_type, cases[i].type);
        expect_str(ev->call, "c");
    }
}

static void wrong_types_are_said_clearly(void **state)
{
    refuses(state, "{\"event\":\"on_chain_start\",\"name\":\"a\"}", ERR_TYPE,
            "\"run_id\" is missing");
    refuses(state, "{\"event\":\"on_chain_start\",\"name\":\"a\",\"run_id\":7}", ERR_TYPE,
            "\"run_id\" must be a string");
    refuses(state, "{\"event\":\"on_chain_start\",\"name\":[],\"run_id\":\"r\"}", ERR_TYPE,
            "\"name\" must be a string");
    refuses(state, "{\"event\":\"on_chain_start\",\"name\":\"a\",\"run_id\":\"r\",\"tags\":{}}",
            ERR_TYPE, "\"tags\" must be a list");
    refuses(state,
            "{\"event\":\"on_chain_start\",\"name\":\"a\",\"run_id\":\"r\",\"metadata\":[]}",
            ERR_TYPE, "\"metadata\" must be an object");
    refuses(
        state,
        "{\"event\":\"on_chain_start\",\"name\":\"a\",\"run_id\":\"r\",\"parent_ids\":\"p\"}",
        ERR_TYPE, "\"parent_ids\" must be a list");
    refuses(state,
            "{\"event\":\"on_chain_start\",\"name\":\"a\",\"run_id\":\"r\",\"data\":\"d\"}",
            ERR_TYPE, "\"data\" must be an object");
    refuses(state,
            "{\"event\":\"on_chat_model_stream\",\"name\":\"a\",\"run_id\":\"r\",\"data\":"
            "{\"chunk\":7}}",
            ERR_TYPE, "\"data.chunk\" is no message");
}

static void v3_is_refused_wherever_it_comes_from(void **state)
{
    static const char v3[] =
        "{\"type\":\"event\",\"seq\":0,\"method\":\"values\",\"params\":{}}";

    refuses(state, v3, ERR_REFUSED, "version=\"v2\"");
    refuses_named(state, "values", v3, ERR_REFUSED, "version=\"v2\"");
    refuses_named(state, "lifecycle", v3, ERR_REFUSED, "version=\"v2\"");
    refuses(state, "{\"method\":\"on_stream_event\",\"args\":[]}", ERR_REFUSED,
            "version=\"v2\"");
}

static void what_is_no_event_is_refused_with_advice(void **state)
{
    refuses(state, "{\"seq\":1,\"ts\":2,\"kind\":\"llm.delta\",\"type\":\"chat_model\"}",
            ERR_TYPE, "stored spoolwire record");
    refuses(state, "{\"values\":{},\"next\":[],\"tasks\":[]}", ERR_TYPE, "state snapshot");
    refuses(state, "{\"agent\":{\"messages\":[]}}", ERR_TYPE, "stream_mode");
    refuses(state, "7", ERR_TYPE, "no known event");
    refuses(state, "\"x\"", ERR_TYPE, "no known event");
    refuses(state,
            "{\"type\":\"what.ever\\u0000\\nevent: x and so on and on and on and on and on\"}",
            ERR_TYPE, "\"what.ever??event:?x?");
    refuses(state, "{}", ERR_TYPE, "no known event");
}

/* --- callbacks ------------------------------------------------------------------------ */

static void a_callback_method_is_read(void **state)
{
    const struct event *ev = read(
        state, "{\"method\":\"on_tool_start\",\"args\":[{\"name\":\"bing\"},\"{'q': 1}\"],"
               "\"kwargs\":{\"run_id\":\"r\",\"parent_run_id\":\"p\",\"tags\":[],\"metadata\":"
               "{\"langgraph_node\":\"tools\"},\"name\":null,\"inputs\":{\"q\":1},"
               "\"tool_call_id\":\"c\"}}");

    assert_int_equal(ev->source, SOURCE_CALLBACK);
    assert_int_equal(ev->kind, EVENT_RUN_START);
    assert_int_equal(ev->type, RUN_TOOL);
    expect_str(ev->name, "bing");
    expect_str(ev->parent, "p");
    assert_true(ev->parents_known);
    expect_str(ev->node, "tools");
    expect_str(ev->call, "c");
    assert_true(yyjson_is_obj((yyjson_val *)ev->input));
    ev = read(state,
              "{\"method\":\"on_tool_start\",\"args\":[{\"id\":[\"a\",\"Bing\"]},\"{'q': 1}\"],"
              "\"kwargs\":{\"run_id\":\"r\",\"parent_run_id\":null}}");
    expect_str(ev->name, "Bing");
    expect_str(json_text(ev->input), "{'q': 1}");
    assert_true(ev->parents_known);
    expect_str(ev->parent, NULL);
}

static void run_type_makes_prompts_and_parsers(void **state)
{
    assert_int_equal(read(state, "{\"method\":\"on_chain_start\",\"args\":[null,{}],\"kwargs\":"
                                 "{\"run_id\":\"r\",\"run_type\":\"parser\",\"name\":\"P\"}}")
                         ->type,
                     RUN_PARSER);
    assert_int_equal(read(state, "{\"method\":\"on_chain_start\",\"args\":[null,{}],\"kwargs\":"
                                 "{\"run_id\":\"r\",\"run_type\":\"prompt\",\"name\":\"P\"}}")
                         ->type,
                     RUN_PROMPT);
}

static void a_new_token_is_a_stream(void **state)
{
    const struct event *ev = read(
        state, "{\"method\":\"on_llm_new_token\",\"args\":[\"one\"],\"kwargs\":{\"chunk\":"
               "{\"text\":\"one\",\"type\":\"ChatGenerationChunk\",\"message\":{\"content\":"
               "\"one\",\"type\":\"AIMessageChunk\",\"id\":\"cc\"}},\"run_id\":\"r\"}}");

    assert_int_equal(ev->kind, EVENT_RUN_STREAM);
    expect_str(ev->message.id, "cc");
    assert_false(ev->parents_known);
    ev = read(state,
              "{\"type\":\"llm/new_token\",\"run_id\":\"r\",\"parent_run_id\":null,\"token\":"
              "\"two\"}");
    assert_int_equal(ev->kind, EVENT_RUN_STREAM);
    expect_str(ev->message.text, "two");
    assert_true(ev->message.chunk);
}

static void the_flat_forms_are_read(void **state)
{
    const struct event *ev =
        read(state, "{\"type\":\"chain/start\",\"run_id\":\"r\",\"parent_run_id\":"
                    "null,\"name\":\"LangGraph\",\"inputs\":{\"x\":1}}");

    assert_int_equal(ev->source, SOURCE_CALLBACK);
    assert_int_equal(ev->kind, EVENT_RUN_START);
    expect_str(ev->name, "LangGraph");
    assert_non_null(ev->input);
    ev = read(state, "{\"event\":\"tool/end\",\"run_id\":\"r\",\"output\":\"done\"}");
    assert_int_equal(ev->kind, EVENT_RUN_END);
    assert_int_equal(ev->type, RUN_TOOL);
    expect_str(json_text(ev->output), "done");
    ev = read(state,
              "{\"event\":\"on_chain_error\",\"name\":\"x\",\"run_id\":\"r\",\"parent_run_id\":"
              "\"p\",\"error\":\"boom\"}");
    assert_int_equal(ev->source, SOURCE_CALLBACK);
    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    expect_str(ev->error, "boom");
    ev = read(
        state,
        "{\"type\":\"on_chat_model_start\",\"run_id\":\"r\",\"parent_run_id\":\"p\","
        "\"serialized\":{\"name\":\"Chat\"},\"messages\":[[{}]],\"kwargs\":{\"tags\":[]}}");
    assert_int_equal(ev->type, RUN_CHAT);
    expect_str(ev->name, "Chat");
    assert_true(yyjson_is_arr((yyjson_val *)ev->input));
    refuses(state, "{\"type\":\"chain/middle\",\"run_id\":\"r\"}", ERR_TYPE, "chain/middle");
    refuses(state, "{\"type\":\"chain/start\"}", ERR_TYPE, "run_id");
}

static void an_interrupt_is_no_failure(void **state)
{
    const struct event *ev = read(
        state,
        "{\"method\":\"on_chain_error\",\"args\":[{\"error\":\"GraphInterrupt\",\"message\":"
        "\"(Interrupt(value=Ask(question='Which?', id='no'), id='15d1'),)\"}],"
        "\"kwargs\":{\"run_id\":\"r\",\"parent_run_id\":\"p\"}}");

    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    assert_true(ev->interrupted);
    assert_true(ev->lossy);
    expect_str(ev->id, "15d1");
    expect_str(ev->text, "Ask(question='Which?', id='no')");
    ev = read(
        state,
        "{\"method\":\"on_chain_error\",\"args\":[{\"error\":\"ParentCommand\",\"message\":"
        "\"Command(goto='x')\"}],\"kwargs\":{\"run_id\":\"r\"}}");
    assert_int_equal(ev->kind, EVENT_RUN_END);
    expect_str(ev->error, NULL);
}

static void the_rare_callbacks_are_taken(void **state)
{
    const struct event *ev =
        read(state, "{\"method\":\"on_retry\",\"args\":[{\"attempt\":2}],\"kwargs\":"
                    "{\"run_id\":\"r\"}}");

    assert_int_equal(ev->kind, EVENT_UPDATE);
    expect_str(ev->name, "retry");
    expect_str(ev->text, "{\"attempt\":2}");
    ev = read(state, "{\"method\":\"on_custom_event\",\"args\":[\"progress\",{\"percent\":1}],"
                     "\"kwargs\":{\"run_id\":\"r\"}}");
    assert_int_equal(ev->kind, EVENT_CUSTOM);
    expect_str(ev->name, "progress");
    assert_non_null(json_at(ev->data, "percent"));
    assert_int_equal(read(state, "{\"method\":\"on_text\",\"args\":[\"x\"]}")->kind,
                     EVENT_NOTHING);
    assert_int_equal(read(state, "{\"method\":\"on_agent_action\",\"args\":[]}")->kind,
                     EVENT_NOTHING);
}

/* --- the envelope ------------------------------------------------------------------------ */

#define ENVELOPE(event, data) \
    "{\"event\":\"" event     \
    "\",\"timestamp\":\"2025-12-03T10:15:30Z\",\"run_id\":\"job\",\"data\":" data "}"

static void an_envelopes_chain_is_an_execution(void **state)
{
    const struct event *ev = read(state, ENVELOPE("on_chain_start", "{\"chain_name\":\"plan\","
                                                                    "\"node_id\":\"n1\","
                                                                    "\"metadata\":null}"));

    assert_int_equal(ev->source, SOURCE_ENVELOPE);
    assert_int_equal(ev->kind, EVENT_RUN_START);
    expect_str(ev->run, "n1");
    expect_str(ev->name, "plan");
    expect_str(ev->node, "plan");
    assert_true(ev->top);
    ev = read(state,
              ENVELOPE("on_chain_start", "{\"chain_name\":\"RunnableSequence\",\"node_id\":"
                                         "\"n2\",\"node\":\"plan\"}"));
    assert_false(ev->top);
    ev = read(state,
              ENVELOPE("on_chain_end", "{\"node_id\":\"n1\",\"result\":{\"a\":1},\"error\":"
                                       "\"boom\",\"duration_ms\":12}"));
    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    expect_str(ev->error, "boom");
    assert_int_equal(ev->elapsed, 12);
    refuses(state, ENVELOPE("on_chain_start", "{\"chain_name\":\"x\"}"), ERR_TYPE,
            "data.node_id");
}

static void the_outermost_chain_of_an_envelope_is_the_job(void **state)
{
    const struct event *ev =
        read(state, ENVELOPE("on_chain_start", "{\"chain_name\":\"j\",\"node_id\":"
                                               "\"job\"}"));

    assert_int_equal(ev->kind, EVENT_NOTHING);
    ev = read(state, ENVELOPE("on_chain_end", "{\"node_id\":\"job\",\"error\":null}"));
    assert_int_equal(ev->kind, EVENT_JOB_END);
    assert_int_equal(ev->end, JOB_END_SUCCEEDED);
    ev = read(state, ENVELOPE("on_chain_end", "{\"node_id\":\"job\",\"error\":\"cancelled\"}"));
    assert_int_equal(ev->end, JOB_END_CANCELLED);
    ev = read(state, ENVELOPE("on_chain_end", "{\"node_id\":\"job\",\"error\":\"boom\"}"));
    assert_int_equal(ev->end, JOB_END_FAILED);
    ev = read(state, ENVELOPE("on_error", "{\"phase\":\"node\",\"message\":\"boom\"}"));
    assert_int_equal(ev->end, JOB_END_FAILED);
    expect_str(ev->error, "boom");
}

static void an_envelopes_model_has_an_id_of_its_place_and_name(void **state)
{
    const struct event *ev =
        read(state, ENVELOPE("on_chat_model_stream", "{\"model\":\"gpt\","
                                                     "\"chunk\":\"tok\"}"));

    expect_str(ev->run, "model:gpt");
    expect_str(ev->message.text, "tok");
    assert_true(ev->message.chunk);
    ev = read(state,
              ENVELOPE("on_chat_model_end", "{\"model\":\"gpt\",\"node_id\":\"n1\",\"node\":"
                                            "\"plan\",\"final_text\":\"all\",\"error\":null}"));
    expect_str(ev->run, "model:n1:gpt");
    expect_str(ev->parent, "n1");
    expect_str(ev->node, "plan");
    expect_str(ev->message.text, "all");
    ev = read(state,
              ENVELOPE("on_chat_model_start", "{\"model\":\"gpt\",\"model_run_id\":\"m1\"}"));
    expect_str(ev->run, "m1");
    assert_false(ev->has_message);
}

static void an_envelopes_tools_progress_and_questions(void **state)
{
    const struct event *ev = read(
        state, ENVELOPE("on_tool_end", "{\"tool_id\":\"bing\",\"output\":null,\"error\":\"HTTP "
                                       "429\",\"duration_ms\":1200,\"node_id\":\"n1\"}"));

    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    expect_str(ev->run, "bing");
    expect_str(ev->name, "bing");
    expect_str(ev->parent, "n1");
    ev = read(state, ENVELOPE("on_tool_stream", "{\"tool_id\":\"bing\",\"chunk\":{\"a\":1}}"));
    assert_int_equal(ev->kind, EVENT_CUSTOM);
    expect_str(ev->run, "bing");
    assert_non_null(json_at(ev->data, "a"));
    ev = read(state, ENVELOPE("on_progress", "{\"percent\":5,\"message\":null}"));
    assert_int_equal(ev->kind, EVENT_CUSTOM);
    expect_str(ev->name, "progress");
    ev = read(state, ENVELOPE("on_interrupt",
                              "{\"kind\":\"pause\",\"interrupt_id\":\"i\",\"value\":1}"));
    assert_int_equal(ev->kind, EVENT_INTERRUPT);
    assert_true(ev->pause);
    expect_str(ev->id, "i");
    assert_int_equal(read(state, ENVELOPE("on_resume", "{\"interrupt_ids\":[\"i\"]}"))->kind,
                     EVENT_RESUMED);
    refuses(state, ENVELOPE("on_nothing", "{}"), ERR_TYPE, "on_nothing");
}

/* --- stream modes --------------------------------------------------------------------------
 */

static void a_part_is_read_in_every_form(void **state)
{
    static const struct {
        const char *sse, *line, *ns;
    } forms[] = {
        { NULL, "{\"namespace\":[],\"mode\":\"updates\",\"payload\":{\"a\":1}}", "" },
        { NULL, "{\"mode\":\"updates\",\"payload\":{\"a\":1}}", NULL },
        { NULL, "{\"namespace\":[\"w:1\",\"r:2\"],\"mode\":\"updates\",\"payload\":{\"a\":1}}",
          "w:1|r:2" },
        { NULL, "{\"type\":\"updates\",\"ns\":[\"w:1\"],\"data\":{\"a\":1}}", "w:1" },
        { NULL, "[\"updates\",{\"a\":1}]", NULL },
        { NULL, "[[\"w:1\",\"r:2\"],\"updates\",{\"a\":1}]", "w:1|r:2" },
        { NULL, "[\"w:1|r:2\",\"updates\",{\"a\":1}]", "w:1|r:2" },
        { "updates", "{\"a\":1}", NULL },
        { "updates|w:1|r:2", "{\"a\":1}", "w:1|r:2" },
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        const struct event *ev = read_named(state, forms[i].sse, forms[i].line);

        assert_int_equal(ev->source, SOURCE_MODES);
        assert_int_equal(ev->kind, EVENT_PART);
        assert_int_equal(ev->mode, PART_UPDATES);
        assert_non_null(json_at(ev->data, "a"));
        expect_str(ev->ns, forms[i].ns);
    }
}

static void a_messages_part_has_message_and_metadata(void **state)
{
    static const char pair[] =
        "[{\"content\":\"tok\",\"type\":\"AIMessageChunk\",\"id\":\"m\"},{\"langgraph_node\":\"inv\","
        "\"langgraph_step\":2,\"langgraph_checkpoint_ns\":\"inv:1\",\"tags\":[\"seq:step:2\"]}]";
    char line[400];

    for (int form = 0; form < 3; form++) {
        if (form == 0)
            (void)snprintf(line, sizeof(line), "[[\"x:1\"],\"messages\",%s]", pair);
        else if (form == 1)
            (void)snprintf(line, sizeof(line), "%s", pair); /* mode messages alone */
        else
            (void)snprintf(line, sizeof(line), "[[\"x:1\"],%s]", pair); /* and with subgraphs */
        const struct event *ev = read(state, line);
        assert_int_equal(ev->kind, EVENT_PART);
        assert_int_equal(ev->mode, PART_MESSAGES);
        expect_str(ev->message.text, "tok");
        expect_str(ev->node, "inv");
        expect_str(ev->ns, "inv:1");
        assert_int_equal(ev->step, 2);
        assert_non_null(ev->tags);
        assert_non_null(ev->meta);
        assert_null(ev->meta_key);
    }
    expect_str(read_named(state, "messages|w:1",
                          "[{\"content\":\"\",\"type\":\"ai\"},{\"langgraph_node\":\"r\"}]")
                   ->ns,
               "w:1");
    refuses_named(state, "messages", "[{\"content\":\"x\",\"type\":\"ai\"}]", ERR_TYPE,
                  "[message, ");
    refuses_named(state, "messages", "[7,{}]", ERR_TYPE, "no message");
    refuses(state, "[\"messages\",[{\"content\":\"x\",\"type\":\"ai\"},null]]", ERR_TYPE,
            "[message, ");
}

static void malformed_parts_are_refused(void **state)
{
    refuses(state, "[]", ERR_TYPE, "[mode, payload]");
    refuses(state, "[1,2,3,4]", ERR_TYPE, "[mode, payload]");
    refuses(state, "[{},{}]", ERR_TYPE, "[mode, payload]");
    refuses(state, "[\"what\",{}]", ERR_TYPE, "unknown stream mode \"what\"");
    refuses(state, "[[1],\"values\",{}]", ERR_TYPE, "namespace");
    refuses(state, "[{},\"values\",{}]", ERR_TYPE, "namespace");
    refuses(state, "{\"mode\":7,\"payload\":1}", ERR_TYPE, "\"mode\"");
}

static void the_servers_own_words_are_understood(void **state)
{
    const struct event *ev =
        read_named(state, "error", "{\"error\":\"RangeError\",\"message\":\"boom\"}");

    assert_int_equal(ev->kind, EVENT_JOB_END);
    assert_int_equal(ev->end, JOB_END_FAILED);
    expect_str(ev->error, "boom");
    expect_str(ev->error_type, "RangeError");
    ev = read_named(state, "error",
                    "{\"status_code\":500,\"message\":\"Internal Server Error\"}");
    expect_str(ev->error, "Internal Server Error");
    assert_int_equal(read_named(state, "metadata", "{\"run_id\":\"r\"}")->kind, EVENT_NOTHING);
    assert_int_equal(read_named(state, "end", "null")->kind, EVENT_NOTHING);
    assert_int_equal(read_named(state, "messages/metadata", "{}")->kind, EVENT_NOTHING);
    ev = read_named(state, "tools", "{\"event\":\"on_tool_start\"}");
    assert_int_equal(ev->kind, EVENT_PART);
    assert_int_equal(ev->mode, PART_TOOLS);
    refuses_named(state, "messages/partial", "[]", ERR_REFUSED, "messages-tuple");
    assert_int_equal(read_named(state, "data",
                                "{\"event\":\"on_chain_start\",\"name\":\"a\",\"run_id\":"
                                "\"r\"}")
                         ->source,
                     SOURCE_EVENTS);
}

/* --- native
 * ----------------------------------------------------------------------------------- */

static void category_state_events_are_read(void **state)
{
    const struct event *ev = read(
        state, "{\"type\":\"tool.start\",\"id\":\"t1\",\"name\":\"tavily\",\"timestamp\":\"x\","
               "\"data\":{\"input\":{\"query\":\"q\"},\"output\":null},\"metadata\":"
               "{\"workflow\":\"w\",\"agent_id\":\"a1\"}}");

    assert_int_equal(ev->source, SOURCE_NATIVE);
    assert_int_equal(ev->kind, EVENT_RUN_START);
    assert_int_equal(ev->type, RUN_TOOL);
    expect_str(ev->run, "t1");
    expect_str(ev->parent, "a1");
    assert_non_null(ev->input);
    ev = read(
        state,
        "{\"type\":\"tool.end\",\"id\":\"t1\",\"name\":\"tavily\",\"data\":{\"output\":\"o\"}}");
    assert_int_equal(ev->kind, EVENT_RUN_END);
    expect_str(json_text(ev->output), "o");
    ev = read(
        state,
        "{\"type\":\"tool.end\",\"id\":\"t1\",\"metadata\":{\"status\":\"error\",\"error\":"
        "\"HTTP 429\"}}");
    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    expect_str(ev->error, "HTTP 429");
    ev = read(state, "{\"type\":\"llm.chunk\",\"id\":\"l1\",\"data\":{\"chunk\":\"tok\"}}");
    assert_int_equal(ev->kind, EVENT_RUN_STREAM);
    assert_int_equal(ev->type, RUN_CHAT);
    expect_str(ev->message.text, "tok");
    ev =
        read(state,
             "{\"type\":\"llm.end\",\"id\":\"l1\",\"metadata\":{\"usage\":{\"input_tokens\":1},"
             "\"thinking\":\"hm\"}}");
    assert_true(ev->has_message);
    assert_non_null(ev->message.usage);
    expect_str(ev->message.reasoning, "hm");
    expect_str(ev->message.text, "");
    ev = read(state,
              "{\"type\":\"artifact.update\",\"name\":\"a.md\",\"data\":{\"type\":\"file\"}}");
    assert_int_equal(ev->kind, EVENT_ARTIFACT);
    expect_str(ev->name, "a.md");
    refuses(state, "{\"type\":\"artifact.update\",\"data\":null}", ERR_TYPE, "\"data\"");
}

static void a_workflow_is_an_execution_unless_it_has_an_agent_above(void **state)
{
    const struct event *ev =
        read(state, "{\"type\":\"workflow.start\",\"id\":\"w1\",\"name\":\"planner\"}");

    assert_true(ev->top);
    expect_str(ev->run, "w1");
    expect_str(ev->node, "planner");
    ev = read(state, "{\"type\":\"workflow.start\",\"id\":\"w2\",\"name\":\"sub\",\"metadata\":"
                     "{\"workflow\":\"planner\",\"agent_id\":\"w1\"}}");
    assert_false(ev->top);
    expect_str(ev->parent, "w1");
    /* Upstream's ids are new with every event: the agent's own is in the metadata. */
    ev = read(state,
              "{\"type\":\"workflow.end\",\"id\":\"new\",\"name\":\"planner\",\"metadata\":"
              "{\"workflow\":\"planner\",\"agent_id\":\"a1\",\"status\":\"interrupted\"}}");
    expect_str(ev->run, "a1");
    assert_true(ev->top);
    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    expect_str(ev->error_type, "interrupted");
}

static void the_type_may_be_the_sse_event(void **state)
{
    const struct event *ev =
        read_named(state, "tool.start", "{\"id\":\"t1\",\"name\":\"x\",\"data\":{}}");

    assert_int_equal(ev->source, SOURCE_NATIVE);
    assert_int_equal(ev->type, RUN_TOOL);
    assert_int_equal(read_named(state, "stream.mode", "{\"mode\":\"live\"}")->kind,
                     EVENT_NOTHING);
    assert_int_equal(read_named(state, "job.status", "{\"status\":\"success\"}")->end,
                     JOB_END_SUCCEEDED);
}

static void the_workers_word_on_the_end_is_taken(void **state)
{
    static const struct {
        const char *line;
        enum event_kind kind;
        enum job_end end;
        const char *error;
    } cases[] = {
        { "{\"type\":\"job.status\",\"status\":\"RUNNING\"}", EVENT_NOTHING, JOB_END_NONE,
          NULL },
        { "{\"type\":\"job.status\",\"status\":\"Success\"}", EVENT_JOB_END, JOB_END_SUCCEEDED,
          NULL },
        { "{\"type\":\"job.status\",\"data\":{\"status\":\"FAILURE\"},\"error\":\"x\"}",
          EVENT_JOB_END, JOB_END_FAILED, "x" },
        { "{\"type\":\"job.status\",\"status\":\"interrupted\"}", EVENT_JOB_END,
          JOB_END_CANCELLED, NULL },
        { "{\"type\":\"job.error\",\"data\":{\"error\":\"boom\",\"error_type\":\"ValueError\"}}",
          EVENT_JOB_END, JOB_END_FAILED, "boom" },
        { "{\"type\":\"job.error\",\"error\":\"Job not found\"}", EVENT_JOB_END, JOB_END_FAILED,
          "Job not found" },
        { "{\"type\":\"job.cancelled\",\"data\":{\"reason\":\"by user\"}}", EVENT_JOB_END,
          JOB_END_CANCELLED, "by user" },
        { "{\"type\":\"job.done\"}", EVENT_JOB_END, JOB_END_SUCCEEDED, NULL },
        { "{\"type\":\"job.failed\",\"error\":{\"code\":[1, 2]}}", EVENT_JOB_END,
          JOB_END_FAILED, "{\"code\":[1,2]}" },
        { "{\"type\":\"job.failed\"}", EVENT_JOB_END, JOB_END_FAILED, "unknown error" },
        { "{\"type\":\"job.failed\",\"status\":\"cancelled\"}", EVENT_JOB_END,
          JOB_END_CANCELLED, NULL },
        { "{\"type\":\"job.heartbeat\",\"data\":{\"uptime_seconds\":30}}", EVENT_NOTHING,
          JOB_END_NONE, NULL },
        { "{\"type\":\"job.shutdown\"}", EVENT_NOTHING, JOB_END_NONE, NULL },
        { "{\"type\":\"job.cancellation_requested\"}", EVENT_NOTHING, JOB_END_NONE, NULL },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct event *ev = read(state, cases[i].line);

        assert_int_equal(ev->kind, cases[i].kind);
        assert_int_equal(ev->end, cases[i].end);
        expect_str(ev->error, cases[i].error);
    }
}

static void the_agents_of_agent_are_read(void **state)
{
    const struct event *ev =
        read(state, "{\"type\":\"agent.spawned\",\"agent_id\":\"a\",\"agent_name\":"
                    "\"inv\",\"node\":\"inv\"}");

    assert_int_equal(ev->kind, EVENT_RUN_START);
    assert_true(ev->top);
    expect_str(ev->run, "a");
    expect_str(ev->node, "inv");
    ev = read(state, "{\"type\":\"agent.token\",\"agent_id\":\"a\",\"token\":\"tok\"}");
    assert_int_equal(ev->kind, EVENT_RUN_STREAM);
    assert_int_equal(ev->type, RUN_CHAT);
    expect_str(ev->run, NULL);
    expect_str(ev->parent, "a");
    expect_str(ev->message.text, "tok");
    ev = read(state, "{\"type\":\"agent.tool_call\",\"agent_id\":\"a\",\"tool_name\":\"web\","
                     "\"input_preview\":\"{\\\"q\\\":1}\"}");
    assert_int_equal(ev->kind, EVENT_RUN_START);
    expect_str(ev->name, "web");
    expect_str(ev->preview, "{\"q\":1}");
    assert_non_null(ev->input);
    ev = read(state, "{\"type\":\"agent.tool_result\",\"agent_id\":\"a\",\"tool_name\":\"web\","
                     "\"result_summary\":\"ok\"}");
    assert_int_equal(ev->kind, EVENT_RUN_END);
    expect_str(ev->text, "ok");
    ev = read(state, "{\"type\":\"agent.tool_result\",\"agent_id\":\"a\",\"tool_name\":\"web\","
                     "\"result_summary\":\"HTTP 429\",\"status\":\"error\"}");
    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    expect_str(ev->error, "HTTP 429");
    ev = read(state,
              "{\"type\":\"agent.done\",\"agent_id\":\"a\",\"node\":\"inv\",\"elapsed_ms\":7}");
    assert_int_equal(ev->kind, EVENT_RUN_END);
    assert_int_equal(ev->elapsed, 7);
    ev = read(state, "{\"type\":\"agent.done\",\"agent_id\":\"a\",\"node\":\"inv\",\"status\":"
                     "\"cancelled\"}");
    assert_int_equal(ev->kind, EVENT_RUN_ERROR);
    expect_str(ev->error_type, "cancelled");
    refuses(state, "{\"type\":\"agent.spawned\",\"node\":\"inv\"}", ERR_TYPE, "agent_id");
    refuses(state, "{\"type\":\"agent.token\",\"token\":7}", ERR_TYPE, "token");
}

static void an_empty_id_is_none(void **state)
{
    const struct event *ev =
        read(state, "{\"type\":\"llm.chunk\",\"id\":\"\",\"data\":{\"chunk\":\"x\"}}");

    assert_true(str_absent(ev->run));
    ev =
        read(state, "{\"event\":\"on_chain_start\",\"run_id\":\"r\",\"name\":\"n\",\"tags\":[],"
                    "\"metadata\":{},\"data\":{},\"parent_ids\":[\"\"]}");
    assert_true(str_absent(ev->parent));
}

static void the_graph_and_panel_of_agent_are_read(void **state)
{
    const struct event *ev =
        read(state, "{\"type\":\"output.token\",\"token\":\"tok\",\"section\":\"report\"}");

    assert_int_equal(ev->kind, EVENT_PANEL_TOKEN);
    expect_str(ev->text, "tok");
    expect_str(ev->section, "report");
    assert_int_equal(
        read(state, "{\"type\":\"output.section_done\",\"section\":\"report\"}")->kind,
        EVENT_SECTION_END);
    ev = read(state, "{\"type\":\"graph.node_complete\",\"node\":\"sup\",\"step\":3}");
    assert_int_equal(ev->kind, EVENT_NODE_DONE);
    assert_int_equal(ev->step, 3);
    ev = read(state, "{\"type\":\"graph.interrupt\",\"question\":\"Which?\",\"context\":null}");
    assert_int_equal(ev->kind, EVENT_INTERRUPT);
    assert_non_null(json_at(ev->data, "question"));
    assert_false(ev->pause);
    ev = read(state, "{\"type\":\"graph.interrupt\",\"interrupt_id\":\"i\",\"value\":null}");
    expect_str(ev->id, "i");
    assert_true(yyjson_is_null((yyjson_val *)ev->data));
    assert_true(
        read(state, "{\"type\":\"graph.interrupt\",\"value\":{\"kind\":\"pause\"}}")->pause);
    assert_true(read(state, "{\"type\":\"graph.paused\",\"job_id\":\"j\"}")->pause);
    assert_int_equal(read(state, "{\"type\":\"graph.resumed\",\"job_id\":\"j\"}")->kind,
                     EVENT_RESUMED);
    ev = read(state,
              "{\"type\":\"job.update\",\"name\":\"retry\",\"data\":{\"output\":\"again\"}}");
    assert_int_equal(ev->kind, EVENT_UPDATE);
    expect_str(ev->text, "again");
    ev =
        read(state,
             "{\"type\":\"job.update\",\"name\":\"interrupt\",\"data\":{\"interrupt_id\":\"i\","
             "\"value\":1}}");
    assert_int_equal(ev->kind, EVENT_INTERRUPT);
    expect_str(ev->id, "i");
}

/* --- one format only
 * ----------------------------------------------------------------------------- */

static void a_forced_source_takes_nothing_else(void **state)
{
    struct fixture *fx = *state;
    struct str part = STR("{\"mode\":\"values\",\"payload\":{}}");

    assert_int_equal(try_read(fx, SOURCE_MODES, STR_NONE, part), 0);
    assert_int_equal(try_read(fx, SOURCE_EVENTS, STR_NONE, part), ERR_TYPE);
    assert_int_equal(try_read(fx, SOURCE_NATIVE, STR_NONE, part), ERR_TYPE);
    assert_int_equal(try_read(fx, SOURCE_CALLBACK, STR_NONE, part), ERR_TYPE);
    assert_int_equal(try_read(fx, SOURCE_ENVELOPE, STR_NONE, part), ERR_TYPE);
    assert_int_equal(try_read(fx, SOURCE_EVENTS, STR_NONE, STR("[1,2]")), ERR_TYPE);
    assert_int_equal(try_read(fx, SOURCE_EVENTS, STR("values"), STR("{}")), ERR_TYPE);
    assert_int_equal(try_read(fx, SOURCE_EVENTS, STR("metadata"), STR("{}")), 0);
}

/* Every member of every known line replaced by every type: an error or an event, no crash. */
static void any_member_may_have_any_type(void **state)
{
    static const char *const lines[] = {
        "{\"event\":\"on_tool_error\",\"name\":@,\"run_id\":@,\"tags\":@,\"metadata\":@,\"data\":@}",
        "{\"event\":\"on_chat_model_end\",\"name\":\"n\",\"run_id\":\"r\",\"data\":{\"output\":@}}",
        "{\"event\":\"on_chat_model_stream\",\"name\":\"n\",\"run_id\":\"r\",\"data\":{\"chunk\":@}}",
        "{\"event\":\"on_chat_model_end\",\"name\":\"n\",\"run_id\":\"r\",\"data\":{\"output\":"
        "{\"generations\":@}}}",
        "{\"event\":\"on_chat_model_stream\",\"name\":\"n\",\"run_id\":\"r\",\"data\":{\"chunk\":"
        "{\"lc\":@,\"type\":@,\"id\":@,\"kwargs\":@}}}",
        "{\"event\":@,\"data\":@}",
        "{\"method\":\"on_chain_start\",\"args\":@,\"kwargs\":@}",
        "{\"method\":\"on_chain_error\",\"args\":[@],\"kwargs\":{\"run_id\":\"r\",\"name\":@}}",
        "{\"method\":\"on_llm_new_token\",\"args\":[@],\"kwargs\":{\"run_id\":\"r\",\"chunk\":@}}",
        "{\"method\":\"on_tool_start\",\"args\":[@,@],\"kwargs\":{\"run_id\":\"r\",\"inputs\":@}}",
        "{\"event\":\"on_chain_end\",\"run_id\":@,\"data\":{\"node_id\":@,\"error\":@}}",
        "{\"event\":\"on_chat_model_end\",\"run_id\":@,\"data\":{\"model\":@,\"final_text\":@}}",
        "{\"mode\":@,\"payload\":@,\"namespace\":@}",
        "{\"mode\":\"messages\",\"payload\":[@,@],\"namespace\":[@]}",
        "[@,@]",
        "[@,\"messages\",@]",
        "[@,\"values\",@]",
        "{\"type\":\"workflow.end\",\"id\":@,\"name\":@,\"data\":@,\"metadata\":@}",
        "{\"type\":\"llm.end\",\"id\":@,\"name\":@,\"data\":{\"output\":@},\"metadata\":{\"usage\":@}}",
        "{\"type\":\"agent.done\",\"agent_id\":@,\"status\":@,\"error\":@,\"elapsed_ms\":@}",
        "{\"type\":\"agent.tool_result\",\"agent_id\":@,\"result_summary\":@,\"status\":@}",
        "{\"type\":\"graph.interrupt\",\"value\":@,\"interrupt_id\":@}",
        "{\"type\":\"job.failed\",\"error\":@,\"status\":@}",
        "{\"type\":\"job.update\",\"name\":@,\"data\":@}",
        "{\"type\":\"artifact.update\",\"name\":@,\"data\":@}",
        "@",
    };
    static const char *const values[] = { "null",
                                          "true",
                                          "-1.5e3",
                                          "\"\"",
                                          "\"content='x\"",
                                          "[]",
                                          "[[[]]]",
                                          "{}",
                                          "{\"a\":{\"b\":[null]}}" };
    struct fixture *fx = *state;
    char line[1024];

    for (size_t l = 0; l < sizeof(lines) / sizeof(*lines); l++) {
        for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
            size_t n = 0;

            for (const char *p = lines[l]; *p != '\0'; p++) {
                const char *put = *p == '@' ? values[v] : NULL;
                size_t put_n = put != NULL ? strlen(put) : 1;

                memcpy(line + n, put != NULL ? put : p, put_n);
                n += put_n;
            }
            for (int from = 0; from < SOURCE_MAX; from++) {
                int code = try_read(fx, (enum event_source)from, STR_NONE, str_make(line, n));
                if (code != 0 && code != ERR_TYPE && code != ERR_REFUSED)
                    fail_msg("%d for %.*s", code, (int)n, line);
            }
        }
    }
}

static void a_scratch_that_cannot_grow_is_an_error(void **state)
{
    struct fixture *fx = *state;
    struct buf small;

    buf_init(&small, 100);
    assert_int_equal(
        json_read(&fx->reader, STR("{\"type\":\"job.done\"}"), &fx->json, &fx->err), 0);
    assert_int_equal(event_read(&fx->json, STR_NONE, SOURCE_AUTO, &small, &fx->ev, &fx->err),
                     ERR_TOO_LARGE);
    buf_done(&small);
}

/* --- recordings
 * --------------------------------------------------------------------------------- */

static const char folder[] = "tests/recordings";

struct totals {
    size_t errors;
    size_t lossy;
    size_t deltas;
    struct buf text; /* of all deltas */
};

static void take(struct fixture *fx, const struct sse_message *m, struct totals *t)
{
    if (m->data.n == 0)
        return;
    if (try_read(fx, SOURCE_AUTO, m->event, m->data) != 0) {
        t->errors++;
        return;
    }
    const struct event *ev = &fx->ev;
    t->lossy += ev->lossy;
    if (ev->has_message &&
        ((ev->kind == EVENT_RUN_STREAM) || (ev->kind == EVENT_PART && ev->message.chunk))) {
        t->deltas++;
        buf_str(&t->text, ev->message.text);
    }
}

static void play(struct fixture *fx, const char *name, struct totals *t)
{
    struct sse_message m;
    struct sse sse;
    char path[512], *line = NULL;
    size_t cap = 0;
    ssize_t n;

    *t = (struct totals){ 0 };
    buf_init(&t->text, 1 << 24);
    sse_init(&sse, 1 << 24);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    while ((n = getline(&line, &cap, file)) > 0) {
        int got = sse_line(&sse, str_make(line, (size_t)n - (line[n - 1] == '\n')), &m);

        t->errors += got < 0;
        if (got == 1)
            take(fx, &m, t);
    }
    if (sse_end(&sse, &m) == 1)
        take(fx, &m, t);
    (void)fclose(file); /* only read from */
    free(line);
    sse_done(&sse);
}

static void no_line_of_a_recording_is_refused(void **state)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t n_files = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        struct totals t;
        struct str name = str_of(entry->d_name);

        if (!str_ends(name, STR(".ndjson")) && !str_ends(name, STR(".sse")))
            continue;
        play(*state, entry->d_name, &t);
        n_files++;
        /* A state snapshot is no stream: its one line is refused. */
        if (t.errors != (strstr(entry->d_name, "state-after-interrupt") != NULL))
            fail_msg("%zu errors in %s", t.errors, entry->d_name);
        if ((t.lossy > 0) != (strstr(entry->d_name, ".str.") != NULL ||
                              strstr(entry->d_name, "py-h-callbacks-interrupt") != NULL))
            fail_msg("%zu lossy events in %s", t.lossy, entry->d_name);
        buf_done(&t.text);
    }
    (void)closedir(dir); /* only read from */
    assert_true(n_files > 40);
}

static void every_encoding_of_one_run_gives_the_same_text(void **state)
{
    static const char *const same[][3] = {
        { "py-a-supervisor-1-until-interrupt.server.ndjson",
          "py-a-supervisor-1-until-interrupt.lcdump.ndjson",
          "py-a-supervisor-1-until-interrupt.str.ndjson" },
        { "py-a-supervisor-2-resumed.server.ndjson", "py-a-supervisor-2-resumed.lcdump.ndjson",
          "py-a-supervisor-2-resumed.str.ndjson" },
        { "py-d-anthropic-list-content.server.ndjson", "py-d-anthropic-list-content.str.ndjson",
          "py-j-langserve-stream_events.sse" },
        { "py-d-legacy-llm.server.ndjson", "py-d-legacy-llm.lcdump.ndjson",
          "d-legacy-llm.ndjson" },
        { "a-supervisor-1-until-interrupt.ndjson",
          "a-supervisor-events-with-updates-mode.ndjson",
          "py-a-supervisor-1-until-interrupt.server.ndjson" },
    };

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        struct totals first, other;

        play(*state, same[i][0], &first);
        assert_true(first.text.n > 0);
        for (size_t k = 1; k < 3; k++) {
            play(*state, same[i][k], &other);
            if (first.deltas != other.deltas ||
                !str_eq(buf_text(&first.text), buf_text(&other.text)))
                fail_msg("%s and %s differ", same[i][0], same[i][k]);
            buf_done(&other.text);
        }
        buf_done(&first.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_read),
        cmocka_unit_test(javascript_says_nothing_about_parents),
        cmocka_unit_test(every_type_and_phase_is_known),
        cmocka_unit_test(hidden_runs_are_nothing),
        cmocka_unit_test(a_custom_events_data_is_its_payload),
        cmocka_unit_test(v1_models_hide_their_message_in_generations),
        cmocka_unit_test(a_tools_message_gives_the_call),
        cmocka_unit_test(errors_are_read_in_every_encoding),
        cmocka_unit_test(wrong_types_are_said_clearly),
        cmocka_unit_test(v3_is_refused_wherever_it_comes_from),
        cmocka_unit_test(what_is_no_event_is_refused_with_advice),
        cmocka_unit_test(a_callback_method_is_read),
        cmocka_unit_test(run_type_makes_prompts_and_parsers),
        cmocka_unit_test(a_new_token_is_a_stream),
        cmocka_unit_test(the_flat_forms_are_read),
        cmocka_unit_test(an_interrupt_is_no_failure),
        cmocka_unit_test(the_rare_callbacks_are_taken),
        cmocka_unit_test(an_envelopes_chain_is_an_execution),
        cmocka_unit_test(the_outermost_chain_of_an_envelope_is_the_job),
        cmocka_unit_test(an_envelopes_model_has_an_id_of_its_place_and_name),
        cmocka_unit_test(an_envelopes_tools_progress_and_questions),
        cmocka_unit_test(a_part_is_read_in_every_form),
        cmocka_unit_test(a_messages_part_has_message_and_metadata),
        cmocka_unit_test(malformed_parts_are_refused),
        cmocka_unit_test(the_servers_own_words_are_understood),
        cmocka_unit_test(category_state_events_are_read),
        cmocka_unit_test(a_workflow_is_an_execution_unless_it_has_an_agent_above),
        cmocka_unit_test(the_type_may_be_the_sse_event),
        cmocka_unit_test(the_workers_word_on_the_end_is_taken),
        cmocka_unit_test(the_agents_of_agent_are_read),
        cmocka_unit_test(an_empty_id_is_none),
        cmocka_unit_test(the_graph_and_panel_of_agent_are_read),
        cmocka_unit_test(a_forced_source_takes_nothing_else),
        cmocka_unit_test(any_member_may_have_any_type),
        cmocka_unit_test(a_scratch_that_cannot_grow_is_an_error),
        cmocka_unit_test(no_line_of_a_recording_is_refused),
        cmocka_unit_test(every_encoding_of_one_run_gives_the_same_text),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
