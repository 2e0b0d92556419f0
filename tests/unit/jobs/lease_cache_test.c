/* Leases whose signatures were found good: the cache answers as the signature does. */
#include "base/error.h"
#include "jobs/lease_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const unsigned char secret[MAC_KEY] = "the secret of this server's test";

/* The lease of @job, as a worker shows it. */
static struct lease_text given(struct buf *b, struct str job, int64_t key, int64_t attempt)
{
    struct lease_text lease;

    buf_clear(b);
    lease_put(b, secret, job, key, attempt, STR_NONE);
    assert_int_equal(b->error, 0);
    assert_true(lease_read_text(buf_text(b), &lease));
    return lease;
}

static int set_up(void **state)
{
    static struct lease_cache cache;

    lease_cache_init(&cache, secret);
    *state = &cache;
    return 0;
}

static void a_good_lease_stays_good_and_a_forged_one_bad(void **state)
{
    struct lease_cache *cache = *state;
    struct buf b;

    buf_init(&b, 1000);
    struct lease_text lease = given(&b, STR("a"), 8, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lease_cache_check(cache, &lease, STR("a")), 0);
    /* Each digit counts, also once the right one is known. */
    for (size_t i = 0; i < MAC_CHARS; i++) {
        char *digit = b.p + (lease.mac.p - b.p) + i;
        char was = *digit;

        *digit = was == '0' ? '1' : '0';
        assert_int_equal(lease_cache_check(cache, &lease, STR("a")), ERR_REFUSED);
        *digit = was;
    }
    assert_int_equal(lease_cache_check(cache, &lease, STR("a")), 0);
    lease.mac = str_head(lease.mac, MAC_CHARS - 1);
    assert_int_equal(lease_cache_check(cache, &lease, STR("a")), ERR_REFUSED);
    buf_done(&b);
}

static void a_lease_is_good_for_its_job_and_attempt_only(void **state)
{
    struct lease_cache *cache = *state;
    struct buf b;

    buf_init(&b, 1000);
    struct lease_text lease = given(&b, STR("a"), 8, 1);
    assert_int_equal(lease_cache_check(cache, &lease, STR("a")), 0);
    assert_int_equal(lease_cache_check(cache, &lease, STR("b")), ERR_REFUSED);
    assert_int_equal(lease_cache_check(cache, &lease, STR("ab")), ERR_REFUSED);
    assert_int_equal(lease_cache_check(cache, &lease, STR("")), ERR_REFUSED);
    lease.attempt = 2;
    assert_int_equal(lease_cache_check(cache, &lease, STR("a")), ERR_REFUSED);
    lease.attempt = 1;
    lease.key += LEASE_CACHE_PLACES; /* the same place */
    assert_int_equal(lease_cache_check(cache, &lease, STR("a")), ERR_REFUSED);
    buf_done(&b);
}

static void leases_that_share_a_place_are_all_good(void **state)
{
    struct lease_cache *cache = *state;
    struct buf b;

    buf_init(&b, 1000);
    for (int64_t i = 0; i < 3 * LEASE_CACHE_PLACES; i++) {
        struct lease_text lease = given(&b, STR("a"), 5 + i % 4 * LEASE_CACHE_PLACES, 1);

        assert_int_equal(lease_cache_check(cache, &lease, STR("a")), 0);
    }
    buf_done(&b);
}

static void a_long_name_is_checked_each_time(void **state)
{
    struct lease_cache *cache = *state;
    char name[JOB_ID_MAX + 1];
    struct buf b;

    memset(name, 'n', sizeof(name));
    buf_init(&b, 1000);
    for (size_t n = JOB_ID_MAX - 1; n <= sizeof(name); n++) {
        struct lease_text lease = given(&b, str_make(name, n), 8, 1);

        for (int i = 0; i < 2; i++)
            assert_int_equal(lease_cache_check(cache, &lease, str_make(name, n)), 0);
        assert_int_equal(lease_cache_check(cache, &lease, str_make(name, n - 1)), ERR_REFUSED);
    }
    buf_done(&b);
}

static void a_bound_lease_is_good_for_its_executor_only(void **state)
{
    struct lease_cache *cache = *state;
    struct lease_text lease, other;
    struct buf b;

    buf_init(&b, 1000);
    lease_put(&b, secret, STR("a"), 8, 1, STR("e-1"));
    assert_true(lease_read_text(buf_text(&b), &lease));
    assert_true(str_is(lease.executor, "e-1"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lease_cache_check(cache, &lease, STR("a")), 0);
        other = lease;
        other.executor = STR("e-2");
        assert_int_equal(lease_cache_check(cache, &other, STR("a")), ERR_REFUSED);
        other.executor = STR_NONE;
        assert_int_equal(lease_cache_check(cache, &other, STR("a")), ERR_REFUSED);
    }
    assert_false(lease_read_text(STR("8.1.0123456789abcdef0123456789abcdef."), &other));
    assert_false(lease_read_text(STR("8.1.0123456789abcdef0123456789abcdef.a b"), &other));
    assert_false(lease_read_text(STR("8.1.0123456789abcdef0123456789abcdef.a.b"), &other));
    buf_done(&b);
}

static void nothing_is_good_at_first(void **state)
{
    struct lease_cache *cache = *state;
    char zeros[MAC_CHARS] = { 0 };
    struct lease_text lease = { .mac = str_make(zeros, sizeof(zeros)) };

    assert_int_equal(lease_cache_check(cache, &lease, STR("")), ERR_REFUSED);
    assert_int_equal(lease_cache_check(cache, &lease, STR("a")), ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_good_lease_stays_good_and_a_forged_one_bad, set_up),
        cmocka_unit_test_setup(a_lease_is_good_for_its_job_and_attempt_only, set_up),
        cmocka_unit_test_setup(leases_that_share_a_place_are_all_good, set_up),
        cmocka_unit_test_setup(a_long_name_is_checked_each_time, set_up),
        cmocka_unit_test_setup(a_bound_lease_is_good_for_its_executor_only, set_up),
        cmocka_unit_test_setup(nothing_is_good_at_first, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
