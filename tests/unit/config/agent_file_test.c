/* agents.yaml: what it changes, what it refuses and in which words, and that it holds when
 * memory runs out anywhere, inside libyaml too.
 *
 * Runs in the root of the sources (the document and the example are read from there). */
#include "base/buf.h"
#include "base/error.h"
#include "config/file/agent_file.h"
#include "ingest/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expect.h"
#include "failing_malloc.h"

/* --- Helpers --- */

static struct agent *new_agent(struct str name)
{
    struct agent *agent = NULL;

    assert_int_equal(agent_new(name, &agent), 0);
    return agent;
}

static struct agent *apply(const char *agent_name, const char *text)
{
    struct agent *agent = new_agent(str_of(agent_name));
    struct error error = { 0 };

    if (agent_file_apply(str_of(text), "agents.yaml", agent, &error) != 0)
        fail_msg("%s", error.text);
    return agent;
}

/* The settings of one agent in words: the whole of it, to compare. */
static char *in_words(const struct agent *a)
{
    const struct name_set *sets[] = { &a->card_nodes, &a->counted_nodes, &a->output_nodes,
                                      &a->sections,   &a->state_keys,    &a->search_tools,
                                      &a->todo_tools, &a->file_tools,    &a->report_keys };
    struct buf b;

    buf_init(&b, 65536);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        buf_str(&b, sets[i]->all_but ? STR("not(") : STR("("));
        for (size_t j = 0; j < sets[i]->n; j++) {
            buf_str(&b, sets[i]->names[j]);
            buf_char(&b, j + 1 < sets[i]->n ? ' ' : ')');
        }
        if (sets[i]->n == 0)
            buf_char(&b, ')');
    }
    buf_u64(&b, a->input_preview);
    buf_char(&b, ' ');
    buf_u64(&b, a->result_preview);
    buf_char(&b, ' ');
    buf_u64(&b, a->output_chars);
    buf_char(&b, '\0');
    assert_int_equal(b.error, 0);
    return b.p;
}

static void assert_words(const char *agent_name, const char *text, const char *expected)
{
    struct agent *agent = apply(agent_name, text);
    char *words = in_words(agent);

    assert_string_equal(words, expected);
    free(words);
    agent_free(agent);
}

#define DEFAULTS_BUT_NODES                                                     \
    "(writer)(report comment_draft ticket_draft)()(search tavily google bing)" \
    "(write_todos)(write_file)(final_report report answer output result response)"

/* @text is refused with @code and an error of exactly @expected, and changes nothing. */
static void assert_refused(struct str text, int code, const char *expected)
{
    struct agent *agent = new_agent(STR("triage"));
    char *before = in_words(agent);
    struct error error = { 0 };

    assert_int_equal(agent_file_apply(text, "agents.yaml", agent, &error), code);
    assert_string_equal(error.text, expected);
    assert_int_equal(error.code, code);
    char *after = in_words(agent);
    assert_string_equal(after, before);
    free(after);
    free(before);
    agent_free(agent);
}

#define REFUSED(text, code, expected) \
    assert_refused(STR(text), (code), "agents.yaml: " expected)

/* --- What it changes --- */

static const char every_setting[] = "agents:\n"
                                    "  triage:\n"
                                    "    worker_nodes: [a, b]\n"
                                    "    all_nodes: {all_but: [c]}\n"
                                    "    output_nodes:\n"
                                    "      all_but:\n"
                                    "        - d\n"
                                    "    sections: [e]\n"
                                    "    state_keys:\n"
                                    "      - f\n"
                                    "      - \"g h\"\n"
                                    "    search_tools: [i]\n"
                                    "    todo_tools: [j]\n"
                                    "    file_tools: [k]\n"
                                    "    report_keys: [l, m]\n"
                                    "    input_preview: 1\n"
                                    "    result_preview: 10000\n"
                                    "    output_chars: 1000000\n";

static void every_setting_can_be_changed(void **state)
{
    (void)state;
    assert_words("triage", every_setting,
                 "(a b)not(c)not(d)(e)(f g h)(i)(j)(k)(l m)1 10000 1000000");
}

static void what_is_not_named_keeps_its_default(void **state)
{
    (void)state;
    assert_words("other", "agents: {other: {output_chars: 9}}",
                 "not(supervisor human_input)not()" DEFAULTS_BUT_NODES "60 120 9");
}

static void what_the_server_alone_reads_is_passed(void **state)
{
    (void)state;
    assert_words("other",
                 "origins: [http://a.example]\n"
                 "agents:\n"
                 "  other:\n"
                 "    command: [a, b]\n"
                 "    env: {A: b}\n"
                 "    pool: {size: 1, watch: [src, lib]}\n"
                 "    http: {headers: {A: b}, modes: [events]}\n"
                 "    arq: {args: [job_id, q=input.query], poll: 1s}\n"
                 "    output_chars: 9\n",
                 "not(supervisor human_input)not()" DEFAULTS_BUT_NODES "60 120 9");
    REFUSED("agents: {other: {http: {headers: {A: [b]}}}}", ERR_TYPE,
            "there must be a value at line 1");
}

static void another_agents_settings_change_nothing(void **state)
{
    (void)state;
    assert_words("other", every_setting,
                 "not(supervisor human_input)not()" DEFAULTS_BUT_NODES "60 120 200");
}

static void the_star_is_for_every_agent_and_comes_first(void **state)
{
    static const char text[] = "agents:\n"
                               "  a: {worker_nodes: [own], result_preview: 3}\n"
                               "  '*': {worker_nodes: {all_but: []}, input_preview: 7}\n";

    (void)state;
    assert_words("a", text, "(own)not()" DEFAULTS_BUT_NODES "7 3 200");
    assert_words("b", text, "not()not()" DEFAULTS_BUT_NODES "7 120 200");
}

static void an_agent_called_star_is_applied_once(void **state)
{
    (void)state;
    assert_words("*", "agents: {'*': {worker_nodes: [x]}}",
                 "(x)not()" DEFAULTS_BUT_NODES "60 120 200");
}

static void files_can_be_applied_one_after_the_other(void **state)
{
    struct agent *agent = apply("triage", every_setting);
    struct error error = { 0 };

    (void)state;
    assert_int_equal(
        agent_file_apply(STR("agents: {triage: {worker_nodes: [z]}}"), "second", agent, &error),
        0);
    char *words = in_words(agent);
    assert_string_equal(words, "(z)not(c)not(d)(e)(f g h)(i)(j)(k)(l m)1 10000 1000000");
    free(words);
    agent_free(agent);
}

static void a_file_without_settings_changes_nothing(void **state)
{
    static const char *const texts[] = {
        "",       "# nothing\n",         "---\n",          "agents:\n",        "agents: {}\n",
        "{}",     "agents:\n  other:\n", "agents: null\n", "agents: {a: ~}\n", "--- {}\n...\n",
        "\n\n\n", "\xEF\xBB\xBF{}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_words("other", texts[i],
                     "not(supervisor human_input)not()" DEFAULTS_BUT_NODES "60 120 200");
}

static void an_empty_list_is_an_empty_set(void **state)
{
    (void)state;
    assert_words("a", "agents: {a: {worker_nodes: [], all_nodes: {all_but: []}, sections: []}}",
                 "()not()(writer)()()(search tavily google bing)(write_todos)(write_file)"
                 "(final_report report answer output result response)60 120 200");
}

static void any_text_may_be_a_name(void **state)
{
    (void)state;
    assert_words("a", "agents: {a: {sections: [no, 60, 'null', \"\\u00e4\", 1.5]}}",
                 "not(supervisor human_input)not()(writer)(no 60 null \xC3\xA4 1.5)()"
                 "(search tavily google bing)(write_todos)(write_file)"
                 "(final_report report answer output result response)60 120 200");
}

/* --- What it refuses --- */

static void a_misspelt_setting_gets_a_suggestion(void **state)
{
    (void)state;
    REFUSED("agents:\n  triage:\n    worker_node: [a]\n", ERR_REFUSED,
            "unknown setting 'worker_node' at line 3: did you mean 'worker_nodes'?");
    REFUSED("agents:\n  x:\n    ouptut_nodes: [a]\n", ERR_REFUSED,
            "unknown setting 'ouptut_nodes' at line 3: did you mean 'output_nodes'?");
    REFUSED("agents:\n  x:\n    wroker_ndoes: [a]\n", ERR_REFUSED,
            "unknown setting 'wroker_ndoes' at line 3: did you mean 'worker_nodes'?");
    REFUSED("agents:\n  x:\n    Input-Preview: 3\n", ERR_REFUSED,
            "unknown setting 'Input-Preview' at line 3: did you mean 'input_preview'?");
    REFUSED("agent: {}\n", ERR_REFUSED,
            "unknown key 'agent' at line 1: did you mean 'agents'?");
    REFUSED("agents: {a: {all_nodes: {all-but: []}}}", ERR_REFUSED,
            "unknown key 'all-but' at line 1: did you mean 'all_but'?");
}

static void the_nearest_setting_is_suggested(void **state)
{
    (void)state;
    REFUSED("agents: {a: {todo_tool: []}}", ERR_REFUSED,
            "unknown setting 'todo_tool' at line 1: did you mean 'todo_tools'?");
    REFUSED("agents: {a: {fil_tools: []}}", ERR_REFUSED,
            "unknown setting 'fil_tools' at line 1: did you mean 'file_tools'?");
}

static void a_setting_like_none_of_ours_gets_no_suggestion(void **state)
{
    (void)state;
    REFUSED("agents: {a: {colour: red}}", ERR_REFUSED, "unknown setting 'colour' at line 1");
    REFUSED("agents: {a: {'': red}}", ERR_REFUSED, "unknown setting '' at line 1");
    REFUSED("agents: {a: {worker_nodes_worker_nodes_worker_nodes_worker: []}}", ERR_REFUSED,
            "unknown setting 'worker_nodes_worker_nodes_worker_nodes_w...' at line 1");
    REFUSED("tools: {}", ERR_REFUSED, "unknown key 'tools' at line 1");
}

static void a_mistake_in_another_agents_settings_is_found_too(void **state)
{
    (void)state;
    REFUSED("agents: {triage: {output_chars: 3}, other: {output_chars: 0}}", ERR_REFUSED,
            "'output_chars' at line 1 must be from 1 to 1000000");
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    REFUSED("agents:\n  a:\n    worker_nodes: writer\n", ERR_TYPE,
            "'worker_nodes' at line 3 must be a list of names, or {all_but: [names]}");
    REFUSED("agents: {a: {worker_nodes: }}", ERR_TYPE,
            "'worker_nodes' at line 1 must be a list of names, or {all_but: [names]}");
    REFUSED("agents: {a: {worker_nodes: {}}}", ERR_TYPE,
            "'worker_nodes' at line 1 must be a list of names, or {all_but: [names]}");
    REFUSED("agents: {a: {worker_nodes: {all_but: b}}}", ERR_TYPE,
            "'worker_nodes' at line 1 must be a list of names, or {all_but: [names]}");
    REFUSED("agents: {a: {sections: {all_but: [b]}}}", ERR_TYPE,
            "'sections' at line 1 must be a list of names");
    REFUSED("agents: {a: {sections: 3}}", ERR_TYPE,
            "'sections' at line 1 must be a list of names");
    REFUSED("agents: {a: {sections: [b, [c]]}}", ERR_TYPE, "there must be a name at line 1");
    REFUSED("agents:\n  a:\n    sections:\n    - b\n    -\n", ERR_TYPE,
            "there must be a name at line 5");
    REFUSED("agents: {a: {sections: ['']}}", ERR_TYPE, "there must be a name at line 1");
    REFUSED("agents: {a: {sections: [~]}}", ERR_TYPE, "there must be a name at line 1");
    REFUSED("agents: {'': {}}", ERR_TYPE, "there must be a name at line 1");
    REFUSED("agents: {a: [b]}", ERR_TYPE,
            "an agent's settings at line 1 must be 'name: value' pairs");
    REFUSED("agents: {a: b}", ERR_TYPE,
            "an agent's settings at line 1 must be 'name: value' pairs");
    REFUSED("agents: [a]", ERR_TYPE, "'agents' at line 1 must be 'agent: settings' pairs");
    REFUSED("agents: triage", ERR_TYPE, "'agents' at line 1 must be 'agent: settings' pairs");
    REFUSED("\n- agents", ERR_TYPE, "the file must begin with 'agents:', not as at line 2");
    REFUSED("agents", ERR_TYPE, "the file must begin with 'agents:', not as at line 1");
    REFUSED("{[a]: b}", ERR_TYPE, "the key at line 1 must be a name");
    REFUSED("agents: {{a: b}: c}", ERR_TYPE, "the key at line 1 must be a name");
}

static void numbers_are_decimal_and_within_bounds(void **state)
{
    static const char *const wrong[] = {
        "-1",     "+1",  "0x10", "0o7", "010", "1_000", "1.0", "1e3", "'60'",
        "\"60\"", "six", "[6]",  "{}",  "",    "true",  "6 0", "~",   "|\n 6",
    };
    static const char *const outside[] = {
        "0", "10001", "18446744073709551615", "18446744073709551616", "99999999999999999999999",
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)snprintf(text, sizeof(text), "agents:\n a:\n  input_preview: %s\n", wrong[i]);
        assert_refused(str_of(text), ERR_TYPE,
                       "agents.yaml: 'input_preview' at line 3 must be a whole number");
    }
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        (void)snprintf(text, sizeof(text), "agents:\n a:\n  input_preview: %s\n", outside[i]);
        assert_refused(str_of(text), ERR_REFUSED,
                       "agents.yaml: 'input_preview' at line 3 must be from 1 to 10000");
    }
}

static void nothing_may_be_there_twice(void **state)
{
    (void)state;
    REFUSED("agents: {}\nagents: {}\n", ERR_REFUSED, "'agents' at line 2 is there twice");
    REFUSED("agents:\n  a: {}\n  b: {}\n  a: {}\n", ERR_REFUSED,
            "the agent 'a' at line 4 is there twice");
    REFUSED("agents:\n  '*': {}\n  \"*\": {}\n", ERR_REFUSED,
            "the agent '*' at line 3 is there twice");
    REFUSED("agents:\n  a:\n    sections: []\n    output_chars: 2\n    sections: []\n",
            ERR_REFUSED, "'sections' at line 5 was already set at line 3");
    REFUSED("agents: {a: {all_nodes: {all_but: [], all_but: []}}}", ERR_REFUSED,
            "'all_but' at line 1 is there twice");
    REFUSED("agents: {}\n---\nagents: {}\n", ERR_REFUSED, "a second document begins at line 2");
}

static void anchors_aliases_and_tags_are_refused(void **state)
{
    (void)state;
    REFUSED("agents:\n  a: &x {}\n  b: *x\n", ERR_REFUSED,
            "anchors, aliases and tags have no place here (line 2)");
    REFUSED("agents:\n  a: {}\n  b: *x\n", ERR_REFUSED,
            "anchors, aliases and tags have no place here (line 3)");
    REFUSED("agents:\n  a:\n    <<: *x\n", ERR_REFUSED, "unknown setting '<<' at line 3");
    REFUSED("agents: {a: {sections: [&x b, *x]}}", ERR_REFUSED,
            "anchors, aliases and tags have no place here (line 1)");
    REFUSED("agents: {a: {output_chars: !!int 3}}", ERR_REFUSED,
            "anchors, aliases and tags have no place here (line 1)");
    REFUSED("agents: {a: {sections: !x [b]}}", ERR_REFUSED,
            "anchors, aliases and tags have no place here (line 1)");
    REFUSED("--- &x\nagents: {}", ERR_REFUSED,
            "anchors, aliases and tags have no place here (line 1)");
    /* A billion laughs ends at the first. */
    REFUSED("a: &a [x, x]\nb: &b [*a, *a]\nagents: *b\n", ERR_REFUSED,
            "unknown key 'a' at line 1");
}

static void a_star_without_quotes_gets_a_hint(void **state)
{
    (void)state;
    REFUSED("agents:\n  *:\n    output_chars: 3\n", ERR_SYNTAX,
            "not YAML at line 2: did not find expected alphabetic or numeric character "
            "(the agent \"*\" is written in quotes)");
}

static void what_is_not_yaml_is_refused_with_its_line(void **state)
{
    (void)state;
    REFUSED("agents:\n  a: {\n", ERR_SYNTAX,
            "not YAML at line 3: did not find expected node content");
    REFUSED("agents:\n\ta: {}\n", ERR_SYNTAX,
            "not YAML at line 2: found character that cannot start any token");
    REFUSED("agents: {}\n# \n\xFF\n", ERR_SYNTAX,
            "not YAML at line 3: invalid leading UTF-8 octet");
    REFUSED("agents: {}\n# \x01\n", ERR_SYNTAX,
            "not YAML at line 2: control characters are not allowed");
    REFUSED("agents: {}\n\0", ERR_SYNTAX,
            "not YAML at line 2: control characters are not allowed");
}

static void deep_nesting_ends_at_once(void **state)
{
    enum { DEPTH = 500000 };
    static const char head[] = "agents: {triage: {worker_nodes: ";
    char *text = malloc(sizeof(head) + DEPTH);

    (void)state;
    assert_non_null(text);
    memcpy(text, head, sizeof(head) - 1);
    memset(text + sizeof(head) - 1, '[', DEPTH);
    assert_refused(str_make(text, sizeof(head) - 1 + DEPTH), ERR_TYPE,
                   "agents.yaml: there must be a name at line 1");
    memset(text + sizeof(head) - 1, '{', DEPTH);
    assert_refused(str_make(text, sizeof(head) - 1 + DEPTH), ERR_TYPE,
                   "agents.yaml: the key at line 1 must be a name");
    memset(text, '[', sizeof(head) + DEPTH);
    assert_refused(str_make(text, sizeof(head) + DEPTH), ERR_TYPE,
                   "agents.yaml: the file must begin with 'agents:', not as at line 1");
    free(text);
}

/* @n times @piece between @head and @tail. */
static struct str repeated(struct buf *b,
                           const char *head,
                           const char *piece,
                           size_t n,
                           const char *tail)
{
    buf_clear(b);
    buf_str(b, str_of(head));
    for (size_t i = 0; i < n; i++)
        buf_str(b, str_of(piece));
    buf_str(b, str_of(tail));
    assert_int_equal(b->error, 0);
    return buf_text(b);
}

static void lists_and_names_have_limits(void **state)
{
    struct agent *agent = new_agent(STR("a"));
    struct buf b;

    (void)state;
    buf_init(&b, 65536);
    struct str text = repeated(&b, "agents: {a: {sections: [", "x, ", 256, "]}}");
    assert_int_equal(agent_file_apply(text, "f", agent, NULL), 0);
    assert_int_equal(agent->sections.n, 256);
    text = repeated(&b, "agents: {a: {sections: [", "x,\n", 257, "]}}");
    assert_refused(text, ERR_TOO_LARGE,
                   "agents.yaml: more than 256 names in a list at line 257");

    text = repeated(&b, "agents: {a: {sections: [", "x", 200, "]}}");
    assert_int_equal(agent_file_apply(text, "f", agent, NULL), 0);
    text = repeated(&b, "agents: {a: {sections: [", "\xC3\xA4", 101, "]}}");
    assert_refused(
        text, ERR_TOO_LARGE,
        "agents.yaml: the name 'ääääääääääääääääääää...' at line 1 has more than 200 "
        "bytes");
    buf_done(&b);
    agent_free(agent);
}

static void there_is_a_limit_to_agents(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 65536);
    buf_lit(&b, "agents:\n");
    for (unsigned i = 0; i < 257; i++) {
        buf_lit(&b, "  a");
        buf_u64(&b, i);
        buf_lit(&b, ":\n");
    }
    assert_refused(buf_text(&b), ERR_TOO_LARGE,
                   "agents.yaml: more than 256 agents at line 258");
    buf_done(&b);
}

static void a_large_file_is_refused_unread(void **state)
{
    char *text = malloc(AGENT_FILE_MAX_BYTES + 1);
    struct agent *agent = new_agent(STR("a"));

    (void)state;
    assert_non_null(text);
    memset(text, '\n', AGENT_FILE_MAX_BYTES + 1);
    assert_int_equal(agent_file_apply(str_make(text, AGENT_FILE_MAX_BYTES), "f", agent, NULL),
                     0);
    assert_refused(str_make(text, AGENT_FILE_MAX_BYTES + 1), ERR_TOO_LARGE,
                   "agents.yaml: larger than 1048576 bytes");
    agent_free(agent);
    free(text);
}

static void an_error_shows_no_control_characters(void **state)
{
    (void)state;
    REFUSED("agents: {a: {\"x\\e[31m\\0\\x7f\\x9by\": 1}}", ERR_REFUSED,
            "unknown setting 'x?[31m????y' at line 1");
}

static void an_error_cuts_no_code_point(void **state)
{
    struct agent *agent = new_agent(STR("a"));
    struct error error = { 0 };
    char name[] = "\xC3\xA4xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                  "xxxxxxxxxxxxx"; /* the last 80 bytes begin inside the first message */

    (void)state;
    assert_int_equal(strlen(name), 81);
    assert_int_equal(agent_file_apply(STR("x"), name, agent, &error), ERR_TYPE);
    assert_memory_equal(error.text, name + 2, 79);
    REFUSED("agents: {a: {xääääääääääääääääääääääää: 1}}", ERR_REFUSED,
            "unknown setting 'xäääääääääääääääääää...' at line 1");
    agent_free(agent);
}

static void a_long_file_name_leaves_room_for_the_error(void **state)
{
    char name[4096];
    struct agent *agent = new_agent(STR("a"));
    struct error error = { 0 };

    (void)state;
    memset(name, 'd', sizeof(name));
    memcpy(name + sizeof(name) - 9, "/ag.yaml", 9);
    assert_int_equal(
        agent_file_apply(STR("agents: {a: {worker_node: []}}"), name, agent, &error),
        ERR_REFUSED);
    assert_non_null(strstr(error.text, "d/ag.yaml: unknown setting 'worker_node' at line 1: "
                                       "did you mean 'worker_nodes'?"));
    agent_free(agent);
}

static void the_error_may_be_left_out(void **state)
{
    struct agent *agent = new_agent(STR("a"));

    (void)state;
    assert_int_equal(agent_file_apply(STR("x"), "f", agent, NULL), ERR_TYPE);
    assert_int_equal(agent_file_apply(STR_NONE, "f", agent, NULL), 0);
    agent_free(agent);
}

/* --- From a file --- */

static void a_file_is_read_to_its_end(void **state)
{
    struct agent *agent = new_agent(STR("triage"));
    struct error error = { 0 };
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    for (int i = 0; i < 3000; i++)
        assert_true(fputs("# a long comment\n", file) >= 0);
    assert_true(fputs(every_setting, file) >= 0);
    rewind(file);
    assert_int_equal(agent_file_read(file, "f", agent, &error), 0);
    assert_int_equal(agent->result_preview, 10000);
    (void)fclose(file); /* a temporary one */
    agent_free(agent);
}

static void a_file_that_is_too_large_is_not_read_on(void **state)
{
    static const char block[65536];
    struct agent *agent = new_agent(STR("triage"));
    struct error error = { 0 };
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    for (int i = 0; i < 40; i++)
        assert_int_equal(fwrite(block, 1, sizeof(block), file), sizeof(block));
    rewind(file);
    assert_int_equal(agent_file_read(file, "f", agent, &error), ERR_TOO_LARGE);
    assert_string_equal(error.text, "f: larger than 1048576 bytes");
    assert_true(ftell(file) < 2 * AGENT_FILE_MAX_BYTES);
    (void)fclose(file); /* a temporary one */
    agent_free(agent);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    struct agent *agent = new_agent(STR("triage"));
    struct error error = { 0 };
    FILE *file = fopen("/", "r"); /* a folder opens, and cannot be read */

    (void)state;
    assert_non_null(file);
    assert_int_equal(agent_file_read(file, "f", agent, &error), ERR_IO);
    assert_string_equal(error.text, "f: cannot be read");
    (void)fclose(file); /* only read from */
    agent_free(agent);
}

/* --- The document and the example --- */

static void the_document_has_the_reference(void **state)
{
    char *document = read_whole("docs/agent-config.md");
    struct buf b;

    (void)state;
    buf_init(&b, 65536);
    buf_char(&b, '\n');
    agent_file_reference(&b);
    buf_lit(&b, "\n");
    buf_char(&b, '\0');
    assert_int_equal(b.error, 0);
    if (strstr(document, b.p) == NULL)
        fail_msg("docs/agent-config.md should have this table:\n%s", b.p);
    buf_done(&b);
    free(document);
}

static void is_good(const char *yaml)
{
    agent_free(apply("triage", yaml));
}

static void the_documents_examples_are_good(void **state)
{
    (void)state;
    each_example("docs/agent-config.md", is_good);
}

static void the_example_is_good(void **state)
{
    char *text = read_whole("examples/agents.yaml");
    struct agent *triage = apply("triage", text);
    struct agent *research = apply("research", text);

    (void)state;
    assert_int_equal(triage->input_preview, 80);
    assert_true(name_set_has(&triage->card_nodes, STR("linter")));
    assert_false(name_set_has(&research->card_nodes, STR("router")));
    assert_true(name_set_has(&research->card_nodes, STR("supervisor")));
    agent_free(research);
    agent_free(triage);
    free(text);
}

static void a_reference_over_the_buffers_limit_says_so(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 300);
    agent_file_reference(&b);
    assert_int_equal(b.error, ERR_TOO_LARGE);
    buf_done(&b);
}

/* --- Memory --- */

static const char *const scenarios[] = {
    every_setting,
    "agents: {'*': {worker_nodes: [a], sections: [b]}, triage: {worker_nodes: {all_but: [c]}}, "
    "other: {sections: [d, e, f]}}",
    "agents: {a: &x {}, b: *x}",
    "%YAML 1.1\n%TAG ! tag:x,2000:\n---\nagents: {a: !b {}}",
    "agents: {a: {worker_node: []}}",
    "agents: {a: {sections: [\"a\\u00e4\", 'b''c', \n\n>-\n x]}}",
    "agents:\n  ? a\n  : sections:\n    - |\n      b\n    - >\n      c\n\n      d\n",
    "agents: {a: {sections: [b, c",
};

/* Everything from agent_new on. */
static int run_scenario(const char *text)
{
    struct agent *agent = NULL;
    struct error error = { 0 };
    int err = agent_new(STR("triage"), &agent);

    if (err != 0) {
        assert_null(agent);
        return err;
    }
    err = agent_file_apply(str_of(text), "f", agent, &error);
    assert_int_equal(err, error.code);
    if (err == ERR_NOMEM)
        assert_string_equal(error.text, "f: out of memory");
    agent_free(agent);
    return err;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    skip_without_failing_allocations();
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        int expected = run_scenario(scenarios[i]);
        size_t n = 1;
        for (;; n++) {
            n_allocations = 0;
            fail_at = n;
            int err = run_scenario(scenarios[i]);
            bool passed = n_allocations < fail_at;
            fail_at = 0;
            if (passed) {
                assert_int_equal(err, expected);
                break;
            }
            assert_int_equal(err, ERR_NOMEM);
        }
        assert_true(n > 20); /* libyaml's are among them */
    }
}

static void every_allocation_of_reading_may_fail(void **state)
{
    FILE *file = tmpfile();
    bool passed = false;

    (void)state;
    skip_without_failing_allocations();
    assert_non_null(file);
    assert_true(fputs(every_setting, file) >= 0);
    assert_int_equal(setvbuf(file, NULL, _IONBF, 0), 0); /* stdio allocates nothing more */
    for (size_t n = 1; !passed; n++) {
        struct agent *agent = new_agent(STR("triage"));
        rewind(file);
        n_allocations = 0;
        fail_at = n;
        int err = agent_file_read(file, "f", agent, NULL);
        passed = n_allocations < fail_at;
        fail_at = 0;
        assert_int_equal(err, passed ? 0 : ERR_NOMEM);
        agent_free(agent);
    }
    (void)fclose(file); /* a temporary one */
}

static void every_allocation_of_the_reference_may_fail(void **state)
{
    (void)state;
    skip_without_failing_allocations();
    print_without_memory(agent_file_reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_can_be_changed),
        cmocka_unit_test(what_is_not_named_keeps_its_default),
        cmocka_unit_test(what_the_server_alone_reads_is_passed),
        cmocka_unit_test(another_agents_settings_change_nothing),
        cmocka_unit_test(the_star_is_for_every_agent_and_comes_first),
        cmocka_unit_test(an_agent_called_star_is_applied_once),
        cmocka_unit_test(files_can_be_applied_one_after_the_other),
        cmocka_unit_test(a_file_without_settings_changes_nothing),
        cmocka_unit_test(an_empty_list_is_an_empty_set),
        cmocka_unit_test(any_text_may_be_a_name),
        cmocka_unit_test(a_misspelt_setting_gets_a_suggestion),
        cmocka_unit_test(the_nearest_setting_is_suggested),
        cmocka_unit_test(a_setting_like_none_of_ours_gets_no_suggestion),
        cmocka_unit_test(a_mistake_in_another_agents_settings_is_found_too),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(numbers_are_decimal_and_within_bounds),
        cmocka_unit_test(nothing_may_be_there_twice),
        cmocka_unit_test(anchors_aliases_and_tags_are_refused),
        cmocka_unit_test(a_star_without_quotes_gets_a_hint),
        cmocka_unit_test(what_is_not_yaml_is_refused_with_its_line),
        cmocka_unit_test(deep_nesting_ends_at_once),
        cmocka_unit_test(lists_and_names_have_limits),
        cmocka_unit_test(there_is_a_limit_to_agents),
        cmocka_unit_test(a_large_file_is_refused_unread),
        cmocka_unit_test(an_error_shows_no_control_characters),
        cmocka_unit_test(an_error_cuts_no_code_point),
        cmocka_unit_test(a_long_file_name_leaves_room_for_the_error),
        cmocka_unit_test(the_error_may_be_left_out),
        cmocka_unit_test(a_file_is_read_to_its_end),
        cmocka_unit_test(a_file_that_is_too_large_is_not_read_on),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(the_document_has_the_reference),
        cmocka_unit_test(the_documents_examples_are_good),
        cmocka_unit_test(the_example_is_good),
        cmocka_unit_test(a_reference_over_the_buffers_limit_says_so),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_reading_may_fail),
        cmocka_unit_test(every_allocation_of_the_reference_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
