/* The built-in settings of agents, and sets of names.  (That every allocation may fail is
 * tested together with the file's, in agent_file_test.c.) */
#include "ingest/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct agent *new_agent(struct str name)
{
    struct agent *agent = NULL;

    assert_int_equal(agent_new(name, &agent), 0);
    assert_non_null(agent);
    return agent;
}

/* The set in one line: "a b c", or "all but a b". */
static const char *in_words(const struct name_set *set)
{
    static char text[512];
    size_t n = 0;

    text[0] = '\0';
    if (set->all_but)
        n = (size_t)snprintf(text, sizeof(text), "all but");
    for (size_t i = 0; i < set->n; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", n > 0 ? " " : "",
                              STR_ARG(set->names[i]));
    return text;
}

static void assert_common_defaults(const struct agent *agent)
{
    assert_string_equal(in_words(&agent->output_nodes), "writer");
    assert_string_equal(in_words(&agent->sections), "report comment_draft ticket_draft");
    assert_string_equal(in_words(&agent->state_keys), "");
    assert_string_equal(in_words(&agent->search_tools), "search tavily google bing");
    assert_string_equal(in_words(&agent->todo_tools), "write_todos");
    assert_string_equal(in_words(&agent->file_tools), "write_file");
    assert_string_equal(in_words(&agent->report_keys),
                        "final_report report answer output result response");
    assert_int_equal(agent->input_preview, 60);
    assert_int_equal(agent->result_preview, 120);
    assert_int_equal(agent->output_chars, 200);
}

static void triage_and_demo_have_the_documents_nodes(void **state)
{
    const struct str names[] = { STR("triage"), STR("demo") };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct agent *agent = new_agent(names[i]);
        assert_true(str_eq(agent->name, names[i]));
        assert_string_equal(in_words(&agent->card_nodes),
                            "investigator codebase_search web_search critic writer");
        assert_string_equal(in_words(&agent->counted_nodes),
                            "supervisor investigator codebase_search web_search critic "
                            "human_input writer");
        assert_common_defaults(agent);
        agent_free(agent);
    }
}

static void any_other_agent_shows_all_but_two_nodes(void **state)
{
    struct agent *agent = new_agent(STR("research"));

    (void)state;
    assert_string_equal(in_words(&agent->card_nodes), "all but supervisor human_input");
    assert_string_equal(in_words(&agent->counted_nodes), "all but");
    assert_common_defaults(agent);
    agent_free(agent);
}

static void a_name_that_begins_like_triage_is_another_agent(void **state)
{
    const struct str names[] = { STR("triage2"), STR("Triage"), STR("tri"), STR("") };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct agent *agent = new_agent(names[i]);
        assert_true(agent->card_nodes.all_but);
        agent_free(agent);
    }
}

static void the_name_is_copied(void **state)
{
    char name[] = { 't', 'r', 'i', 'a', 'g', 'e' }; /* not terminated */
    struct agent *agent = new_agent(str_make(name, sizeof(name)));

    (void)state;
    memset(name, 'x', sizeof(name));
    assert_true(str_is(agent->name, "triage"));
    agent_free(agent);
}

static void an_agent_without_name_has_an_empty_one(void **state)
{
    struct agent *agent = new_agent(STR_NONE);

    (void)state;
    assert_false(str_absent(agent->name));
    assert_true(str_empty(agent->name));
    agent_free(agent);
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    agent_free(NULL);
}

static void a_set_has_its_names_exactly(void **state)
{
    struct name_set set = { 0 };
    const struct str names[] = { STR("writer"), STR("critic") };

    (void)state;
    assert_int_equal(name_set_assign(&set, names, 2, false), 0);
    assert_true(name_set_has(&set, STR("writer")));
    assert_true(name_set_has(&set, STR("critic")));
    assert_false(name_set_has(&set, STR("Writer")));
    assert_false(name_set_has(&set, STR("write")));
    assert_false(name_set_has(&set, STR("writers")));
    assert_false(name_set_has(&set, STR("")));
    assert_int_equal(name_set_assign(&set, NULL, 0, false), 0);
}

static void all_but_turns_a_set_round(void **state)
{
    struct name_set set = { 0 };
    const struct str names[] = { STR("supervisor") };

    (void)state;
    assert_int_equal(name_set_assign(&set, names, 1, true), 0);
    assert_false(name_set_has(&set, STR("supervisor")));
    assert_true(name_set_has(&set, STR("writer")));
    assert_true(name_set_has(&set, STR("")));
    assert_int_equal(name_set_assign(&set, NULL, 0, false), 0);
}

static void an_empty_set_has_nothing_and_its_opposite_everything(void **state)
{
    struct name_set none = { 0 };
    struct name_set all = { .all_but = true };

    (void)state;
    assert_false(name_set_has(&none, STR("writer")));
    assert_true(name_set_has(&all, STR("writer")));
    assert_false(name_set_part_of(&none, STR("writer")));
    assert_true(name_set_part_of(&all, STR("writer")));
}

static void what_has_no_name_is_in_no_set(void **state)
{
    struct name_set all = { .all_but = true };

    (void)state;
    assert_false(name_set_has(&all, STR_NONE));
    assert_false(name_set_part_of(&all, STR_NONE));
}

static void a_part_of_a_tools_name_is_found_in_any_case(void **state)
{
    struct agent *agent = new_agent(STR("triage"));
    const struct name_set *tools = &agent->search_tools;

    (void)state;
    assert_true(name_set_part_of(tools, STR("search")));
    assert_true(name_set_part_of(tools, STR("web_search")));
    assert_true(name_set_part_of(tools, STR("search_code")));
    assert_true(name_set_part_of(tools, STR("TavilySearchResults")));
    assert_true(name_set_part_of(tools, STR("GOOGLE_SERPER")));
    assert_true(name_set_part_of(tools, STR("climbing"))); /* so it is upstream */
    assert_false(name_set_part_of(tools, STR("searc")));
    assert_false(name_set_part_of(tools, STR("write_file")));
    assert_false(name_set_part_of(tools, STR("")));
    agent_free(agent);
}

static void a_part_given_in_capitals_is_found_too(void **state)
{
    struct name_set set = { 0 };
    const struct str names[] = { STR("Tavily") };

    (void)state;
    assert_int_equal(name_set_assign(&set, names, 1, false), 0);
    assert_true(name_set_part_of(&set, STR("my_tavily_tool")));
    assert_int_equal(name_set_assign(&set, names, 1, true), 0);
    assert_false(name_set_part_of(&set, STR("my_tavily_tool")));
    assert_true(name_set_part_of(&set, STR("other")));
    assert_int_equal(name_set_assign(&set, NULL, 0, false), 0);
}

static void only_ascii_letters_have_two_cases(void **state)
{
    struct name_set set = { 0 };
    const struct str names[] = { STR("@[`{\xC3\xA4") };

    (void)state;
    assert_int_equal(name_set_assign(&set, names, 1, false), 0);
    assert_true(name_set_part_of(&set, STR("x@[`{\xC3\xA4y")));
    assert_false(name_set_part_of(&set, STR("x`{@[\xC3\xA4y")));
    assert_false(name_set_part_of(&set, STR("x@[`{\xC3\x84y"))); /* Ä */
    assert_int_equal(name_set_assign(&set, NULL, 0, false), 0);
}

static void assigned_names_are_copies(void **state)
{
    char bytes[] = "writer";
    struct str name = str_of(bytes);
    struct name_set set = { 0 };

    (void)state;
    assert_int_equal(name_set_assign(&set, &name, 1, false), 0);
    memset(bytes, 'x', sizeof(bytes));
    assert_true(name_set_has(&set, STR("writer")));
    assert_int_equal(name_set_assign(&set, NULL, 0, false), 0);
    assert_null(set.names);
}

static void a_set_may_be_assigned_a_part_of_itself(void **state)
{
    struct agent *agent = new_agent(STR("triage"));
    struct name_set *set = &agent->counted_nodes;

    (void)state;
    assert_int_equal(name_set_assign(set, set->names + 1, 2, true), 0);
    assert_string_equal(in_words(set), "all but investigator codebase_search");
    agent_free(agent);
}

static void names_may_be_empty_or_hold_any_byte(void **state)
{
    struct name_set set = { 0 };
    const struct str names[] = { STR(""), STR("a\0b"), STR_NONE };

    (void)state;
    assert_int_equal(name_set_assign(&set, names, 3, false), 0);
    assert_true(name_set_has(&set, STR("")));
    assert_true(name_set_has(&set, STR("a\0b")));
    assert_false(name_set_has(&set, STR("a")));
    assert_int_equal(name_set_assign(&set, NULL, 0, false), 0);
}

static void more_names_than_memory_can_count_are_refused(void **state)
{
    struct name_set set = { 0 };
    const struct str names[] = { { "a", SIZE_MAX / 2 }, { "b", SIZE_MAX / 2 }, { "c", 9 } };

    (void)state;
    assert_int_not_equal(name_set_assign(&set, names, 3, false), 0);
    assert_int_not_equal(name_set_assign(&set, names, SIZE_MAX / 2, false), 0);
    assert_null(set.names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triage_and_demo_have_the_documents_nodes),
        cmocka_unit_test(any_other_agent_shows_all_but_two_nodes),
        cmocka_unit_test(a_name_that_begins_like_triage_is_another_agent),
        cmocka_unit_test(the_name_is_copied),
        cmocka_unit_test(an_agent_without_name_has_an_empty_one),
        cmocka_unit_test(freeing_nothing_is_fine),
        cmocka_unit_test(a_set_has_its_names_exactly),
        cmocka_unit_test(all_but_turns_a_set_round),
        cmocka_unit_test(an_empty_set_has_nothing_and_its_opposite_everything),
        cmocka_unit_test(what_has_no_name_is_in_no_set),
        cmocka_unit_test(a_part_of_a_tools_name_is_found_in_any_case),
        cmocka_unit_test(a_part_given_in_capitals_is_found_too),
        cmocka_unit_test(only_ascii_letters_have_two_cases),
        cmocka_unit_test(assigned_names_are_copies),
        cmocka_unit_test(a_set_may_be_assigned_a_part_of_itself),
        cmocka_unit_test(names_may_be_empty_or_hold_any_byte),
        cmocka_unit_test(more_names_than_memory_can_count_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
