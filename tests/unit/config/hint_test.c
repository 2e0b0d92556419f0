/* Suggestions for invalid values. */
#include "config/options/hint.h"

#include "base/buf.h"
#include "config/options/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void assert_hint(const char *option, const char *text, const char *expected)
{
    const struct option *o = options_find(&server_options, STR(""), str_of(option));
    struct buf b;

    assert_non_null(o);
    buf_init(&b, 200);
    hint_put(o, str_of(text), &b);
    buf_char(&b, '\0');
    assert_string_equal(b.p, expected);
    buf_done(&b);
}

static void durations_get_a_unit(void **state)
{
    (void)state;
    assert_hint("keep_alive", "10", "10s");
    assert_hint("keep_alive", "10 s", "10s");
    assert_hint("keep_alive", "10S", "10s");
    assert_hint("keep_alive", "15 Seconds", "15s");
    assert_hint("keep_alive", "500msec", "500ms");
    assert_hint("keep_alive", "5min", "5m");
    assert_hint("keep_alive", "1 hour", "1h");
    assert_hint("expiry", "2days", "2d");
    assert_hint("keep_alive", "010s", "10s");
}

static void sizes_are_powers_of_1024(void **state)
{
    (void)state;
    assert_hint("max_body", "10MB", "10M");
    assert_hint("max_body", "10 MiB", "10M");
    assert_hint("max_body", "64kb", "64K");
    assert_hint("max_body", "2048 bytes", "2048");
}

static void numbers_lose_what_groups_their_digits(void **state)
{
    (void)state;
    assert_hint("max_connections", "1_000", "1000");
    assert_hint("max_connections", "20,000", "20000");
    assert_hint("max_connections", "007", "7");
}

static void words_are_spelt_right(void **state)
{
    (void)state;
    assert_hint("demo", "ture", "true");
    assert_hint("demo", "True", "true");
    assert_hint("durability", "relaxd", "relaxed");
    assert_hint("access_log", "jsno", "json");
}

static void addresses_are_completed(void **state)
{
    (void)state;
    assert_hint("listen", "9000", "127.0.0.1:9000");
    assert_hint("listen", ":9000", "127.0.0.1:9000");
    assert_hint("listen", "localhost", "localhost:8400");
    assert_hint("listen", "0.0.0.0", "0.0.0.0:8400");
    assert_hint("listen", "http://127.0.0.1:9000/", "127.0.0.1:9000");
}

static void nothing_is_better_than_nonsense(void **state)
{
    (void)state;
    assert_hint("keep_alive", "soon", "");
    assert_hint("keep_alive", "", "");
    assert_hint("keep_alive", "99999h", ""); /* out of bounds */
    assert_hint("keep_alive", "99999999999999999999999999999999999999999999s", "");
    assert_hint("max_body", "1.5M", "");
    assert_hint("demo", "perhaps", "");
    assert_hint("listen", "nowhere.example.com:80", "");
    assert_hint("max_connections", "-1", "");
    assert_hint("data", "x", ""); /* texts are not guessed */
    assert_hint("token_admin", "x", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_get_a_unit),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(numbers_lose_what_groups_their_digits),
        cmocka_unit_test(words_are_spelt_right),
        cmocka_unit_test(addresses_are_completed),
        cmocka_unit_test(nothing_is_better_than_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
