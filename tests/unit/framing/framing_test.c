/* Framings and cursors: exact bytes, and what a payload cannot do to them. */
#include "framing/framing.h"

#include "base/error.h"
#include "framing/websocket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct message_out a_message(void)
{
    return (struct message_out){
        .seq = 57,
        .k = 1,
        .total = 1,
        .event = STR("job.done"),
        .data = STR("{\"a\":1}"),
    };
}

static void expect(const struct framing *framing, const struct message_out *m, const char *want)
{
    struct buf out;

    buf_init(&out, 4096);
    framing->put(m, &out);
    assert_int_equal(out.error, 0);
    buf_char(&out, '\0');
    assert_string_equal(out.p, want);
    assert_int_equal(out.n, strlen(want) + 1);
    buf_done(&out);
}

static void framings_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(framing_find(STR("sse")), &framing_sse);
    assert_ptr_equal(framing_find(STR("ndjson")), &framing_ndjson);
    assert_null(framing_find(STR("ss")));
    assert_null(framing_find(STR("ssee")));
    assert_null(framing_find(STR_NONE));
}

static void sse_has_id_event_data_and_a_blank_line(void **state)
{
    struct message_out m = a_message();

    (void)state;
    expect(&framing_sse, &m, "id: 57\nevent: job.done\ndata: {\"a\":1}\n\n");
}

static void only_the_last_frame_of_a_record_has_the_plain_id(void **state)
{
    struct message_out m = a_message();

    (void)state;
    m.total = 3;
    expect(&framing_sse, &m, "id: 57.1\nevent: job.done\ndata: {\"a\":1}\n\n");
    m.k = 2;
    expect(&framing_sse, &m, "id: 57.2\nevent: job.done\ndata: {\"a\":1}\n\n");
    m.k = 3;
    expect(&framing_sse, &m, "id: 57\nevent: job.done\ndata: {\"a\":1}\n\n");
    m.seq = UINT64_MAX;
    m.k = UINT32_MAX - 1;
    m.total = UINT32_MAX;
    expect(&framing_sse, &m,
           "id: 18446744073709551615.4294967294\nevent: job.done\ndata: {\"a\":1}\n\n");
}

static void a_frame_made_for_the_connection_has_no_id(void **state)
{
    struct message_out m = a_message();

    (void)state;
    m.seq = 0;
    expect(&framing_sse, &m, "event: job.done\ndata: {\"a\":1}\n\n");
    m.wrap = true;
    expect(&framing_ndjson, &m, "{\"event\":\"job.done\",\"data\":{\"a\":1}}\n");
}

static void ndjson_is_the_payload_on_a_line(void **state)
{
    struct message_out m = a_message();

    (void)state;
    expect(&framing_ndjson, &m, "{\"a\":1}\n");
}

static void ndjson_wraps_when_asked_to(void **state)
{
    struct message_out m = a_message();

    (void)state;
    m.wrap = true;
    expect(&framing_ndjson, &m, "{\"id\":\"57\",\"event\":\"job.done\",\"data\":{\"a\":1}}\n");
    m.total = 2;
    expect(&framing_ndjson, &m,
           "{\"id\":\"57.1\",\"event\":\"job.done\",\"data\":{\"a\":1}}\n");
}

static void sse_ignores_wrap(void **state)
{
    struct message_out m = a_message();

    (void)state;
    m.wrap = true;
    expect(&framing_sse, &m, "id: 57\nevent: job.done\ndata: {\"a\":1}\n\n");
}

static void a_line_end_in_a_payload_becomes_a_space(void **state)
{
    struct message_out m = a_message();

    (void)state;
    m.data = STR("{\"a\":\r\n\n1}\r\rid: 9\n\nevent: job.failed");
    expect(&framing_sse, &m,
           "id: 57\nevent: job.done\ndata: {\"a\":   1}  id: 9  event: job.failed\n\n");
    expect(&framing_ndjson, &m, "{\"a\":   1}  id: 9  event: job.failed\n");
    m.wrap = true;
    expect(
        &framing_ndjson, &m,
        "{\"id\":\"57\",\"event\":\"job.done\",\"data\":{\"a\":   1}  id: 9  event: job.failed}\n");
    m.data = STR("\r");
    expect(&framing_sse, &m, "id: 57\nevent: job.done\ndata:  \n\n");
}

static void a_line_end_in_an_event_name_cannot_forge_a_field(void **state)
{
    struct message_out m = a_message();

    (void)state;
    m.event = STR("x\ndata: {}\r\n\"");
    expect(&framing_sse, &m, "id: 57\nevent: x data: {}  \"\ndata: {\"a\":1}\n\n");
    m.wrap = true;
    expect(&framing_ndjson, &m,
           "{\"id\":\"57\",\"event\":\"x\\ndata: {}\\r\\n\\\"\",\"data\":{\"a\":1}}\n");
}

static void messages_are_appended(void **state)
{
    struct message_out m = a_message();
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    framing_ndjson.put(&m, &out);
    m.data = STR("[\r]"); /* the line end of the first one must stay */
    framing_ndjson.put(&m, &out);
    assert_true(str_is(buf_text(&out), "{\"a\":1}\n[ ]\n"));
    buf_done(&out);
}

static void a_full_buffer_is_the_buffers_error(void **state)
{
    struct message_out m = a_message();
    char long_line[1000];
    struct buf out;

    (void)state;
    memset(long_line, '\n', sizeof(long_line));
    buf_init(&out, 500);
    m.data = str_make(long_line, sizeof(long_line));
    framing_sse.put(&m, &out);
    assert_int_equal(out.error, ERR_TOO_LARGE);
    buf_done(&out);
}

static void expect_cursor(struct str text, uint64_t seq, uint32_t k)
{
    struct cursor c = { 1, 1 };

    assert_int_equal(cursor_parse(text, &c), 0);
    assert_true(c.seq == seq);
    assert_true(c.k == k);
}

static void cursors_are_read(void **state)
{
    (void)state;
    expect_cursor(STR("0"), 0, 0);
    expect_cursor(STR("57"), 57, 0);
    expect_cursor(STR("57.1"), 57, 1);
    expect_cursor(STR("10.10"), 10, 10);
    expect_cursor(STR("18446744073709551615"), UINT64_MAX, 0);
    expect_cursor(STR("18446744073709551615.4294967295"), UINT64_MAX, UINT32_MAX);
}

static void what_is_no_id_of_ours_is_refused(void **state)
{
    static const struct str bad[] = {
        { NULL, 0 },
        { "", 0 },
        { "-1", 2 },
        { "+1", 2 },
        { "1.", 2 },
        { ".1", 2 },
        { ".", 1 },
        { "1.0", 3 },
        { "0.1", 3 },
        { "01", 2 },
        { "00", 2 },
        { "1.01", 4 },
        { "1..1", 4 },
        { "1.1.1", 5 },
        { " 1", 2 },
        { "1 ", 2 },
        { "1\n", 2 },
        { "1\0", 2 },
        { "1.\0", 3 },
        { "1e3", 3 },
        { "0x1", 3 },
        { "1-0", 3 },
        { "18446744073709551616", 20 },
        { "18446744073709551620", 20 },
        { "99999999999999999999", 20 },
        { "111111111111111111111", 21 },
        { "1.4294967296", 12 },
        { "1.18446744073709551617", 22 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct cursor c = { 7, 7 };

        assert_int_equal(cursor_parse(bad[i], &c), ERR_SYNTAX);
        assert_true(c.seq == 7 && c.k == 7);
    }
}

static void a_cursor_is_before_what_follows_it(void **state)
{
    struct cursor whole = { 57, 0 };
    struct cursor inside = { 57, 2 };
    struct cursor start = { 0, 0 };

    (void)state;
    assert_true(cursor_before(start, 1, 1));
    assert_false(cursor_before(whole, 56, 9));
    assert_false(cursor_before(whole, 57, 1));
    assert_false(cursor_before(whole, 57, 9));
    assert_true(cursor_before(whole, 58, 1));
    assert_false(cursor_before(inside, 56, 3));
    assert_false(cursor_before(inside, 57, 1));
    assert_false(cursor_before(inside, 57, 2));
    assert_true(cursor_before(inside, 57, 3));
    assert_true(cursor_before(inside, 58, 1));
}

static void a_websocket_frame_is_whole_and_not_masked(void **state)
{
    struct message_out m = a_message();
    struct buf out;

    (void)state;
    expect(&framing_websocket, &m, "\x81\x07{\"a\":1}");
    m.wrap = true;
    expect(&framing_websocket, &m,
           "\x81\x2d{\"id\":\"57\",\"event\":\"job.done\",\"data\":{\"a\":1}}");
    m.job = STR("j");
    expect(&framing_websocket, &m,
           "\x81\x37{\"job\":\"j\",\"id\":\"57\",\"event\":\"job.done\",\"data\":{\"a\":1}}");
    buf_init(&out, 1000);
    websocket_put_close(&out, 1000, STR("bye"));
    websocket_put_close(&out, 0, STR("no code, no reason"));
    websocket_put(&out, WEBSOCKET_PONG, STR("x"));
    assert_true(str_eq(buf_text(&out), STR("\x88\x05\x03\xe8"
                                           "bye\x88\x00\x8a\x01x")));
    buf_done(&out);
}

/* Every length that changes the head, and their neighbours. */
static void a_websocket_frame_has_the_shortest_head(void **state)
{
    static const struct {
        size_t n;
        unsigned char head[10];
        size_t n_head;
    } cases[] = {
        { 0, { 0x81, 0 }, 2 },
        { 125, { 0x81, 125 }, 2 },
        { 126, { 0x81, 126, 0, 126 }, 4 },
        { 65535, { 0x81, 126, 0xff, 0xff }, 4 },
        { 65536, { 0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0 }, 10 },
    };
    static char payload[65536];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;

        memset(payload, 'x', sizeof(payload));
        buf_init(&out, 100000);
        buf_lit(&out, "before");
        websocket_put(&out, WEBSOCKET_TEXT, str_make(payload, cases[i].n));
        assert_int_equal(out.n, 6 + cases[i].n_head + cases[i].n);
        assert_memory_equal(out.p + 6, cases[i].head, cases[i].n_head);
        assert_memory_equal(out.p + 6 + cases[i].n_head, payload, cases[i].n);
        buf_done(&out);
    }
}

static void a_websocket_frame_without_memory_is_an_error(void **state)
{
    struct message_out m = a_message();
    struct buf out;

    (void)state;
    for (size_t max = 0; max < 17; max++) {
        buf_init(&out, max);
        framing_websocket.put(&m, &out);
        assert_int_equal(out.error, ERR_TOO_LARGE);
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(framings_are_found_by_name),
        cmocka_unit_test(sse_has_id_event_data_and_a_blank_line),
        cmocka_unit_test(only_the_last_frame_of_a_record_has_the_plain_id),
        cmocka_unit_test(a_frame_made_for_the_connection_has_no_id),
        cmocka_unit_test(ndjson_is_the_payload_on_a_line),
        cmocka_unit_test(ndjson_wraps_when_asked_to),
        cmocka_unit_test(sse_ignores_wrap),
        cmocka_unit_test(a_line_end_in_a_payload_becomes_a_space),
        cmocka_unit_test(a_line_end_in_an_event_name_cannot_forge_a_field),
        cmocka_unit_test(messages_are_appended),
        cmocka_unit_test(a_full_buffer_is_the_buffers_error),
        cmocka_unit_test(a_websocket_frame_is_whole_and_not_masked),
        cmocka_unit_test(a_websocket_frame_has_the_shortest_head),
        cmocka_unit_test(a_websocket_frame_without_memory_is_an_error),
        cmocka_unit_test(cursors_are_read),
        cmocka_unit_test(what_is_no_id_of_ours_is_refused),
        cmocka_unit_test(a_cursor_is_before_what_follows_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
