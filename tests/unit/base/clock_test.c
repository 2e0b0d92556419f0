/* The clocks, and waiting for them. */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void the_clocks_do_not_run_backwards(void **state)
{
    uint64_t us = clock_monotonic_us();
    int64_t ms = clock_steady_ms();

    (void)state;
    assert_true(clock_monotonic_us() >= us);
    assert_true(clock_monotonic_ms() >= (int64_t)(us / 1000));
    assert_true(clock_steady_ms() >= ms);
}

static void a_sleep_lasts_at_least_as_long_as_it_says(void **state)
{
    uint64_t before = clock_monotonic_us();

    (void)state;
    clock_sleep_ms(2);
    assert_true(clock_monotonic_us() - before >= 2000);
    clock_sleep_ms(-1);
    clock_sleep_until(0);
}

static void a_wait_ends_at_its_moment(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t until = clock_monotonic_us() + 2000;
    pthread_cond_t cond;

    (void)state;
    clock_cond_init(&cond);
    assert_int_equal(pthread_mutex_lock(&lock), 0);
    while (clock_wait(&cond, &lock, until)) /* a wake-up without a cause is allowed */
        continue;
    assert_int_equal(pthread_mutex_unlock(&lock), 0);
    assert_true(clock_monotonic_us() >= until);
    (void)pthread_cond_destroy(&cond);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clocks_do_not_run_backwards),
        cmocka_unit_test(a_sleep_lasts_at_least_as_long_as_it_says),
        cmocka_unit_test(a_wait_ends_at_its_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
