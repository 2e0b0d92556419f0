#include "base/json_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void holes_are_filled(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    json_format(&b, "{'a':%s,'b':[%j],'c':%s,'%j':1}", STR("it's \"so\" 5%s"), STR("1,'2'"),
                STR_NONE, STR("name"));
    buf_char(&b, '\0');
    assert_string_equal(b.p, "{\"a\":\"it's \\\"so\\\" 5%s\",\"b\":[1,'2'],\"c\":null,"
                             "\"name\":1}");
    buf_done(&b);
}

static void a_hole_may_be_first_and_last(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    json_format(&b, "%s%j", STR(""), STR(""));
    json_format(&b, "%j", STR(",1"));
    buf_char(&b, '\0');
    assert_string_equal(b.p, "\"\",1");
    buf_done(&b);
}

static void holes_take_texts_numbers_and_booleans(void **state)
{
    const char *none = NULL;
    char text[] = "z";
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    json_format(&b, "[%d,%d,%d,%d,%b,%b]", -7, (unsigned short)7, INT64_MIN, UINT64_MAX, true,
                1 > 2);
    json_format(&b, "[%s,%s,%j,%j]", text, none, "{}", STR_NONE);
    json_format(&b, "[%d,%d,%d,%d,%d,%d,%d,%d]", 1, 2, 3, 4, 5, 6, 7, 8);
    json_format_plain(&b, "{'a':'b'}");
    buf_char(&b, '\0');
    assert_string_equal(b.p, "[-7,7,-9223372036854775808,18446744073709551615,true,false]"
                             "[\"z\",null,{},null][1,2,3,4,5,6,7,8]{\"a\":\"b\"}");
    buf_done(&b);
}

static void members_need_no_comma_behind_the_brace(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_char(&b, '{');
    json_format(&b, ",'a':%d", 1);
    json_format(&b, ",'b':%d", 2);
    json_format(&b, ",'c':{%j}}", STR(""));
    buf_char(&b, '\0');
    assert_string_equal(b.p, "{\"a\":1,\"b\":2,\"c\":{}}");
    buf_done(&b);
}

static void the_limit_of_the_buffer_holds(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 8);
    json_format(&b, "{'a':%s}", STR("longer than that"));
    assert_int_not_equal(b.error, 0);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_are_filled),
        cmocka_unit_test(a_hole_may_be_first_and_last),
        cmocka_unit_test(holes_take_texts_numbers_and_booleans),
        cmocka_unit_test(members_need_no_comma_behind_the_brace),
        cmocka_unit_test(the_limit_of_the_buffer_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
