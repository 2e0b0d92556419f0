/* Requests and their answers, turn by turn.  What they do to jobs is the simulator's matter. */
#include "journal/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { N = 3 };

struct scene {
    struct store *store;
    struct journal *journal;
};

static int64_t clock_of(void *arg)
{
    (void)arg;
    return 1700000000000;
}

static int set_up(void **state)
{
    static struct scene s;
    struct store_options files = { .path = ":memory:" };
    struct journal_options options = { .clock = clock_of };
    struct error why;

    assert_int_equal(store_open(&files, &s.store, &why), 0);
    options.store = s.store;
    assert_int_equal(journal_new(&options, &s.journal, &why), 0);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    journal_free(s->journal);
    store_close(s->store);
    return 0;
}

static void on_done(struct journal_request *req)
{
    unsigned *times = req->data;

    ++*times;
}

/* Heartbeats of nobody's jobs, each with a count of its answers. */
static void prepare(struct journal_request all[N], unsigned times[N])
{
    for (size_t i = 0; i < N; i++) {
        all[i] = (struct journal_request){
            .op = JOURNAL_HEARTBEAT, .job = STR("nobody"), .done = on_done, .data = &times[i]
        };
        arena_init(&all[i].mem);
        times[i] = 0;
    }
}

/* Whoever hands a leased job back posts the very request that brought it. */
static void an_answered_request_can_be_posted_again_alone(void **state)
{
    const struct scene *s = *state;
    struct journal_request all[N];
    unsigned times[N];

    prepare(all, times);
    for (size_t i = 0; i < N; i++)
        journal_post(s->journal, &all[i]);
    assert_true(journal_turn(s->journal));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(all[i].code, ERR_NOT_FOUND);
        assert_null(all[i].next);
        journal_post(s->journal, &all[i]);
        assert_true(journal_turn(s->journal));
        for (size_t other = 0; other < N; other++)
            assert_int_equal(times[other], other <= i ? 2 : 1);
    }
    for (size_t i = 0; i < N; i++)
        arena_done(&all[i].mem);
}

/* A chain is taken as it is, and comes back in pieces. */
static void a_chain_is_answered_link_by_link(void **state)
{
    const struct scene *s = *state;
    struct journal_request all[N];
    unsigned times[N];

    prepare(all, times);
    for (size_t i = 0; i + 1 < N; i++)
        all[i].next = &all[i + 1];
    journal_post(s->journal, all);
    assert_true(journal_turn(s->journal));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(times[i], 1);
        assert_null(all[i].next);
        arena_done(&all[i].mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answered_request_can_be_posted_again_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_chain_is_answered_link_by_link, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
