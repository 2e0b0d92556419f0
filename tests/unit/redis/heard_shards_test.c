#include "redis/heard_shards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void shards_of_the_start_are_taken_with_the_connection(void **state)
{
    struct heard_shards h;

    (void)state;
    heard_shards_init(&h, 5);
    assert_false(heard_shards_take(&h, 0, h.moment));
    assert_int_equal(heard_shards_connected(&h), 5);
    assert_true(heard_shards_take(&h, 0, h.moment));
    assert_false(heard_shards_take(&h, 1, h.moment));
    assert_true(heard_shards_take(&h, 2, h.moment));
    heard_shards_disconnected(&h);
    assert_int_equal(heard_shards_connected(&h), 0); /* they were taken already */
    assert_true(heard_shards_take(&h, 2, h.moment));
    assert_false(heard_shards_want(&h));
}

static void a_shard_that_comes_is_taken_behind_a_subscription(void **state)
{
    struct heard_shards h;

    (void)state;
    heard_shards_init(&h, 1);
    assert_int_equal(heard_shards_connected(&h), 1);
    uint64_t early = h.moment; /* may be of the last writer, who has stored it */
    assert_true(heard_shards_set(&h, 3, 0));
    heard_shards_asked(&h);
    assert_false(heard_shards_want(&h));
    assert_false(heard_shards_take(&h, 1, h.moment));
    assert_true(heard_shards_set(&h, 7, 0)); /* another one, before the first is confirmed */
    heard_shards_asked(&h);
    assert_int_equal(heard_shards_confirmed(&h), 2);
    assert_int_equal(heard_shards_confirmed(&h), 4);
    assert_true(heard_shards_take(&h, 1, h.moment));
    assert_false(heard_shards_take(&h, 1, early));
    assert_false(heard_shards_take(&h, 2, early));
    assert_true(heard_shards_take(&h, 0, early));
}

static void a_shard_that_was_away_is_taken_anew(void **state)
{
    struct heard_shards h;

    (void)state;
    heard_shards_init(&h, 3);
    assert_int_equal(heard_shards_connected(&h), 3);
    uint64_t early = h.moment;
    assert_true(heard_shards_set(&h, 3, 2)); /* gone and back before anybody has looked */
    assert_false(heard_shards_take(&h, 1, h.moment));
    heard_shards_asked(&h);
    assert_int_equal(heard_shards_confirmed(&h), 2);
    assert_true(heard_shards_take(&h, 1, h.moment));
    assert_false(heard_shards_take(&h, 1, early));
    assert_false(heard_shards_set(&h, 1, 2));
    assert_false(heard_shards_take(&h, 1, h.moment));
    assert_true(heard_shards_take(&h, 0, early));
}

static void a_lost_connection_is_asked_again(void **state)
{
    struct heard_shards h;

    (void)state;
    heard_shards_init(&h, 1);
    assert_true(heard_shards_set(&h, 3, 0)); /* while it connects: not taken with that */
    assert_int_equal(heard_shards_connected(&h), 1);
    assert_true(heard_shards_want(&h));
    heard_shards_asked(&h);
    heard_shards_disconnected(&h);
    assert_true(heard_shards_want(&h));
    assert_int_equal(heard_shards_connected(&h), 0);
    heard_shards_asked(&h);
    assert_int_equal(heard_shards_confirmed(&h), 2);
}

static void a_job_whose_shard_is_unknown_is_looked_for(void **state)
{
    struct heard_shards h;

    (void)state;
    heard_shards_init(&h, 6);
    assert_int_equal(heard_shards_try(&h, 2, h.moment), -1);
    (void)heard_shards_connected(&h);
    assert_int_equal(heard_shards_try(&h, 2, h.moment), 2);
    assert_int_equal(heard_shards_try(&h, 3, h.moment), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_of_the_start_are_taken_with_the_connection),
        cmocka_unit_test(a_shard_that_comes_is_taken_behind_a_subscription),
        cmocka_unit_test(a_shard_that_was_away_is_taken_anew),
        cmocka_unit_test(a_lost_connection_is_asked_again),
        cmocka_unit_test(a_job_whose_shard_is_unknown_is_looked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
