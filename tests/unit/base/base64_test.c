/* Base64. */
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void assert_both_ways(struct str bytes, struct str text)
{
    char out[64];
    size_t n = 0;
    struct buf b;

    buf_init(&b, 1000);
    base64_put(&b, bytes);
    assert_true(str_eq(buf_text(&b), text));
    assert_true(base64_decode(text, out, &n));
    assert_true(str_eq(str_make(out, n), bytes));
    buf_done(&b);
}

static void the_words_of_rfc_4648_go_both_ways(void **state)
{
    (void)state;
    assert_both_ways(STR(""), STR(""));
    assert_both_ways(STR("f"), STR("Zg=="));
    assert_both_ways(STR("fo"), STR("Zm8="));
    assert_both_ways(STR("foo"), STR("Zm9v"));
    assert_both_ways(STR("foobar"), STR("Zm9vYmFy"));
    assert_both_ways(STR("\xFB\xFF\xFE\0\x80"), STR("+//+AIA="));
}

static void what_is_not_base64_is_refused(void **state)
{
    static const char *const bad[] = { "Z",    "Zg",   "Zg=",  "Zg=a", "Z===",    "====",
                                       "Zh==", "Zm9=", "Zm9-", "Zm 9", "Zg==Zg==" };
    char out[64];
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(base64_decode(str_of(bad[i]), out, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_of_rfc_4648_go_both_ways),
        cmocka_unit_test(what_is_not_base64_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
