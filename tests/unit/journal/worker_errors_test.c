/* What workers report that cannot work for an agent. */
#include "journal/worker_errors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void each_worker_counts_once(void **state)
{
    struct worker_errors list = { 0 };
    struct str error;

    (void)state;
    assert_int_equal(worker_errors_of(&list, STR("a"), 0, &error), 0);
    assert_true(str_absent(error));
    worker_errors_put(&list, STR("a"), STR("one"), STR("old"), 0);
    worker_errors_put(&list, STR("a"), STR("two"), STR("x"), 0);
    worker_errors_put(&list, STR("b"), STR("one"), STR("other"), 0);
    worker_errors_put(&list, STR("a"), STR("one"), STR("new"), 0);
    assert_int_equal(worker_errors_of(&list, STR("a"), 0, &error), 2);
    assert_true(str_is(error, "new"));
    worker_errors_put(&list, STR("a"), STR("one"), STR_NONE, 0);
    assert_int_equal(worker_errors_of(&list, STR("a"), 0, &error), 1);
    assert_true(str_is(error, "x"));
    assert_int_equal(worker_errors_of(&list, STR("b"), 0, &error), 1);
    worker_errors_clear(&list);
    assert_int_equal(list.n, 0);
}

static void a_report_counts_for_its_time(void **state)
{
    struct worker_errors list = { 0 };
    struct str error;

    (void)state;
    worker_errors_put(&list, STR("a"), STR("one"), STR("x"), 1000);
    assert_int_equal(worker_errors_of(&list, STR("a"), 1000 + WORKER_ERROR_MS - 1, &error), 1);
    assert_int_equal(worker_errors_of(&list, STR("a"), 1000 + WORKER_ERROR_MS, &error), 0);
    worker_errors_put(&list, STR("a"), STR("two"), STR("x"), 1000 + WORKER_ERROR_MS);
    assert_int_equal(list.n, 1);
    worker_errors_clear(&list);
}

static void the_list_is_bounded(void **state)
{
    struct worker_errors list = { 0 };
    struct str error;
    char name[16];

    (void)state;
    for (int i = 0; i < WORKER_ERRORS_MAX + 10; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        worker_errors_put(&list, STR("a"), str_of(name), str_of(name), 0);
    }
    assert_int_equal(list.n, WORKER_ERRORS_MAX);
    assert_int_equal(worker_errors_of(&list, STR("a"), 0, &error), WORKER_ERRORS_MAX);
    assert_true(str_is(error, "1009"));
    worker_errors_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_worker_counts_once),
        cmocka_unit_test(a_report_counts_for_its_time),
        cmocka_unit_test(the_list_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
