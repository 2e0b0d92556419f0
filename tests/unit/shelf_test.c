/* The shelf: what is read once, who waits, and what stays true. */
#include "hub/shelf.h"

#include "dialect/aiq.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { ROOM = 100000 };

static struct place place_of(int64_t key, uint64_t after)
{
    return (struct place){ .key = key,
                           .way = { .dialect = &dialect_aiq, .chunked = true },
                           .after = { .seq = after } };
}

static struct sheet *sheet_of(uint64_t last_seq, bool at_end, size_t n_bytes)
{
    struct sheet *sheet = sheet_new();

    assert_non_null(sheet);
    sheet->last_seq = last_seq;
    sheet->at_end = at_end;
    for (size_t i = 0; i < n_bytes; i++)
        buf_char(&sheet->bytes, 'x');
    return sheet;
}

static struct shelf *new_shelf(void)
{
    struct shelf *s = NULL;

    assert_int_equal(shelf_new(ROOM, &s), 0);
    return s;
}

/* Reads @place as a thread of the pool does. */
static void put(struct shelf *s, const struct place *place, struct sheet *sheet)
{
    assert_null(shelf_get(s, place, sheet->last_seq));
    shelf_put(s, place, sheet);
    sheet_unref(sheet);
}

static bool has(struct shelf *s, const struct place *place, uint64_t last_seq)
{
    struct sheet *sheet = shelf_get(s, place, last_seq);

    if (sheet == NULL)
        shelf_put(s, place, NULL); /* it is not read here */
    sheet_unref(sheet);
    return sheet != NULL;
}

static void a_full_sheet_stays_true(void **state)
{
    struct shelf *s = new_shelf();
    struct place place = place_of(1, 0);

    (void)state;
    put(s, &place, sheet_of(10, false, 100));
    assert_true(has(s, &place, 10));
    assert_true(has(s, &place, 1000));
    shelf_free(s);
}

static void the_end_of_a_job_is_true_until_it_goes_on(void **state)
{
    struct shelf *s = new_shelf();
    struct place place = place_of(1, 0);

    (void)state;
    put(s, &place, sheet_of(10, true, 100));
    assert_true(has(s, &place, 10));
    assert_true(has(s, &place, 9)); /* read when the job had gone on already */
    assert_false(has(s, &place, 11));
    put(s, &place, sheet_of(11, true, 100));
    assert_true(has(s, &place, 11));
    shelf_free(s);
}

static void another_place_is_another_sheet(void **state)
{
    struct shelf *s = new_shelf();
    struct place place = place_of(1, 5), other;

    (void)state;
    put(s, &place, sheet_of(10, false, 100));
    other = place_of(2, 5);
    assert_false(has(s, &other, 10));
    other = place_of(1, 6);
    assert_false(has(s, &other, 10));
    other = place;
    other.after.k = 1;
    assert_false(has(s, &other, 10));
    other = place;
    other.way.chunked = false;
    assert_false(has(s, &other, 10));
    other = place;
    other.way.variant.aiq_compat = true;
    assert_false(has(s, &other, 10));
    assert_true(has(s, &place, 10));
    shelf_free(s);
}

static void what_was_not_used_for_long_makes_room(void **state)
{
    struct shelf *s = new_shelf();
    struct place first = place_of(1, 0);

    (void)state;
    for (int64_t key = 1; key <= 50; key++) {
        struct place place = place_of(key, 0);

        put(s, &place, sheet_of(10, false, 9000));
        assert_true(has(s, &place, 10));
        assert_true(has(s, &first, 10)); /* used all the time */
    }
    struct place second = place_of(2, 0), last = place_of(50, 0);
    assert_false(has(s, &second, 10));
    assert_true(has(s, &last, 10));
    shelf_free(s);
}

static void a_sheet_outlives_the_shelf(void **state)
{
    struct shelf *s = new_shelf();
    struct place place = place_of(1, 0);

    (void)state;
    put(s, &place, sheet_of(10, false, 100));
    struct sheet *sheet = shelf_get(s, &place, 10);
    shelf_free(s);
    assert_int_equal(sheet->bytes.n, 100);
    sheet_unref(sheet);
}

static void what_cannot_be_read_is_tried_again(void **state)
{
    struct shelf *s = new_shelf();
    struct place place = place_of(1, 0);

    (void)state;
    assert_null(shelf_get(s, &place, 1));
    shelf_put(s, &place, NULL);
    put(s, &place, sheet_of(1, false, 10));
    assert_true(has(s, &place, 1));
    shelf_free(s);
}

/* --- threads ------------------------------------------------------------------ */

struct crowd {
    struct shelf *shelf;
    atomic_uint n_read;
};

static void *want(void *arg)
{
    struct crowd *crowd = arg;

    for (uint64_t after = 0; after < 200; after++) {
        struct place place = place_of(1, after);
        struct sheet *sheet = shelf_get(crowd->shelf, &place, 1000);

        if (sheet == NULL) {
            atomic_fetch_add(&crowd->n_read, 1);
            sheet = sheet_of(after + 1, false, 10);
            shelf_put(crowd->shelf, &place, sheet);
        }
        if (sheet->last_seq != after + 1)
            return arg; /* not what was asked for */
        sheet_unref(sheet);
    }
    return NULL;
}

static void those_who_want_the_same_read_it_once(void **state)
{
    struct crowd crowd = { .n_read = 0 };
    pthread_t threads[8];

    (void)state;
    assert_int_equal(shelf_new(1u << 30, &crowd.shelf), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, want, &crowd), 0);
    for (size_t i = 0; i < 8; i++) {
        void *wrong = NULL;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(atomic_load(&crowd.n_read), 200);
    shelf_free(crowd.shelf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_sheet_stays_true),
        cmocka_unit_test(the_end_of_a_job_is_true_until_it_goes_on),
        cmocka_unit_test(another_place_is_another_sheet),
        cmocka_unit_test(what_was_not_used_for_long_makes_room),
        cmocka_unit_test(a_sheet_outlives_the_shelf),
        cmocka_unit_test(what_cannot_be_read_is_tried_again),
        cmocka_unit_test(those_who_want_the_same_read_it_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
