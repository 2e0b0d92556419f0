/* Which of several waiting workers gets a job: the oldest request that names its agent. */
#include "ingest/agent.h"
#include "journal/counts.h"
#include "journal/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum { N_AGENTS = 4, MAX_WAITING = 40, STEPS = 2000 };

static const struct str names[N_AGENTS + 1] = { STR("a"), STR("b"), STR("c"), STR("d"),
                                                STR("new") };

struct worker {
    struct journal_request req;
    struct str agents[N_AGENTS + 1];
    unsigned number; /* when it came */
    bool waits;
};

struct scene {
    struct store *store;
    struct journal *journal;
    struct agent *settings;
    struct journal_agent agents[N_AGENTS + 1];
    int64_t now;
    unsigned n_jobs, n_workers;
    struct worker workers[MAX_WAITING];
};

static int64_t clock_of(void *arg)
{
    const struct scene *s = arg;

    return s->now;
}

static int set_up(void **state)
{
    static struct scene s;
    struct store_options files = { .url = ":memory:" };
    struct error why;

    s = (struct scene){ .now = 1700000000000 };
    assert_int_equal(store_open(&files, &s.store, &why), 0);
    assert_int_equal(agent_new(STR("a"), &s.settings), 0);
    for (size_t i = 0; i <= N_AGENTS; i++)
        s.agents[i] = (struct journal_agent){
            .name = names[i], .settings = s.settings, .lease_ms = 3600000, .attempts = 1
        };
    struct journal_options options = { .store = s.store,
                                       .clock = clock_of,
                                       .clock_arg = &s,
                                       .agents = s.agents,
                                       .n_agents = N_AGENTS,
                                       .max_calls = 10 };
    assert_int_equal(journal_new(&options, &s.journal, &why), 0);
    assert_int_equal(journal_recover(s.journal, NULL, 0, &why), 0);
    assert_true(journal_turn(s.journal)); /* it looks at everything: not again for a while */
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    journal_free(s->journal);
    for (size_t i = 0; i < MAX_WAITING; i++) {
        assert_false(s->workers[i].waits); /* whoever waited was sent away */
        arena_done(&s->workers[i].req.mem);
    }
    store_close(s->store);
    agent_free(s->settings);
    return 0;
}

static void on_answered(struct loop_call *call)
{
    struct worker *w = call->owner;

    w->waits = false;
}

static void on_done(struct loop_call *call)
{
    (void)call;
}

/* A worker of the agents whose bits are set waits for @wait_ms. */
static struct worker *wait_for(struct scene *s, unsigned agents, int64_t wait_ms)
{
    struct worker *w = s->workers;

    while (w->waits)
        w++;
    assert_true(w < s->workers + MAX_WAITING);
    arena_done(&w->req.mem);
    *w = (struct worker){ .waits = true, .number = ++s->n_workers };
    w->req = (struct journal_request){
        .op = JOURNAL_LEASE,
        .loop_call = { .owner = w, .answered = on_answered },
        .work = { .agents = w->agents, .takes_calls = true, .wait_ms = wait_ms }
    };
    for (size_t i = 0; i <= N_AGENTS; i++)
        if ((agents & 1u << i) != 0)
            w->agents[w->req.work.n_agents++] = names[i];
    arena_init(&w->req.mem);
    journal_post(s->journal, &w->req);
    assert_true(journal_turn(s->journal));
    return w;
}

static void ask(struct scene *s, struct journal_request *req, enum journal_op op)
{
    req->op = op;
    req->loop_call.answered = on_done;
    arena_init(&req->mem);
    journal_post(s->journal, req);
    assert_true(journal_turn(s->journal));
    assert_int_equal(req->code, 0);
    arena_done(&req->mem);
}

static void submit(struct scene *s, size_t agent)
{
    char id[24];

    (void)snprintf(id, sizeof(id), "j%u", ++s->n_jobs);
    struct journal_request req = {
        .submit = { .id = str_of(id), .agent = names[agent], .input = STR("{}") }
    };
    ask(s, &req, JOURNAL_SUBMIT);
}

static bool has_job(const struct worker *w, size_t agent)
{
    return !w->waits && w->req.code == 0 && str_eq(w->req.row->agent, names[agent]);
}

static void a_job_goes_to_the_oldest_worker_of_its_agent(void **state)
{
    struct scene *s = *state;
    const struct worker *of_a = wait_for(s, 1u, 60000), *of_both = wait_for(s, 3u, 60000),
                        *of_b = wait_for(s, 2u, 60000);

    submit(s, 1);
    assert_true(of_a->waits);
    assert_true(has_job(of_both, 1));
    assert_true(of_b->waits);
    submit(s, 1);
    assert_true(has_job(of_b, 1));
    submit(s, 0);
    assert_true(has_job(of_a, 0));
}

/* Two jobs that come with one commit. */
static void submit_both(struct scene *s, size_t agent, size_t other)
{
    char ids[2][24];
    struct journal_request jobs[2];

    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "j%u", ++s->n_jobs);
        jobs[i] = (struct journal_request){ .op = JOURNAL_SUBMIT,
                                            .loop_call.answered = on_done,
                                            .submit = { .id = str_of(ids[i]),
                                                        .agent = names[i == 0 ? agent : other],
                                                        .input = STR("{}") } };
        arena_init(&jobs[i].mem);
        journal_post(s->journal, &jobs[i]);
    }
    assert_true(journal_turn(s->journal));
    for (size_t i = 0; i < 2; i++)
        arena_done(&jobs[i].mem);
}

static void jobs_of_one_commit_go_to_the_oldest_workers(void **state)
{
    struct scene *s = *state;
    const struct worker *first = wait_for(s, 8u | 4u, 60000), *second = wait_for(s, 4u, 60000),
                        *third = wait_for(s, 4u, 60000);

    submit_both(s, 2, 2);
    assert_true(has_job(first, 2) && has_job(second, 2) && third->waits);
}

/* Were the younger one served first, it could take the only job that the older one may have.
 * Which agent it would be asked about first changes from time to time. */
static void the_older_worker_is_served_first_whatever_the_agent(void **state)
{
    struct scene *s = *state;

    for (int i = 0; i < 3; i++) {
        const struct worker *older = wait_for(s, 2u, 60000), *younger = wait_for(s, 3u, 60000);

        submit_both(s, 0, 1);
        assert_true(has_job(older, 1) && has_job(younger, 0));
        (void)wait_for(s, 4u, 60000);
        submit(s, 2);
    }
}

static void a_waiting_worker_gets_jobs_of_an_agent_that_is_new(void **state)
{
    struct scene *s = *state;
    const struct worker *w = wait_for(s, 1u | 1u << N_AGENTS, 60000),
                        *of_b = wait_for(s, 2u, 60000);
    struct journal_settings more = { .agents = s->agents, .n_agents = N_AGENTS + 1 };
    struct journal_request change = { .settings = &more };

    ask(s, &change, JOURNAL_SETTINGS);
    submit(s, N_AGENTS);
    assert_true(has_job(w, N_AGENTS));
    submit(s, 1); /* and those of the others go where they went */
    assert_true(has_job(of_b, 1));
}

static void a_worker_waits_as_long_as_it_said(void **state)
{
    struct scene *s = *state;
    const struct worker *brief = wait_for(s, 1u, 1000), *gone = wait_for(s, 1u, 60000),
                        *patient = wait_for(s, 1u, 60000);

    journal_withdraw(&s->workers[gone - s->workers].req);
    s->now += 1000;
    assert_true(journal_turn(s->journal));
    assert_true(!brief->waits && brief->req.code == ERR_NOT_FOUND);
    assert_true(!gone->waits && gone->req.code == ERR_NOT_FOUND);
    assert_true(patient->waits);
    assert_int_equal(counter_get(&journal_counts(s->journal)->waiting_leases), 1);
}

/* Nobody would hand the job back. */
static void a_worker_that_has_left_is_passed_over(void **state)
{
    struct scene *s = *state;
    struct worker *gone = wait_for(s, 1u, 60000), *next = wait_for(s, 1u, 60000);

    journal_withdraw(&gone->req);
    submit(s, 0);
    assert_true(!gone->waits && gone->req.code == ERR_NOT_FOUND);
    assert_true(has_job(next, 0));
}

static void a_call_goes_to_the_oldest_worker_of_its_agent(void **state)
{
    struct scene *s = *state;
    const struct worker *of_a = wait_for(s, 1u, 60000), *of_both = wait_for(s, 3u, 60000),
                        *of_b = wait_for(s, 2u, 60000);
    struct journal_request call = {
        .op = JOURNAL_CALL,
        .loop_call.answered = on_done,
        .call = { .agent = names[1], .wait_ms = 5000, .id = STR("c"), .name = STR("n") }
    };

    arena_init(&call.mem);
    journal_post(s->journal, &call);
    assert_true(journal_turn(s->journal));
    assert_true(of_a->waits && of_b->waits && !of_both->waits);
    assert_true(str_is(of_both->req.work.call.id, "c"));
    struct journal_request reply = { .answer = { .id = STR("c"), .output = STR("1") } };
    ask(s, &reply, JOURNAL_ANSWER_CALL);
    arena_done(&call.mem);
}

/* --- the same of many, in no order ----------------------------------------------- */

static unsigned next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const struct worker *oldest_of(const struct scene *s, size_t agent)
{
    const struct worker *oldest = NULL;

    for (const struct worker *w = s->workers; w < s->workers + MAX_WAITING; w++) {
        bool is_for = false;

        for (size_t i = 0; w->waits && i < w->req.work.n_agents; i++)
            is_for |= str_eq(w->agents[i], names[agent]);
        if (is_for && (oldest == NULL || w->number < oldest->number))
            oldest = w;
    }
    return oldest;
}

static size_t count_waiting(const struct scene *s)
{
    size_t n = 0;

    for (size_t i = 0; i < MAX_WAITING; i++)
        n += s->workers[i].waits;
    return n;
}

static void every_job_goes_to_the_oldest_of_many_workers(void **state)
{
    struct scene *s = *state;
    uint32_t seed = 14;

    for (int step = 0; step < STEPS; step++) {
        size_t agent = next_random(&seed) % N_AGENTS;
        const struct worker *oldest = oldest_of(s, agent);
        size_t n = count_waiting(s);

        if (oldest == NULL || (n < MAX_WAITING && next_random(&seed) % 2 == 0)) {
            (void)wait_for(s, 1u << agent | next_random(&seed) % (1u << N_AGENTS), 60000);
            continue;
        }
        submit(s, agent);
        assert_true(has_job(oldest, agent));
        assert_int_equal(count_waiting(s), n - 1);
        assert_int_equal(counter_get(&journal_counts(s->journal)->waiting_leases), n - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_goes_to_the_oldest_worker_of_its_agent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(jobs_of_one_commit_go_to_the_oldest_workers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_older_worker_is_served_first_whatever_the_agent,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_waiting_worker_gets_jobs_of_an_agent_that_is_new,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_worker_waits_as_long_as_it_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_worker_that_has_left_is_passed_over, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_call_goes_to_the_oldest_worker_of_its_agent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_job_goes_to_the_oldest_of_many_workers, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
