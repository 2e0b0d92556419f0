/* The agents of the server's file: what is said of each and of all, the built-in one, that
 * translate takes the same file, and that it all holds when memory runs out anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_malloc.h"
#include "server_config.h"

/* --- Agents --- */

static const char agents_file[] = "agents:\n"
                                  "  one:\n"
                                  "    description: ${WHO} does it\n"
                                  "    command: [python3, '${WHO}.py', '@x', '']\n"
                                  "    env:\n"
                                  "      KEY: ${WHO}\n"
                                  "      EMPTY: ''\n"
                                  "    cwd: /srv/${WHO}\n"
                                  "    concurrency: 2\n"
                                  "    lease: 3s\n"
                                  "    attempts: 4\n"
                                  "    queue_deadline: 5m\n"
                                  "    run_deadline: 6h\n"
                                  "    grace: 7s\n"
                                  "    cancel_grace: 8s\n"
                                  "    max_memory: 2G\n"
                                  "    max_cpu: 10m\n"
                                  "    public: false\n"
                                  "    worker_nodes: [w]\n"
                                  "    output_chars: 9\n"
                                  "  two:\n"
                                  "    pull: true\n"
                                  "  '*':\n"
                                  "    lease: 11s\n"
                                  "    cwd: /srv\n"
                                  "    env: {ALL: 1}\n"
                                  "    input_preview: 12\n"
                                  "    output_chars: 13\n"
                                  "    worker_nodes: {all_but: [x]}\n";

static void assert_agent_one(const struct config_agent *a)
{
    assert_string_equal(a->name.p, "one");
    assert_string_equal(a->description.p, "me does it");
    assert_int_equal(a->description.n, 10);
    assert_list(a->argv, "python3 me.py @x ");
    assert_list(a->env, "KEY=me EMPTY=");
    assert_string_equal(a->cwd, "/srv/me");
    assert_false(a->pull);
    assert_false(a->is_builtin);
    assert_false(a->is_public);
    assert_int_equal(a->concurrency, 2);
    assert_int_equal(a->lease_ms, 3000);
    assert_int_equal(a->attempts, 4);
    assert_int_equal(a->queue_ms, 300000);
    assert_int_equal(a->run_ms, 21600000);
    assert_int_equal(a->grace_ms, 7000);
    assert_int_equal(a->cancel_grace_ms, 8000);
    assert_int_equal(a->max_memory, 2147483648);
    assert_int_equal(a->max_cpu_seconds, 600);
    assert_true(str_is(a->settings->name, "one"));
    assert_true(name_set_has(&a->settings->card_nodes, STR("w")));
    assert_false(name_set_has(&a->settings->card_nodes, STR("y")));
    assert_int_equal(a->settings->output_chars, 9);
    assert_int_equal(a->settings->input_preview, 12);
}

static void agents_are_read(void **state)
{
    struct server_config *c = good(agents_file, ENV("WHO=me"), NONE);

    (void)state;
    assert_int_equal(c->n_agents, 3);
    assert_agent_one(&c->agents[0]);
    server_config_free(c);
}

static void the_star_is_for_every_agent(void **state)
{
    struct server_config *c = good(agents_file, ENV("WHO=me"), NONE);
    const struct config_agent *two = agent_of(c, "two");
    const struct config_agent *demo = agent_of(c, "demo");

    (void)state;
    assert_true(two->pull);
    assert_null(two->argv);
    assert_true(two->is_public);
    assert_string_equal(two->description.p, "");
    assert_int_equal(two->lease_ms, 11000);
    assert_string_equal(two->cwd, "/srv");
    assert_list(two->env, "ALL=1");
    assert_int_equal(two->concurrency, 10);
    assert_int_equal(two->attempts, 1);
    assert_int_equal(two->queue_ms, 0);
    assert_int_equal(two->run_ms, 0);
    assert_int_equal(two->grace_ms, 5000);
    assert_int_equal(two->cancel_grace_ms, 10000);
    assert_int_equal(two->max_memory, 0);
    assert_int_equal(two->max_cpu_seconds, 0);
    assert_int_equal(two->settings->input_preview, 12);
    assert_int_equal(two->settings->output_chars, 13);
    assert_true(name_set_has(&two->settings->card_nodes, STR("y")));
    assert_true(demo->is_builtin);
    assert_int_equal(demo->lease_ms, 11000);
    assert_int_equal(demo->settings->input_preview, 12);
    server_config_free(c);
}

static void what_is_one_agents_own_has_no_place_under_the_star(void **state)
{
    (void)state;
    BAD_FILE("agents:\n  '*':\n    command: [x]\n", ERR_REFUSED,
             "'command' at line 3 belongs to one agent, not to \"*\"");
    BAD_FILE("agents:\n  '*':\n    pull: true\n", ERR_REFUSED,
             "'pull' at line 3 belongs to one agent, not to \"*\"");
    BAD_FILE("agents:\n  '*':\n    description: x\n", ERR_REFUSED,
             "'description' at line 3 belongs to one agent, not to \"*\"");
    BAD_FILE("agents:\n  '*':\n    http: {url: \"http://h/\"}\n", ERR_REFUSED,
             "'http.url' at line 3 belongs to one agent, not to \"*\"");
    BAD_FILE("agents:\n  '*':\n    arq: f\n", ERR_REFUSED,
             "'arq.function' at line 3 belongs to one agent, not to \"*\"");
}

static void an_agent_has_one_way_to_get_its_jobs(void **state)
{
    (void)state;
    BAD_FILE(
        "agents:\n  a: {concurrency: 2}\n", ERR_REFUSED,
        "the agent 'a' at line 2 needs a 'command', an 'http' url, an 'arq' function, 'pull: true', a 'dask' scheduler or 'channel: true'");
    BAD_FILE(
        "agents:\n  a:\n", ERR_REFUSED,
        "the agent 'a' at line 2 needs a 'command', an 'http' url, an 'arq' function, 'pull: true', a 'dask' scheduler or 'channel: true'");
    BAD_FILE(
        "agents:\n  a: {pull: false}\n", ERR_REFUSED,
        "the agent 'a' at line 2 needs a 'command', an 'http' url, an 'arq' function, 'pull: true', a 'dask' scheduler or 'channel: true'");
    BAD_FILE("agents:\n  a: {pull: true, arq: run}\n", ERR_REFUSED,
             "the agent 'a' at line 2 has an 'arq' function and 'pull: true'");
    BAD_FILE("agents:\n  a: {pull: true, command: [x]}\n", ERR_REFUSED,
             "the agent 'a' at line 2 has a 'command' and 'pull: true'");
    BAD_FILE("agents:\n  a: {command: ['']}\n", ERR_REFUSED,
             "the command of the agent 'a' at line 2 has no program");
    BAD_FILE("agents:\n  demo: {pull: true, command: [x]}\n", ERR_REFUSED,
             "the agent 'demo' at line 2 has a 'command' and 'pull: true'");
}

static void a_pool_is_a_group_of_options(void **state)
{
    struct server_config *c = good("agents:\n"
                                   "  one:\n"
                                   "    command: [x]\n"
                                   "    pool:\n"
                                   "      size: 3\n"
                                   "      concurrency: 8\n"
                                   "      warm: 2\n"
                                   "      recycle_jobs: 1000\n"
                                   "      recycle_memory: 2G\n"
                                   "      start: 5s\n"
                                   "      drain: 6s\n"
                                   "      backoff: 7s\n"
                                   "  two: {command: [x], pool: 5}\n"
                                   "  three: {command: [x], pool: {warm: 0}}\n"
                                   "  four: {pull: true, concurrency: 2}\n"
                                   "  '*': {pool: {size: 4, drain: 8s}, concurrency: 3}\n",
                                   NONE, NONE);
    const struct config_pool *p = &agent_of(c, "one")->pool;

    (void)state;
    assert_int_equal(p->size, 3);
    assert_int_equal(p->concurrency, 8);
    assert_int_equal(p->warm, 2);
    assert_int_equal(p->recycle_jobs, 1000);
    assert_int_equal(p->recycle_memory, 2147483648);
    assert_int_equal(p->start_ms, 5000);
    assert_int_equal(p->drain_ms, 6000);
    assert_int_equal(p->backoff_ms, 7000);
    p = &agent_of(c, "two")->pool;
    assert_int_equal(p->size, 5);
    assert_int_equal(p->concurrency, 1);
    assert_int_equal(p->drain_ms, 8000);
    p = &agent_of(c, "three")->pool;
    assert_int_equal(p->size, 4);
    assert_int_equal(p->warm, 0);
    assert_int_equal(agent_of(c, "demo")->pool.size, 4);
    server_config_free(c);
}

#define POOL(text) "agents:\n  a:\n    command: [x]\n    pool: " text

static void a_pool_is_checked(void **state)
{
    (void)state;
    BAD_FILE(POOL("{size: 2, concurency: 3}\n"), ERR_REFUSED,
             "unknown setting 'concurency' at line 4: did you mean 'concurrency'?");
    BAD_FILE(POOL("{lease: 2s}\n"), ERR_REFUSED, "unknown setting 'lease' at line 4");
    BAD_FILE(POOL("{size: 2, size: 3}\n"), ERR_REFUSED,
             "'pool.size' at line 4 was already set at line 4");
    BAD_FILE(POOL("{size: 2}\n    pool: {warm: 1}\n"), ERR_REFUSED,
             "'pool' at line 5 was already set at line 4");
    BAD_FILE(POOL("2\n    pool: 3\n"), ERR_REFUSED,
             "'pool' at line 5 was already set at line 4");
    BAD_FILE(POOL("many\n"), ERR_TYPE,
             "'pool' at line 4 must be a whole number from 0 to 1000");
    BAD_FILE(POOL("[2]\n"), ERR_TYPE, "'pool' at line 4 must be a whole number from 0 to 1000");
    BAD_FILE(POOL("\n"), ERR_TYPE, "'pool' at line 4 must be a whole number from 0 to 1000");
    BAD_FILE(POOL("{drain: 5}\n"), ERR_TYPE,
             "'pool.drain' at line 4 must be a duration from 0 to 1d");
    BAD_FILE(POOL("{concurrency: 0}\n"), ERR_REFUSED,
             "'pool.concurrency' at line 4 must be a whole number from 1 to 10000");
    BAD_FILE("agents:\n  a:\n    pool.size: 4\n", ERR_REFUSED,
             "unknown setting 'pool.size' at line 3");
    BAD_FILE("agents:\n  a:\n    pol: 4\n", ERR_REFUSED,
             "unknown setting 'pol' at line 3: did you mean 'pool'?");
    BAD_FILE("agents:\n  a: {pull: true, pool: 2}\n", ERR_REFUSED,
             "the agent 'a' at line 2 has a 'pool' and 'pull: true'");
    BAD_FILE(POOL("4\n    concurrency: 2\n"), ERR_REFUSED,
             "the agent 'a' at line 2 has a 'pool', whose processes have a 'concurrency' of "
             "their own: 'pool: {size: 4, concurrency: 8}'");
    BAD_FILE(POOL("{concurrency: 4}\n"), ERR_REFUSED,
             "the agent 'a' at line 2 has a 'pool' and no 'size' for it: 'pool: {size: 4, …}'");
}

static void a_queue_of_arq_is_a_group_of_options(void **state)
{
    struct server_config *c = good(
        "redis_url: redis://h\narq_queue: mine\n"
        "agents:\n"
        "  a: {arq: run_it}\n"
        "  b: {arq: {function: run_b, queue: qb, args: [job_id, x=input.y], serializer: json}}\n"
        "  c: {pull: true, serves: {function: run_c, resume_function: go_on}}\n",
        NONE, NONE);

    (void)state;
    assert_string_equal(c->agents[0].arq.function, "run_it");
    assert_string_equal(c->agents[0].arq.queue, "arq:queue");
    assert_list(c->agents[0].arq.args, "job_id input");
    assert_list(c->agents[0].arq.resume_args, "job_id resume");
    assert_true(c->agents[0].arq.keeps_result);
    assert_string_equal(c->agents[1].arq.queue, "qb");
    assert_list(c->agents[1].arq.args, "job_id x=input.y");
    assert_int_equal(c->agents[1].arq.serializer, ARQ_SERIALIZER_JSON);
    assert_string_equal(c->agents[2].serves.function, "run_c");
    assert_string_equal(c->agents[2].serves.resume_function, "go_on");
    assert_list(c->agents[2].serves.resume_args, "job_id answer");
    server_config_free(c);
}

static void a_queue_of_arq_is_checked(void **state)
{
    (void)state;
    refused("agents:\n  a: {arq: run}\n", NONE, NONE, ERR_REFUSED,
            "the agent 'a' has an 'arq' function, but there is no redis_url");
    refused("arq_queue: q\n", NONE, NONE, ERR_REFUSED, "arq_queue is given without redis_url");
    refused("agents:\n  a: {pull: true, serves: run}\n", NONE, NONE, ERR_REFUSED,
            "the agent 'a' has 'serves', but there is no arq_queue");
    refused(
        "redis_url: redis://h\narq_queue: q\nagents:\n  a: {arq: {function: run, queue: q}}\n",
        NONE, NONE, ERR_REFUSED,
        "the agent 'a' has the queue that arq_queue says is served here: give it another 'queue'");
    refused("redis_url: redis://h\nagents:\n  a: {arq: {function: run, args: [job]}}\n", NONE,
            NONE, ERR_REFUSED,
            "the agent 'a': 'job' is no argument: these are job_id, input, input.KEY, agent, "
            "attempt, resume and answer, each also as name=word");
    refused(
        "redis_url: redis://h\nagents:\n  a: {arq: {function: run, args: [=input]}}\n", NONE,
        NONE, ERR_REFUSED,
        "the agent 'a': '=input' is no argument: these are job_id, input, input.KEY, agent, "
        "attempt, resume and answer, each also as name=word");
}

static void the_assistant_of_an_agent_is_checked(void **state)
{
    (void)state;
    BAD_FILE("agents:\n  a: {pull: true, assistant: {config: '[1]'}}\n", ERR_TYPE,
             "'assistant.config' of the agent 'a' at line 2 must be the text of a JSON object, "
             "such as '{\"model\": \"small\"}'");
    BAD_FILE(
        "agents:\n  a: {pull: true, assistant: {context: x}}\n", ERR_TYPE,
        "'assistant.context' of the agent 'a' at line 2 must be the text of a JSON object, "
        "such as '{\"model\": \"small\"}'");
    struct server_config *c =
        good("demo: false\nagents:\n  a: {pull: true, assistant: {config: '{\"a\":1}'}}\n",
             NONE, NONE);
    assert_true(str_is(c->agents[0].assistant.config, "{\"a\":1}"));
    assert_true(str_is(c->agents[0].assistant.context, "{}"));
    server_config_free(c);
}

static void an_agent_has_one_kind(void **state)
{
    static const char file[] = "redis_url: redis://h\n"
                               "agents:\n"
                               "  process: {command: [x]}\n"
                               "  pool: {command: [x], pool: 2}\n"
                               "  http: {http: 'http://h/'}\n"
                               "  arq: {arq: run}\n"
                               "  pull: {pull: true}\n"
                               "  dask: {dask: 'tcp://h:1', graph: 'm:g'}\n"
                               "  channel: {channel: true}\n";
    struct server_config *c = good(file, NONE, NONE);

    (void)state;
    for (enum agent_kind kind = 0; kind < AGENT_KIND_MAX; kind++)
        assert_int_equal(agent_of(c, agent_kinds[kind].name)->kind, kind);
    assert_int_equal(agent_of(c, "demo")->kind, AGENT_PROCESS);
    server_config_free(c);
    c = good("agents: {demo: {pool: 2}}", NONE, NONE);
    assert_int_equal(agent_of(c, "demo")->kind, AGENT_POOL);
    server_config_free(c);
}

/* Only agents with a command have the pool that all have. */
static void a_pool_for_all_is_none_for_another_kind(void **state)
{
    struct server_config *c =
        good("demo: false\nagents: {'*': {pool: 2}, a: {http: 'http://h/'}}", NONE, NONE);
    struct buf shown;

    (void)state;
    buf_init(&shown, 1 << 20);
    server_config_show(c, &shown);
    buf_char(&shown, '\0');
    assert_int_equal(shown.error, 0);
    assert_int_equal(agent_of(c, "a")->kind, AGENT_HTTP);
    server_config_free(c);
    assert_null(strstr(shown.p, "pool:"));
    c = good(shown.p, NONE, NONE); /* which would be refused with a pool */
    assert_int_equal(agent_of(c, "a")->kind, AGENT_HTTP);
    server_config_free(c);
    buf_done(&shown);
}

static void the_demo_is_built_in(void **state)
{
    struct server_config *c = good(NULL, NONE, NONE);
    const struct config_agent *demo = agent_of(c, "demo");

    (void)state;
    assert_true(demo->is_builtin);
    assert_null(demo->argv);
    assert_false(demo->pull);
    assert_true(demo->is_public);
    assert_true(demo->description.n > 0);
    assert_int_equal(demo->attempts, 2);
    assert_true(name_set_has(&demo->settings->card_nodes, STR("critic")));
    server_config_free(c);
}

static void the_demo_can_be_changed_and_replaced_and_left_out(void **state)
{
    static const char changed[] =
        "agents: {demo: {attempts: 5, description: d, output_chars: 3}}";
    struct server_config *c = good(changed, NONE, NONE);
    const struct config_agent *demo = agent_of(c, "demo");

    (void)state;
    assert_true(demo->is_builtin);
    assert_string_equal(demo->description.p, "d");
    assert_int_equal(demo->attempts, 5);
    assert_int_equal(demo->settings->output_chars, 3);
    server_config_free(c);
    c = good(changed, NONE, ARGS("--no-demo"));
    assert_int_equal(c->n_agents, 0);
    server_config_free(c);
    c = good("agents: {'*': {attempts: 7}}", NONE, NONE);
    assert_int_equal(agent_of(c, "demo")->attempts, 7);
    server_config_free(c);
    c = good("agents: {demo: {command: [x]}}", NONE, ARGS("--no-demo"));
    assert_false(agent_of(c, "demo")->is_builtin);
    assert_int_equal(agent_of(c, "demo")->attempts, 1);
    server_config_free(c);
}

static void an_agents_bounds_are_checked(void **state)
{
    (void)state;
    BAD_FILE("agents:\n  a:\n    lease: 10\n", ERR_TYPE,
             "'lease' at line 3 must be a duration from 100ms to 1d");
    BAD_FILE("agents:\n  '*':\n    concurrency: 0\n", ERR_REFUSED,
             "'concurrency' at line 3 must be a whole number from 1 to 10000");
    BAD_FILE("agents:\n  a:\n    output_chars: 0\n", ERR_REFUSED,
             "'output_chars' at line 3 must be from 1 to 1000000");
}

/* --- One file for the server and for translate --- */

static void translate_takes_the_servers_file(void **state)
{
    struct agent *agent = translated("one", agents_file);

    (void)state;
    assert_int_equal(agent->output_chars, 9);
    assert_int_equal(agent->input_preview, 12);
    agent_free(agent);
}

static void translate_asks_for_no_variable_of_it(void **state)
{
    struct agent *agent = translated("a", "data: ${NOT_THERE}\nlisten: nonsense\n"
                                          "agents: {a: {command: ['@x'], output_chars: 7}}");

    (void)state;
    assert_int_equal(agent->output_chars, 7);
    agent_free(agent);
}

static void translate_still_refuses_what_nobody_knows(void **state)
{
    static const struct {
        const char *text, *why;
        int code;
    } bad[] = {
        { "max_boddy: 1", "f: unknown key 'max_boddy' at line 1: did you mean 'max_body'?",
          ERR_REFUSED },
        { "config: x", "f: unknown key 'config' at line 1", ERR_REFUSED },
        { "agents: {a: {comand: [x]}}",
          "f: unknown setting 'comand' at line 1: did you mean 'command'?", ERR_REFUSED },
        { "hosts: [[a]]", "f: there must be a value at line 1", ERR_TYPE },
        { "agents: {a: {env: {A: {B: c}}}}", "f: there must be a value at line 1", ERR_TYPE },
        { "data: *x", "f: anchors, aliases and tags have no place here (line 1)", ERR_REFUSED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct agent *agent = NULL;
        struct error error = { 0 };
        assert_int_equal(agent_new(STR("a"), &agent), 0);
        assert_int_equal(agent_file_apply(str_of(bad[i].text), "f", agent, &error),
                         bad[i].code);
        assert_string_equal(error.text, bad[i].why);
        agent_free(agent);
    }
}

/* --- Memory --- */

static int run_with_failure(size_t n, char **args, char **env)
{
    struct server_config *config = NULL;
    struct error error = { 0 };
    int argc = 0;

    while (args[argc] != NULL)
        argc++;
    n_allocations = 0;
    fail_at = n;
    int err = server_config_load(argc, args, env, &config, &error);
    bool passed = n_allocations < fail_at;
    fail_at = 0;
    assert_int_equal(error.code, err);
    assert_true((config != NULL) == (err == 0));
    server_config_free(config);
    if (!passed)
        assert_int_equal(err, ERR_NOMEM);
    return passed ? 1 : 0;
}

static void every_allocation_may_fail(void **state)
{
    static const char *const texts[] = { agents_file, "hosts: [a, b]\ndata: d\norigins: x://y",
                                         "max_boddy: 1", "max_body: 1", "agents: {a: {}}" };
    char *args[] = { "serve", "--config", path, "--hosts", "a,b", "--hosts=c", NULL };
    char *env[] = { "WHO=me", "PORT=77", "SPOOLWIRE_DATA=d", NULL };

    (void)state;
    skip_without_failing_allocations();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t n = 1;
        write_file(path, str_of(texts[i]));
        while (run_with_failure(n, args, env) == 0)
            n++;
        assert_true(n > 10); /* libyaml's are among them */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_are_read),
        cmocka_unit_test(the_star_is_for_every_agent),
        cmocka_unit_test(what_is_one_agents_own_has_no_place_under_the_star),
        cmocka_unit_test(an_agent_has_one_way_to_get_its_jobs),
        cmocka_unit_test(a_pool_is_a_group_of_options),
        cmocka_unit_test(a_pool_is_checked),
        cmocka_unit_test(a_queue_of_arq_is_a_group_of_options),
        cmocka_unit_test(a_queue_of_arq_is_checked),
        cmocka_unit_test(the_assistant_of_an_agent_is_checked),
        cmocka_unit_test(an_agent_has_one_kind),
        cmocka_unit_test(a_pool_for_all_is_none_for_another_kind),
        cmocka_unit_test(the_demo_is_built_in),
        cmocka_unit_test(the_demo_can_be_changed_and_replaced_and_left_out),
        cmocka_unit_test(an_agents_bounds_are_checked),
        cmocka_unit_test(translate_takes_the_servers_file),
        cmocka_unit_test(translate_asks_for_no_variable_of_it),
        cmocka_unit_test(translate_still_refuses_what_nobody_knows),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
