/* Looking for JSON values. */
#include "base/json_match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

typedef bool (*question)(const yyjson_val *, const yyjson_val *);

static bool ask(question q, const char *one, const char *other)
{
    struct json_reader readers[2];
    struct json a, b;

    json_reader_init(&readers[0], 10000, 64);
    json_reader_init(&readers[1], 10000, 64);
    assert_int_equal(json_read(&readers[0], str_of(one), &a, NULL), 0);
    assert_int_equal(json_read(&readers[1], str_of(other), &b, NULL), 0);
    bool yes = q(a.root, b.root);
    json_reader_done(&readers[0]);
    json_reader_done(&readers[1]);
    return yes;
}

static void values_are_the_same_in_any_order_of_members(void **state)
{
    (void)state;
    assert_true(ask(json_same, "{\"a\":1,\"b\":[true,null,\"x\"]}",
                    "{\"b\":[true,null,\"x\"],\"a\":1.0}"));
    assert_true(ask(json_same, "1e2", "100"));
    assert_false(ask(json_same, "{\"a\":1}", "{\"a\":1,\"b\":2}"));
    assert_false(ask(json_same, "[1,2]", "[2,1]"));
    assert_false(ask(json_same, "[1]", "[1,1]"));
    assert_false(ask(json_same, "1", "\"1\""));
    assert_false(ask(json_same, "true", "false"));
    assert_false(ask(json_same, "null", "false"));
    assert_false(ask(json_same, "{}", "[]"));
}

static void a_part_is_found_in_the_whole(void **state)
{
    (void)state;
    assert_true(ask(json_contains, "{\"a\":1,\"b\":{\"c\":2,\"d\":3}}", "{\"b\":{\"d\":3}}"));
    assert_true(ask(json_contains, "{\"tags\":[\"x\",\"y\"]}", "{\"tags\":[\"y\"]}"));
    assert_true(ask(json_contains, "{\"a\":1}", "{}"));
    assert_false(ask(json_contains, "{\"a\":1}", "{\"a\":2}"));
    assert_false(ask(json_contains, "{\"a\":1}", "{\"b\":1}"));
    assert_false(ask(json_contains, "{\"tags\":[\"x\"]}", "{\"tags\":[\"y\"]}"));
    assert_false(ask(json_contains, "{\"a\":1}", "{\"a\":{}}"));
}

static void a_filter_compares(void **state)
{
    const char *value = "{\"n\":5,\"name\":\"bob\",\"deep\":{\"a\":1}}";

    (void)state;
    assert_true(ask(json_matches, value, "{\"n\":5}"));
    assert_true(ask(json_matches, value, "{\"n\":{\"$gte\":5,\"$lt\":6}}"));
    assert_true(ask(json_matches, value, "{\"n\":{\"$ne\":4},\"name\":{\"$gt\":\"alice\"}}"));
    assert_true(ask(json_matches, value, "{\"deep\":{\"a\":1}}"));
    assert_true(ask(json_matches, value, "{\"missing\":{\"$ne\":1}}"));
    assert_true(ask(json_matches, value, "{\"n\":{\"$lte\":5.0}}"));
    assert_true(ask(json_matches, value, "{\"missing\":null}"));
    assert_false(ask(json_matches, value, "{\"n\":{\"$gt\":5}}"));
    assert_false(ask(json_matches, value, "{\"n\":{\"$gt\":\"1\"}}"));
    assert_false(ask(json_matches, value, "{\"name\":{\"$eq\":\"al\"}}"));
    assert_false(ask(json_matches, value, "{\"missing\":{\"$lt\":1}}"));
    assert_false(ask(json_matches, value, "{\"deep\":{}}"));
}

static void a_condition_that_is_none_is_named(void **state)
{
    struct json_reader reader;
    struct json j;

    (void)state;
    json_reader_init(&reader, 10000, 64);
    assert_int_equal(
        json_read(&reader, STR("{\"a\":{\"$eq\":1},\"b\":{\"$in\":[1]}}"), &j, NULL), 0);
    assert_true(str_is(json_filter_fault(j.root), "$in"));
    assert_int_equal(json_read(&reader, STR("{\"a\":{\"in\":[1]}}"), &j, NULL), 0);
    assert_true(str_absent(json_filter_fault(j.root)));
    json_reader_done(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_the_same_in_any_order_of_members),
        cmocka_unit_test(a_part_is_found_in_the_whole),
        cmocka_unit_test(a_filter_compares),
        cmocka_unit_test(a_condition_that_is_none_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
