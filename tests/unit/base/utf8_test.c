/* UTF-8 and surrogate halves. */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define GRIN "\xF0\x9F\x98\x80"
#define AE   "\xC3\xA4"
#define EURO "\xE2\x82\xAC"

static void valid_text_is_valid_to_its_end(void **state)
{
    (void)state;
    assert_int_equal(utf8_valid(STR("")), 0);
    assert_int_equal(utf8_valid(STR_NONE), 0);
    assert_int_equal(utf8_valid(STR("plain\0nul")), 9);
    assert_int_equal(utf8_valid(STR(AE EURO GRIN "\x7F\xEF\xBF\xBF\xF4\x8F\xBF\xBF")), 17);
}

static void what_is_wrong_is_found_where_it_begins(void **state)
{
    static const struct {
        struct str text;
        size_t valid;
    } cases[] = {
        { { "a\x80", 2 }, 1 },            /* a continuation alone */
        { { "a\xC3", 2 }, 1 },            /* cut short */
        { { "a\xE2\x82", 3 }, 1 },        /* cut short */
        { { "a\xF0\x9F\x98", 4 }, 1 },    /* cut short */
        { { "a\xC3z", 3 }, 1 },           /* no continuation */
        { { "\xC0\xAF", 2 }, 0 },         /* overlong */
        { { "\xC1\xBF", 2 }, 0 },         /* overlong */
        { { "\xE0\x9F\xBF", 3 }, 0 },     /* overlong */
        { { "\xF0\x8F\xBF\xBF", 4 }, 0 }, /* overlong */
        { { AE "\xED\xA0\x80", 5 }, 2 },  /* a surrogate half */
        { { "\xF4\x90\x80\x80", 4 }, 0 }, /* above U+10FFFF */
        { { "\xF5\x80\x80\x80", 4 }, 0 }, /* above U+10FFFF */
        { { "\xFE", 1 }, 0 },
        { { "\xFF", 1 }, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(utf8_valid(cases[i].text), cases[i].valid);
}

/* All code points: what utf8_put writes is valid, except the halves. */
static void every_code_point_is_written_and_read(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        char out[4];
        size_t n = utf8_put(out, point);
        bool half = point >= 0xD800 && point <= 0xDFFF;
        struct str s = str_make(out, n);

        assert_int_equal(utf8_valid(s), half ? 0 : n);
        assert_int_equal(utf8_half_first(s), half ? point : 0);
        assert_int_equal(utf8_half_last(s), half ? point : 0);
        assert_int_equal(utf8_head(s, 1).n, n);
    }
}

static void a_head_never_splits_a_code_point(void **state)
{
    struct str s = STR("a" AE EURO GRIN "b");

    (void)state;
    assert_int_equal(utf8_head(s, 0).n, 0);
    assert_int_equal(utf8_head(s, 1).n, 1);
    assert_int_equal(utf8_head(s, 2).n, 3);
    assert_int_equal(utf8_head(s, 3).n, 6);
    assert_int_equal(utf8_head(s, 4).n, 10);
    assert_int_equal(utf8_head(s, 5).n, 11);
    assert_int_equal(utf8_head(s, 6).n, 11);
    assert_int_equal(utf8_head(s, SIZE_MAX).n, 11);
    assert_int_equal(utf8_head(STR_NONE, 3).n, 0);
}

static void a_head_in_bytes_never_splits_a_code_point(void **state)
{
    static const size_t expected[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };
    struct str s = STR("a" AE EURO GRIN "b");

    (void)state;
    for (size_t n = 0; n < sizeof(expected) / sizeof(expected[0]); n++)
        assert_int_equal(utf8_head_bytes(s, n).n, expected[n]);
    assert_int_equal(utf8_head_bytes(STR_NONE, 3).n, 0);
}

static void halves_are_found_at_both_ends(void **state)
{
    (void)state;
    assert_int_equal(utf8_half_first(STR("\xED\xA0\xBDxyz")), 0xD83D);
    assert_int_equal(utf8_half_last(STR("xyz\xED\xB8\x80")), 0xDE00);
    assert_int_equal(utf8_half_first(STR("xyz")), 0);
    assert_int_equal(utf8_half_last(STR("xyz")), 0);
    assert_int_equal(utf8_half_first(STR("\xED\xA0")), 0);
    assert_int_equal(utf8_half_last(STR("")), 0);
    assert_int_equal(utf8_half_first(STR("\xED\x9F\xBF")), 0); /* U+D7FF */
    assert_true(utf8_is_high(0xD800) && utf8_is_high(0xDBFF) && !utf8_is_high(0xDC00));
    assert_true(utf8_is_low(0xDC00) && utf8_is_low(0xDFFF) && !utf8_is_low(0xE000));
    assert_false(utf8_is_high(0) || utf8_is_low(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_text_is_valid_to_its_end),
        cmocka_unit_test(what_is_wrong_is_found_where_it_begins),
        cmocka_unit_test(every_code_point_is_written_and_read),
        cmocka_unit_test(a_head_never_splits_a_code_point),
        cmocka_unit_test(a_head_in_bytes_never_splits_a_code_point),
        cmocka_unit_test(halves_are_found_at_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
