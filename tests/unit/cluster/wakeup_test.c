/* Hints between gateways: written, merged and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

#include "cluster/wakeup.h"

static const struct wakeup job = { .kind = WAKEUP_JOB,
                                   .change = { .job = STR("job-1"),
                                               .agent = STR("an agent\nof two lines"),
                                               .owner = STR_NONE,
                                               .key = 42,
                                               .last_seq = 7,
                                               .state = JOB_RUNNING,
                                               .state_changed = true,
                                               .attempt = 3,
                                               .ts = 1700000000123 },
                                   .is_cancelled = true };

static struct wakeup question(void)
{
    struct wakeup w = job;

    w.kind = WAKEUP_QUESTION;
    w.change.question.id = STR("q1");
    w.change.question.question = STR("{\"ask\":\"ok?\"}");
    w.change.question.expires = -1;
    w.change.question.state = QUESTION_CLOSED;
    return w;
}

static void expect_job(const struct wakeup *got, const struct wakeup *want)
{
    const struct change *a = &got->change, *b = &want->change;

    assert_int_equal(got->kind, want->kind);
    assert_true(str_eq(a->job, b->job));
    assert_true(str_eq(a->agent, b->agent));
    assert_true(str_absent(a->owner));
    assert_int_equal(a->key, b->key);
    assert_int_equal(a->last_seq, b->last_seq);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->state_changed, b->state_changed);
    assert_int_equal(a->gone, b->gone);
    assert_int_equal(a->attempt, b->attempt);
    assert_int_equal(a->ts, b->ts);
    assert_int_equal(got->is_cancelled, want->is_cancelled);
    assert_int_equal(got->is_paused, want->is_paused);
}

static void each_kind_is_read_as_it_was_written(void **state)
{
    const struct wakeup asked = question(),
                        agent = { .kind = WAKEUP_AGENT, .change = { .agent = STR("a") } };
    const struct wakeup moved = { .kind = WAKEUP_WRITER, .shard = 3 },
                        lost = { .kind = WAKEUP_LOST };
    struct wakeup w;
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    wakeup_put(&b, &job);
    wakeup_put(&b, &asked);
    wakeup_put(&b, &agent);
    wakeup_put(&b, &moved);
    wakeup_put(&b, &lost);
    struct str text = buf_text(&b);
    assert_true(wakeup_take(&text, &w));
    expect_job(&w, &job);
    assert_true(wakeup_take(&text, &w));
    expect_job(&w, &asked);
    assert_true(str_is(w.change.question.id, "q1"));
    assert_true(str_is(w.change.question.question, "{\"ask\":\"ok?\"}"));
    assert_int_equal(w.change.question.expires, -1);
    assert_int_equal(w.change.question.state, QUESTION_CLOSED);
    assert_true(wakeup_take(&text, &w));
    assert_int_equal(w.kind, WAKEUP_AGENT);
    assert_true(str_is(w.change.agent, "a"));
    assert_true(wakeup_take(&text, &w));
    assert_int_equal(w.kind, WAKEUP_WRITER);
    assert_int_equal(w.shard, 3);
    assert_true(wakeup_take(&text, &w));
    assert_int_equal(w.kind, WAKEUP_LOST);
    assert_int_equal(text.n, 0);
    assert_false(wakeup_take(&text, &w));
    buf_done(&b);
}

static void the_seq_of_a_line_can_be_moved(void **state)
{
    struct wakeup w, want = job;
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    wakeup_put(&b, &(struct wakeup){ .kind = WAKEUP_LOST });
    size_t from = b.n;
    wakeup_put(&b, &job);
    wakeup_put(&b, &job);
    want.change.last_seq = UINT64_C(999999999999999999);
    wakeup_set_seq(&b, from, want.change.last_seq);
    struct str text = buf_text(&b);
    assert_true(wakeup_take(&text, &w));
    assert_true(wakeup_take(&text, &w));
    expect_job(&w, &want);
    assert_true(wakeup_take(&text, &w));
    expect_job(&w, &job);
    buf_done(&b);
}

/* Whatever is missing at its end, a line is refused, not guessed at. */
static void a_cut_line_is_refused(void **state)
{
    const struct wakeup asked = question();
    struct wakeup w;
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    wakeup_put(&b, &asked);
    for (size_t n = 0; n < b.n; n++) {
        struct str text = str_head(buf_text(&b), n);

        assert_false(wakeup_take(&text, &w));
    }
    buf_done(&b);
}

static void bad_lines_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "\n",
        "X\n",
        "W",
        "W x\n",
        "A\n",
        "A 5:abc\n",
        "A 99999999999999999999:abc\n",
        "A -1:\n",
        "J 000000000000000001 1 99 0 1 1 1:j 1:a -\n", /* no such state */
        "J -00000000000000001 1 0 0 1 1 1:j 1:a -\n",
        "J 000000000000000001 1 0 0 1 1 - 1:a -\n", /* no job */
        "Q 000000000000000001 1 0 0 1 1 1:j 1:a - 99 0 1:q -\n",
        "Q 000000000000000001 1 0 0 1 1 1:j 1:a - 0 0 - -\n",
    };
    struct wakeup w;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct str text = str_of(bad[i]);

        if (wakeup_take(&text, &w))
            fail_msg("taken: %s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_read_as_it_was_written),
        cmocka_unit_test(the_seq_of_a_line_can_be_moved),
        cmocka_unit_test(a_cut_line_is_refused),
        cmocka_unit_test(bad_lines_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
