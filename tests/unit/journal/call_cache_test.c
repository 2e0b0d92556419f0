/* Cached answers, for when no worker is there. */
#include "journal/call_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct call_cache_question about(const char *agent, const char *name, const char *params)
{
    return (struct call_cache_question){ str_of(agent), str_of(name), str_of(params) };
}

static void the_last_answer_counts(void **state)
{
    struct call_cache k = { 0 };
    struct call_cache_question q = about("a", "graph", "{}");

    (void)state;
    assert_true(str_absent(call_cache_get(&k, q)));
    call_cache_put(&k, q, STR("1"));
    call_cache_put(&k, about("a", "graph", "{\"xray\":true}"), STR("2"));
    call_cache_put(&k, about("b", "graph", "{}"), STR("3"));
    call_cache_put(&k, about("a", "schemas", "{}"), STR("4"));
    assert_true(str_is(call_cache_get(&k, q), "1"));
    call_cache_put(&k, q, STR("5"));
    assert_true(str_is(call_cache_get(&k, q), "5"));
    assert_true(str_is(call_cache_get(&k, about("b", "graph", "{}")), "3"));
    assert_int_equal(k.n, 4);
    call_cache_put(&k, q, STR_NONE);
    assert_true(str_absent(call_cache_get(&k, q)));
    assert_int_equal(k.n, 3);
    call_cache_clear(&k);
    assert_int_equal(k.n, 0);
    assert_int_equal(k.bytes, 0);
}

static void the_oldest_go_first(void **state)
{
    struct call_cache k = { 0 };
    char name[KEPT_MAX_ANSWERS + 2][16];

    (void)state;
    for (size_t i = 0; i < KEPT_MAX_ANSWERS + 2; i++) {
        (void)snprintf(name[i], sizeof(name[i]), "%zu", i);
        call_cache_put(&k, about(name[i], "graph", "{}"), STR("1"));
    }
    assert_int_equal(k.n, KEPT_MAX_ANSWERS);
    assert_true(str_absent(call_cache_get(&k, about("1", "graph", "{}"))));
    assert_true(str_is(call_cache_get(&k, about("2", "graph", "{}")), "1"));
    call_cache_clear(&k);
}

static void their_bytes_are_bounded(void **state)
{
    struct call_cache k = { 0 };
    char *large = calloc(1, KEPT_MAX_BYTES);
    struct str half = str_make(large, KEPT_MAX_BYTES / 2);

    (void)state;
    assert_non_null(large);
    call_cache_put(&k, about("a", "graph", "{}"), half);
    call_cache_put(&k, about("b", "graph", "{}"), half);
    assert_int_equal(k.n, 1);
    assert_int_equal(call_cache_get(&k, about("b", "graph", "{}")).n, half.n);
    call_cache_put(&k, about("b", "graph", "{}"), str_make(large, KEPT_MAX_BYTES));
    assert_int_equal(k.n, 0); /* what is too large is not kept, nor what was before it */
    call_cache_clear(&k);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_answer_counts),
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(their_bytes_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
