/* Which gateways wait for which jobs: told by one side, kept and served by the other. */
#define _GNU_SOURCE /* memmem */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

#include "base/clock.h"
#include "cluster/frame.h"
#include "cluster/record_push.h"
#include "cluster/watchers.h"
#include "cluster/watches.h"

struct fixture {
    uv_loop_t loop;
    struct mailbox *box;
    struct watchers *watchers;
    struct follower one, two;
};

static void on_message(struct loop_message *message)
{
    (void)message;
}

static void begin(struct fixture *f, struct follower *follower, const char *gateway)
{
    *follower = (struct follower){ .gateway = gateway, .box = f->box };
    follower->message.deliver = on_message;
    atomic_store(&follower->heard, clock_monotonic_ms());
    watchers_begin(f->watchers, follower);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_int_equal(mailbox_new(&f->loop, &f->box), 0);
    assert_int_equal(watchers_new(&f->watchers), 0);
    watchers_open(f->watchers, true);
    begin(f, &f->one, "one");
    begin(f, &f->two, "two");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    (void)watchers_end(f->watchers, &f->one);
    (void)watchers_end(f->watchers, &f->two);
    mailbox_close(f->box);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    mailbox_free(f->box);
    watchers_free(f->watchers);
    free(f);
    return 0;
}

static size_t publish(struct fixture *f, const char *job)
{
    struct publication p = { .job = str_of(job), .key = 1, .last_seq = 5 };

    return watchers_push(f->watchers, &p, 1);
}

/* Does the follower get a push of @job, and nothing else?  NULL: nothing. */
static void expect_pushed(struct fixture *f, struct follower *to, const char *job)
{
    struct frame_in frame;
    struct wakeup w;
    struct buf out;
    size_t n;

    buf_init(&out, 1 << 20);
    assert_true(watchers_take(f->watchers, to, &out));
    if (job == NULL) {
        assert_int_equal(out.n, 0);
        buf_done(&out);
        return;
    }
    assert_int_equal(frame_read(buf_text(&out), &frame, &n), 0);
    assert_int_equal(n, out.n);
    assert_int_equal(frame.kind, FRAME_PUSH);
    assert_true(wakeup_take(&frame.payload, &w));
    expect_str(w.change.job, job);
    buf_done(&out);
}

static void a_follower_gets_what_it_watches(void **state)
{
    struct fixture *f = *state;

    assert_false(watchers_want(f->watchers, STR("a")));
    watchers_set(f->watchers, &f->one, STR("a\nb\n"), true);
    watchers_set(f->watchers, &f->two, STR("b\n"), true);
    assert_true(watchers_want(f->watchers, STR("a")));
    assert_false(watchers_want(f->watchers, STR("c")));
    assert_int_equal(publish(f, "a"), 2);
    expect_pushed(f, &f->one, "a");
    expect_pushed(f, &f->two, NULL);
    (void)publish(f, "c");
    expect_pushed(f, &f->one, NULL);
    (void)publish(f, "b");
    expect_pushed(f, &f->one, "b");
    expect_pushed(f, &f->two, "b");
    watchers_set(f->watchers, &f->one, STR("b\n"), false);
    (void)publish(f, "b");
    expect_pushed(f, &f->one, NULL);
    expect_pushed(f, &f->two, "b");
    (void)watchers_end(f->watchers, &f->two);
    assert_false(watchers_want(f->watchers, STR("b")));
    assert_int_equal(publish(f, "a"), 1);
}

/* Jobs of a follower that has gone are found wherever they stand in the table. */
static void nothing_is_left_of_a_follower_that_has_gone(void **state)
{
    struct fixture *f = *state;
    char id[16];

    for (int i = 0; i < 500; i++) {
        (void)snprintf(id, sizeof(id), "job%d\n", i);
        watchers_set(f->watchers, i % 3 == 0 ? &f->one : &f->two, str_of(id), true);
    }
    (void)watchers_end(f->watchers, &f->one);
    for (int i = 0; i < 500; i++) {
        (void)snprintf(id, sizeof(id), "job%d", i);
        assert_int_equal(watchers_want(f->watchers, str_of(id)), i % 3 != 0);
    }
}

static void a_silent_follower_does_not_count(void **state)
{
    struct fixture *f = *state;

    atomic_store(&f->two.heard, clock_monotonic_ms() - 60000);
    assert_int_equal(publish(f, "a"), 1);
}

static void an_older_connection_of_a_gateway_is_over(void **state)
{
    struct fixture *f = *state;
    struct follower newer;
    struct buf out;

    buf_init(&out, 1024);
    begin(f, &newer, "one");
    assert_int_equal(publish(f, "a"), 2);
    assert_false(watchers_take(f->watchers, &f->one, &out));
    assert_true(watchers_take(f->watchers, &newer, &out));
    (void)watchers_end(f->watchers, &newer);
    buf_done(&out);
}

/* Two threads may read the bytes of both. */
static void a_connection_that_is_read_late_ends_no_newer_one(void **state)
{
    struct fixture *f = *state;
    static struct follower older; /* its message is still in the mailbox at the end */
    struct buf out;

    buf_init(&out, 1024);
    f->one.number = 2;
    begin(f, &older, "one");
    assert_int_equal(publish(f, "a"), 2);
    assert_false(watchers_take(f->watchers, &older, &out));
    assert_true(watchers_take(f->watchers, &f->one, &out));
    (void)watchers_end(f->watchers, &older);
    buf_done(&out);
}

/* What comes over one connection is of one writer. */
static void connections_end_with_the_right_to_write(void **state)
{
    struct fixture *f = *state;
    struct buf out;

    buf_init(&out, 1024);
    watchers_set(f->watchers, &f->one, STR("a\n"), true);
    watchers_open(f->watchers, false);
    assert_int_equal(publish(f, "a"), 0);
    assert_false(watchers_take(f->watchers, &f->one, &out));
    watchers_open(f->watchers, true);
    assert_int_equal(publish(f, "a"), 0);
    assert_false(watchers_take(f->watchers, &f->one, &out));
    assert_int_equal(out.n, 0);
    buf_done(&out);
}

static void a_follower_that_does_not_read_is_told_that_pushes_are_lost(void **state)
{
    struct fixture *f = *state;
    struct buf out;

    buf_init(&out, 64 << 20);
    watchers_set(f->watchers, &f->one, STR("a\n"), true);
    for (int i = 0; i < 300000; i++)
        (void)publish(f, "a");
    assert_true(watchers_take(f->watchers, &f->one, &out));
    assert_in_range(out.n, 8 << 20, 9 << 20);
    assert_memory_equal(out.p + out.n - 2, "L\n", 2);
    (void)publish(f, "a");
    expect_pushed(f, &f->one, "a");
    buf_done(&out);
}

/* --- the other side ----------------------------------------------------------------------- */

static void on_wake(void *arg)
{
    ++*(unsigned *)arg;
}

static void expect_frame(struct buf *out, enum frame_kind kind, const char *text)
{
    struct frame_in frame;
    size_t n;

    assert_int_equal(frame_read(buf_text(out), &frame, &n), 0);
    assert_int_equal(n, out->n);
    assert_int_equal(frame.kind, kind);
    expect_str(frame.payload, text);
    buf_clear(out);
}

static void a_connected_link_says_what_is_watched(void **state)
{
    unsigned n_wakes = 0;
    struct watch_queue queue = { .wake = on_wake, .arg = &n_wakes };
    struct watches *w;
    struct buf out;

    (void)state;
    buf_init(&out, 1024);
    assert_int_equal(watches_new(&w), 0);
    watches_add_queue(w, &queue);
    watches_add(w, STR("a"));
    watches_add(w, STR("a")); /* by another loop */
    watches_take(w, &queue, &out);
    assert_int_equal(out.n, 0);
    watches_begin(w, &queue, &out);
    expect_frame(&out, FRAME_WATCH, "a\n");
    watches_remove(w, STR("a"));
    assert_int_equal(n_wakes, 0);
    watches_add(w, STR("b"));
    assert_int_equal(n_wakes, 1);
    watches_take(w, &queue, &out);
    expect_frame(&out, FRAME_WATCH, "b\n");
    watches_remove(w, STR("a"));
    watches_take(w, &queue, &out);
    expect_frame(&out, FRAME_UNWATCH, "a\n");
    watches_remove(w, STR("b"));
    watches_end(w, &queue);
    watches_begin(w, &queue, &out);
    expect_frame(&out, FRAME_WATCH, "");
    watches_remove_queue(w, &queue);
    watches_free(w);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_follower_gets_what_it_watches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_left_of_a_follower_that_has_gone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_silent_follower_does_not_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_older_connection_of_a_gateway_is_over, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_connection_that_is_read_late_ends_no_newer_one,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(connections_end_with_the_right_to_write, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_follower_that_does_not_read_is_told_that_pushes_are_lost, set_up, tear_down),
        cmocka_unit_test(a_connected_link_says_what_is_watched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
