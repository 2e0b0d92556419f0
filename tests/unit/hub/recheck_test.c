/* Re-checks: readers of a hub whose notifier loses everything. */
#include "hub/hub.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "framing/framing.h"
#include "hub/recheck.h"
#include "hub/thread_pool.h"
#include "hub/topic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { N_JOBS = 300, WAIT_MS = 60000 }; /* more jobs than one task asks for */

struct job_reader {
    struct reader reader;
    char id[16];
    int64_t key;
    uint64_t seq; /* of its last record in the store */
    unsigned n_wakes;
};

struct fixture {
    char folder[64], path[128];
    uv_loop_t loop;
    struct mailbox *box;
    struct notifier notifier;
    struct hub_shared *shared;
    struct hub *hub;
    struct thread_pool *pool;
    struct store *store;
    struct job_reader jobs[N_JOBS];
};

static struct error why;

#define ok(call) assert_int_equal((call), 0)

static void on_wake(struct reader *r)
{
    container_of(r, struct job_reader, reader)->n_wakes++;
}

static void drop(struct notifier *n,
                 const struct change *change,
                 const struct live_records *live)
{
    (void)n;
    (void)change;
    (void)live;
}

static const struct notifier_ops lossy = { .may_lose = true,
                                           .subscribe = notifier_subscribe,
                                           .publish = drop };

/* --- the store -------------------------------------------------------------------- */

static void append(struct fixture *f, struct job_reader *j)
{
    ok(store_append(f->store, j->key, ++j->seq, STR("{}"), -1, &why));
}

static void add_job(struct fixture *f, size_t i)
{
    struct job_reader *j = &f->jobs[i];
    struct stream_format format = { .dialect = dialect_find(STR("raw")),
                                    .framing = &framing_ndjson };
    struct job_row row = { .agent = STR("a"),
                           .state = STR("running"),
                           .created = 1,
                           .updated = 1,
                           .producer_seq = -1,
                           .first_seq = 1 };

    (void)snprintf(j->id, sizeof(j->id), "job-%zu", i); /* fits */
    row.id = str_of(j->id);
    ok(store_job_insert(f->store, &row, &why));
    j->key = row.key;
    append(f, j);
    j->reader.wake = on_wake;
    ok(hub_join(f->hub, row.id, &format, &j->reader));
    hub_reader_moved(&j->reader, j->key, j->seq, JOB_RUNNING, false);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/recheck_test-XXXXXX"); /* fits */
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/db", f->folder); /* fits */
    struct store_options options = { .url = f->path, .relaxed = true, .busy_ms = 1000 };
    ok(store_open(&options, &f->store, &why));
    ok(uv_loop_init(&f->loop));
    ok(mailbox_new(&f->loop, &f->box));
    f->notifier.ops = &lossy;
    ok(hub_shared_new(&f->notifier, &f->shared));
    ok(hub_new(f->shared, f->box, &f->hub));
    ok(thread_pool_new(&options, 1, 1 << 20, &f->pool, &why));
    ok(store_begin(f->store, &why));
    for (size_t i = 0; i < N_JOBS; i++)
        add_job(f, i);
    ok(store_commit(f->store, &why));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < N_JOBS; i++)
        hub_leave(f->hub, &f->jobs[i].reader);
    hub_stop(f->hub);
    mailbox_close(f->box);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    ok(uv_loop_close(&f->loop));
    thread_pool_free(f->pool);
    hub_free(f->hub);
    hub_shared_free(f->shared);
    mailbox_free(f->box);
    store_close(f->store);
    char command[100];
    (void)snprintf(command, sizeof(command), "rm -r %s", f->folder); /* fits */
    ok(system(command));
    free(f);
    return 0;
}

/* --- waiting ---------------------------------------------------------------------- */

static unsigned count_wakes(const struct fixture *f)
{
    unsigned n = 0;

    for (size_t i = 0; i < N_JOBS; i++)
        n += f->jobs[i].n_wakes;
    return n;
}

/* Re-checks until so many wakes were counted in all. */
static void recheck_until(struct fixture *f, unsigned n_wakes)
{
    int64_t end = clock_steady_ms() + WAIT_MS;

    while (count_wakes(f) < n_wakes) {
        assert_true(clock_steady_ms() < end);
        hub_recheck(f->hub, f->pool);
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
        uv_sleep(1);
    }
}

static enum hub_next next(struct job_reader *j)
{
    struct str bytes;

    return hub_reader_next(&j->reader, &bytes);
}

/* The first look at a job may wake its readers for nothing. */
static void settle(struct fixture *f)
{
    recheck_until(f, N_JOBS);
    for (size_t i = 0; i < N_JOBS; i++) {
        assert_int_equal(f->jobs[i].n_wakes, 1);
        assert_int_equal(next(&f->jobs[i]), HUB_WAIT);
    }
}

/* --- tests ------------------------------------------------------------------------ */

static void records_that_nobody_told_of_are_found(void **state)
{
    static const size_t changed[] = { 0, 7, N_JOBS / 2, N_JOBS - 1 };
    struct fixture *f = *state;

    settle(f);
    for (unsigned i = 0; i < 4; i++) {
        struct job_reader *j = &f->jobs[changed[i]];

        ok(store_begin(f->store, &why));
        append(f, j);
        ok(store_commit(f->store, &why));
        recheck_until(f, N_JOBS + i + 1);
        assert_int_equal(j->n_wakes, 2);
        assert_int_equal(next(j), HUB_BEHIND);
        hub_reader_moved(&j->reader, j->key, j->seq, JOB_RUNNING, false);
        assert_int_equal(next(j), HUB_WAIT);
    }
    assert_int_equal(count_wakes(f), N_JOBS + 4); /* nobody else */
}

static void an_attempt_that_nobody_told_of_is_found(void **state)
{
    struct fixture *f = *state;
    int64_t end = clock_steady_ms() + WAIT_MS, attempt = 0;
    struct job_row row;

    settle(f);
    ok(store_job_get(f->store, STR("job-5"), &row, &why));
    row.attempt = 2; /* requeued and leased within a second: the state is the same */
    ok(store_begin(f->store, &why));
    ok(store_job_update(f->store, &row, &why));
    ok(store_commit(f->store, &why));
    while (attempt != 2) {
        assert_true(clock_steady_ms() < end);
        hub_recheck(f->hub, f->pool);
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
        uv_sleep(1);
        assert_true(hub_reader_runs(&f->jobs[5].reader, &attempt));
    }
    assert_int_equal(count_wakes(f), N_JOBS); /* only heartbeats look at it */
}

/* One that comes while the store is asked. */
static void an_old_change_does_not_hide_what_is_found(void **state)
{
    struct fixture *f = *state;
    struct job_reader *j = &f->jobs[0];
    const struct change old = {
        .job = str_of(j->id), .key = j->key, .last_seq = j->seq, .state = JOB_RUNNING
    };
    int64_t end = clock_steady_ms() + WAIT_MS;

    settle(f);
    while (f->hub->recheck->task.loop_call.is_pending) {
        assert_true(clock_steady_ms() < end);
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    ok(store_begin(f->store, &why));
    append(f, j);
    ok(store_commit(f->store, &why));
    hub_shared_look(f->shared, old.job);           /* asks the store */
    f->notifier.hear(f->notifier.arg, &old, NULL); /* delivered before the answer */
    while (next(j) != HUB_BEHIND) {
        assert_true(clock_steady_ms() < end);
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
        uv_sleep(1);
    }
}

static void a_state_that_nobody_told_of_is_found(void **state)
{
    struct fixture *f = *state;
    struct job_row row;

    settle(f);
    ok(store_job_get(f->store, STR("job-5"), &row, &why));
    row.state = STR("waiting");
    ok(store_begin(f->store, &why));
    ok(store_job_update(f->store, &row, &why));
    ok(store_commit(f->store, &why));
    recheck_until(f, N_JOBS + 1);
    assert_int_equal(f->jobs[5].n_wakes, 2);
}

static void a_job_that_is_deleted_is_gone(void **state)
{
    struct fixture *f = *state;

    settle(f);
    ok(store_begin(f->store, &why));
    ok(store_job_delete(f->store, f->jobs[9].key, &why));
    ok(store_commit(f->store, &why));
    recheck_until(f, N_JOBS + 1);
    assert_int_equal(f->jobs[9].n_wakes, 2);
    assert_int_equal(next(&f->jobs[9]), HUB_GONE);
}

/* Begins a round; is the store asked about this job? */
static bool is_asked(struct fixture *f, const struct job_reader *j)
{
    struct recheck_job jobs[N_JOBS];
    bool is = false;

    hub_begin_round(f->hub);
    size_t n = hub_quiet_jobs(f->hub, jobs, N_JOBS);
    for (size_t i = 0; i < n; i++)
        is = is || str_eq(str_make(jobs[i].job, jobs[i].job_n), str_of(j->id));
    return is;
}

/* The job has gone on; the notifier tells this one. */
static void hear_change(struct fixture *f, struct job_reader *j)
{
    unsigned n = j->n_wakes;
    struct change change = {
        .job = str_of(j->id), .key = j->key, .last_seq = ++j->seq, .state = JOB_RUNNING
    };

    f->notifier.hear(f->notifier.arg, &change, NULL);
    for (int64_t end = clock_steady_ms() + WAIT_MS; j->n_wakes == n;) {
        assert_true(clock_steady_ms() < end);
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
    }
}

/* With two rounds a second, what is lost is found after at most a second. */
static void a_job_is_asked_for_within_two_rounds_after_its_last_change(void **state)
{
    struct fixture *f = *state;
    struct job_reader *j = &f->jobs[5];

    assert_true(is_asked(f, j));
    for (unsigned i = 0; i < 3; i++) { /* quiet: in every other round */
        assert_false(is_asked(f, j));
        assert_true(is_asked(f, j));
    }
    for (unsigned i = 0; i < 3; i++) { /* busy: never */
        hear_change(f, j);
        assert_false(is_asked(f, j));
    }
    assert_true(is_asked(f, j));
    hear_change(f, j);
    assert_false(is_asked(f, j));
    assert_true(is_asked(f, j));
}

/* Nobody is asked where nothing can be lost. */
static void a_notifier_that_loses_nothing_needs_no_re_check(void **state)
{
    struct fixture *f = *state;

    f->notifier.ops = &notifier_in_process;
    hub_recheck(f->hub, NULL);
    assert_int_equal(count_wakes(f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_that_nobody_told_of_are_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_attempt_that_nobody_told_of_is_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_old_change_does_not_hide_what_is_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_state_that_nobody_told_of_is_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_is_deleted_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_job_is_asked_for_within_two_rounds_after_its_last_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_notifier_that_loses_nothing_needs_no_re_check, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
