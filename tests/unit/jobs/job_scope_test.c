#include "jobs/job_scope.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Does @list, written for the owner acme, include the job? */
static bool includes(const char *list, const char *job, const char *owner)
{
    struct error err = { 0 };
    struct job_scope r;

    if (job_scope_init(&r, str_of(list), STR("acme"), &err) != 0)
        fail_msg("%s: %s", list, err.text);
    bool yes = job_scope_includes(&r, str_of(job), str_of(owner));
    job_scope_done(&r);
    return yes;
}

static void all_is_all(void **state)
{
    (void)state;
    assert_true(includes("all", "j", NULL));
    assert_true(includes("all", "j", "other"));
    assert_true(includes("*", "j", NULL));
    assert_true(includes("x, all", "j", NULL));
    assert_true(job_scope_includes(NULL, STR("j"), STR("other")));
}

static void owners_have_their_own(void **state)
{
    (void)state;
    assert_true(includes("own", "j", "acme"));
    assert_false(includes("own", "j", "acm"));
    assert_false(includes("own", "j", "acmee"));
    assert_false(includes("own", "j", NULL));
    assert_true(includes("owner:other", "j", "other"));
    assert_false(includes("owner:other", "j", "acme"));
    assert_true(includes("owner:other, own", "j", "acme"));
    assert_false(includes("acme", "j", "acme")); /* an id */
}

static void ids_and_their_beginnings(void **state)
{
    (void)state;
    assert_true(includes("job-1", "job-1", NULL));
    assert_false(includes("job-1", "job-12", "acme"));
    assert_true(includes("team-*", "team-a", NULL));
    assert_true(includes("team-*", "team-", NULL));
    assert_false(includes("team-*", "tea", NULL));
    assert_true(includes("a*,b*", "bc", NULL));
    assert_false(includes("a*,b*", "cb", NULL));
}

static void nonsense_is_refused(void **state)
{
    static const char *const lists[] = { "",          " ",     ",",      "own, ,", "owner:",
                                         "owner:a/b", "a b",   "a**",    "**",     "*a",
                                         "a\"b",      "j\xc3", "own,,x", "owner:*" };
    char many[3 * (JOB_SCOPE_MAX_RULES + 1)];
    char one[70];
    struct error err;
    struct job_scope r = { .n = 7 };

    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        assert_int_equal(job_scope_init(&r, str_of(lists[i]), STR("acme"), &err), ERR_REFUSED);
    memset(one, 'x', sizeof(one));
    assert_int_equal(job_scope_init(&r, str_make(one, 65), STR("acme"), &err), ERR_REFUSED);
    for (size_t i = 0; i < sizeof(many); i++)
        many[i] = "ab,"[i % 3];
    assert_int_equal(job_scope_init(&r, str_make(many, sizeof(many) - 1), STR("acme"), &err),
                     ERR_REFUSED);
    assert_int_equal(r.n, 7); /* untouched */
    assert_int_equal(job_scope_init(&r, str_make(many, sizeof(many) - 4), STR("acme"), &err),
                     0);
    assert_int_equal(r.n, JOB_SCOPE_MAX_RULES);
    job_scope_done(&r);
}

static void one_owner_is_known_as_such(void **state)
{
    struct job_scope r;

    (void)state;
    assert_int_equal(job_scope_init(&r, STR("own"), STR("acme"), NULL), 0);
    assert_true(str_is(job_scope_owner(&r), "acme"));
    job_scope_done(&r);
    assert_int_equal(job_scope_init(&r, STR("own,x"), STR("acme"), NULL), 0);
    assert_true(str_absent(job_scope_owner(&r)));
    job_scope_done(&r);
    assert_int_equal(job_scope_init(&r, STR("all"), STR("acme"), NULL), 0);
    assert_true(str_absent(job_scope_owner(&r)));
    job_scope_done(&r);
    assert_true(str_absent(job_scope_owner(NULL)));
}

/* As a page that is read while its reader leaves. */
static void a_shared_scope_outlives_the_first(void **state)
{
    struct job_scope r, shared, all;

    (void)state;
    assert_int_equal(job_scope_init(&r, STR("own,x*"), STR("acme"), NULL), 0);
    job_scope_share(&shared, &r);
    job_scope_done(&r);
    assert_true(job_scope_includes(&shared, STR("j"), STR("acme")));
    assert_true(job_scope_includes(&shared, STR("xy"), STR_NONE));
    assert_false(job_scope_includes(&shared, STR("j"), STR("other")));
    job_scope_done(&shared);
    job_scope_share(&all, NULL);
    assert_true(job_scope_includes(&all, STR("j"), STR("other")));
    job_scope_done(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_all),
        cmocka_unit_test(owners_have_their_own),
        cmocka_unit_test(ids_and_their_beginnings),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(one_owner_is_known_as_such),
        cmocka_unit_test(a_shared_scope_outlives_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
