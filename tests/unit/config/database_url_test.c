#include "config/values/database_url.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void take(const char *text)
{
    struct error err = { 0 };

    if (database_url_check(str_of(text), &err) != 0)
        fail_msg("%s: %s", text, err.text);
}

static void refuse(const char *text, const char *part)
{
    struct error err = { 0 };

    if (database_url_check(str_of(text), &err) != ERR_REFUSED)
        fail_msg("%s was taken", text);
    if (strstr(err.text, part) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, part);
    assert_null(strstr(err.text, "secret"));
}

static void paths_and_urls_are_taken(void **state)
{
    (void)state;
    take("spoolwire.db");
    take("/var/lib/a:b.db");
    take(":memory:");
    take("://x");
    take("sqlite:/x.db");
    take("sqlite://x.db");
    take("postgres://");
    take("postgresql://u@h:5432,h2:5433/x?sslmode=verify-full&passfile=/etc/pass");
    take("postgres://u:@h/x");
    take("postgres:///x?host=/run/a:b@c&application_name=password");
}

static void other_schemes_are_refused(void **state)
{
    (void)state;
    refuse("mysql://me:secret@h/x", "there is no store for \"mysql://\": give sqlite:PATH");
    refuse("postgre://me:secret@h/x", "there is no store for \"postgre://\"");
}

static void passwords_are_refused(void **state)
{
    (void)state;
    refuse("postgres://u:secret@h/x", "has a password");
    refuse("postgresql://:secret@/x", "has a password");
    refuse("postgres://u@h/x?password=secret", "~/.pgpass");
    refuse("postgres://h/x?sslmode=require&sslpassword=secret", "PGPASSWORD");
}

static void pairs_are_recognised(void **state)
{
    (void)state;
    assert_true(database_url_is_pairs(STR("service=x")));
    assert_true(database_url_is_pairs(STR("host=/run dbname=x")));
    assert_false(database_url_is_pairs(STR("services/x=y.db")));
    assert_false(database_url_is_pairs(STR("postgres://?service=x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_urls_are_taken),
        cmocka_unit_test(other_schemes_are_refused),
        cmocka_unit_test(passwords_are_refused),
        cmocka_unit_test(pairs_are_recognised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
