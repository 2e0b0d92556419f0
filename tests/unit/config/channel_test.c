#include "config/values/channel.h"

#include "base/buf.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct channel parse(const char *pattern)
{
    struct channel c = { 0 };
    struct error err = { 0 };

    if (channel_parse(str_of(pattern), &c, &err) != 0)
        fail_msg("%s: %s", pattern, err.text);
    return c;
}

static void expect(struct buf *got, const char *want)
{
    buf_char(got, '\0');
    assert_int_equal(got->error, 0);
    assert_string_equal(got->p, want);
    buf_done(got);
}

static void a_name_has_the_jobs_id_in_it(void **state)
{
    struct channel c = parse("jobs:{job_id}:events");
    struct str job;
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    channel_put(&c, STR("j-1"), &b);
    assert_true(channel_find_job(&c, buf_text(&b), &job));
    assert_true(str_is(job, "j-1"));
    expect(&b, "jobs:j-1:events");
    assert_true(channel_find_job(&c, STR("jobs::events"), &job));
    assert_int_equal(job.n, 0);
    assert_false(channel_find_job(&c, STR("jobs:events"), &job));
    assert_false(channel_find_job(&c, STR("job:j-1:events"), &job));
    assert_false(channel_find_job(&c, STR("jobs:j-1:event"), &job));
}

static void a_glob_takes_all_else_literally(void **state)
{
    struct channel c = parse("a*[b]?\\{job_id}^");
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    channel_put_glob(&c, &b);
    expect(&b, "a\\*\\[b\\]\\?\\\\*\\^");
    c = parse("{job_id}");
    buf_init(&b, 100);
    channel_put_glob(&c, &b);
    expect(&b, "*");
}

static void there_is_one_place_for_the_id(void **state)
{
    static const char *const bad[] = { "", "jobs", "{job_id", "{job_id}{job_id}", "{jobid}" };
    struct channel c;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = { 0 };

        assert_int_equal(channel_parse(str_of(bad[i]), &c, &err), ERR_SYNTAX);
        assert_non_null(strstr(err.text, "{job_id}"));
    }
    assert_int_equal(channel_parse(str_make("\0{job_id}", 9), &c, NULL), ERR_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_the_jobs_id_in_it),
        cmocka_unit_test(a_glob_takes_all_else_literally),
        cmocka_unit_test(there_is_one_place_for_the_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
