/* Counters and histograms. */
#include "base/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void a_value_is_counted_in_the_first_bucket_that_it_fits(void **state)
{
    struct histogram h;

    (void)state;
    histogram_init(&h, &scale_size);
    histogram_add(&h, 0, 1);
    histogram_add(&h, 1, 1);
    histogram_add(&h, 2, 1);
    histogram_add(&h, 10, 5);
    histogram_add(&h, 11, 1);
    histogram_add(&h, 100000, 1);
    histogram_add(&h, 100001, 2);
    assert_int_equal(counter_get(&h.counts[0]), 2);
    assert_int_equal(counter_get(&h.counts[1]), 1);
    assert_int_equal(counter_get(&h.counts[2]), 5);
    assert_int_equal(counter_get(&h.counts[3]), 1);
    assert_int_equal(counter_get(&h.counts[10]), 1);
    assert_int_equal(counter_get(&h.counts[11]), 2);
    assert_int_equal(counter_get(&h.sum), 1 + 2 + 50 + 11 + 100000 + 200002);
}

static void scales_rise_and_fit(void **state)
{
    const struct scale *scales[] = { &scale_latency, &scale_duration, &scale_size };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(scales[i]->n <= HISTOGRAM_MAX);
        for (size_t k = 1; k < scales[i]->n; k++)
            assert_true(scales[i]->bounds[k] > scales[i]->bounds[k - 1]);
        for (size_t k = scales[i]->n; k < HISTOGRAM_MAX; k++)
            assert_int_equal(scales[i]->bounds[k], 0);
    }
}

static void histograms_of_several_threads_add_up(void **state)
{
    struct histogram a, b, total;

    (void)state;
    histogram_init(&total, &scale_latency);
    histogram_init(&a, &scale_latency);
    histogram_init(&b, &scale_latency);
    histogram_add(&a, 50, 1);
    histogram_add(&b, 60, 2);
    histogram_add(&b, UINT64_C(1) << 40, 1);
    histogram_merge(&total, &a);
    histogram_merge(&total, &b);
    assert_int_equal(counter_get(&total.counts[0]), 3);
    assert_int_equal(counter_get(&total.counts[15]), 1);
    assert_int_equal(counter_get(&total.sum), 170 + (UINT64_C(1) << 40));
}

static void a_gauge_goes_up_and_down(void **state)
{
    struct counter c = { 0 };

    (void)state;
    counter_add(&c, 3);
    counter_sub(&c, 2);
    assert_int_equal(counter_get(&c), 1);
    counter_set(&c, 7);
    assert_int_equal(counter_get(&c), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_counted_in_the_first_bucket_that_it_fits),
        cmocka_unit_test(scales_rise_and_fit),
        cmocka_unit_test(histograms_of_several_threads_add_up),
        cmocka_unit_test(a_gauge_goes_up_and_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
