/* The byte buffer: growth, its limit, and errors that stick. */
#include "base/buf.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void holds(const struct buf *b, const char *expected)
{
    struct str text = buf_text(b);

    assert_int_equal(text.n, strlen(expected));
    assert_memory_equal(text.p, expected, text.n);
}

static void an_empty_buffer_has_a_text(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 10);
    assert_non_null(buf_text(&b).p);
    assert_int_equal(buf_text(&b).n, 0);
    assert_non_null(buf_since(&b, 0).p);
    buf_put(&b, NULL, 0);
    assert_int_equal(b.error, 0);
    buf_done(&b);
}

static void appending_appends(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_lit(&b, "one ");
    size_t from = b.n;
    buf_str(&b, STR("two "));
    buf_str(&b, STR_NONE);
    buf_char(&b, '3');
    holds(&b, "one two 3");
    assert_true(str_is(buf_since(&b, from), "two 3"));
    buf_cut(&b, 3);
    holds(&b, "one");
    buf_cut(&b, 100);
    holds(&b, "one");
    buf_done(&b);
}

static void it_grows_as_far_as_its_limit(void **state)
{
    enum { LIMIT = 1000 };
    struct buf b;

    (void)state;
    buf_init(&b, LIMIT);
    for (int i = 0; i < LIMIT; i++)
        buf_char(&b, (char)('a' + i % 26));
    assert_int_equal(b.error, 0);
    assert_int_equal(b.n, LIMIT);
    for (size_t i = 0; i < LIMIT; i++)
        assert_int_equal(b.p[i], 'a' + i % 26);
    buf_char(&b, 'x');
    assert_int_equal(b.error, ERR_TOO_LARGE);
    assert_int_equal(b.n, LIMIT);
    buf_done(&b);
}

static void an_error_sticks_until_it_is_cleared(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    buf_lit(&b, "abc");
    buf_lit(&b, "too much");
    buf_char(&b, 'd'); /* would fit, but comes after what is missing */
    holds(&b, "abc");
    assert_int_equal(b.error, ERR_TOO_LARGE);
    assert_false(buf_reserve(&b, 0));
    buf_clear(&b);
    assert_int_equal(b.error, 0);
    buf_lit(&b, "abcd");
    holds(&b, "abcd");
    buf_done(&b);
}

static void a_buffer_of_nothing_takes_nothing(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 0);
    buf_char(&b, 'a');
    assert_int_equal(b.error, ERR_TOO_LARGE);
    buf_done(&b);
}

static void a_limit_without_end_does_not_overflow(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, SIZE_MAX / 4);
    buf_lit(&b, "abc");
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_int_equal(b.error, ERR_TOO_LARGE);
    buf_clear(&b);
    buf_lit(&b, "abc");
    assert_false(buf_reserve(&b, SIZE_MAX / 4));
    assert_int_equal(b.error, ERR_TOO_LARGE);
    buf_done(&b);
}

static void numbers_are_written_in_full(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_u64(&b, 0);
    buf_char(&b, ' ');
    buf_u64(&b, UINT64_MAX);
    buf_char(&b, ' ');
    buf_i64(&b, INT64_MIN);
    buf_char(&b, ' ');
    buf_i64(&b, INT64_MAX);
    buf_char(&b, ' ');
    buf_i64(&b, -1);
    holds(&b, "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1");
    buf_done(&b);
}

static void a_buffer_can_be_used_after_it_is_done(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 3);
    buf_lit(&b, "abc");
    buf_done(&b);
    buf_lit(&b, "de");
    holds(&b, "de");
    buf_lit(&b, "fg");
    assert_int_equal(b.error, ERR_TOO_LARGE);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_has_a_text),
        cmocka_unit_test(appending_appends),
        cmocka_unit_test(it_grows_as_far_as_its_limit),
        cmocka_unit_test(an_error_sticks_until_it_is_cleared),
        cmocka_unit_test(a_buffer_of_nothing_takes_nothing),
        cmocka_unit_test(a_limit_without_end_does_not_overflow),
        cmocka_unit_test(numbers_are_written_in_full),
        cmocka_unit_test(a_buffer_can_be_used_after_it_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
