#include "config/values/redis_url.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct redis_url parse(const char *text)
{
    struct redis_url u = { 0 };
    struct error err = { 0 };

    if (redis_url_parse(str_of(text), &u, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    return u;
}

static void refuse(const char *text, const char *part)
{
    struct redis_url u;
    struct error err = { 0 };

    if (redis_url_parse(str_of(text), &u, &err) != ERR_SYNTAX)
        fail_msg("%s was taken", text);
    if (strstr(err.text, part) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, part);
    assert_null(strstr(err.text, "secret"));
}

static void what_is_left_out_has_a_default(void **state)
{
    (void)state;
    struct redis_url u = parse("redis://example.org");
    assert_string_equal(u.host, "example.org");
    assert_int_equal(u.port, 6379);
    assert_int_equal(u.db, 0);
    assert_string_equal(u.user, "");
    assert_string_equal(u.password, "");
    assert_string_equal(u.unix_path, "");
    assert_int_equal(parse("redis://h/").db, 0);
}

static void all_parts_are_found(void **state)
{
    (void)state;
    struct redis_url u = parse("redis://me:secret%40%3a@[::1]:7000/3");
    assert_string_equal(u.host, "::1");
    assert_int_equal(u.port, 7000);
    assert_int_equal(u.db, 3);
    assert_string_equal(u.user, "me");
    assert_string_equal(u.password, "secret@:");
    u = parse("redis://:secret@127.0.0.1:1/15");
    assert_string_equal(u.user, "");
    assert_string_equal(u.password, "secret");
}

static void sockets_have_paths(void **state)
{
    (void)state;
    struct redis_url u = parse("unix:/run/redis.sock");
    assert_string_equal(u.unix_path, "/run/redis.sock");
    assert_string_equal(u.host, "");
    u = parse("unix://:secret@/run/redis.sock?db=2");
    assert_string_equal(u.unix_path, "/run/redis.sock");
    assert_string_equal(u.password, "secret");
    assert_int_equal(u.db, 2);
}

static void nonsense_is_refused_without_showing_secrets(void **state)
{
    (void)state;
    refuse("", "redis://");
    refuse("http://h", "redis://");
    refuse("rediss://:secret@h", "TLS");
    refuse("redis://", "host");
    refuse("redis://:secret@", "host");
    refuse("redis://:secret@h:0", "port");
    refuse("redis://:secret@h:65536", "port");
    refuse("redis://:secret@h:1x", "port");
    refuse("redis://[::1", "host");
    refuse("redis://[::1]x", "host");
    refuse("redis://h/x", "number");
    refuse("redis://me@h", "password");
    refuse("redis://:secret%4@h", "password");
    refuse("redis://:secret%00@h", "password");
    refuse("unix:secret", "path");
    refuse("unix:/secret?x=1", "?db=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_has_a_default),
        cmocka_unit_test(all_parts_are_found),
        cmocka_unit_test(sockets_have_paths),
        cmocka_unit_test(nonsense_is_refused_without_showing_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
