/* The input framing: SSE, JSON lines, both mixed, and what is neither. */
#include "ingest/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "expect.h"

static int setup(void **state)
{
    static struct sse s;

    sse_init(&s, 64);
    *state = &s;
    return 0;
}

static int teardown(void **state)
{
    sse_done(*state);
    return 0;
}

static void more(void **state, const char *line)
{
    struct sse_message m;

    assert_int_equal(sse_line(*state, str_of(line), &m), 0);
}

static void gives(void **state, const char *line, const char *event, const char *data)
{
    struct sse_message m;

    assert_int_equal(sse_line(*state, str_of(line), &m), 1);
    expect_str(m.event, event);
    expect_str(m.data, data);
}

static void refuses(void **state, const char *line, int code)
{
    struct sse *s = *state;
    struct sse_message m;

    assert_int_equal(sse_line(s, str_of(line), &m), code);
    assert_int_equal(s->error.code, code);
    assert_true(s->error.text[0] != '\0');
}

static void a_json_line_is_a_message_and_is_not_copied(void **state)
{
    static const char line[] = "  {\"a\":1}\r";
    struct sse_message m;

    assert_int_equal(sse_line(*state, str_of(line), &m), 1);
    assert_ptr_equal(m.data.p, line);
    assert_int_equal(m.data.n, sizeof(line) - 2);
    assert_null(m.event.p);
    gives(state, "[1]", NULL, "[1]");
}

static void a_blank_line_ends_a_message(void **state)
{
    more(state, "event: values\r");
    more(state, "data: {\"a\":1}\r");
    more(state, "id: 7\r");
    gives(state, "\r", "values", "{\"a\":1}");
    more(state, "");
    more(state, "data: {}");
    gives(state, "", NULL, "{}");
}

static void several_data_lines_are_joined(void **state)
{
    more(state, "data: [1,");
    more(state, "data:  2");
    more(state, "data");
    more(state, "data:]");
    gives(state, "", NULL, "[1,\n 2\n\n]");
}

static void an_event_without_data_is_a_message(void **state)
{
    more(state, "event: end");
    gives(state, "", "end", "");
}

static void the_last_event_name_counts(void **state)
{
    more(state, "event: a long name");
    more(state, "event:b");
    more(state, "data: 1");
    gives(state, "", "b", "1");
}

static void comments_ids_and_retries_are_nothing(void **state)
{
    more(state, ": ping - 2026");
    more(state, ":");
    more(state, "id: 5");
    more(state, "retry: 100");
    more(state, "");
    more(state, "   ");
    gives(state, "{}", NULL, "{}");
}

static void json_lines_and_events_may_be_mixed(void **state)
{
    gives(state, "{\"a\":1}", NULL, "{\"a\":1}");
    more(state, "event: custom");
    more(state, "data: {\"b\":2}");
    gives(state, "", "custom", "{\"b\":2}");
    gives(state, "{\"c\":3}", NULL, "{\"c\":3}");
}

static void a_byte_order_mark_is_dropped_at_the_start_only(void **state)
{
    gives(state, "\xEF\xBB\xBF{\"a\":1}", NULL, "{\"a\":1}");
    refuses(state, "\xEF\xBB\xBF{\"a\":1}", ERR_SYNTAX);
}

static void a_stray_line_is_refused_and_the_rest_goes_on(void **state)
{
    refuses(state, "Loading model...", ERR_SYNTAX);
    refuses(state, "HTTP/1.1 200 OK", ERR_SYNTAX);
    refuses(state, "content-type: text/event-stream", ERR_SYNTAX);
    more(state, "data: 1");
    refuses(state, "{\"in\":\"between\"}", ERR_SYNTAX);
    refuses(state, " data: 2", ERR_SYNTAX);
    gives(state, "", NULL, "1");
}

static void the_end_of_the_input_ends_a_message(void **state)
{
    struct sse_message m;

    assert_int_equal(sse_end(*state, &m), 0);
    more(state, "data: 1");
    assert_int_equal(sse_end(*state, &m), 1);
    expect_str(m.data, "1");
    assert_int_equal(sse_end(*state, &m), 0);
}

static void a_message_over_the_limit_is_lost_as_a_whole(void **state)
{
    static const char long_line[] = "data: 0123456789012345678901234567890123456789";

    more(state, "event: values");
    more(state, long_line);
    refuses(state, long_line, ERR_TOO_LARGE);
    more(state, long_line);
    more(state, "event: values");
    more(state, "{\"dropped\":\"too\"}");
    more(state, "");
    more(state, "data: 1");
    gives(state, "", NULL, "1");
}

static void a_json_line_over_the_limit_is_refused(void **state)
{
    refuses(state, "{\"a\":\"012345678901234567890123456789012345678901234567890123456789\"}",
            ERR_TOO_LARGE);
    gives(state, "{}", NULL, "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define fresh(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
        fresh(a_json_line_is_a_message_and_is_not_copied),
        fresh(a_blank_line_ends_a_message),
        fresh(several_data_lines_are_joined),
        fresh(an_event_without_data_is_a_message),
        fresh(the_last_event_name_counts),
        fresh(comments_ids_and_retries_are_nothing),
        fresh(json_lines_and_events_may_be_mixed),
        fresh(a_byte_order_mark_is_dropped_at_the_start_only),
        fresh(a_stray_line_is_refused_and_the_rest_goes_on),
        fresh(the_end_of_the_input_ends_a_message),
        fresh(a_message_over_the_limit_is_lost_as_a_whole),
        fresh(a_json_line_over_the_limit_is_refused),
#undef fresh
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
