/* The server's options: their defaults, the three ways to give them and which wins, what is
 * refused and in which words, and what is printed about them. */
#include "config/options/options.h"
#include "dialect/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_malloc.h"
#include "server_config.h"

/* --- Defaults --- */

static void assert_default_limits(const struct server_config *c)
{
    assert_int_equal(c->max_head, 16384);
    assert_int_equal(c->max_body, 1048576);
    assert_int_equal(c->max_input, 4 * 1048576);
    assert_int_equal(c->max_batch, 32 * 1048576);
    assert_int_equal(c->body_min_rate, 1024);
    assert_int_equal(c->max_connections, 20000);
    assert_int_equal(c->max_connections_per_address, 0);
    assert_int_equal(c->head_timeout_ms, 10000);
    assert_int_equal(c->idle_timeout_ms, 75000);
    assert_int_equal(c->write_timeout_ms, 60000);
    assert_int_equal(c->keep_alive_ms, 15000);
    assert_int_equal(c->heartbeat_ms, 30000);
    assert_int_equal(c->max_age_ms, 0);
    assert_int_equal(c->shutdown_window_ms, 10000);
    assert_int_equal(c->expiry_seconds, 86400);
    assert_int_equal(c->history_ms, 7 * 86400000);
    assert_int_equal(c->max_line, 16 * 1048576);
    assert_int_equal(c->max_depth, 64);
    assert_int_equal(c->max_field, 65536);
}

static void without_a_word_there_are_defaults(void **state)
{
    struct server_config *c = good(NULL, NULL, NONE);

    (void)state;
    assert_false(c->help);
    assert_null(c->config_file);
    assert_string_equal(c->listen, "127.0.0.1:8400");
    assert_string_equal(c->address.host, "127.0.0.1");
    assert_int_equal(c->address.port, 8400);
    assert_string_equal(c->address.unix_path, "");
    assert_true(c->address.is_loopback);
    assert_false(c->insecure_listen);
    assert_int_equal(c->auth, AUTH_AUTO);
    assert_null(c->token_admin);
    assert_null(c->auth_tokens);
    assert_int_equal(c->max_calls, 100);
    assert_int_equal(c->max_jobs_per_token, 1000);
    assert_int_equal(c->max_streams_per_token, 1000);
    assert_int_equal(c->max_events_per_token, 0);
    assert_int_equal(c->ticket_life_ms, 3600000);
    assert_int_equal(c->session_life_ms, 12 * 3600000);
    assert_string_equal(c->data, "spoolwire.db");
    assert_int_equal(c->durability, DURABILITY_FULL);
    assert_int_equal(c->loops, 0);
    assert_int_equal(c->readers, 2);
    assert_int_equal(c->page_cache, 32 * 1024 * 1024);
    assert_int_equal(c->store_cache, 32 * 1024 * 1024);
    assert_null(c->hosts);
    assert_null(c->origins);
    assert_default_limits(c);
    assert_false(c->aiq_compat);
    assert_int_equal(c->access_log, ACCESS_LOG_AUTO);
    assert_true(c->demo);
    assert_int_equal(c->n_agents, 1);
    server_config_free(c);
}

static void an_empty_file_changes_nothing(void **state)
{
    static const char *const texts[] = { "",   "# nothing\n", "---\n",
                                         "{}", "agents:\n",   "agents: {}" };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct server_config *c = good(texts[i], NONE, NONE);
        assert_string_equal(c->config_file, path);
        assert_string_equal(c->listen, "127.0.0.1:8400");
        assert_default_limits(c);
        assert_int_equal(c->n_agents, 1);
        server_config_free(c);
    }
}

/* The table's own promise to options_reset. */
static void every_default_is_within_its_bounds(void **state)
{
    const struct option_table *const tables[] = { &server_options, &agent_options };
    union {
        struct server_config server;
        struct config_agent agent;
    } object;
    struct error error = { 0 };

    (void)state;
    for (size_t t = 0; t < 2; t++) {
        memset(&object, 0, sizeof(object));
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct option *o = &tables[t]->options[i];
            assert_true(strlen(o->name) < 32);
            if (o->initial != NULL &&
                option_set(o, &object, str_of(o->initial), o->name, &error) != 0)
                fail_msg("%s", error.text);
        }
        options_clear(tables[t], &object);
    }
}

/* --- Every option, in each of three ways --- */

static const char every_option[] = "listen: '[::1]:9'\n"
                                   "socket_mode: 0600\n"
                                   "insecure_listen: true\n"
                                   "auth: required\n"
                                   "token_admin: spw_x\n"
                                   "auth_tokens: [client:a, read:b]\n"
                                   "max_calls: 20\n"
                                   "max_jobs_per_token: 21\n"
                                   "max_queued_per_token: 26\n"
                                   "max_running_per_token: 27\n"
                                   "max_streams_per_token: 22\n"
                                   "max_events_per_token: 23\n"
                                   "ticket_life: 24s\n"
                                   "session_life: 25m\n"
                                   "tls_cert: c.pem\n"
                                   "tls_key: k.pem\n"
                                   "data: d.db\n"
                                   "durability: relaxed\n"
                                   "loops: 3\n"
                                   "readers: 4\n"
                                   "page_cache: 5M\n"
                                   "store_cache: 7M\n"
                                   "hosts: [a.example, b.example]\n"
                                   "origins:\n"
                                   "  - https://a.example\n"
                                   "  - http://b.example:81\n"
                                   "max_head: 8K\n"
                                   "max_body: 2M\n"
                                   "max_input: 3M\n"
                                   "max_batch: 4M\n"
                                   "body_min_rate: 5K\n"
                                   "max_connections: 5\n"
                                   "max_connections_per_address: 6\n"
                                   "head_timeout: 700ms\n"
                                   "idle_timeout: 8s\n"
                                   "write_timeout: 9m\n"
                                   "keep_alive: 1h\n"
                                   "pong_timeout: 31s\n"
                                   "max_message: 32K\n"
                                   "max_frame: 33K\n"
                                   "max_subscriptions: 34\n"
                                   "heartbeat: 11s\n"
                                   "max_age: 2d\n"
                                   "shutdown_window: 13s\n"
                                   "expiry: 14s\n"
                                   "history: 0\n"
                                   "max_line: 1G\n"
                                   "max_depth: 16\n"
                                   "max_field: 17\n"
                                   "aiq_compat: true\n"
                                   "access_log: json\n"
                                   "redis_url: redis://h\n"
                                   "redis_publish: raw\n"
                                   "redis_publish_channel: 'p:{job_id}'\n"
                                   "redis_publish_backlog: 35\n"
                                   "redis_subscribe: false\n"
                                   "redis_subscribe_channel: 's:{job_id}'\n"
                                   "redis_subscribe_agent: a\n"
                                   "redis_subscribe_buffer: 36M\n"
                                   "arq_queue: q\n"
                                   "arq_serializer: json\n"
                                   "arq_max_jobs: 37\n"
                                   "arq_allow_abort: false\n"
                                   "arq_max_tries: 38\n"
                                   "arq_poll: 39ms\n"
                                   "arq_lease: 40s\n"
                                   "arq_keep_result: 41m\n"
                                   "arq_health: 42s\n"
                                   "arq_expire_function: ex\n"
                                   "ui: ui\n"
                                   "companion: [one, two]\n"
                                   "companion_cwd: cwd\n"
                                   "companion_watch: [w]\n"
                                   "companion_guards: true\n"
                                   "companion_timeout: 43s\n"
                                   "disabled_routes: [store, meta]\n"
                                   "item_store: a\n"
                                   "mount_prefix: /api\n"
                                   "configurable_headers: ['x-*']\n"
                                   "configurable_headers_excluded: [x-key]\n"
                                   "webhooks: false\n"
                                   "webhook_allow: [hooks.example, /hooks]\n"
                                   "webhook_private: [localhost]\n"
                                   "webhook_secrets: [whsec_MTIzNDU2Nzg5MDEyMzQ1Ng==]\n"
                                   "webhook_headers: ['X-Key:a']\n"
                                   "webhook_fields: [run_id]\n"
                                   "webhook_per_host: 7\n"
                                   "webhook_timeout: 44s\n"
                                   "webhook_retry: 45s\n"
                                   "webhook_max_age: 46h\n"
                                   "webhook_keep: 47h\n"
                                   "webhook_ca: ca.pem\n"
                                   "demo: false\n";

static void assert_every_option(const struct server_config *c)
{
    assert_int_equal(c->unix_mode, 0600);
    assert_string_equal(c->listen, "[::1]:9");
    assert_string_equal(c->address.host, "::1");
    assert_int_equal(c->address.port, 9);
    assert_true(c->insecure_listen);
    assert_int_equal(c->auth, AUTH_REQUIRED);
    assert_string_equal(c->token_admin, "spw_x");
    assert_list(c->auth_tokens, "client:a read:b");
    assert_int_equal(c->max_calls, 20);
    assert_int_equal(c->max_jobs_per_token, 21);
    assert_int_equal(c->max_queued_per_token, 26);
    assert_int_equal(c->max_running_per_token, 27);
    assert_int_equal(c->max_streams_per_token, 22);
    assert_int_equal(c->max_events_per_token, 23);
    assert_int_equal(c->ticket_life_ms, 24000);
    assert_int_equal(c->session_life_ms, 25 * 60000);
    assert_string_equal(c->tls_cert, "c.pem");
    assert_string_equal(c->tls_key, "k.pem");
    assert_string_equal(c->data, "d.db");
    assert_int_equal(c->durability, DURABILITY_RELAXED);
    assert_int_equal(c->loops, 3);
    assert_int_equal(c->readers, 4);
    assert_int_equal(c->page_cache, 5 * 1024 * 1024);
    assert_int_equal(c->store_cache, 7 * 1024 * 1024);
    assert_list(c->hosts, "a.example b.example");
    assert_list(c->origins, "https://a.example http://b.example:81");
    assert_int_equal(c->max_head, 8192);
    assert_int_equal(c->max_body, 2 * 1048576);
    assert_int_equal(c->max_input, 3 * 1048576);
    assert_int_equal(c->max_batch, 4 * 1048576);
    assert_int_equal(c->body_min_rate, 5 * 1024);
    assert_int_equal(c->max_connections, 5);
    assert_int_equal(c->max_connections_per_address, 6);
    assert_int_equal(c->head_timeout_ms, 700);
    assert_int_equal(c->idle_timeout_ms, 8000);
    assert_int_equal(c->write_timeout_ms, 540000);
    assert_int_equal(c->keep_alive_ms, 3600000);
    assert_int_equal(c->pong_timeout_ms, 31000);
    assert_int_equal(c->max_message, 32768);
    assert_int_equal(c->max_frame, 33792);
    assert_int_equal(c->max_subscriptions, 34);
    assert_int_equal(c->heartbeat_ms, 11000);
    assert_int_equal(c->max_age_ms, 172800000);
    assert_int_equal(c->shutdown_window_ms, 13000);
    assert_int_equal(c->expiry_seconds, 14);
    assert_int_equal(c->history_ms, 0);
    assert_int_equal(c->max_line, 1073741824);
    assert_int_equal(c->max_depth, 16);
    assert_int_equal(c->max_field, 17);
    assert_true(c->aiq_compat);
    assert_int_equal(c->access_log, ACCESS_LOG_JSON);
    assert_string_equal(c->redis_url, "redis://h");
    assert_string_equal(dialect_published_at(c->redis_publish - 1)->name, "raw");
    assert_string_equal(c->redis_publish_channel, "p:{job_id}");
    assert_int_equal(c->redis_publish_backlog, 35);
    assert_false(c->redis_subscribe);
    assert_string_equal(c->redis_subscribe_channel, "s:{job_id}");
    assert_string_equal(c->redis_subscribe_agent, "a");
    assert_int_equal(c->redis_subscribe_buffer, 36 * 1048576);
    assert_string_equal(c->arq_queue, "q");
    assert_int_equal(c->arq_serializer, ARQ_SERIALIZER_JSON);
    assert_int_equal(c->arq_max_jobs, 37);
    assert_false(c->arq_allow_abort);
    assert_int_equal(c->arq_max_tries, 38);
    assert_int_equal(c->arq_poll_ms, 39);
    assert_int_equal(c->arq_lease_ms, 40000);
    assert_int_equal(c->arq_keep_result_ms, 41 * 60000);
    assert_int_equal(c->arq_health_ms, 42000);
    assert_string_equal(c->arq_expire_function, "ex");
    assert_string_equal(c->ui, "ui");
    assert_string_equal(c->companion[1], "two");
    assert_string_equal(c->companion_cwd, "cwd");
    assert_string_equal(c->companion_watch[0], "w");
    assert_true(c->companion_guards);
    assert_int_equal(c->companion_timeout_ms, 43000);
    assert_string_equal(c->disabled_routes[1], "meta");
    assert_string_equal(c->item_store, "a");
    assert_string_equal(c->mount_prefix, "/api");
    assert_string_equal(c->configurable_headers[0], "x-*");
    assert_string_equal(c->configurable_headers_excluded[0], "x-key");
    assert_false(c->webhooks);
    assert_list(c->webhook_allow, "hooks.example /hooks");
    assert_list(c->webhook_private, "localhost");
    assert_list(c->webhook_secrets, "whsec_MTIzNDU2Nzg5MDEyMzQ1Ng==");
    assert_string_equal(c->webhook_headers[0], "X-Key:a");
    assert_list(c->webhook_fields, "run_id");
    assert_int_equal(c->webhook_per_host, 7);
    assert_int_equal(c->webhook_timeout_ms, 44000);
    assert_int_equal(c->webhook_retry_ms, 45000);
    assert_int_equal(c->webhook_max_age_ms, 46 * 3600000);
    assert_int_equal(c->webhook_keep_ms, 47 * 3600000);
    assert_string_equal(c->webhook_ca, "ca.pem");
    assert_false(c->demo);
}

static void every_option_can_be_in_the_file(void **state)
{
    struct server_config *c = good(every_option, NONE, NONE);

    (void)state;
    assert_every_option(c);
    assert_int_equal(c->n_agents, 0);
    server_config_free(c);
}

/* The lines of every_option as @prefix name = value, with the names as @spell has them. */
static size_t spell_all(char *(*spell)(const char *name, const char *value), char **out)
{
    /* clang-format off: a table */
    static const char *const values[] = {
        "[::1]:9",
        "0600",
        "true",
        "required",
        "spw_x",
        "client:a,read:b",
        "20",
        "21",
        "26",
        "27",
        "22",
        "23",
        "24s",
        "25m",
        "c.pem",
        "k.pem",
        "d.db",
        NULL, /* store: the same thing as the one before */
        NULL, /* store_read_url: goes with store only */
        "http://g.example:81",
        "relaxed",
        "3",
        "4",
        "5M",
        "7M",
        "a.example,b.example",
        "https://a.example http://b.example:81",
        "8K",
        "2M",
        "3M",
        "4M",
        "5K",
        "5",
        "6",
        "700ms",
        "8s",
        "9m",
        "1h",
        "31s",
        "32K",
        "33K",
        "34",
        "11s",
        "2d",
        "13s",
        "14s",
        "0",
        "1G",
        "16",
        "17",
        "true",
        "json",
        "redis://h",
        "raw",
        "p:{job_id}",
        "35",
        "false",
        "s:{job_id}",
        "a",
        "36M",
        "q",
        "json",
        "37",
        "false",
        "38",
        "39ms",
        "40s",
        "41m",
        "42s",
        "ex",
        "5m",
        "false",
        "a",
        "a",
        "6m",
        "ui",
        "one,two",
        "cwd",
        "w",
        "true",
        "43s",
        "store,meta",
        "/api",
        "x-*",
        "x-key",
        "false",
        "hooks.example,/hooks",
        "localhost",
        "whsec_MTIzNDU2Nzg5MDEyMzQ1Ng==",
        "X-Key:a",
        "run_id",
        "7",
        "44s",
        "45s",
        "46h",
        "47h",
        "ca.pem",
        "false",
    };
    /* clang-format on */
    size_t n = sizeof(values) / sizeof(values[0]);

    assert_int_equal(n + 1, server_options.n);
    size_t n_given = 0;
    for (size_t i = 0; i < n; i++)
        if (values[i] != NULL)
            out[n_given++] = spell(server_options.options[i + 1].name, values[i]);
    return n_given;
}

static char *joined(const char *a, const char *name, const char *value)
{
    char *line = malloc(128);

    if (line == NULL)
        abort();
    (void)snprintf(line, 128, "%s%s=%s", a, name, value);
    return line;
}

static char *spell_variable(const char *name, const char *value)
{
    char *line = joined("SPOOLWIRE_", name, value);

    for (char *c = line; *c != '='; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return line;
}

static char *spell_flag(const char *name, const char *value)
{
    char *line = joined("--", name, value);

    for (char *c = line; *c != '='; c++)
        if (*c == '_')
            *c = '-';
    return line;
}

static void every_option_can_be_in_the_environment(void **state)
{
    char *env[SERVER_OPTIONS_MAX + 1] = { NULL };
    size_t n = spell_all(spell_variable, env);
    struct server_config *c = good(NULL, env, NONE);

    (void)state;
    assert_every_option(c);
    server_config_free(c);
    while (n > 0)
        free(env[--n]);
}

static void every_option_can_be_a_flag(void **state)
{
    char *argv[SERVER_OPTIONS_MAX + 2] = { "serve" };
    size_t n = spell_all(spell_flag, argv + 1);
    struct server_config *c = NULL;
    struct error error = { 0 };

    (void)state;
    if (server_config_load((int)n + 1, argv, NULL, &c, &error) != 0)
        fail_msg("%s", error.text);
    assert_every_option(c);
    server_config_free(c);
    while (n > 0)
        free(argv[n--]);
}

static void translate_passes_over_every_option(void **state)
{
    (void)state;
    agent_free(translated("any", every_option));
}

/* --- What wins --- */

static void flags_win_over_the_environment_and_that_over_the_file(void **state)
{
    struct server_config *c =
        good("max_body: 1K\nmax_head: 1K\nmax_field: 1K\nhosts: [f]\n",
             ENV("SPOOLWIRE_MAX_BODY=2K", "SPOOLWIRE_MAX_HEAD=2K", "SPOOLWIRE_HOSTS=e1,e2"),
             ARGS("--max-body", "3K", "--hosts=c1", "--hosts", "c2,c3"));

    (void)state;
    assert_int_equal(c->max_body, 3072);
    assert_int_equal(c->max_head, 2048);
    assert_int_equal(c->max_field, 1024);
    assert_list(c->hosts, "c1 c2 c3");
    server_config_free(c);
}

static void a_value_is_checked_even_where_another_wins(void **state)
{
    (void)state;
    refused("max_body: 1", NONE, ARGS("--max-body", "3K"), ERR_REFUSED,
            "FILE: 'max_body' at line 1 must be a size from 1K to 1G");
}

static void of_a_repeated_flag_the_last_one_counts(void **state)
{
    struct server_config *c =
        good(NULL, NONE, ARGS("--data", "a", "--data=b", "--no-demo", "--demo"));

    (void)state;
    assert_string_equal(c->data, "b");
    assert_true(c->demo);
    server_config_free(c);
}

static void the_file_can_be_named_by_the_environment(void **state)
{
    char variable[128];
    char *env[] = { variable, NULL };

    (void)state;
    write_file(path, STR("data: from-file\n"));
    (void)snprintf(variable, sizeof(variable), "SPOOLWIRE_CONFIG=%s", path);
    struct server_config *c = good(NULL, env, NONE);
    assert_string_equal(c->data, "from-file");
    server_config_free(c);
    c = good("data: from-flag\n", ENV("SPOOLWIRE_CONFIG=/nowhere"), NONE);
    assert_string_equal(c->data, "from-flag");
    server_config_free(c);
}

static void an_empty_variable_counts_as_not_set(void **state)
{
    struct server_config *c =
        good("data: d",
             ENV("SPOOLWIRE_DATA=", "PORT=", "SPOOLWIRE_CONFIG=", "SPOOLWIRE_LOOPS="), NONE);

    (void)state;
    assert_string_equal(c->data, "d");
    server_config_free(c);
}

static void port_changes_the_port_alone(void **state)
{
    (void)state;
    assert_listen(NULL, ENV("PORT=5000"), NONE, "127.0.0.1:5000");
    assert_listen("listen: '[::1]:1'", ENV("PORT=5000"), NONE, "[::1]:5000");
    assert_listen("listen: unix:/x", ENV("PORT=5000"), NONE, "unix:/x");
    assert_listen("listen: 127.0.0.1:1,unix:/x", ENV("PORT=5"), NONE, "127.0.0.1:5,unix:/x");
    assert_listen(NULL, ENV("PORT=5000", "SPOOLWIRE_LISTEN=127.0.0.2:2"), NONE, "127.0.0.2:2");
    assert_listen(NULL, ENV("PORT=5000"), ARGS("--listen=127.0.0.3:3"), "127.0.0.3:3");
    refused(NULL, ENV("PORT=http"), NONE, ERR_TYPE,
            "PORT must be a whole number from 0 to 65535");
    refused(NULL, ENV("PORT=65536"), NONE, ERR_TYPE,
            "PORT must be a whole number from 0 to 65535");
}

static void help_is_said_and_nothing_more(void **state)
{
    (void)state;
    struct server_config *c = good(NULL, NONE, ARGS("--demo", "--help", "--nonsense"));
    assert_true(c->help);
    server_config_free(c);
    c = good("nonsense", NONE, ARGS("-h"));
    assert_true(c->help);
    server_config_free(c);
}

/* --- Flags and variables that are refused --- */

static void a_misspelt_flag_gets_a_suggestion(void **state)
{
    (void)state;
    BAD_FLAG(ERR_REFUSED, "there is no option --lisen: did you mean --listen?", "--lisen", "x");
    BAD_FLAG(ERR_REFUSED, "there is no option --max_body: did you mean --max-body?",
             "--max_body=1M");
    BAD_FLAG(ERR_REFUSED, "there is no option --confg: did you mean --config?", "--confg=x");
    BAD_FLAG(ERR_REFUSED, "there is no option --colour", "--colour");
    BAD_FLAG(ERR_REFUSED, "there is no option --no-data", "--no-data");
    BAD_FLAG(ERR_REFUSED, "there is no option --no-", "--no-");
    BAD_FLAG(ERR_REFUSED, "there is no option --", "--=x");
    BAD_FLAG(ERR_REFUSED, "there is no option --max", "--max");
    BAD_FLAG(ERR_REFUSED, "there is no option --wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww...",
             "--wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww");
    BAD_FLAG(ERR_REFUSED, "there is no option --no-wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww...",
             "--no-wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww");
}

static void a_flag_without_its_value_is_refused(void **state)
{
    (void)state;
    BAD_FLAG(ERR_REFUSED, "--data needs a value", "--data");
    BAD_FLAG(ERR_REFUSED, "--data needs a value", "--data", "--demo");
    BAD_FLAG(ERR_REFUSED, "--no-demo takes no value", "--no-demo=true");
    BAD_FLAG(ERR_REFUSED, "--data must be a text of 1 to 4096 bytes", "--data=");
    BAD_FLAG(ERR_REFUSED, "--config must be a text of 1 to 4096 bytes", "--config=");
}

static void only_options_have_a_place(void **state)
{
    (void)state;
    BAD_FLAG(ERR_REFUSED, "there is no place for 'x': options only", "x");
    BAD_FLAG(ERR_REFUSED, "there is no place for '--': options only", "--");
    BAD_FLAG(ERR_REFUSED, "there is no place for '-x?': options only", "-x\x1b");
    BAD_FLAG(ERR_REFUSED, "there is no place for '': options only", "");
}

static void a_misspelt_variable_gets_a_suggestion(void **state)
{
    (void)state;
    refused(NULL, ENV("SPOOLWIRE_LISTN=x"), NONE, ERR_REFUSED,
            "unknown variable SPOOLWIRE_LISTN: did you mean SPOOLWIRE_LISTEN?");
    refused(NULL, ENV("SPOOLWIRE_max_body=x"), NONE, ERR_REFUSED,
            "unknown variable SPOOLWIRE_max_body: did you mean SPOOLWIRE_MAX_BODY?");
}

static void variables_of_others_are_left_alone(void **state)
{
    (void)state;
    server_config_free(good(NULL,
                            ENV("SPOOLWIRE_PORT=tcp://10.0.0.1:8400", "SPOOLWIRE_URL=http://x",
                                "SPOOLWIRE_SERVICE_HOST=10.0.0.1", "SPOOLWIRE_TOKEN=x",
                                "SPOOLWIRE_PORT_8400_TCP_PROTO=tcp", "SPOOLWIRE_JOB=j", "odd",
                                "SPOOLWIRE_ATTEMPT=1", "SPOOLWIRE_AGENT=a", "=", "SPOOLWIRE_="),
                            NONE));
}

static void values_are_checked_wherever_they_come_from(void **state)
{
    (void)state;
    BAD_FLAG(ERR_TYPE, "--max-body must be a size from 1K to 1G", "--max-body", "1Q");
    refused(NULL, ENV("SPOOLWIRE_LOOPS=65"), NONE, ERR_REFUSED,
            "SPOOLWIRE_LOOPS must be a whole number from 0 to 64");
    BAD_FILE("head_timeout: 10", ERR_TYPE,
             "'head_timeout' at line 1 must be a duration from 100ms to 10m");
    BAD_FILE("expiry: 1500ms", ERR_TYPE,
             "'expiry' at line 1 must be a duration in whole seconds from 1s to 3650d");
    BAD_FILE("expiry: 99999999999999999999d", ERR_REFUSED,
             "'expiry' at line 1 must be a duration in whole seconds from 1s to 3650d");
    BAD_FILE("durability: most", ERR_TYPE, "'durability' at line 1 must be full or relaxed");
    BAD_FILE("access_log: js", ERR_TYPE,
             "'access_log' at line 1 must be auto, json, text or off");
    BAD_FILE("demo: maybe", ERR_TYPE, "'demo' at line 1 must be true or false");
    BAD_FILE("data: \"a\\0b\"", ERR_TYPE, "'data' at line 1 must be a text of 1 to 4096 bytes");
    BAD_FILE("hosts: [\"a\\0b\"]", ERR_TYPE,
             "'hosts' at line 1 must be a list of 0 to 256 names");
    BAD_FILE("hosts: ['']", ERR_TYPE, "'hosts' at line 1 must be a list of 0 to 256 names");
}

static void numbers_are_decimal(void **state)
{
    static char *const wrong[] = { "-1",  "+1", "0x10", "010", "1_000", "1.5K", "1e3", "K",
                                   "1KB", "1k", " 1K",  "1K ", "",      "1MM",  "1 K" };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        BAD_FLAG(ERR_TYPE, "--max-body must be a size from 1K to 1G", "--max-body", wrong[i]);
    BAD_FLAG(ERR_REFUSED, "--max-body must be a size from 1K to 1G", "--max-body",
             "18446744073709551616");
    BAD_FLAG(ERR_REFUSED, "--max-body must be a size from 1K to 1G", "--max-body",
             "9223372036854775807T");
}

static void lists_may_be_texts(void **state)
{
    struct server_config *c = good("hosts: ' a, b\tc '", NONE, ARGS("--origins="));

    (void)state;
    assert_list(c->hosts, "a b c");
    assert_null(c->origins);
    server_config_free(c);
}

/* --- What is printed --- */

static void help_has_every_option_and_fits_a_terminal(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 65536);
    server_config_help(&b);
    buf_char(&b, '\0');
    assert_int_equal(b.error, 0);
    assert_null(strchr(b.p, '`'));
    for (size_t i = 1; i < server_options.n; i++) {
        char *flag = spell_flag(server_options.options[i].name, "");
        *strchr(flag, '=') = '\0';
        if (strstr(b.p, flag + 2) == NULL)
            fail_msg("no %s in --help", flag);
        free(flag);
    }
    for (const char *line = b.p; line != NULL; line = strchr(line + 1, '\n'))
        if (strcspn(line + 1, "\n") > 80)
            fail_msg("too wide:%.*s", (int)strcspn(line + 1, "\n"), line + 1);
    buf_done(&b);
}

static void output_over_the_buffers_limit_says_so(void **state)
{
    void (*const print[])(struct buf *) = { server_config_help, server_config_reference,
                                            server_config_agent_reference };
    struct buf b;

    (void)state;
    for (size_t max = 0; max < 1000; max++) {
        buf_init(&b, max);
        print[max % 3](&b);
        assert_int_equal(b.error, ERR_TOO_LARGE);
        buf_done(&b);
    }
}

static void nothing_can_be_freed(void **state)
{
    (void)state;
    server_config_free(NULL);
}

static void every_allocation_of_what_is_printed_may_fail(void **state)
{
    void (*const print[])(struct buf *) = { server_config_help, server_config_reference,
                                            server_config_agent_reference };

    (void)state;
    skip_without_failing_allocations();
    for (size_t i = 0; i < 3; i++)
        print_without_memory(print[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_word_there_are_defaults),
        cmocka_unit_test(an_empty_file_changes_nothing),
        cmocka_unit_test(every_default_is_within_its_bounds),
        cmocka_unit_test(every_option_can_be_in_the_file),
        cmocka_unit_test(every_option_can_be_in_the_environment),
        cmocka_unit_test(every_option_can_be_a_flag),
        cmocka_unit_test(translate_passes_over_every_option),
        cmocka_unit_test(flags_win_over_the_environment_and_that_over_the_file),
        cmocka_unit_test(a_value_is_checked_even_where_another_wins),
        cmocka_unit_test(of_a_repeated_flag_the_last_one_counts),
        cmocka_unit_test(the_file_can_be_named_by_the_environment),
        cmocka_unit_test(an_empty_variable_counts_as_not_set),
        cmocka_unit_test(port_changes_the_port_alone),
        cmocka_unit_test(help_is_said_and_nothing_more),
        cmocka_unit_test(a_misspelt_flag_gets_a_suggestion),
        cmocka_unit_test(a_flag_without_its_value_is_refused),
        cmocka_unit_test(only_options_have_a_place),
        cmocka_unit_test(a_misspelt_variable_gets_a_suggestion),
        cmocka_unit_test(variables_of_others_are_left_alone),
        cmocka_unit_test(values_are_checked_wherever_they_come_from),
        cmocka_unit_test(numbers_are_decimal),
        cmocka_unit_test(lists_may_be_texts),
        cmocka_unit_test(help_has_every_option_and_fits_a_terminal),
        cmocka_unit_test(output_over_the_buffers_limit_says_so),
        cmocka_unit_test(nothing_can_be_freed),
        cmocka_unit_test(every_allocation_of_what_is_printed_may_fail),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
