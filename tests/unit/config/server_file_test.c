/* The server's file: what has no place in it, values that name variables and files, where to
 * listen, and that the document and the example are true.
 *
 * Runs in the root of the sources (the document and the example are read from there). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expect.h"
#include "server_config.h"

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
            "origins: '@x://y' is not an origin such as https://app.example.com "
            "(lower case, no path, no / at the end)");
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
    c = good("listen: 0.0.0.0:80,unix:/run/a,b", NONE, NONE);
    assert_string_equal(c->address.host, "0.0.0.0");
    assert_int_equal(c->address.port, 80);
    assert_string_equal(c->address.unix_path, "/run/a,b");
    assert_false(c->address.is_loopback);
    server_config_free(c);
    c = good("listen: '[::ffff:127.0.0.9]:65535'", NONE, NONE);
    assert_string_equal(c->address.host, "::ffff:127.0.0.9");
    assert_int_equal(c->address.port, 65535);
    server_config_free(c);
}

static void what_is_no_address_is_refused(void **state)
{
    /* clang-format off: a table */
    static char *const wrong[] = {
        "x",          ":8400",         "127.0.0.1",   "127.0.0.1:",
        "::1:8400",   "[::1]",         "[::1]8400",   "[::1:8400",
        "a.test:80",  "127.0.0.1:-1",  "127.1:80",    "127.0.0.1:65536",
        "[::1%lo]:1", "unix:",         "[1.2.3.4]:1", "127.0.0.1:080",
        "[]:1",       "1:2:3",         "*:80",        "127.0.0.1:1,",
        ",unix:/x",   "127.0.0.1:1,x",
    };
    /* clang-format on */
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
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        (void)snprintf(
            expected, sizeof(expected),
            "other machines could reach %s, and there is no token to keep strangers "
            "out: make one with `spoolwire token create`, listen on 127.0.0.1, or say "
            "--insecure-listen if something else keeps them out",
            open[i]);
        struct server_config *c = good(NULL, NONE, ARGS("--listen", open[i]));
        assert_int_equal(server_config_check_listen(c, false, &err), ERR_REFUSED);
        assert_string_equal(err.text, expected);
        assert_int_equal(server_config_check_listen(c, true, &err), 0);
        server_config_free(c);
        c = good(NULL, NONE, ARGS("--listen", open[i], "--insecure-listen"));
        assert_false(c->address.is_loopback);
        assert_int_equal(server_config_check_listen(c, false, &err), 0);
        server_config_free(c);
    }
    assert_listen("listen: 0.0.0.0:1\ninsecure_listen: true", NONE, NONE, "0.0.0.0:1");
}

static void an_origin_has_no_path(void **state)
{
    static char *const wrong[] = {
        "https://a.example/", "a.example",   "https://",  "://a",       "null",
        "https:/a",           "https://u@a", "https://A", "https://a?b"
    };
    char expected[256];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)snprintf(expected, sizeof(expected),
                       "origins: '%s' is not an origin such as https://app.example.com "
                       "(lower case, no path, no / at the end)",
                       wrong[i]);
        BAD_FLAG(ERR_REFUSED, expected, "--origins", wrong[i]);
    }
    server_config_free(
        good(NULL, NONE, ARGS("--origins", "*,tauri://localhost,http://[::1]:3")));
}

/* --- The document and the example --- */

static void the_example_is_good(void **state)
{
    char *text = read_whole("examples/spoolwire.yaml");
    struct server_config *c = good(text, NONE, NONE);
    struct agent *research = translated("research", text);

    (void)state;
    assert_int_equal(c->n_agents, 4);
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

static void is_good(const char *yaml)
{
    server_config_free(good(yaml, ENV("HOME=/root"), NONE));
    agent_free(translated("triage", yaml));
}

static void the_documents_examples_are_good(void **state)
{
    (void)state;
    each_example("docs/configuration.md", is_good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(strangers_are_let_in_only_on_purpose),
        cmocka_unit_test(an_origin_has_no_path),
        cmocka_unit_test(the_example_is_good),
        cmocka_unit_test(the_document_has_the_reference),
        cmocka_unit_test(the_documents_examples_are_good),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
