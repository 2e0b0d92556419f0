/* Text made safe for a terminal. */
#include "base/visible.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define GRIN     "\xF0\x9F\x98\x80"
#define OVERRIDE "\xE2\x80\xAE" /* U+202E: what follows is read from right to left */
#define UNKNOWN  "\xEF\xBF\xBD"

static void assert_shown(struct str text, const char *line, const char *lines)
{
    struct buf b;

    buf_init(&b, 1000);
    visible_put(&b, text);
    assert_int_equal(b.n, strlen(line));
    assert_memory_equal(b.p, line, b.n);
    buf_clear(&b);
    visible_put_lines(&b, text);
    assert_int_equal(b.n, strlen(lines));
    assert_memory_equal(b.p, lines, b.n);
    buf_done(&b);
}

static void plain_text_stays_as_it_is(void **state)
{
    (void)state;
    assert_shown(STR("plain \xC3\xA4 " GRIN " |"), "plain \xC3\xA4 " GRIN " |",
                 "plain \xC3\xA4 " GRIN " |");
}

static void what_a_terminal_obeys_becomes_a_blank(void **state)
{
    (void)state;
    assert_shown(STR("\033[31m"), " [31m", " [31m");
    assert_shown(STR("a\a\b\x7F\0b"), "a    b", "a    b");
    assert_shown(STR("\xC2\x9B"
                     "2J"),
                 " 2J", " 2J"); /* C1: the same as ESC [ */
    assert_shown(STR("a" OVERRIDE "b"), "a b", "a b");
    assert_shown(STR("\xEF\xBB\xBF\xF3\xA0\x81\x81"), "  ", "  "); /* a mark, and a tag */
}

static void line_ends_and_tabs_stay_where_lines_are_wanted(void **state)
{
    (void)state;
    assert_shown(STR("a\r\n\tb\rc"), "a   b c", "a\n\tbc");
}

static void bytes_that_are_no_text_are_marked(void **state)
{
    (void)state;
    assert_shown(STR("a\xFF\xC3z"), "a" UNKNOWN UNKNOWN "z", "a" UNKNOWN UNKNOWN "z");
    assert_shown(STR("\xED\xA0\x80|"), UNKNOWN "|", UNKNOWN "|"); /* half of a pair */
    assert_shown(STR("\xF0\x9F\x98"), UNKNOWN UNKNOWN UNKNOWN, UNKNOWN UNKNOWN UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays_as_it_is),
        cmocka_unit_test(what_a_terminal_obeys_becomes_a_blank),
        cmocka_unit_test(line_ends_and_tabs_stay_where_lines_are_wanted),
        cmocka_unit_test(bytes_that_are_no_text_are_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
