/* Messages in every encoding, what is no message, and the flat form. */
#include "ingest/message.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "expect.h"

struct fixture {
    struct json_reader reader;
    struct buf scratch;
    struct buf out;
    struct json json;
    struct message m;
};

static int setup(void **state)
{
    static struct fixture fx;

    json_reader_init(&fx.reader, 1 << 20, 64);
    buf_init(&fx.scratch, 1 << 20);
    buf_init(&fx.out, 1 << 20);
    *state = &fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;

    json_reader_done(&fx->reader);
    buf_done(&fx->scratch);
    buf_done(&fx->out);
    return 0;
}

static const yyjson_val *parse(struct fixture *fx, const char *text)
{
    struct error err = { 0 };
    int code = json_read(&fx->reader, str_of(text), &fx->json, &err);

    if (code != 0)
        fail_msg("%s in %s", err.text, text);
    return fx->json.root;
}

static const struct message *read(void **state, const char *text)
{
    struct fixture *fx = *state;
    const yyjson_val *v = parse(fx, text);

    buf_clear(&fx->scratch);
    message_read(v, &fx->scratch, &fx->m);
    assert_int_equal(fx->scratch.error, 0);
    return &fx->m;
}

static void expect_flat(void **state, const char *text, struct str skip, const char *want)
{
    struct fixture *fx = *state;

    buf_clear(&fx->out);
    message_flatten(&fx->out, parse(fx, text), skip);
    expect_str(buf_text(&fx->out), want);
}

/* --- encodings ----------------------------------------------------------------- */

static void a_javascript_constructor_is_read(void **state)
{
    const struct message *m = read(
        state, "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"langchain_core\",\"messages\","
               "\"AIMessageChunk\"],\"kwargs\":{\"content\":\" pool\",\"id\":\"chatcmpl-1\","
               "\"response_metadata\":{\"model_provider\":\"openai\"},\"tool_calls\":[],"
               "\"invalid_tool_calls\":[],\"tool_call_chunks\":[],\"additional_kwargs\":{}}}");

    assert_int_equal(m->cls, MESSAGE_AI);
    assert_true(m->chunk);
    assert_false(m->lossy);
    assert_false(m->finish);
    expect_str(m->text, " pool");
    expect_str(m->id, "chatcmpl-1");
    expect_str(m->reasoning, NULL);
    assert_non_null(m->response);
    assert_null(m->content);
    assert_null(m->calls);
    assert_null(m->call_chunks);
    assert_null(m->extra);
    assert_null(m->usage);
}

static void the_members_of_a_constructor_may_stand_in_any_order(void **state)
{
    const struct message *m = read(
        state, "{\"kwargs\":{\"id\":\"h\",\"content\":\"hi\"},\"id\":[\"x\",\"HumanMessage\"],"
               "\"type\":\"constructor\",\"lc\":1,\"name\":\"HumanMessage\"}");

    assert_int_equal(m->cls, MESSAGE_HUMAN);
    assert_false(m->chunk);
    expect_str(m->text, "hi");
    expect_str(m->id, "h");
}

static void a_flat_dump_is_read(void **state)
{
    const struct message *m = read(
        state,
        "{\"content\":\"a\",\"additional_kwargs\":{},\"response_metadata\":{\"finish_reason\":"
        "\"stop\"},\"type\":\"AIMessageChunk\",\"name\":null,\"id\":\"c\",\"tool_calls\":[],"
        "\"usage_metadata\":{\"input_tokens\":1},\"tool_call_chunks\":[{\"index\":0}],"
        "\"chunk_position\":null}");

    assert_int_equal(m->cls, MESSAGE_AI);
    assert_true(m->chunk);
    assert_true(m->finish);
    assert_non_null(m->usage);
    assert_non_null(m->call_chunks);
    expect_str(m->name, NULL);
}

static void a_javascript_server_calls_a_chunk_ai(void **state)
{
    assert_true(
        read(state, "{\"content\":\"a\",\"type\":\"ai\",\"tool_call_chunks\":[]}")->chunk);
    assert_false(read(state, "{\"content\":\"a\",\"type\":\"ai\",\"tool_calls\":[]}")->chunk);
}

static void type_and_data_is_read(void **state)
{
    const struct message *m = read(state, "{\"type\":\"tool\",\"data\":{\"content\":\"ok\","
                                          "\"tool_call_id\":\"c1\",\"status\":\"error\","
                                          "\"name\":\"web\"}}");

    assert_int_equal(m->cls, MESSAGE_TOOL);
    expect_str(m->text, "ok");
    expect_str(m->call, "c1");
    expect_str(m->status, "error");
    expect_str(m->name, "web");
}

static void a_generation_gives_its_message(void **state)
{
    const struct message *m = read(
        state, "{\"text\":\"x\",\"generation_info\":{\"finish_reason\":\"stop\"},\"type\":"
               "\"ChatGenerationChunk\",\"message\":{\"content\":\"one\",\"type\":\"ai\"}}");

    assert_int_equal(m->cls, MESSAGE_AI);
    assert_true(m->finish);
    expect_str(m->text, "one");
}

static void a_completion_gives_its_text(void **state)
{
    const struct message *m = read(state, "{\"text\":\"old \"}");

    assert_int_equal(m->cls, MESSAGE_GENERATION);
    expect_str(m->text, "old ");
    m = read(state, "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"langchain\",\"schema\","
                    "\"output\",\"GenerationChunk\"],\"kwargs\":{\"text\":\"tokens\",\"type\":"
                    "\"Generation\",\"generation_info\":{\"finish_reason\":null}}}");
    assert_int_equal(m->cls, MESSAGE_GENERATION);
    assert_false(m->finish);
    expect_str(m->text, "tokens");
    m = read(state, "\"bare\"");
    assert_int_equal(m->cls, MESSAGE_GENERATION);
    assert_false(m->lossy);
    expect_str(m->text, "bare");
}

static void what_is_no_message_is_none(void **state)
{
    static const char *const not_messages[] = {
        "null",
        "17",
        "[]",
        "[\"a\",\"b\"]",
        "{}",
        "true",
        "{\"content\":\"a\"}",
        "{\"type\":\"note\",\"content\":\"mine\"}",
        "{\"type\":7,\"content\":\"mine\"}",
        "{\"type\":\"file\",\"data\":{\"content\":\"mine\"}}",
        "{\"type\":\"text\",\"text\":\"a block\"}",
        "{\"message\":{\"type\":\"ai\",\"content\":\"a state that holds one\"}}",
        "{\"page_content\":\"x\",\"type\":\"Document\"}",
        "{\"lc\":2,\"type\":\"constructor\",\"id\":[\"AIMessage\"],\"kwargs\":{\"content\":\"\"}}",
        "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"Document\"],\"kwargs\":{\"content\":\"\"}}",
        "{\"lc\":1,\"type\":\"constructor\",\"id\":\"AIMessage\",\"kwargs\":{\"content\":\"\"}}",
        "{\"lc\":1,\"type\":\"constructor\",\"id\":[],\"kwargs\":{}}",
        "{\"lc\":1,\"type\":\"constructor\",\"id\":[7],\"kwargs\":[]}",
        "{\"lc\":1,\"type\":\"not_implemented\",\"id\":[\"a\",\"Command\"],\"repr\":\"C()\"}",
    };

    for (size_t i = 0; i < sizeof(not_messages) / sizeof(*not_messages); i++) {
        const struct message *m = read(state, not_messages[i]);

        if (m->cls != MESSAGE_NONE)
            fail_msg("taken for a message: %s", not_messages[i]);
        expect_str(m->text, "");
        assert_false(message_is(((struct fixture *)*state)->json.root));
    }
}

static void only_the_object_forms_are_messages(void **state)
{
    struct fixture *fx = *state;

    assert_true(message_is(parse(fx, "{\"type\":\"human\",\"content\":null}")));
    assert_true(message_is(parse(fx, "{\"type\":\"remove\",\"content\":\"\",\"id\":\"1\"}")));
    assert_true(message_is(parse(fx, "{\"type\":\"ai\",\"data\":{\"content\":\"\"}}")));
    assert_true(
        message_is(parse(fx, "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"SystemMessage"
                             "\"],\"kwargs\":{\"content\":\"\"}}")));
    assert_false(message_is(parse(fx, "\"content='x'\"")));
    assert_false(message_is(parse(fx, "{\"text\":\"x\"}")));
    assert_false(message_is(NULL));
}

static void wrong_types_inside_a_message_count_as_missing(void **state)
{
    const struct message *m = read(
        state, "{\"type\":\"ai\",\"content\":7,\"id\":[],\"name\":{},\"tool_calls\":\"x\","
               "\"tool_call_chunks\":{},\"usage_metadata\":[],\"response_metadata\":\"stop\","
               "\"additional_kwargs\":[1],\"tool_call_id\":1,\"status\":null}");

    assert_int_equal(m->cls, MESSAGE_AI);
    expect_str(m->text, "");
    expect_str(m->id, NULL);
    expect_str(m->name, NULL);
    expect_str(m->call, NULL);
    expect_str(m->status, NULL);
    assert_null(m->calls);
    assert_null(m->call_chunks);
    assert_null(m->usage);
    assert_null(m->response);
    assert_null(m->extra);
    assert_false(m->finish);
}

/* --- content --------------------------------------------------------------------- */

static void list_content_is_put_together(void **state)
{
    const struct message *m = read(
        state, "{\"type\":\"ai\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Need \"},"
               "{\"type\":\"text\",\"text\":\"Let \"},\"me \",{\"type\":\"text\",\"text\":7},"
               "{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"thinking\",\"thinking\":"
               "\"it\"},{\"type\":\"image\",\"text\":\"no\"},null,[\"no\"]]}");

    expect_str(m->text, "Let me see");
    expect_str(m->reasoning, "Need it");
    assert_non_null(m->content);
}

static void one_block_is_borrowed(void **state)
{
    struct fixture *fx = *state;
    const struct message *m =
        read(state, "{\"type\":\"ai\",\"content\":[{\"type\":\"text\",\"text\":\"Let \"}]}");

    expect_str(m->text, "Let ");
    assert_int_equal(fx->scratch.n, 0);
}

static void empty_list_content_is_empty_text(void **state)
{
    const struct message *m = read(
        state, "{\"type\":\"ai\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"\"}]}");

    expect_str(m->text, "");
    expect_str(m->reasoning, NULL);
    expect_str(read(state, "{\"type\":\"ai\",\"content\":[]}")->text, "");
}

static void reasoning_comes_in_many_shapes(void **state)
{
    expect_str(read(state,
                    "{\"type\":\"ai\",\"content\":[{\"type\":\"reasoning\",\"reasoning\":"
                    "\"r\"}]}")
                   ->reasoning,
               "r");
    expect_str(read(state, "{\"type\":\"ai\",\"content\":[{\"type\":\"reasoning\",\"summary\":"
                           "[{\"type\":\"summary_text\",\"text\":\"a\"},{\"text\":\"b\"}]}]}")
                   ->reasoning,
               "ab");
    expect_str(read(state, "{\"type\":\"ai\",\"content\":[{\"type\":\"reasoning_content\","
                           "\"reasoning_content\":{\"text\":\"c\"}}]}")
                   ->reasoning,
               "c");
    expect_str(read(state, "{\"type\":\"ai\",\"content\":\"x\",\"additional_kwargs\":"
                           "{\"reasoning_content\":\"d\"}}")
                   ->reasoning,
               "d");
    expect_str(read(state, "{\"type\":\"ai\",\"content\":\"x\",\"additional_kwargs\":"
                           "{\"reasoning_content\":\"\"}}")
                   ->reasoning,
               NULL);
}

static void every_providers_finish_is_seen(void **state)
{
    static const char *const yes[] = {
        "{\"finish_reason\":\"stop\"}",
        "{\"stop_reason\":\"tool_use\",\"stop_sequence\":null}",
        "{\"finishReason\":\"STOP\"}",
        "{\"stopReason\":\"end_turn\"}",
        "{\"model\":\"m\",\"done_reason\":\"stop\"}",
    };
    static const char *const no[] = {
        "{\"finish_reason\":null}",
        "{\"finish_reason\":\"\"}",
        "{\"model_provider\":\"openai\"}",
        "{\"finish_reason\":1}",
        "{}",
    };
    char text[200];

    for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"type\":\"ai\",\"content\":\"\",\"response_metadata\":%s}", yes[i]);
        assert_true(read(state, text)->finish);
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"type\":\"ai\",\"content\":\"\",\"response_metadata\":%s}", no[i]);
        assert_false(read(state, text)->finish);
    }
}

static void a_surrogate_pair_split_over_blocks_is_joined(void **state)
{
    const struct message *m =
        read(state, "{\"type\":\"ai\",\"content\":[\"a\\ud83d\",\"\\ude00b\"]}");

    expect_str(m->text, "a\xF0\x9F\x98\x80"
                        "b");
}

/* --- Python's repr ------------------------------------------------------------------ */

static void a_repr_gives_its_text_and_is_lossy(void **state)
{
    const struct message *m = read(
        state, "\"content=' pool' additional_kwargs={} response_metadata={'model_provider': "
               "'openai', 'finish_reason': None} id='chatcmpl-1' tool_calls=[] "
               "invalid_tool_calls=[] tool_call_chunks=[]\"");

    assert_int_equal(m->cls, MESSAGE_AI);
    assert_true(m->chunk);
    assert_true(m->lossy);
    assert_false(m->finish);
    expect_str(m->text, " pool");
    expect_str(m->id, "chatcmpl-1");
}

static void the_escapes_of_a_repr_are_undone(void **state)
{
    expect_str(read(state, "\"content='it\\\\'s \\\\\\\\ a\\\\nb\\\\t\\\\x41\\\\u00e9"
                           "\\\\U0001f600\\\\q' id='1'\"")
                   ->text,
               "it's \\ a\nb\tA\xC3\xA9\xF0\x9F\x98\x80\\q");
    expect_str(read(state, "\"content=\\\"it's\\\" id='1'\"")->text, "it's");
    expect_str(read(state, "\"content='\\\\ud83d\\\\ude00'\"")->text, "\xF0\x9F\x98\x80");
    expect_str(read(state, "\"content='\\\\ud83d'\"")->text, "\xED\xA0\xBD");
    expect_str(read(state, "\"content='\\\\x4' id='1'\"")->text, "\\x4");
    expect_str(read(state, "\"content='\\\\Uffffffff'\"")->text, "\\Uffffffff");
}

static void list_content_of_a_repr_is_put_together(void **state)
{
    const struct message *m = read(
        state,
        "\"content=[{'type': 'thinking', 'thinking': 'Need ', 'index': 0}, {'type': 'text', "
        "'text': 'search \xE2\x80\x94 ', 'index': 1}, 'plain', {'type': 'text', 'text': "
        "\\\"it's\\\", 'citations': [{'type': 'x', 'text': 'no'}]}, {'type': 'tool_use', "
        "'input': {}, 'text': 'no'}] response_metadata={'stop_reason': 'end_turn'} "
        "chunk_position='last'\"");

    expect_str(m->text, "search \xE2\x80\x94 plainit's");
    expect_str(m->reasoning, "Need ");
    assert_true(m->finish);
    assert_true(m->chunk);
}

static void a_repr_with_a_class_is_read(void **state)
{
    const struct message *m = read(
        state,
        "\"ToolMessage(content='ok', name='web', id='m1', tool_call_id='c1', status='error')\"");

    assert_int_equal(m->cls, MESSAGE_TOOL);
    expect_str(m->text, "ok");
    expect_str(m->call, "c1");
    expect_str(m->status, "error");
    expect_str(m->name, "web");
    m = read(state, "{\"lc\":1,\"type\":\"not_implemented\",\"id\":[\"x\",\"AIMessage\"],"
                    "\"repr\":\"AIMessage(content='ok', id='m2')\"}");
    assert_int_equal(m->cls, MESSAGE_AI);
    assert_true(m->lossy);
    expect_str(m->id, "m2");
}

static void a_tool_message_is_known_by_its_call(void **state)
{
    const struct message *m =
        read(state, "\"content='result for leak' name='web' id='fe' tool_call_id='toolu_01'\"");

    assert_int_equal(m->cls, MESSAGE_TOOL);
    expect_str(m->call, "toolu_01");
}

static void a_broken_repr_stays_text(void **state)
{
    static const char *const broken[] = { "content='no end", "content=", "content= 'x'",
                                          "content=[{'type'" };
    char text[64];

    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        (void)snprintf(text, sizeof(text), "\"%s\"", broken[i]);
        const struct message *m = read(state, text);
        assert_int_equal(m->cls, MESSAGE_GENERATION);
        assert_true(m->lossy);
        expect_str(m->text, broken[i]);
    }
    assert_false(read(state, "\"contention\"")->lossy);
}

/* --- flat ------------------------------------------------------------------------------ */

static void constructors_are_written_flat(void **state)
{
    expect_flat(
        state,
        "{\"messages\":[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"AIMessageChunk\"],"
        "\"kwargs\":{\"content\":\"a\\u0000\\\"\",\"usage\":1.50}},{\"lc\":1,\"type\":"
        "\"constructor\",\"id\":[\"m\",\"HumanMessage\"],\"kwargs\":{\"content\":\"b\","
        "\"type\":\"human\"}}]}",
        STR_NONE,
        "{\"messages\":[{\"content\":\"a\\u0000\\\"\",\"usage\":1.50,\"type\":\"ai\"},"
        "{\"content\":\"b\",\"type\":\"human\"}]}");
    expect_flat(state,
                "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"x\",\"Document\"],\"kwargs\":"
                "{\"page_content\":\"p\",\"metadata\":{}}}",
                STR_NONE, "{\"page_content\":\"p\",\"metadata\":{}}");
    expect_flat(state, "{\"type\":\"ai\",\"data\":{\"content\":\"x\"}}", STR_NONE,
                "{\"content\":\"x\",\"type\":\"ai\"}");
}

static void what_is_not_a_message_stays_as_it_is(void **state)
{
    static const char *const same[] = {
        "null",
        "[]",
        "{}",
        "[1,-0.0,1e400,12345678901234567890,true,\"\xE2\x80\xA8\"]",
        "{\"type\":\"file\",\"data\":{\"content\":\"x\"}}",
        "{\"lc\":1,\"type\":\"not_implemented\",\"id\":[\"a\"],\"repr\":\"A()\"}",
        "{\"lc\":1,\"type\":\"secret\",\"id\":[\"KEY\"]}",
        "{\"lc\":7,\"kwargs\":{}}",
        "{\"__lc_escaped__\":1,\"other\":2}",
    };

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        expect_flat(state, same[i], STR_NONE, same[i]);
}

static void an_escaped_object_is_the_users_own(void **state)
{
    expect_flat(
        state,
        "{\"a\":{\"__lc_escaped__\":{\"lc\":1,\"type\":\"constructor\",\"id\":[\"AIMessage\"]"
        ",\"kwargs\":{\"content\":\"\"}}}}",
        STR_NONE,
        "{\"a\":{\"lc\":1,\"type\":\"constructor\",\"id\":[\"AIMessage\"],\"kwargs\":"
        "{\"content\":\"\"}}}");
}

static void a_member_of_the_outermost_object_is_left_out(void **state)
{
    expect_flat(state, "{\"type\":\"graph.interrupt\",\"q\":{\"type\":1}}", STR("type"),
                "{\"q\":{\"type\":1}}");
    expect_flat(state, "{\"type\":1}", STR("type"), "{}");
    expect_flat(state, "[{\"type\":1}]", STR("type"), "[{\"type\":1}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_javascript_constructor_is_read),
        cmocka_unit_test(the_members_of_a_constructor_may_stand_in_any_order),
        cmocka_unit_test(a_flat_dump_is_read),
        cmocka_unit_test(a_javascript_server_calls_a_chunk_ai),
        cmocka_unit_test(type_and_data_is_read),
        cmocka_unit_test(a_generation_gives_its_message),
        cmocka_unit_test(a_completion_gives_its_text),
        cmocka_unit_test(what_is_no_message_is_none),
        cmocka_unit_test(only_the_object_forms_are_messages),
        cmocka_unit_test(wrong_types_inside_a_message_count_as_missing),
        cmocka_unit_test(list_content_is_put_together),
        cmocka_unit_test(one_block_is_borrowed),
        cmocka_unit_test(empty_list_content_is_empty_text),
        cmocka_unit_test(reasoning_comes_in_many_shapes),
        cmocka_unit_test(every_providers_finish_is_seen),
        cmocka_unit_test(a_surrogate_pair_split_over_blocks_is_joined),
        cmocka_unit_test(a_repr_gives_its_text_and_is_lossy),
        cmocka_unit_test(the_escapes_of_a_repr_are_undone),
        cmocka_unit_test(list_content_of_a_repr_is_put_together),
        cmocka_unit_test(a_repr_with_a_class_is_read),
        cmocka_unit_test(a_tool_message_is_known_by_its_call),
        cmocka_unit_test(a_broken_repr_stays_text),
        cmocka_unit_test(constructors_are_written_flat),
        cmocka_unit_test(what_is_not_a_message_stays_as_it_is),
        cmocka_unit_test(an_escaped_object_is_the_users_own),
        cmocka_unit_test(a_member_of_the_outermost_object_is_left_out),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
