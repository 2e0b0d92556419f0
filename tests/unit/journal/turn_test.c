/* A turn calls the store as often as another, however many requests it has: begin, read, flush,
 * commit.  Any other call would be a round trip to a store behind a network. */
#include "base/clock.h"
#include "journal/inbox.h"
#include "turn_scene.h"

enum { EACH = 8, KINDS = 8, ALL = EACH * KINDS };

/* --- the tests ------------------------------------------------------------------------ */

/* EACH of every kind, about jobs that were there before. */
static void prepare(struct journal_request all[ALL], int64_t running[EACH], int64_t runs[EACH])
{
    static struct journal_reply reply[EACH];
    size_t n = 0;

    for (size_t i = 0; i < EACH; i++) {
        submit(&all[n++], i % 2 == 0 ? "new-" : "queued-", i); /* half are repeats */
        of_worker(&all[n], JOURNAL_APPEND, "running-", i, running[i]);
        all[n++].append = (struct append_request){ .bytes = STR(PROGRESS), .producer_seq = -1 };
        of_worker(&all[n++], JOURNAL_HEARTBEAT, "run-", i, runs[i]);
        lease(&all[n++]);
        of_worker(&all[n], JOURNAL_FINISH, i % 2 == 0 ? "running-" : "run-", i,
                  i % 2 == 0 ? running[i] : runs[i]);
        all[n++].finish.end = JOB_END_SUCCEEDED;
        submit_run(&all[n++], "next-", i);
        of_job(&all[n], JOURNAL_ANSWER_QUESTION, "waiting-", i);
        reply[i] = (struct journal_reply){ .value = STR("true") };
        all[n].reply.replies = &reply[i];
        all[n++].reply.n_replies = 1;
        of_job(&all[n++], JOURNAL_DELETE, i % 2 == 0 ? "ended-" : "running-", i);
    }
    assert_int_equal(n, ALL);
}

static void expect_calls(void)
{
    assert_int_equal(scene.calls.begins, 1);
    assert_int_equal(scene.calls.reads, 1);
    assert_int_equal(scene.calls.flushes, 1);
    assert_int_equal(scene.calls.commits, 1);
    assert_int_equal(scene.calls.keys, 0);
    assert_int_equal(counter_get(&journal_counts(scene.journal)->missing_rows), 0);
}

static void a_turn_of_one_request_calls_the_store_four_times(void **state)
{
    struct journal_request first, req;

    (void)state;
    submit_run(&first, "first-", 0); /* which takes keys for many */
    do_one(&first);
    submit(&req, "j", 0);
    begin_counting();
    do_one(&req);
    expect_calls();
    done_all(&first, 1);
    done_all(&req, 1);
}

static int refuse_begin(struct store *s, struct error *err)
{
    (void)s;
    scene.calls.begins++;
    return error_set(err, ERR_IO, "the disk is gone");
}

static void a_turn_that_was_expected_begins_once(void **state)
{
    struct journal_request first, req;

    (void)state;
    submit_run(&first, "first-", 0);
    do_one(&first);
    submit(&req, "j", 0);
    begin_counting();
    journal_expect(scene.journal);
    assert_int_equal(scene.calls.begins, 1);
    do_one(&req);
    expect_calls();
    done_all(&first, 1);
    done_all(&req, 1);
}

/* The turn tries itself, and reports the failure; after it nothing is begun ahead. */
static void a_turn_that_was_expected_in_vain_fails_once(void **state)
{
    struct journal_request req;

    (void)state;
    submit(&req, "j", 0);
    begin_counting();
    scene.counted.begin = refuse_begin;
    journal_expect(scene.journal);
    run_turn(&req, 1);
    assert_int_equal(req.code, ERR_BUSY);
    assert_int_equal(scene.calls.begins, 2);
    journal_expect(scene.journal);
    assert_int_equal(scene.calls.begins, 2);
    done_all(&req, 1);
}

static void requests_that_no_turn_takes_are_refused_after_a_while(void **state)
{
    struct journal_request req;
    uint64_t posted = clock_monotonic_us();

    (void)state;
    submit(&req, "j", 0);
    journal_post(scene.journal, &req);
    journal_refuse_old(scene.journal, 60000);
    assert_false(is_answered(&req));
    while (clock_monotonic_us() < posted + 2000)
        ;
    journal_refuse_old(scene.journal, 1);
    assert_true(is_answered(&req));
    assert_int_equal(req.code, ERR_BUSY);
    done_all(&req, 1);
}

static void a_turn_of_many_requests_calls_the_store_as_often(void **state)
{
    static struct journal_request all[ALL];
    int64_t running[EACH], runs[EACH];

    (void)state;
    for (size_t i = 0; i < EACH; i++) {
        running[i] = make_running("running-", i, false);
        runs[i] = make_running("run-", i, true);
        make_waiting(i);
        make_ended(i);
    }
    for (size_t i = 0; i < EACH; i++)
        make_queued(i);
    prepare(all, running, runs);
    begin_counting();
    run_turn(all, ALL);
    expect_calls();
    for (size_t i = 0; i < ALL; i++)
        if (all[i].code != 0)
            fail_msg("request %zu (op %d): %s", i, (int)all[i].op, all[i].why.text);
    for (size_t i = 0; i < ALL; i += KINDS)
        assert_int_equal(all[i].submit.existed, (i / KINDS) % 2);
    for (size_t i = 1; i < ALL; i += KINDS)
        assert_int_equal(all[i].append.taken.accepted, 1);
    done_all(all, ALL);
}

/* Nobody else has an id that the server made: nothing is looked up. */
static void a_job_with_a_new_id_is_made_without_reading(void **state)
{
    struct journal_request first, all[2];

    (void)state;
    submit_run(&first, "first-", 0); /* which takes keys for many */
    do_one(&first);
    submit(&all[0], "j", 0);
    submit_run(&all[1], "run-", 1);
    for (size_t i = 0; i < 2; i++) {
        all[i].submit.is_new_id = true;
        all[i].submit.idempotency_key = STR_NONE;
    }
    all[1].submit.is_temporary = true;
    begin_counting();
    run_turn(all, 2);
    assert_int_equal(scene.calls.reads, 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(all[i].code, 0);
    done_all(&first, 1);
    done_all(all, 2);
}

/* The second of two that name the same sees what the first has done. */
static void a_turn_sees_its_own_writes(void **state)
{
    struct journal_request all[6];

    (void)state;
    submit(&all[0], "j", 0);
    submit(&all[1], "j", 0);
    submit_run(&all[2], "run-", 0);
    submit_run(&all[3], "run-", 1);
    all[3].thread = all[2].thread;
    init(&all[4], JOURNAL_THREAD_PATCH);
    all[4].thread = all[2].thread;
    all[4].new_thread.row.metadata = STR("{\"x\":1}");
    submit(&all[5], "j", 0);
    all[5].submit.idempotency_key = STR_NONE;
    run_turn(all, 6);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(all[i].code, 0);
    assert_true(all[1].submit.existed);
    assert_int_equal(all[1].row->key, all[0].row->key);
    assert_int_equal(all[2].row->thread, all[3].row->thread);
    assert_int_equal(all[3].row->ordinal, 2);
    assert_int_equal(all[4].new_thread.row.n_runs, 2);
    assert_true(str_is(all[4].new_thread.row.status, "busy"));
    assert_int_equal(all[5].code, ERR_REFUSED);
    done_all(all, 6);
}

/* An id whose job goes in a turn is free in the same turn, and so is its Idempotency-Key. */
static void what_a_turn_deletes_is_gone_in_it(void **state)
{
    struct journal_request all[3];

    (void)state;
    make_ended(0);
    of_job(&all[0], JOURNAL_DELETE, "ended-", 0);
    of_job(&all[1], JOURNAL_DELETE, "ended-", 0);
    submit(&all[2], "ended-", 0);
    run_turn(all, 3);
    assert_int_equal(all[0].code, 0);
    assert_int_equal(all[1].code, ERR_NOT_FOUND);
    assert_int_equal(all[2].code, 0);
    assert_false(all[2].submit.existed);
    done_all(all, 3);
}

static void a_thread_goes_with_the_runs_of_the_same_turn(void **state)
{
    struct journal_request all[3];
    struct job_row row;
    struct error why;

    (void)state;
    (void)make_running("run-", 0, true);
    submit_run(&all[0], "next-", 0);
    init(&all[1], JOURNAL_THREAD_DELETE);
    all[1].thread = all[0].thread;
    init(&all[2], JOURNAL_THREAD_PATCH);
    all[2].thread = all[0].thread;
    all[2].new_thread.row.metadata = STR("{}");
    run_turn(all, 3);
    assert_int_equal(all[0].code, 0);
    assert_int_equal(all[1].code, 0);
    assert_int_equal(all[2].code, ERR_NOT_FOUND);
    assert_int_equal(store_job_get(scene.store, STR("next-0"), &row, &why), ERR_NOT_FOUND);
    assert_int_equal(store_job_get(scene.store, STR("run-0"), &row, &why), ERR_NOT_FOUND);
    done_all(all, 3);
}

static const struct loop_call *told[2];

static void note(struct loop_call *call)
{
    told[told[0] != NULL] = call;
}

static void requests_of_a_turn_are_answered_in_their_order(void **state)
{
    struct journal_request all[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        submit(&all[i], "j", i);
        all[i].loop_call.answered = note;
    }
    run_turn(all, 2);
    assert_ptr_equal(told[0], &all[0].loop_call);
    assert_ptr_equal(told[1], &all[1].loop_call);
    done_all(all, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_turn_of_one_request_calls_the_store_four_times,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_turn_that_was_expected_begins_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_turn_that_was_expected_in_vain_fails_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(requests_that_no_turn_takes_are_refused_after_a_while,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_turn_of_many_requests_calls_the_store_as_often,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_with_a_new_id_is_made_without_reading, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_turn_sees_its_own_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_turn_deletes_is_gone_in_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_of_a_turn_are_answered_in_their_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_thread_goes_with_the_runs_of_the_same_turn, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
