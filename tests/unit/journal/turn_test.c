/* A turn calls the store as often as another, however many requests it has: begin, read, flush,
 * commit.  Any other call would be a round trip to a store behind a network.
 *
 * The store is SQLite, with a table of operations that counts these calls and has no others. */
#include "ingest/agent.h"
#include "journal/counts.h"
#include "journal/journal.h"
#include "store/backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define QUESTION "{\"type\":\"graph.interrupt\",\"id\":\"q\",\"value\":{\"ask\":\"?\"}}\n"
#define PROGRESS "{\"type\":\"job.update\",\"message\":\"m\"}\n"

enum { EACH = 8, KINDS = 8, ALL = EACH * KINDS };

struct calls {
    unsigned begins, reads, flushes, commits, keys;
};

struct scene {
    struct store *store;
    const struct store_ops *real;
    struct store_ops counted;
    struct calls calls;
    bool is_over; /* the turn has committed: what comes is not the requests' */
    struct journal *journal;
    struct agent *settings;
    struct journal_agent agent;
};

static struct scene scene;

/* --- the store that counts ------------------------------------------------------------ */

/* While a call is under way, the backend may use what it likes. */
#define COUNTED(member, call)                 \
    do {                                      \
        scene.calls.member += !scene.is_over; \
        s->ops = scene.real;                  \
        int code = call;                      \
        s->ops = &scene.counted;              \
        return code;                          \
    } while (0)

static int count_begin(struct store *s, struct error *err)
{
    COUNTED(begins, store_begin(s, err));
}

static int count_commit(struct store *s, struct error *err)
{
    COUNTED(commits, store_commit(s, err));
}

static int count_flush(struct store *s, struct store_batch *b, struct error *err)
{
    COUNTED(flushes, store_flush(s, b, err));
}

static int count_read(struct store *s,
                      const struct store_want *wants,
                      size_t n,
                      store_found_cb cb,
                      void *arg,
                      struct error *err)
{
    COUNTED(reads, store_read(s, wants, n, cb, arg, err));
}

static int count_keys(struct store *s,
                      enum store_keys kind,
                      size_t n,
                      int64_t *ret,
                      struct error *err)
{
    COUNTED(keys, store_take_keys(s, kind, n, ret, err));
}

/* From here on, any other call of the store ends the test. */
static void begin_counting(void)
{
    scene.calls = (struct calls){ 0 };
    scene.is_over = false;
    scene.counted = (struct store_ops){ .begin = count_begin,
                                        .read = count_read,
                                        .flush = count_flush,
                                        .commit = count_commit,
                                        .take_keys = count_keys };
    scene.store->ops = &scene.counted;
}

/* The turn's requests are answered after its commit and before retention. */
static void end_counting(void)
{
    scene.is_over = true;
    scene.store->ops = scene.real;
}

/* --- the journal ---------------------------------------------------------------------- */

static int64_t clock_of(void *arg)
{
    (void)arg;
    return 1700000000000;
}

static void on_queued(void *arg, struct str agent)
{
    (void)arg;
    (void)agent;
}

static int set_up(void **state)
{
    struct store_options files = { .url = ":memory:" };
    struct error why;

    assert_int_equal(store_open(&files, &scene.store, &why), 0);
    scene.real = scene.store->ops;
    assert_int_equal(agent_new(STR("a"), &scene.settings), 0);
    scene.agent = (struct journal_agent){
        .name = STR("a"), .settings = scene.settings, .lease_ms = 60000, .attempts = 3
    };
    struct journal_options options = { .store = scene.store,
                                       .clock = clock_of,
                                       .agents = &scene.agent,
                                       .n_agents = 1,
                                       .max_calls = 10,
                                       .default_expiry_seconds = 1000,
                                       .events = { .queued = on_queued } };
    assert_int_equal(journal_new(&options, &scene.journal, &why), 0);
    assert_int_equal(journal_recover(scene.journal, NULL, 0, &why), 0);
    *state = &scene;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    journal_free(scene.journal);
    store_close(scene.store);
    agent_free(scene.settings);
    return 0;
}

static void on_done(struct loop_call *call)
{
    (void)call;
    end_counting();
}

static const struct str only_agent = STR("a");

static void init(struct journal_request *req, enum journal_op op)
{
    journal_request_init(req, NULL, NULL, on_done);
    (void)journal_request_begin(req, op);
}

/* "name7", in the request's memory. */
static struct str name(struct journal_request *req, const char *word, size_t i)
{
    char text[32];
    struct str copy = STR_NONE;
    int n = snprintf(text, sizeof(text), "%s%zu", word, i);

    assert_true(arena_copy(&req->mem, str_make(text, (size_t)n), &copy));
    return copy;
}

static void run_turn(struct journal_request *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        journal_post(scene.journal, &all[i]);
    assert_true(journal_turn(scene.journal));
    end_counting();
}

static void done_all(struct journal_request *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        arena_done(&all[i].mem);
}

static void do_one(struct journal_request *req)
{
    run_turn(req, 1);
    assert_int_equal(req->code, 0);
}

/* --- requests ------------------------------------------------------------------------- */

static void submit(struct journal_request *req, const char *word, size_t i)
{
    init(req, JOURNAL_SUBMIT);
    req->submit = (struct submit_request){ .id = name(req, word, i),
                                           .agent = only_agent,
                                           .input = STR("{}"),
                                           .idempotency_key = name(req, word, i + 1000),
                                           .request_hash = STR("h") };
}

static void submit_run(struct journal_request *req, const char *word, size_t i)
{
    submit(req, word, i);
    req->submit.idempotency_key = STR_NONE;
    req->thread = name(req, "thread-", i);
    req->submit.makes_thread = true;
    req->submit.run = (struct run_row){ .assistant = STR("a"),
                                        .metadata = STR("{}"),
                                        .kwargs = STR("{}"),
                                        .strategy = STR("enqueue") };
}

static void lease(struct journal_request *req)
{
    init(req, JOURNAL_LEASE);
    req->work.agents = &only_agent;
    req->work.n_agents = 1;
}

/* Of a job that is held: its id is @word and a number, its key @key. */
static void of_worker(struct journal_request *req,
                      enum journal_op op,
                      const char *word,
                      size_t i,
                      int64_t key)
{
    init(req, op);
    req->job = name(req, word, i);
    req->lease = (struct lease_shown){ .key = key, .attempt = 1 };
}

static void of_job(struct journal_request *req, enum journal_op op, const char *word, size_t i)
{
    init(req, op);
    req->job = name(req, word, i);
}

/* A job that a worker has; gives its key. */
static int64_t make_running(const char *word, size_t i, bool is_run)
{
    struct journal_request made, leased;

    if (is_run)
        submit_run(&made, word, i);
    else
        submit(&made, word, i);
    do_one(&made);
    lease(&leased);
    do_one(&leased);
    assert_true(str_eq(leased.row->id, made.row->id));
    int64_t key = leased.row->key;
    done_all(&made, 1);
    done_all(&leased, 1);
    return key;
}

static void make_waiting(size_t i)
{
    int64_t key = make_running("waiting-", i, false);
    struct journal_request req;

    of_worker(&req, JOURNAL_APPEND, "waiting-", i, key);
    req.append = (struct append_request){ .bytes = STR(QUESTION), .producer_seq = -1 };
    do_one(&req);
    assert_int_equal(req.append.taken.accepted, 1);
    done_all(&req, 1);
    of_worker(&req, JOURNAL_FINISH, "waiting-", i, key);
    req.finish.interrupted = true;
    do_one(&req);
    assert_true(str_is(req.row->state, "waiting"));
    done_all(&req, 1);
}

static void make_ended(size_t i)
{
    struct journal_request req;

    of_worker(&req, JOURNAL_FINISH, "ended-", i, make_running("ended-", i, false));
    do_one(&req);
    done_all(&req, 1);
}

static void make_queued(size_t i)
{
    struct journal_request req;

    submit(&req, "queued-", i);
    do_one(&req);
    done_all(&req, 1);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_turn_of_one_request_calls_the_store_four_times,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_turn_of_many_requests_calls_the_store_as_often,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_with_a_new_id_is_made_without_reading, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_turn_sees_its_own_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_turn_deletes_is_gone_in_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_goes_with_the_runs_of_the_same_turn, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
