/* The text that names a database: which backend has it. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "store_fixture.h"

static void a_path_and_its_url_are_the_same_database(void **state)
{
    struct fixture *f = *state;
    char url[200];

    (void)snprintf(url, sizeof(url), "sqlite:%s", f->path);
    struct store_options o = { .url = url, .relaxed = true, .busy_ms = 1000 };
    struct store *beside;
    ok(store_open(&o, &f->w, err));
    (void)add_job(f->w, "a", "a", "queued");
    ok(store_open_reader(&o, &f->r, err));
    (void)get_job(f->r, "a");
    ok(store_open_beside(&o, &beside, err));
    add_token(beside, "t", NULL);
    store_close(beside);
    close_both(f);
    open_both(f); /* by its path */
    (void)get_job(f->r, "a");
    expect_tokens(f->r, "t", 0);
}

static void an_unknown_scheme_is_refused_without_its_secrets(void **state)
{
    struct store_options o = { .url = "mysql://me:secret@host/db" };
    struct error why = { 0 };
    struct store *s = NULL;

    (void)state;
    assert_int_equal(store_open(&o, &s, &why), ERR_REFUSED);
    assert_int_equal(store_open_reader(&o, &s, NULL), ERR_REFUSED);
    assert_int_equal(store_open_beside(&o, &s, NULL), ERR_REFUSED);
    assert_null(s);
    assert_non_null(strstr(why.text, "\"mysql://\""));
    assert_non_null(strstr(why.text, "sqlite:PATH"));
    assert_null(strstr(why.text, "secret"));
}

static void a_colon_alone_makes_no_url(void **state)
{
    struct fixture *f = *state;

    (void)snprintf(f->path, sizeof(f->path), "%s/postgres:x", f->folder);
    open_both(f);
    assert_int_equal(access(f->path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        sqlite_only(a_path_and_its_url_are_the_same_database),
        sqlite_only(an_unknown_scheme_is_refused_without_its_secrets),
        sqlite_only(a_colon_alone_makes_no_url),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
