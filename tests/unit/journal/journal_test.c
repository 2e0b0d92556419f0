/* Requests and their answers, turn by turn.  The simulator tests what they do to jobs. */
#include "ingest/agent.h"
#include "journal/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "failing_malloc.h"

enum { N = 3 };

struct scene {
    struct store *store;
    struct journal *journal;
    struct agent *settings;
    struct journal_agent agent;
    struct breadcrumb breadcrumb;
    int64_t folding;      /* what it said while a job was folded */
    bool told, set_aside; /* of a suspect */
};

static int64_t clock_of(void *arg)
{
    (void)arg;
    return 1700000000000;
}

/* Asked from inside of a fold, when it emits its first record of a turn. */
static bool on_wanted(void *arg, struct str job)
{
    struct scene *s = arg;

    (void)job;
    s->folding = breadcrumb_get(&s->breadcrumb);
    return false;
}

static void on_suspected(void *arg, struct str job, bool set_aside, struct str why)
{
    struct scene *s = arg;

    assert_true(str_is(job, "j") && why.n > 0);
    s->told = true;
    s->set_aside = set_aside;
}

static void start(struct scene *s)
{
    struct journal_options options = {
        .store = s->store,
        .breadcrumb = s->breadcrumb,
        .clock = clock_of,
        .agents = &s->agent,
        .n_agents = 1,
        .max_calls = 10,
        .events = { .wanted = on_wanted, .suspected = on_suspected, .arg = s },
    };
    struct error why;

    s->told = s->set_aside = false;
    assert_int_equal(journal_new(&options, &s->journal, &why), 0);
    assert_int_equal(journal_recover(s->journal, NULL, 0, &why), 0);
}

static int set_up(void **state)
{
    static struct scene s;
    struct store_options files = { .url = ":memory:" };
    struct error why;

    assert_int_equal(store_open(&files, &s.store, &why), 0);
    assert_int_equal(agent_new(STR("a"), &s.settings), 0);
    s.agent = (struct journal_agent){
        .name = STR("a"), .settings = s.settings, .lease_ms = 60000, .attempts = 1
    };
    assert_int_equal(store_breadcrumb(s.store, &s.breadcrumb, &why), 0);
    start(&s);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    journal_free(s->journal);
    store_close(s->store);
    agent_free(s->settings);
    return 0;
}

static void on_done(struct loop_call *call)
{
    unsigned *times = call->owner;

    ++*times;
}

/* Heartbeats of nobody's jobs, each with a count of its answers. */
static void prepare(struct journal_request all[N], unsigned times[N])
{
    for (size_t i = 0; i < N; i++) {
        journal_request_init(&all[i], NULL, &times[i], on_done);
        journal_request_begin(&all[i], JOURNAL_HEARTBEAT)->job = STR("nobody");
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

/* --- those who wait ----------------------------------------------------------------- */

static const struct str only_agent = STR("a");

/* A request of @op about the only agent, done at once. */
static void ask(const struct scene *s, struct journal_request *req, enum journal_op op)
{
    static unsigned times;

    req->op = op;
    req->loop_call = (struct loop_call){ .owner = &times, .answered = on_done };
    if (op == JOURNAL_LEASE || op == JOURNAL_TAKE) {
        req->work.agents = &only_agent;
        req->work.n_agents = 1;
    }
    arena_init(&req->mem);
    journal_post(s->journal, req);
    assert_true(journal_turn(s->journal));
}

static void submit(const struct scene *s)
{
    struct journal_request req = {
        .submit = { .id = STR("j"), .agent = STR("a"), .input = STR("{}") }
    };

    ask(s, &req, JOURNAL_SUBMIT);
    assert_int_equal(req.code, 0);
    arena_done(&req.mem);
}

/* It was dropped on its way: nobody would hand the job back while the server goes down. */
static void a_lease_whose_caller_has_left_gets_no_job(void **state)
{
    const struct scene *s = *state;
    struct journal_request gone = { .withdrawn = true, .work.wait_ms = 1000 };
    struct journal_request here = { .work.wait_ms = 1000 };

    submit(s);
    ask(s, &gone, JOURNAL_LEASE);
    assert_int_equal(gone.code, ERR_NOT_FOUND);
    ask(s, &here, JOURNAL_LEASE);
    assert_int_equal(here.code, 0);
    assert_int_equal(here.row->attempt, 1);
    arena_done(&gone.mem);
    arena_done(&here.mem);
}

static void a_call_whose_caller_has_left_is_handed_to_nobody(void **state)
{
    const struct scene *s = *state;
    struct journal_request call = {
        .withdrawn = true,
        .call = { .agent = only_agent, .wait_ms = 1000, .id = STR("c"), .name = STR("n") }
    };
    struct journal_request taker = { .work.takes_calls = true };

    ask(s, &call, JOURNAL_CALL);
    assert_int_equal(call.code, ERR_BUSY);
    ask(s, &taker, JOURNAL_TAKE);
    assert_int_equal(taker.code, ERR_NOT_FOUND);
    arena_done(&call.mem);
    arena_done(&taker.mem);
}

/* A job that runs under a lease of an earlier version, which was asked for as @request_id. */
static void store_unsigned(const struct scene *s, struct str id, struct str request_id)
{
    struct job_row row = { .id = id,
                           .agent = STR("a"),
                           .input = STR("{}"),
                           .state = STR("running"),
                           .request_id = request_id,
                           .attempt = 1,
                           .attempts_left = 1,
                           .unsigned_attempt = 1,
                           .created = 1,
                           .updated = 1,
                           .lease_until = INT64_MAX / 4,
                           .published = -1 };
    struct error why;

    assert_int_equal(store_begin(s->store, &why), 0);
    assert_int_equal(store_job_insert(s->store, &row, &why), 0);
    assert_int_equal(store_commit(s->store, &why), 0);
}

static void expect_state(const struct scene *s, struct str id, const char *want)
{
    struct job_row row;
    struct error why;

    assert_int_equal(store_job_get(s->store, id, &row, &why), 0);
    assert_true(str_eq(row.state, str_of(want)));
}

/* The server asks by the name of a place, and takes up again what it finds there. */
static void what_the_server_leased_by_a_place_of_its_own_goes_on(void **state)
{
    struct scene *s = *state;

    store_unsigned(s, STR("own"), STR("arq:a:0"));
    store_unsigned(s, STR("callers"), STR("tok_1:arq:a:0"));
    store_unsigned(s, STR("nameless"), STR_NONE);
    journal_free(s->journal);
    s->agent.places = STR("arq");
    start(s);
    (void)journal_turn(s->journal);
    expect_state(s, STR("own"), "running");
    expect_state(s, STR("callers"), "queued");
    expect_state(s, STR("nameless"), "queued");
    journal_free(s->journal);
    s->agent.places = STR_NONE;
    start(s);
    (void)journal_turn(s->journal);
    expect_state(s, STR("own"), "queued");
}

/* --- answers ------------------------------------------------------------------------ */

/* The journal's own texts may be freed before the answer is read. */
static void an_answered_row_has_no_text_of_the_journal(void **state)
{
    const struct scene *s = *state;
    struct journal_request lease = { .work.request_id = STR("r") };

    submit(s);
    ask(s, &lease, JOURNAL_LEASE);
    assert_int_equal(lease.code, 0);
    assert_true(str_absent(lease.row->request_id));
    assert_true(str_absent(lease.row->idempotency_key));
    assert_true(str_absent(lease.row->request_hash));
    arena_done(&lease.mem);
}

/* The lease of a job with an input that fills a block of the answer's memory, with the @n-th
 * allocation failing.  Returns whether there were so many. */
static bool lease_without_memory(const struct scene *s, size_t n)
{
    static char input[4097];
    char id[20];
    struct journal_request made = { .submit = { .agent = STR("a") } };
    struct journal_request first = { 0 }, second = { .work.wait_ms = 1000 };

    memset(input, 'x', 4096);
    input[0] = input[4095] = '"';
    made.submit.input = str_of(input);
    made.submit.id = str_make(id, (size_t)sprintf(id, "j%zu", n));
    ask(s, &made, JOURNAL_SUBMIT);
    assert_int_equal(made.code, 0);
    n_allocations = 0;
    fail_at = n;
    ask(s, &first, JOURNAL_LEASE);
    bool failed = n_allocations >= n;
    fail_at = 0;
    if (first.code != 0) {
        ask(s, &second, JOURNAL_LEASE);
        assert_int_equal(second.code, 0);
        assert_int_equal(second.row->attempt, 1);
        arena_done(&second.mem);
    }
    arena_done(&made.mem);
    arena_done(&first.mem);
    return failed;
}

/* Whoever is told to ask again gets the job: it is not held by an answer that nobody has. */
static void a_lease_that_cannot_be_answered_is_not_given(void **state)
{
    skip_without_failing_allocations();
    for (size_t n = 1; lease_without_memory(*state, n); n++)
        ;
}

static int on_owned_item(void *arg, const struct item_row *row)
{
    (void)row;
    *(bool *)arg = true;
    return 0;
}

static void an_item_that_is_written_for_a_job_is_its_owners(void **state)
{
    const struct scene *s = *state;
    struct journal_request lease = { 0 };
    struct journal_request job = {
        .submit = { .id = STR("j"), .agent = STR("a"), .input = STR("{}"), .owner = STR("o") }
    };
    struct item_row item = { .owner = STR("worker"), .ns = STR("n."), .key = STR("k") };
    bool is_there = false;

    ask(s, &job, JOURNAL_SUBMIT);
    ask(s, &lease, JOURNAL_LEASE);
    assert_int_equal(lease.code, 0);
    struct journal_request put = { .job = STR("j"),
                                   .lease = { lease.row->key, 1, false },
                                   .item.row = item };
    put.item.row.value = STR("{}");
    ask(s, &put, JOURNAL_ITEM_PUT);
    assert_int_equal(put.code, 0);
    item.owner = STR("o");
    assert_int_equal(
        store_item(s->store, &item, clock_of(NULL), on_owned_item, &is_there, NULL), 0);
    assert_true(is_there);
    arena_done(&job.mem);
    arena_done(&lease.mem);
    arena_done(&put.mem);
}

static void an_item_of_a_lost_lease_is_not_written(void **state)
{
    const struct scene *s = *state;
    struct journal_request lease = { 0 };

    submit(s);
    ask(s, &lease, JOURNAL_LEASE);
    struct journal_request put = { .job = STR("j"), .lease = { lease.row->key, 2, false } };
    put.item.row = (struct item_row){
        .owner = STR("o"), .ns = STR("n."), .key = STR("k"), .value = STR("{}")
    };
    ask(s, &put, JOURNAL_ITEM_PUT);
    assert_int_equal(put.code, ERR_REFUSED);
    arena_done(&lease.mem);
    arena_done(&put.mem);
}

/* --- crashes -------------------------------------------------------------------------- */

static void the_job_being_folded_is_named(void **state)
{
    struct scene *s = *state;
    struct journal_request lease = { 0 };

    submit(s);
    assert_int_equal(breadcrumb_get(&s->breadcrumb), 0);
    ask(s, &lease, JOURNAL_LEASE);
    s->folding = 0;
    struct journal_request finish = { .job = STR("j"), .lease = { lease.row->key, 1, false } };
    ask(s, &finish, JOURNAL_FINISH);
    assert_int_equal(finish.code, 0);
    assert_int_equal(s->folding, lease.row->key);
    assert_int_equal(breadcrumb_get(&s->breadcrumb), 0);
    arena_done(&lease.mem);
    arena_done(&finish.mem);
}

/* As a crash leaves it. */
static void crash_over(struct scene *s, int64_t key)
{
    journal_free(s->journal);
    breadcrumb_set(&s->breadcrumb, key);
    start(s);
}

static int64_t key_of_job(const struct scene *s)
{
    struct job_row row;
    struct error why;

    assert_int_equal(store_job_get(s->store, STR("j"), &row, &why), 0);
    return row.key;
}

static int code_of(const struct scene *s, enum journal_op op)
{
    struct journal_request req = { .job = STR("j") };

    ask(s, &req, op);
    arena_done(&req.mem);
    return req.code;
}

static void a_second_crash_sets_a_job_aside(void **state)
{
    struct scene *s = *state;

    submit(s);
    int64_t key = key_of_job(s);
    crash_over(s, key);
    assert_true(s->told && !s->set_aside);
    assert_int_equal(breadcrumb_get(&s->breadcrumb), 0);
    crash_over(s, key + 1); /* nobody's: it was never stored */
    assert_false(s->told);
    crash_over(s, key);
    assert_true(s->told && s->set_aside);
    assert_int_equal(code_of(s, JOURNAL_CANCEL), ERR_REFUSED);
    assert_int_equal(code_of(s, JOURNAL_LEASE), ERR_NOT_FOUND);
    crash_over(s, 0);
    assert_true(s->told && s->set_aside);
    assert_int_equal(code_of(s, JOURNAL_RELEASE), 0);
    assert_int_equal(code_of(s, JOURNAL_LEASE), 0);
    crash_over(s, key);
    assert_true(s->told && !s->set_aside);
    assert_int_equal(code_of(s, JOURNAL_DELETE), 0);
}

static void a_job_that_is_set_aside_is_deleted_without_a_fold(void **state)
{
    struct scene *s = *state;

    submit(s);
    int64_t key = key_of_job(s);
    crash_over(s, key);
    crash_over(s, key);
    s->folding = 0;
    assert_int_equal(code_of(s, JOURNAL_DELETE), 0);
    assert_int_equal(s->folding, 0);
    assert_int_equal(code_of(s, JOURNAL_RELEASE), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answered_request_can_be_posted_again_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_chain_is_answered_link_by_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lease_whose_caller_has_left_gets_no_job, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_call_whose_caller_has_left_is_handed_to_nobody,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_server_leased_by_a_place_of_its_own_goes_on,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lease_that_cannot_be_answered_is_not_given, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answered_row_has_no_text_of_the_journal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_job_being_folded_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_second_crash_sets_a_job_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_is_set_aside_is_deleted_without_a_fold,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_item_that_is_written_for_a_job_is_its_owners, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_item_of_a_lost_lease_is_not_written, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
