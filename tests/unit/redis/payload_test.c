#include "redis/payload.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct payload_about read(const char *text)
{
    struct json_reader reader;

    json_reader_init(&reader, 1 << 16, 64);
    struct payload_about about = payload_read(&reader, str_of(text));
    json_reader_done(&reader);
    return about;
}

static void numbers_are_found_where_they_count(void **state)
{
    (void)state;
    assert_int_equal(read("{\"event\":\"on_tool_end\",\"producer_seq\":7}").producer_seq, 7);
    assert_int_equal(read("{ \"producer_seq\" : 0 }").producer_seq, 0);
    assert_int_equal(read("{\"data\":{\"producer_seq\":7}}").producer_seq, -1);
    assert_int_equal(read("{\"producer_seq\":-3}").producer_seq, -1);
    assert_int_equal(read("{\"producer_seq\":1.5}").producer_seq, -1);
    assert_int_equal(read("{\"producer_seq\":\"7\"}").producer_seq, -1);
    assert_int_equal(read("{\"text\":\"producer_seq\"}").producer_seq, -1);
}

static void endings_are_known_by_their_type(void **state)
{
    (void)state;
    assert_true(read("{\"type\": \"graph.interrupt\", \"question\": \"?\"}").asks);
    assert_true(read("{\"job_id\":\"x\",\"type\":\"graph.paused\"}").asks);
    assert_true(read("{\"type\":\"job.done\"}").ends);
    assert_true(read("{\"type\":\"job.failed\",\"error\":\"x\"}").ends);
    assert_false(
        read("{\"type\":\"agent.token\",\"token\":\"graph.interrupt job.done\"}").asks);
    assert_false(
        read("{\"type\":\"agent.token\",\"token\":\"graph.interrupt job.done\"}").ends);
    assert_false(read("{\"event\":\"on_custom_event\",\"data\":{\"type\":\"job.done\"}}").ends);
}

static void of_nonsense_nothing_is_known(void **state)
{
    static const char *const texts[] = { "",   "job.done", "{\"type\":\"job.done\"",
                                         "[]", "null",     "\"producer_seq\"" };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct payload_about about = read(texts[i]);

        assert_int_equal(about.producer_seq, -1);
        assert_false(about.asks || about.ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_found_where_they_count),
        cmocka_unit_test(endings_are_known_by_their_type),
        cmocka_unit_test(of_nonsense_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
