/* The answers that are kept for when no worker is there. */
#include "journal/kept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct kept_question about(const char *agent, const char *name, const char *params)
{
    return (struct kept_question){ str_of(agent), str_of(name), str_of(params) };
}

static void the_last_answer_counts(void **state)
{
    struct kept k = { 0 };
    struct kept_question q = about("a", "graph", "{}");

    (void)state;
    assert_true(str_absent(kept_get(&k, q)));
    kept_put(&k, q, STR("1"));
    kept_put(&k, about("a", "graph", "{\"xray\":true}"), STR("2"));
    kept_put(&k, about("b", "graph", "{}"), STR("3"));
    kept_put(&k, about("a", "schemas", "{}"), STR("4"));
    assert_true(str_is(kept_get(&k, q), "1"));
    kept_put(&k, q, STR("5"));
    assert_true(str_is(kept_get(&k, q), "5"));
    assert_true(str_is(kept_get(&k, about("b", "graph", "{}")), "3"));
    assert_int_equal(k.n, 4);
    kept_put(&k, q, STR_NONE);
    assert_true(str_absent(kept_get(&k, q)));
    assert_int_equal(k.n, 3);
    kept_clear(&k);
    assert_int_equal(k.n, 0);
    assert_int_equal(k.bytes, 0);
}

static void the_oldest_go_first(void **state)
{
    struct kept k = { 0 };
    char name[KEPT_MAX_ANSWERS + 2][16];

    (void)state;
    for (size_t i = 0; i < KEPT_MAX_ANSWERS + 2; i++) {
        (void)snprintf(name[i], sizeof(name[i]), "%zu", i);
        kept_put(&k, about(name[i], "graph", "{}"), STR("1"));
    }
    assert_int_equal(k.n, KEPT_MAX_ANSWERS);
    assert_true(str_absent(kept_get(&k, about("1", "graph", "{}"))));
    assert_true(str_is(kept_get(&k, about("2", "graph", "{}")), "1"));
    kept_clear(&k);
}

static void their_bytes_are_bounded(void **state)
{
    struct kept k = { 0 };
    char *large = calloc(1, KEPT_MAX_BYTES);
    struct str half = str_make(large, KEPT_MAX_BYTES / 2);

    (void)state;
    assert_non_null(large);
    kept_put(&k, about("a", "graph", "{}"), half);
    kept_put(&k, about("b", "graph", "{}"), half);
    assert_int_equal(k.n, 1);
    assert_int_equal(kept_get(&k, about("b", "graph", "{}")).n, half.n);
    kept_put(&k, about("b", "graph", "{}"), str_make(large, KEPT_MAX_BYTES));
    assert_int_equal(k.n, 0); /* what is too large is not kept, nor what was before it */
    kept_clear(&k);
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
