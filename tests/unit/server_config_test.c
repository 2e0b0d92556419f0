/* The server's configuration: where a value may come from and what wins, what is refused and
 * in which words, that documents and examples are true, and that it holds when memory runs
 * out anywhere.
 *
 * Runs in the root of the sources (the document and the example are read from there). */
#include "base/buf.h"
#include "base/error.h"
#include "config/agent_file.h"
#include "config/options.h"
#include "config/server.h"
#include "ingest/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_malloc.h"

enum { MAX_ARGS = 16 };

/* --- Helpers --- */

static char folder[] = "/tmp/spoolwire_config_XXXXXX";
static char path[sizeof(folder) + 32];   /* of the file under test */
static char secret[sizeof(folder) + 32]; /* of one that it names */

static void write_file(const char *name, struct str text)
{
    FILE *file = fopen(name, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/spoolwire.yaml", folder);
    (void)snprintf(secret, sizeof(secret), "%s/secret", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path); /* may not be there */
    (void)unlink(secret);
    return rmdir(folder);
}

/* What a test loads: ARGS("--demo"), ENV("PORT=1"), and the file's text or NULL. */
#define ARGS(...) ((char *[MAX_ARGS]){ __VA_ARGS__ })
#define ENV(...)  ((char *[MAX_ARGS]){ __VA_ARGS__ })
#define NONE      ((char *[MAX_ARGS]){ NULL })

static int load(const char *yaml,
                char **env,
                char **args,
                struct server_config **ret,
                struct error *err)
{
    char *argv[MAX_ARGS + 4] = { "serve" };
    int argc = 1;

    if (yaml != NULL) {
        write_file(path, str_of(yaml));
        argv[argc++] = "--config";
        argv[argc++] = path;
    }
    for (; *args != NULL; args++)
        argv[argc++] = *args;
    return server_config_load(argc, argv, env, ret, err);
}

static struct server_config *good(const char *yaml, char **env, char **args)
{
    struct server_config *config = NULL;
    struct error error = { 0 };

    if (load(yaml, env, args, &config, &error) != 0)
        fail_msg("%s", error.text);
    assert_non_null(config);
    return config;
}

/* Refused with @code and exactly @expected, in which FILE is the file's path. */
static void refused(const char *yaml, char **env, char **args, int code, const char *expected)
{
    struct server_config *config = NULL;
    struct error error = { 0 };
    char text[512];

    if (strncmp(expected, "FILE", 4) == 0)
        (void)snprintf(text, sizeof(text), "%s%s", path, expected + 4);
    else
        (void)snprintf(text, sizeof(text), "%s", expected);
    int got = load(yaml, env, args, &config, &error);
    assert_null(config);
    assert_string_equal(error.text, text);
    assert_int_equal(got, code);
    assert_int_equal(error.code, code);
    assert_int_equal(load(yaml, env, args, &config, NULL), code);
}

#define BAD_FILE(yaml, code, expected) refused((yaml), NONE, NONE, (code), "FILE: " expected)
#define BAD_FLAG(code, expected, ...)  refused(NULL, NONE, ARGS(__VA_ARGS__), (code), (expected))

static void assert_list(char *const *list, const char *expected)
{
    struct buf b;

    buf_init(&b, 65536);
    for (; list != NULL && *list != NULL; list++) {
        buf_str(&b, str_of(*list));
        buf_char(&b, list[1] != NULL ? ' ' : '\0');
    }
    assert_string_equal(b.n > 0 ? b.p : "", expected);
    buf_done(&b);
}

static const struct config_agent *agent_of(const struct server_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_agents; i++)
        if (str_eq(config->agents[i].name, str_of(name)))
            return &config->agents[i];
    fail_msg("there is no agent %s", name);
    return NULL;
}

static char *read_whole(const char *name)
{
    FILE *file = fopen(name, "rb");
    struct buf b;
    char block[4096];
    size_t n;

    if (file == NULL)
        fail_msg("%s: not there (this test runs in the root of the sources)", name);
    buf_init(&b, AGENT_FILE_MAX_BYTES);
    while ((n = fread(block, 1, sizeof(block), file)) > 0)
        buf_put(&b, block, n);
    (void)fclose(file); /* only read from */
    buf_char(&b, '\0');
    assert_int_equal(b.error, 0);
    return b.p;
}

/* --- Defaults --- */

static void assert_default_limits(const struct server_config *c)
{
    assert_int_equal(c->max_head, 16384);
    assert_int_equal(c->max_body, 1048576);
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
    assert_string_equal(c->data, "spoolwire.db");
    assert_int_equal(c->durability, DURABILITY_FULL);
    assert_int_equal(c->loops, 0);
    assert_int_equal(c->readers, 2);
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
                                   "insecure_listen: true\n"
                                   "data: d.db\n"
                                   "durability: relaxed\n"
                                   "loops: 3\n"
                                   "readers: 4\n"
                                   "hosts: [a.example, b.example]\n"
                                   "origins:\n"
                                   "  - https://a.example\n"
                                   "  - http://b.example:81\n"
                                   "max_head: 8K\n"
                                   "max_body: 2M\n"
                                   "max_connections: 5\n"
                                   "max_connections_per_address: 6\n"
                                   "head_timeout: 700ms\n"
                                   "idle_timeout: 8s\n"
                                   "write_timeout: 9m\n"
                                   "keep_alive: 1h\n"
                                   "heartbeat: 11s\n"
                                   "max_age: 2d\n"
                                   "shutdown_window: 13s\n"
                                   "expiry: 14s\n"
                                   "max_line: 1G\n"
                                   "max_depth: 16\n"
                                   "max_field: 17\n"
                                   "aiq_compat: true\n"
                                   "access_log: json\n"
                                   "demo: false\n";

static void assert_every_option(const struct server_config *c)
{
    assert_string_equal(c->listen, "[::1]:9");
    assert_string_equal(c->address.host, "::1");
    assert_int_equal(c->address.port, 9);
    assert_true(c->insecure_listen);
    assert_string_equal(c->data, "d.db");
    assert_int_equal(c->durability, DURABILITY_RELAXED);
    assert_int_equal(c->loops, 3);
    assert_int_equal(c->readers, 4);
    assert_list(c->hosts, "a.example b.example");
    assert_list(c->origins, "https://a.example http://b.example:81");
    assert_int_equal(c->max_head, 8192);
    assert_int_equal(c->max_body, 2 * 1048576);
    assert_int_equal(c->max_connections, 5);
    assert_int_equal(c->max_connections_per_address, 6);
    assert_int_equal(c->head_timeout_ms, 700);
    assert_int_equal(c->idle_timeout_ms, 8000);
    assert_int_equal(c->write_timeout_ms, 540000);
    assert_int_equal(c->keep_alive_ms, 3600000);
    assert_int_equal(c->heartbeat_ms, 11000);
    assert_int_equal(c->max_age_ms, 172800000);
    assert_int_equal(c->shutdown_window_ms, 13000);
    assert_int_equal(c->expiry_seconds, 14);
    assert_int_equal(c->max_line, 1073741824);
    assert_int_equal(c->max_depth, 16);
    assert_int_equal(c->max_field, 17);
    assert_true(c->aiq_compat);
    assert_int_equal(c->access_log, ACCESS_LOG_JSON);
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
    static const char *const values[] = {
        "[::1]:9",
        "true",
        "d.db",
        "relaxed",
        "3",
        "4",
        "a.example,b.example",
        "https://a.example http://b.example:81",
        "8K",
        "2M",
        "5",
        "6",
        "700ms",
        "8s",
        "9m",
        "1h",
        "11s",
        "2d",
        "13s",
        "14s",
        "1G",
        "16",
        "17",
        "true",
        "json",
        "false",
    };
    size_t n = sizeof(values) / sizeof(values[0]);

    assert_int_equal(n + 1, server_options.n);
    for (size_t i = 0; i < n; i++)
        out[i] = spell(server_options.options[i + 1].name, values[i]);
    return n;
}

static char *joined(const char *a, const char *name, const char *value)
{
    char *line = malloc(128);

    assert_non_null(line);
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

static void assert_listen(const char *yaml, char **env, char **args, const char *expected)
{
    struct server_config *c = good(yaml, env, args);

    assert_string_equal(c->listen, expected);
    server_config_free(c);
}

static void port_changes_the_port_alone(void **state)
{
    (void)state;
    assert_listen(NULL, ENV("PORT=5000"), NONE, "127.0.0.1:5000");
    assert_listen("listen: '[::1]:1'", ENV("PORT=5000"), NONE, "[::1]:5000");
    assert_listen("listen: unix:/x", ENV("PORT=5000"), NONE, "unix:/x");
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

/* --- Where to listen --- */

static void addresses_are_taken_apart(void **state)
{
    struct server_config *c = good("listen: localhost:0", NONE, NONE);

    (void)state;
    assert_string_equal(c->address.host, "127.0.0.1");
    assert_int_equal(c->address.port, 0);
    server_config_free(c);
    c = good("listen: unix:/run/s.sock", NONE, NONE);
    assert_string_equal(c->address.host, "");
    assert_string_equal(c->address.unix_path, "/run/s.sock");
    assert_true(c->address.is_loopback);
    server_config_free(c);
    c = good("listen: '[::ffff:127.0.0.9]:65535'", NONE, NONE);
    assert_string_equal(c->address.host, "::ffff:127.0.0.9");
    assert_int_equal(c->address.port, 65535);
    server_config_free(c);
}

static void what_is_no_address_is_refused(void **state)
{
    static char *const wrong[] = {
        "x",          ":8400",        "127.0.0.1",   "127.0.0.1:",
        "::1:8400",   "[::1]",        "[::1]8400",   "[::1:8400",
        "a.test:80",  "127.0.0.1:-1", "127.1:80",    "127.0.0.1:65536",
        "[::1%lo]:1", "unix:",        "[1.2.3.4]:1", "127.0.0.1:080",
        "[]:1",       "1:2:3",        "*:80"
    };
    char path_too_long[120];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        BAD_FLAG(ERR_TYPE,
                 "--listen must be ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH, with a numeric "
                 "address",
                 "--listen", wrong[i]);
    memset(path_too_long, 'p', sizeof(path_too_long));
    memcpy(path_too_long, "unix:", 5);
    path_too_long[5 + 108] = '\0';
    BAD_FLAG(
        ERR_TYPE,
        "--listen must be ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH, with a numeric address",
        "--listen", path_too_long);
    path_too_long[5 + 107] = '\0';
    assert_listen(NULL, NONE, ARGS("--listen", path_too_long), path_too_long);
}

static void strangers_are_let_in_only_on_purpose(void **state)
{
    static char *const open[] = { "0.0.0.0:80",   "[::]:80",  "10.0.0.1:80",
                                  "128.0.0.1:80", "[::2]:80", "[::ffff:10.0.0.1]:80" };
    char expected[256];

    (void)state;
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        (void)snprintf(expected, sizeof(expected),
                       "other machines could reach %s, and no authentication is configured: "
                       "listen on 127.0.0.1, or say --insecure-listen if something else keeps "
                       "strangers out",
                       open[i]);
        BAD_FLAG(ERR_REFUSED, expected, "--listen", open[i]);
        struct server_config *c =
            good(NULL, NONE, ARGS("--listen", open[i], "--insecure-listen"));
        assert_false(c->address.is_loopback);
        server_config_free(c);
    }
    assert_listen("listen: 0.0.0.0:1\ninsecure_listen: true", NONE, NONE, "0.0.0.0:1");
}

static void an_origin_has_no_path(void **state)
{
    static char *const wrong[] = {
        "https://a.example/", "a.example",   "https://",   "://a", "null",
        "https:/a",           "https://u@a", "https://a?b"
    };
    char expected[256];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)snprintf(expected, sizeof(expected),
                       "origins: '%s' is not an origin such as https://app.example.com (no "
                       "path, no / at the end)",
                       wrong[i]);
        BAD_FLAG(ERR_REFUSED, expected, "--origins", wrong[i]);
    }
    server_config_free(
        good(NULL, NONE, ARGS("--origins", "*,tauri://localhost,http://[::1]:3")));
}

/* --- The file --- */

static void unknown_keys_get_a_line_and_a_suggestion(void **state)
{
    (void)state;
    BAD_FILE("data: d\nlisten: 127.0.0.1:1\nmax_boddy: 1M\n", ERR_REFUSED,
             "unknown key 'max_boddy' at line 3: did you mean 'max_body'?");
    BAD_FILE("max-body: 1M", ERR_REFUSED,
             "unknown key 'max-body' at line 1: did you mean 'max_body'?");
    BAD_FILE("agent: {}", ERR_REFUSED, "unknown key 'agent' at line 1: did you mean 'agents'?");
    BAD_FILE("colour: red", ERR_REFUSED, "unknown key 'colour' at line 1");
    BAD_FILE("config: x", ERR_REFUSED, "unknown key 'config' at line 1");
    BAD_FILE("agents:\n  a:\n    comand: [x]\n", ERR_REFUSED,
             "unknown setting 'comand' at line 3: did you mean 'command'?");
    BAD_FILE("agents:\n  a:\n    worker_node: [x]\n", ERR_REFUSED,
             "unknown setting 'worker_node' at line 3: did you mean 'worker_nodes'?");
}

static void nothing_may_be_there_twice(void **state)
{
    (void)state;
    BAD_FILE("data: d\nloops: 1\ndata: d\n", ERR_REFUSED,
             "'data' at line 3 was already set at line 1");
    BAD_FILE("agents: {}\nagents: {}\n", ERR_REFUSED,
             "'agents' at line 2 was already set at line 1");
    BAD_FILE("agents:\n  a: {pull: true}\n  a: {pull: true}\n", ERR_REFUSED,
             "the agent 'a' at line 3 is there twice");
    BAD_FILE("agents:\n  a:\n    pull: true\n    pull: true\n", ERR_REFUSED,
             "'pull' at line 4 was already set at line 3");
    BAD_FILE("agents:\n  a:\n    sections: []\n    sections: []\n", ERR_REFUSED,
             "'sections' at line 4 was already set at line 3");
    BAD_FILE("agents:\n  a:\n    env:\n      A: 1\n      AB: 2\n      A: 3\n", ERR_REFUSED,
             "'A' at line 6 is there twice");
}

static void values_of_the_wrong_shape_are_refused(void **state)
{
    (void)state;
    BAD_FILE("- a", ERR_TYPE, "the file must be 'name: value' pairs, not as at line 1");
    BAD_FILE("data: [a]", ERR_TYPE, "'data' at line 1 must be a text of 1 to 4096 bytes");
    BAD_FILE("data:", ERR_TYPE, "'data' at line 1 must be a text of 1 to 4096 bytes");
    BAD_FILE("loops: {a: b}", ERR_TYPE,
             "'loops' at line 1 must be a whole number from 0 to 64");
    BAD_FILE("hosts: {a: b}", ERR_TYPE, "'hosts' at line 1 must be a list of 0 to 256 names");
    BAD_FILE("hosts: [[a]]", ERR_TYPE, "'hosts' at line 1 must be a list of 0 to 256 names");
    BAD_FILE("agents: [a]", ERR_TYPE, "'agents' at line 1 must be 'agent: settings' pairs");
    BAD_FILE("agents: {a: [b]}", ERR_TYPE,
             "an agent's settings at line 1 must be 'name: value' pairs");
    BAD_FILE("agents: {'': {}}", ERR_TYPE, "there must be a name at line 1");
    BAD_FILE("agents: {~: {}}", ERR_TYPE, "there must be a name at line 1");
    BAD_FILE("agents: {\"a\\0\": {}}", ERR_TYPE, "there must be a name at line 1");
    BAD_FILE("agents: {a: {command: ls}}", ERR_TYPE,
             "'command' at line 1 must be a list of 1 to 256 words");
    BAD_FILE("agents: {a: {command: []}}", ERR_REFUSED,
             "'command' at line 1 must be a list of 1 to 256 words");
    BAD_FILE("agents: {a: {command: [~]}}", ERR_TYPE,
             "'command' at line 1 must be a list of 1 to 256 words");
    BAD_FILE("agents: {a: {env: [A=b]}}", ERR_TYPE,
             "'env' at line 1 must be 0 to 256 pairs 'NAME: value'");
    BAD_FILE("agents: {a: {env: {A: }}}", ERR_TYPE,
             "'env' at line 1 must be 0 to 256 pairs 'NAME: value'");
    BAD_FILE("agents: {a: {env: {A=B: c}}}", ERR_TYPE,
             "there must be a variable's name at line 1");
    BAD_FILE("agents: {a: {env: {'': c}}}", ERR_TYPE,
             "there must be a variable's name at line 1");
    BAD_FILE("data: &x d", ERR_REFUSED,
             "anchors, aliases and tags have no place here (line 1)");
    BAD_FILE("data: d\n\tloops: 1", ERR_SYNTAX,
             "not YAML at line 2: found a tab character that violates indentation");
}

static void lists_have_limits(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 65536);
    buf_lit(&b, "hosts: [");
    for (int i = 0; i < 257; i++)
        buf_lit(&b, "x, ");
    buf_lit(&b, "]");
    buf_char(&b, '\0');
    BAD_FILE(b.p, ERR_REFUSED, "'hosts' at line 1 must be a list of 0 to 256 names");
    buf_clear(&b);
    buf_lit(&b, "agents:\n");
    for (unsigned i = 0; i < 257; i++) {
        buf_lit(&b, "  a");
        buf_u64(&b, i);
        buf_lit(&b, ": {pull: true}\n");
    }
    buf_char(&b, '\0');
    BAD_FILE(b.p, ERR_TOO_LARGE, "more than 256 agents at line 258");
    buf_done(&b);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    char *text = malloc(AGENT_FILE_MAX_BYTES + 2);

    (void)state;
    BAD_FLAG(ERR_IO, "/nowhere/x.yaml: No such file or directory", "--config",
             "/nowhere/x.yaml");
    BAD_FLAG(ERR_IO, "/: Is a directory", "--config=/");
    assert_non_null(text);
    memset(text, '\n', AGENT_FILE_MAX_BYTES + 1);
    text[AGENT_FILE_MAX_BYTES + 1] = '\0';
    BAD_FILE(text, ERR_TOO_LARGE, "too large");
    text[AGENT_FILE_MAX_BYTES] = '\0';
    server_config_free(good(text, NONE, NONE));
    free(text);
}

/* --- Variables and files in values --- */

static void variables_are_put_into_values(void **state)
{
    struct server_config *c = good("data: /${A}/${B}x${A}$C$${A}$\n"
                                   "max_body: ${SIZE}\n"
                                   "hosts: ['${A}.example', b]\n"
                                   "listen: '127.0.0.1:${_P0}'\n",
                                   ENV("A=one", "B=", "SIZE=3K", "_P0=77", "AB=no"), NONE);

    (void)state;
    assert_string_equal(c->data, "/one/xone$C${A}$");
    assert_int_equal(c->max_body, 3072);
    assert_list(c->hosts, "one.example b");
    assert_int_equal(c->address.port, 77);
    server_config_free(c);
}

static void a_missing_variable_is_named(void **state)
{
    (void)state;
    BAD_FILE("\ndata: x${DATA_DIR}", ERR_NOT_FOUND,
             "'data' at line 2: the environment has no DATA_DIR");
    BAD_FILE("agents: {a: {env: {K: '${SECRET}'}}}", ERR_NOT_FOUND,
             "'env' at line 1: the environment has no SECRET");
    BAD_FILE("data: ${DATA", ERR_SYNTAX, "'data' at line 1: a '${' has no '}'");
    BAD_FILE("data: ${}", ERR_SYNTAX,
             "'data' at line 1: '${}' is not a variable's name ('$${' means a '${' as such)");
    BAD_FILE(
        "data: ${A:-b}", ERR_SYNTAX,
        "'data' at line 1: '${A:-b}' is not a variable's name ('$${' means a '${' as such)");
    BAD_FILE("data: ${1A}", ERR_SYNTAX,
             "'data' at line 1: '${1A}' is not a variable's name ('$${' means a '${' as such)");
}

static void values_can_be_read_from_files(void **state)
{
    char text[512];
    char value[128];

    (void)state;
    write_file(secret, STR("a.example\r\nb.example\n\n"));
    (void)snprintf(text, sizeof(text),
                   "hosts: '@%s'\ndata: '@${DIR}/secret'\norigins: ['@@x://y']\n", secret);
    (void)snprintf(value, sizeof(value), "DIR=%s", folder);
    /* The data's name is odd, and the origin refused for its @: both came through as is. */
    refused(text, ENV(value), NONE, ERR_REFUSED,
            "origins: '@x://y' is not an origin such as https://app.example.com (no path, no / "
            "at the end)");
    (void)snprintf(text, sizeof(text), "hosts: '@%s'\ndata: '@${DIR}/secret'\n", secret);
    struct server_config *c = good(text, ENV(value), NONE);
    assert_list(c->hosts, "a.example b.example");
    assert_string_equal(c->data, "a.example\r\nb.example");
    server_config_free(c);

    write_file(secret, STR("3K\n"));
    (void)snprintf(text, sizeof(text), "@%s", secret);
    (void)snprintf(value, sizeof(value), "SPOOLWIRE_MAX_HEAD=@%s", secret);
    c = good(NULL, ENV(value), ARGS("--max-body", text, "--data", "@@home"));
    assert_int_equal(c->max_body, 3072);
    assert_int_equal(c->max_head, 3072);
    assert_string_equal(c->data, "@home");
    server_config_free(c);
}

static void what_came_out_of_a_variable_is_not_looked_at_again(void **state)
{
    struct server_config *c = good("data: ${A}${B}", ENV("A=@/etc/passwd", "B=${A}"), NONE);

    (void)state;
    assert_string_equal(c->data, "@/etc/passwd${A}");
    server_config_free(c);
    c = good(NULL, ENV("A=1"), ARGS("--data", "${A}"));
    assert_string_equal(c->data, "${A}"); /* a shell's business */
    server_config_free(c);
}

static void files_in_values_are_regular_and_small(void **state)
{
    char text[256];
    char expected[256];
    char *large = calloc(1, 65537);

    (void)state;
    assert_non_null(large);
    BAD_FILE("data: '@/nowhere'", ERR_IO,
             "'data' at line 1: /nowhere: No such file or directory");
    BAD_FILE("data: '@/dev/zero'", ERR_IO, "'data' at line 1: /dev/zero: not a regular file");
    BAD_FILE("data: '@'", ERR_IO, "'data' at line 1: '@' must be followed by a file's path");
    BAD_FILE("data: \"@a\\0b\"", ERR_IO,
             "'data' at line 1: '@' must be followed by a file's path");
    memset(large, 'x', 65537);
    write_file(secret, str_make(large, 65537));
    (void)snprintf(text, sizeof(text), "data: '@%s'", secret);
    (void)snprintf(expected, sizeof(expected), "FILE: 'data' at line 1: %s: too large", secret);
    refused(text, NONE, NONE, ERR_TOO_LARGE, expected);
    write_file(secret, str_make("a\0b", 3));
    BAD_FILE(text, ERR_TYPE, "'data' at line 1 must be a text of 1 to 4096 bytes");
    memcpy(large, "A=", 2);
    large[40000] = '\0';
    refused("data: ${A}${A}", ENV(large), NONE, ERR_TOO_LARGE,
            "FILE: 'data' at line 1: too long");
    free(large);
}

static void an_error_never_shows_a_value(void **state)
{
    (void)state;
    refused("max_body: ${KEY}", ENV("KEY=hunter2"), NONE, ERR_TYPE,
            "FILE: 'max_body' at line 1 must be a size from 1K to 1G");
}

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
}

static void an_agent_has_one_way_to_get_its_jobs(void **state)
{
    (void)state;
    BAD_FILE("agents:\n  a: {concurrency: 2}\n", ERR_REFUSED,
             "the agent 'a' at line 2 needs a 'command' or 'pull: true'");
    BAD_FILE("agents:\n  a:\n", ERR_REFUSED,
             "the agent 'a' at line 2 needs a 'command' or 'pull: true'");
    BAD_FILE("agents:\n  a: {pull: false}\n", ERR_REFUSED,
             "the agent 'a' at line 2 needs a 'command' or 'pull: true'");
    BAD_FILE("agents:\n  a: {pull: true, command: [x]}\n", ERR_REFUSED,
             "the agent 'a' at line 2 has a 'command' and 'pull: true'");
    BAD_FILE("agents:\n  a: {command: ['']}\n", ERR_REFUSED,
             "the command of the agent 'a' at line 2 has no program");
    BAD_FILE("agents:\n  demo: {pull: true, command: [x]}\n", ERR_REFUSED,
             "the agent 'demo' at line 2 has a 'command' and 'pull: true'");
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

static struct agent *translated(const char *name, const char *text)
{
    struct agent *agent = NULL;
    struct error error = { 0 };

    assert_int_equal(agent_new(str_of(name), &agent), 0);
    if (agent_file_apply(str_of(text), "f", agent, &error) != 0)
        fail_msg("%s", error.text);
    return agent;
}

static void translate_takes_the_servers_file(void **state)
{
    struct agent *agent = translated("one", agents_file);

    (void)state;
    assert_int_equal(agent->output_chars, 9);
    assert_int_equal(agent->input_preview, 12);
    agent_free(agent);
    agent_free(translated("one", every_option));
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

/* --- The document, the example, --help --- */

static void the_example_is_good(void **state)
{
    char *text = read_whole("examples/spoolwire.yaml");
    struct server_config *c = good(text, NONE, NONE);
    struct agent *research = translated("research", text);

    (void)state;
    assert_int_equal(c->n_agents, 3);
    assert_list(agent_of(c, "triage")->argv, "python3 triage.py");
    assert_int_equal(agent_of(c, "triage")->run_ms, 1800000);
    assert_true(agent_of(c, "research")->pull);
    assert_false(name_set_has(&research->card_nodes, STR("router")));
    agent_free(research);
    server_config_free(c);
    free(text);
}

static void assert_in_document(const char *document, void (*print)(struct buf *))
{
    struct buf b;

    buf_init(&b, 65536);
    buf_char(&b, '\n');
    print(&b);
    buf_char(&b, '\0');
    assert_int_equal(b.error, 0);
    if (strstr(document, b.p) == NULL)
        fail_msg("docs/configuration.md should have this table:\n%s", b.p);
    buf_done(&b);
}

static void the_document_has_the_reference(void **state)
{
    char *document = read_whole("docs/configuration.md");

    (void)state;
    assert_in_document(document, server_config_reference);
    assert_in_document(document, server_config_agent_reference);
    free(document);
}

static void the_documents_examples_are_good(void **state)
{
    static const char fence[] = "```yaml\n";
    char *document = read_whole("docs/configuration.md");
    int n_examples = 0;

    (void)state;
    for (char *at = document; (at = strstr(at, fence)) != NULL; n_examples++) {
        at += sizeof(fence) - 1;
        char *end = strstr(at, "```");
        assert_non_null(end);
        *end = '\0';
        server_config_free(good(at, ENV("HOME=/root"), NONE));
        agent_free(translated("triage", at));
        at = end + 1;
    }
    assert_true(n_examples > 0);
    free(document);
}

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
    static const char *const texts[] = { agents_file, every_option, "max_boddy: 1",
                                         "max_body: 1", "agents: {a: {}}" };
    char *args[] = { "serve", "--config", path, "--hosts", "a,b", "--hosts=c", NULL };
    char *env[] = { "WHO=me", "PORT=77", "SPOOLWIRE_DATA=d", NULL };

    (void)state;
    skip_without_failing_allocations();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t n = 1;
        write_file(path, str_of(texts[i]));
        while (run_with_failure(n, args, env) == 0)
            n++;
        assert_true(n > 20); /* libyaml's are among them */
    }
}

static void every_allocation_of_what_is_printed_may_fail(void **state)
{
    void (*const print[])(struct buf *) = { server_config_help, server_config_reference,
                                            server_config_agent_reference };

    (void)state;
    skip_without_failing_allocations();
    for (size_t i = 0; i < 3; i++) {
        bool passed = false;
        for (size_t n = 1; !passed; n++) {
            struct buf b;
            buf_init(&b, 65536);
            n_allocations = 0;
            fail_at = n;
            print[i](&b);
            passed = n_allocations < fail_at;
            fail_at = 0;
            assert_int_equal(b.error, passed ? 0 : ERR_NOMEM);
            buf_done(&b);
        }
    }
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
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(strangers_are_let_in_only_on_purpose),
        cmocka_unit_test(an_origin_has_no_path),
        cmocka_unit_test(unknown_keys_get_a_line_and_a_suggestion),
        cmocka_unit_test(nothing_may_be_there_twice),
        cmocka_unit_test(values_of_the_wrong_shape_are_refused),
        cmocka_unit_test(lists_have_limits),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(variables_are_put_into_values),
        cmocka_unit_test(a_missing_variable_is_named),
        cmocka_unit_test(values_can_be_read_from_files),
        cmocka_unit_test(what_came_out_of_a_variable_is_not_looked_at_again),
        cmocka_unit_test(files_in_values_are_regular_and_small),
        cmocka_unit_test(an_error_never_shows_a_value),
        cmocka_unit_test(agents_are_read),
        cmocka_unit_test(the_star_is_for_every_agent),
        cmocka_unit_test(what_is_one_agents_own_has_no_place_under_the_star),
        cmocka_unit_test(an_agent_has_one_way_to_get_its_jobs),
        cmocka_unit_test(the_demo_is_built_in),
        cmocka_unit_test(the_demo_can_be_changed_and_replaced_and_left_out),
        cmocka_unit_test(an_agents_bounds_are_checked),
        cmocka_unit_test(translate_takes_the_servers_file),
        cmocka_unit_test(translate_asks_for_no_variable_of_it),
        cmocka_unit_test(translate_still_refuses_what_nobody_knows),
        cmocka_unit_test(the_example_is_good),
        cmocka_unit_test(the_document_has_the_reference),
        cmocka_unit_test(the_documents_examples_are_good),
        cmocka_unit_test(help_has_every_option_and_fits_a_terminal),
        cmocka_unit_test(output_over_the_buffers_limit_says_so),
        cmocka_unit_test(nothing_can_be_freed),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_what_is_printed_may_fail),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
