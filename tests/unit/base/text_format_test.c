#include "base/text_format.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

static void holes_are_filled_in_their_order(void **state)
{
    struct buf b LOCAL_BUF(200);
    const char *name = "wörker";

    (void)state;
    text_format(&b, "%s has %d of %d jobs%s", name, -3, UINT64_MAX, STR("."));
    expect_str(buf_text(&b), "wörker has -3 of 18446744073709551615 jobs.");
}

static void a_text_keeps_its_zero_bytes_and_quotes(void **state)
{
    struct buf b LOCAL_BUF(200);

    (void)state;
    text_format(&b, "'%s'", STR("a\0\"b"));
    assert_true(str_eq(buf_text(&b), STR("'a\0\"b'")));
}

static void an_absent_text_is_nothing(void **state)
{
    struct buf b LOCAL_BUF(200);

    (void)state;
    text_format(&b, "[%s%s]", STR_NONE, (const char *)NULL);
    expect_str(buf_text(&b), "[]");
}

static void the_limit_of_the_buffer_holds(void **state)
{
    struct buf b LOCAL_BUF(4);

    (void)state;
    text_format(&b, "%s%d", "abc", 10);
    assert_int_equal(b.error, ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_are_filled_in_their_order),
        cmocka_unit_test(a_text_keeps_its_zero_bytes_and_quotes),
        cmocka_unit_test(an_absent_text_is_nothing),
        cmocka_unit_test(the_limit_of_the_buffer_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
