/* The page cache: what is read once, which readers wait, and what stays valid. */
#include "hub/page_cache.h"

#include "dialect/dialect.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { ROOM = 100000 };

static struct page_key place_of(int64_t key, uint64_t after)
{
    return (struct page_key){ .key = key,
                              .format = { .dialect = &dialect_aiq, .chunked = true },
                              .after = { .seq = after } };
}

static struct cached_page *cached_page_of(uint64_t last_seq, bool at_end, size_t n_bytes)
{
    struct cached_page *cached = cached_page_new();

    assert_non_null(cached);
    cached->last_seq = last_seq;
    cached->at_end = at_end;
    for (size_t i = 0; i < n_bytes; i++)
        buf_char(&cached->bytes, 'x');
    return cached;
}

static struct page_cache *new_page_cache(void)
{
    struct page_cache *s = NULL;

    assert_int_equal(page_cache_new(ROOM, &s), 0);
    return s;
}

/* Reads @place as a thread of the pool does. */
static void put(struct page_cache *s, const struct page_key *place, struct cached_page *cached)
{
    assert_null(page_cache_get(s, place, cached->last_seq));
    page_cache_put(s, place, cached);
    cached_page_unref(cached);
}

static bool has(struct page_cache *s, const struct page_key *place, uint64_t last_seq)
{
    struct cached_page *cached = page_cache_get(s, place, last_seq);

    if (cached == NULL)
        page_cache_put(s, place, NULL); /* it is not read here */
    cached_page_unref(cached);
    return cached != NULL;
}

static void a_full_page_stays_valid(void **state)
{
    struct page_cache *s = new_page_cache();
    struct page_key place = place_of(1, 0);

    (void)state;
    put(s, &place, cached_page_of(10, false, 100));
    assert_true(has(s, &place, 10));
    assert_true(has(s, &place, 1000));
    page_cache_free(s);
}

static void the_end_of_a_job_is_true_until_it_goes_on(void **state)
{
    struct page_cache *s = new_page_cache();
    struct page_key place = place_of(1, 0);

    (void)state;
    put(s, &place, cached_page_of(10, true, 100));
    assert_true(has(s, &place, 10));
    assert_true(has(s, &place, 9)); /* read when the job had gone on already */
    assert_false(has(s, &place, 11));
    put(s, &place, cached_page_of(11, true, 100));
    assert_true(has(s, &place, 11));
    page_cache_free(s);
}

static void another_place_is_another_page(void **state)
{
    struct page_cache *s = new_page_cache();
    struct page_key place = place_of(1, 5), other;

    (void)state;
    put(s, &place, cached_page_of(10, false, 100));
    other = place_of(2, 5);
    assert_false(has(s, &other, 10));
    other = place_of(1, 6);
    assert_false(has(s, &other, 10));
    other = place;
    other.after.k = 1;
    assert_false(has(s, &other, 10));
    other = place;
    other.format.chunked = false;
    assert_false(has(s, &other, 10));
    other = place;
    other.format.variant.aiq_compat = true;
    assert_false(has(s, &other, 10));
    assert_true(has(s, &place, 10));
    page_cache_free(s);
}

static void what_was_not_used_for_long_makes_room(void **state)
{
    struct page_cache *s = new_page_cache();
    struct page_key first = place_of(1, 0);

    (void)state;
    for (int64_t key = 1; key <= 50; key++) {
        struct page_key place = place_of(key, 0);

        put(s, &place, cached_page_of(10, false, 9000));
        assert_true(has(s, &place, 10));
        assert_true(has(s, &first, 10)); /* used all the time */
    }
    struct page_key second = place_of(2, 0), last = place_of(50, 0);
    assert_false(has(s, &second, 10));
    assert_true(has(s, &last, 10));
    page_cache_free(s);
}

static void a_page_outlives_the_cache(void **state)
{
    struct page_cache *s = new_page_cache();
    struct page_key place = place_of(1, 0);

    (void)state;
    put(s, &place, cached_page_of(10, false, 100));
    struct cached_page *cached = page_cache_get(s, &place, 10);
    page_cache_free(s);
    assert_int_equal(cached->bytes.n, 100);
    cached_page_unref(cached);
}

static void what_cannot_be_read_is_tried_again(void **state)
{
    struct page_cache *s = new_page_cache();
    struct page_key place = place_of(1, 0);

    (void)state;
    assert_null(page_cache_get(s, &place, 1));
    page_cache_put(s, &place, NULL);
    put(s, &place, cached_page_of(1, false, 10));
    assert_true(has(s, &place, 1));
    page_cache_free(s);
}

/* --- threads ------------------------------------------------------------------ */

struct crowd {
    struct page_cache *page_cache;
    atomic_uint n_read;
};

static void *want(void *arg)
{
    struct crowd *crowd = arg;

    for (uint64_t after = 0; after < 200; after++) {
        struct page_key place = place_of(1, after);
        struct cached_page *cached = page_cache_get(crowd->page_cache, &place, 1000);

        if (cached == NULL) {
            atomic_fetch_add(&crowd->n_read, 1);
            cached = cached_page_of(after + 1, false, 10);
            page_cache_put(crowd->page_cache, &place, cached);
        }
        if (cached->last_seq != after + 1)
            return arg; /* not what was asked for */
        cached_page_unref(cached);
    }
    return NULL;
}

static void those_who_want_the_same_read_it_once(void **state)
{
    struct crowd crowd = { .n_read = 0 };
    pthread_t threads[8];

    (void)state;
    assert_int_equal(page_cache_new(1u << 30, &crowd.page_cache), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, want, &crowd), 0);
    for (size_t i = 0; i < 8; i++) {
        void *wrong = NULL;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(atomic_load(&crowd.n_read), 200);
    page_cache_free(crowd.page_cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_page_stays_valid),
        cmocka_unit_test(the_end_of_a_job_is_true_until_it_goes_on),
        cmocka_unit_test(another_place_is_another_page),
        cmocka_unit_test(what_was_not_used_for_long_makes_room),
        cmocka_unit_test(a_page_outlives_the_cache),
        cmocka_unit_test(what_cannot_be_read_is_tried_again),
        cmocka_unit_test(those_who_want_the_same_read_it_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
