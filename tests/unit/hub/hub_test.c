/* The hub: changes that are lost for lack of memory. */
#include "hub/hub.h"

#include "base/container_of.h"
#include "framing/framing.h"
#include "hub/stream_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <uv.h>

#include "failing_malloc.h"

struct fixture {
    uv_loop_t loop;
    struct mailbox *box;
    struct notifier notifier;
    struct hub_shared *shared;
    struct hub *hub;
    struct reader reader;
    struct hub_listener listener;
    unsigned n_wakes, n_missed, n_heard;
};

static void on_wake(struct reader *r)
{
    struct fixture *f = container_of(r, struct fixture, reader);

    f->n_wakes++;
}

static void on_change(struct hub_listener *l, const struct change *change)
{
    struct fixture *f = container_of(l, struct fixture, listener);

    f->n_heard += change != NULL;
    f->n_missed += change == NULL;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct stream_format format = { .dialect = dialect_find(STR("raw")),
                                    .framing = &framing_ndjson };

    assert_non_null(f);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_int_equal(mailbox_new(&f->loop, &f->box), 0);
    f->notifier.ops = &notifier_in_process;
    assert_int_equal(hub_shared_new(&f->notifier, &f->shared), 0);
    assert_int_equal(hub_new(f->shared, f->box, &f->hub), 0);
    f->reader.wake = on_wake;
    assert_int_equal(hub_join(f->hub, STR("j"), &format, &f->reader), 0);
    hub_reader_moved(&f->reader, 1, 5, JOB_RUNNING, false);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    hub_leave(f->hub, &f->reader);
    mailbox_close(f->box);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    hub_free(f->hub);
    hub_shared_free(f->shared);
    mailbox_free(f->box);
    free(f);
    return 0;
}

static void publish(struct fixture *f, uint64_t last_seq, bool without_memory)
{
    struct publication pub = { .job = STR("j"),
                               .agent = STR("a"),
                               .key = 1,
                               .state = JOB_SUCCEEDED,
                               .state_changed = true,
                               .last_seq = last_seq };

    if (without_memory)
        skip_without_failing_allocations();
    fail_at = without_memory ? 1 : 0;
    n_allocations = 0;
    hub_published(f->shared, &pub, 1);
    fail_at = 0;
    for (int i = 0; i < 3; i++)
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
}

static enum hub_next next(struct fixture *f)
{
    struct str bytes;

    return hub_reader_next(&f->reader, &bytes);
}

/* Also the last, after which no other comes. */
static void a_reader_whose_news_were_lost_looks_at_what_is_stored(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(next(f), HUB_WAIT);
    publish(f, 6, true);
    assert_int_equal(f->n_wakes, 1);
    assert_int_equal(next(f), HUB_BEHIND);
    assert_int_equal(next(f), HUB_WAIT); /* once: its page is being read */
    hub_reader_moved(&f->reader, 1, 6, JOB_SUCCEEDED, true);
    assert_int_equal(next(f), HUB_END);
}

/* It was read before the commit that it was not told of. */
static void a_page_that_was_on_its_way_does_not_count(void **state)
{
    struct fixture *f = *state;

    publish(f, 6, true);
    hub_reader_moved(&f->reader, 1, 5, JOB_RUNNING, false);
    assert_int_equal(next(f), HUB_BEHIND);
}

static void whoever_listens_to_all_jobs_is_told(void **state)
{
    struct fixture *f = *state;

    f->listener.hear = on_change;
    hub_listen(f->hub, &f->listener);
    publish(f, 6, true);
    assert_int_equal(f->n_missed, 1);
    publish(f, 7, false);
    assert_int_equal(f->n_heard, 1);
    assert_int_equal(f->n_missed, 1);
    hub_unlisten(f->hub, &f->listener);
}

static void news_that_arrive_wake_nobody_for_nothing(void **state)
{
    struct fixture *f = *state;

    publish(f, 5, false);
    assert_int_equal(f->n_wakes, 1);
    assert_int_equal(next(f), HUB_WAIT);
}

static void tell(struct fixture *f, int64_t attempt, enum job_state to)
{
    struct publication pub = { .job = STR("j"),
                               .agent = STR("a"),
                               .key = 1,
                               .state = to,
                               .state_changed = true,
                               .attempt = attempt,
                               .last_seq = 5 };

    hub_published(f->shared, &pub, 1);
    for (int i = 0; i < 3; i++)
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void a_reader_knows_which_attempt_runs(void **state)
{
    struct fixture *f = *state;
    int64_t attempt;

    assert_true(hub_reader_runs(&f->reader, &attempt));
    assert_int_equal(attempt, 0); /* only the page was read */
    tell(f, 1, JOB_QUEUED);
    assert_false(hub_reader_runs(&f->reader, &attempt));
    tell(f, 2, JOB_RUNNING);
    assert_true(hub_reader_runs(&f->reader, &attempt));
    assert_int_equal(attempt, 2);
    tell(f, 1, JOB_RUNNING); /* late */
    assert_true(hub_reader_runs(&f->reader, &attempt));
    assert_int_equal(attempt, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reader_whose_news_were_lost_looks_at_what_is_stored,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_page_that_was_on_its_way_does_not_count, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(whoever_listens_to_all_jobs_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(news_that_arrive_wake_nobody_for_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_reader_knows_which_attempt_runs, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
