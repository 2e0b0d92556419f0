/* Valid and invalid values, and where the error message points. */
#include "schema/json_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "failing_malloc.h"

struct example {
    const char *schema;
    const char *fits[6];
    const char *fails[6];
};

static const struct example examples[] = {
    { "{}", { "1", "null", "\"a\"", "{}", "[]" }, { "{", "" } },
    { "true", { "1", "null" }, { 0 } },
    { "false", { 0 }, { "1", "null" } },
    { "{\"type\":\"string\"}", { "\"\"", "\"a\"" }, { "1", "null", "[]" } },
    { "{\"type\":\"integer\"}", { "1", "1.0", "-3", "1e300" }, { "1.5", "\"1\"" } },
    { "{\"type\":[\"string\",\"null\"]}", { "\"a\"", "null" }, { "false", "0" } },
    { "{\"type\":\"boolean\"}", { "true", "false" }, { "0", "null" } },
    { "{\"enum\":[\"a\",1,null]}", { "\"a\"", "1", "1.0", "null" }, { "\"b\"", "2" } },
    { "{\"const\":{\"a\":[1]}}", { "{\"a\":[1]}" }, { "{\"a\":[2]}", "1" } },
    { "{\"minimum\":2,\"exclusiveMaximum\":5}", { "2", "4.9", "\"x\"" }, { "1.9", "5" } },
    { "{\"exclusiveMinimum\":2,\"maximum\":5}", { "2.1", "5" }, { "2", "5.1" } },
    { "{\"multipleOf\":0.1}", { "0.3", "7", "-1.1" }, { "0.35" } },
    { "{\"minLength\":2,\"maxLength\":3}",
      { "\"äö\"", "\"日本語\"", "1" },
      { "\"ä\"", "\"abcd\"" } },
    { "{\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}",
      { "[1]", "[1,2]", "{}" },
      { "[]", "[1,2,3]", "[1,\"a\"]" } },
    { "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}",
      { "[]", "[\"a\"]" },
      { "[1]", "[\"a\",2]" } },
    { "{\"uniqueItems\":true}",
      { "[1,2]", "[]", "[[1],[2]]" },
      { "[1,1.0]", "[{\"a\":1},{\"a\":1}]" } },
    { "{\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"integer\"}},\"additionalProperties\":false}",
      { "{\"a\":1}", "[]" },
      { "{}", "{\"a\":\"x\"}", "{\"a\":1,\"b\":2}" } },
    { "{\"additionalProperties\":{\"type\":\"null\"},\"maxProperties\":1}",
      { "{}", "{\"x\":null}" },
      { "{\"x\":1}", "{\"x\":null,\"y\":null}" } },
    { "{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", { "\"a\"", "4" }, { "2" } },
    { "{\"oneOf\":[{\"minimum\":3},{\"maximum\":5}]}", { "2", "6" }, { "4" } },
    { "{\"allOf\":[{\"minimum\":3},{\"maximum\":5}]}", { "4" }, { "2", "6" } },
    { "{\"not\":{\"type\":\"string\"}}", { "1" }, { "\"a\"" } },
    { "{\"$ref\":\"#/$defs/pick\",\"$defs\":{\"pick\":{\"enum\":[\"a\"]}}}",
      { "\"a\"" },
      { "\"b\"" } },
    { "{\"pattern\":\"^[\\\\s\\\\S]{2,9}$\"}", { "\"a \\u00a0\"", "\"\\n日\"" }, { "\"a\"" } },
    { "{\"pattern\":\"^[^\\\\S\\\\n]+$\"}",
      { "\" \\t\\u00a0\\ufeff\\u2028\\u3000\"" },
      { "\" a\"", "\"\\n\"", "\"\\u200b\"" } },
    /* Schemas elsewhere than below $defs, also ones that name themselves. */
    { "{\"$ref\":\"#/x/y\",\"x\":{\"y\":{\"items\":{\"$ref\":\"#/x/y\"},\"type\":\"array\"}}}",
      { "[[]]" },
      { "[1]" } },
    { "{\"$ref\":\"#/none\"}", { 0 }, { "1" } },
    /* A list of lists of lists … */
    { "{\"$ref\":\"#/$defs/l\",\"$defs\":{\"l\":{\"items\":{\"$ref\":\"#/$defs/l\"},\"type\":\"array\"}}}",
      { "[[[]],[]]" },
      { "[[[1]]]" } },
    /* One that never ends is not checked for ever. */
    { "{\"$ref\":\"#\"}", { 0 }, { "1" } },
    { "{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", { 0 }, { "1" } },
};

static void examples_hold(void **state)
{
    struct json_schema_problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *e = &examples[i];
        struct str schema = str_of(e->schema);

        for (size_t k = 0; k < 6 && e->fits[k] != NULL; k++)
            if (!json_schema_check(schema, str_of(e->fits[k]), &problem))
                fail_msg("%s should fit %s: %s", e->fits[k], e->schema, problem.text);
        for (size_t k = 0; k < 6 && e->fails[k] != NULL; k++)
            if (json_schema_check(schema, str_of(e->fails[k]), &problem) ||
                problem.text[0] == '\0')
                fail_msg("%s should not fit %s", e->fails[k], e->schema);
    }
}

static void a_problem_says_where(void **state)
{
    struct json_schema_problem problem;

    (void)state;
    assert_false(json_schema_check(
        STR("{\"properties\":{\"a\":{\"items\":{\"properties\":{\"b\":{\"type\":\"string\"}}}}}}"),
        STR("{\"a\":[{},{\"b\":1}]}"), &problem));
    assert_string_equal(problem.text, "a[1].b must be of type string");
    assert_false(json_schema_check(STR("{\"type\":\"string\"}"), STR("1"), &problem));
    assert_string_equal(problem.text, "it must be of type string");
}

/* The word that is wrong begins the reason. */
static void what_cannot_be_checked_is_refused(void **state)
{
    static const char *const unusable[][2] = {
        { "{\"unevaluatedProperties\":false}", "\"unevaluatedProperties\" is not supported" },
        { "{\"items\":{\"$dynamicRef\":\"#a\"}}", "\"$dynamicRef\" is not supported" },
        { "{\"not\":{\"$ref\":\"#/none\"}}",
          "\"$ref\" leads to nothing in this schema: #/none" },
        { "{\"$ref\":5}", "\"$ref\" must be a text" },
        { "{\"$ref\":{\"a\":1}}", "\"$ref\" must be a text" },
        { "{\"$id\":{\"a\":1},\"$ref\":\"b\"}", "\"$ref\" leads to nothing" },
        { "{\"$ref\":\"other.json\"}", "\"$ref\" leads to nothing in this schema: other.json" },
        { "{\"pattern\":\"(\"}", "\"pattern\" has the pattern (: missing closing parenthesis" },
        { "{\"pattern\":\"(*UCP)a\"}", "\"pattern\" has the pattern (*UCP)a: a group that" },
        { "{\"pattern\":\"\\\\Aa\"}", "\"pattern\" has the pattern \\Aa: an escape that" },
        { "{\"patternProperties\":{\"[\":{}}}", "\"patternProperties\" has the pattern [" },
        { "{\"items\":[{}]}", "\"items\" must be a schema" },
        { "{\"type\":\"text\"}", "\"type\" must be a type" },
        { "{\"minLength\":-1}", "\"minLength\" must not be negative" },
        { "{\"multipleOf\":0}", "\"multipleOf\" must be more than 0" },
        { "{\"required\":[1]}", "\"required\" must be a list of names" },
        { "{\"properties\":{\"a\":{\"$id\":\"b\"}}}", "\"$id\" is supported at the top" },
        { "{\"$ref\":\"#/x\",\"x\":{\"unevaluatedItems\":false}}",
          "\"unevaluatedItems\" is not supported" },
        { "{\"$ref\":\"#/x/y\",\"x\":{\"y\":[]}}", "\"schema\" must be an object" },
        { "[]", "\"schema\" must be an object" },
        { "{", "\"schema\" cannot be read as JSON" },
    };
    struct json_schema_problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof(unusable) / sizeof(unusable[0]); i++)
        if (json_schema_usable(str_of(unusable[i][0]), &problem) ||
            strncmp(problem.text, unusable[i][1], strlen(unusable[i][1])) != 0)
            fail_msg("%s: %s", unusable[i][0], problem.text);
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
        if (strstr(examples[i].schema, "none") == NULL &&
            !json_schema_usable(str_of(examples[i].schema), &problem))
            fail_msg("%s: %s", examples[i].schema, problem.text);
}

static void check_undecided(const char *schema, const char *value, const char *why)
{
    struct json_schema_problem problem;

    if (json_schema_check(str_of(schema), str_of(value), &problem) ||
        strstr(problem.text, why) == NULL)
        fail_msg("%s: %s", schema, problem.text);
}

/* `not` does not turn "cannot be checked" into "fits", nor does another branch hide it. */
static void what_is_undecided_never_fits(void **state)
{
    (void)state;
    check_undecided("{\"not\":{\"$ref\":\"#/none\"}}", "1", "a $ref leads to nothing");
    check_undecided("{\"anyOf\":[{\"$ref\":\"#/none\"},true]}", "1", "a $ref leads to nothing");
    check_undecided("{\"not\":{\"$ref\":\"#\"}}", "1", "the schema goes too deep");
    check_undecided("{\"if\":{\"$ref\":\"#\"},\"else\":true}", "1", "the schema goes too deep");
    check_undecided("{\"not\":{\"pattern\":\"^(a+)+$\"}}",
                    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"", "a pattern takes too long");
}

static void any_number_of_distinct_items_is_unique(void **state)
{
    enum { ITEMS = 20000 };
    char *list = malloc(ITEMS * 8);
    struct json_schema_problem problem;
    size_t n = 0;

    (void)state;
    assert_non_null(list);
    for (int i = 0; i < ITEMS; i++)
        n += (size_t)sprintf(list + n, "%c%d", i == 0 ? '[' : ',', i);
    list[n++] = ']';
    assert_true(json_schema_check(STR("{\"uniqueItems\":true}"), str_make(list, n), &problem));
    list[n - 1] = ',';
    memcpy(list + n, "7]", 2);
    assert_false(
        json_schema_check(STR("{\"uniqueItems\":true}"), str_make(list, n + 2), &problem));
    free(list);
}

/* @n times @item between @before and @after; an @ in it stands for the item's number. */
static struct str list_of(const char *before, int n, const char *item, const char *after)
{
    char *text = malloc(100 + (size_t)n * 40);
    size_t at;

    assert_non_null(text);
    at = (size_t)sprintf(text, "%s", before);
    for (int i = 0; i < n; i++) {
        text[at] = ',';
        at += i > 0 && before[0] != '"';
        for (const char *p = item; *p != '\0'; p++)
            if (*p == '@')
                at += (size_t)sprintf(text + at, "%d", i);
            else
                text[at++] = *p;
    }
    at += (size_t)sprintf(text + at, "%s", after);
    return str_make(text, at);
}

static void check_too_long(struct str schema, struct str value, const char *why)
{
    struct json_schema_problem problem;

    if (json_schema_check(schema, value, &problem) || strstr(problem.text, why) == NULL)
        fail_msg("%.200s: %s", schema.p, problem.text);
    free((char *)(uintptr_t)schema.p);
    free((char *)(uintptr_t)value.p);
}

/* Each of these took from seconds to hours, on the journal's thread. */
static void no_check_takes_long(void **state)
{
    struct json_schema_problem problem;
    struct str text = list_of("\"", 30000, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b\"");

    (void)state;
    check_too_long(list_of("{\"pattern\":\"", 1, "a*[xy]", "\"}"), text, "a pattern takes");
    check_too_long(list_of("{\"required\":[", 50000, "\"k@\"", "]}"),
                   list_of("{", 50000, "\"k@\":1", "}"), "it takes too long");
    check_too_long(list_of("{\"properties\":{", 50000, "\"k@\":{}", "}}"),
                   list_of("{", 50000, "\"k@\":1", "}"), "it takes too long");
    check_too_long(list_of("{\"items\":{\"enum\":[", 20000, "@", "]}}"),
                   list_of("[", 50000, "19999", "]"), "it takes too long");
    check_too_long(list_of("{\"allOf\":[", 4000, "{\"uniqueItems\":true}", "]}"),
                   list_of("[", 50000, "@", "]"), "it takes too long");
    struct str anchors = list_of("{\"$defs\":{\"z\":{\"$anchor\":\"z\"}},\"allOf\":[", 50000,
                                 "{\"$ref\":\"#z\"}", "]}");
    assert_false(json_schema_usable(anchors, &problem));
    assert_string_equal(problem.text, "\"$ref\" is there too often for so large a schema");
    check_too_long(anchors, list_of("", 1, "1", ""), "it takes too long");
}

/* An answer that is refused for lack of memory is not one that does not fit. */
static void every_allocation_may_fail(void **state)
{
    const struct str schema =
        STR("{\"items\":{\"pattern\":\"^a\"},\"uniqueItems\":true,\"$ref\":\"#/$defs/a\","
            "\"$defs\":{\"a\":{\"patternProperties\":{\"b\":{}}}}}");
    struct json_schema_problem problem;

    (void)state;
    skip_without_failing_allocations();
    for (size_t n = 1;; n++) {
        n_allocations = 0;
        fail_at = n;
        bool usable = json_schema_usable(schema, &problem), starved = problem.no_memory;
        bool fits = json_schema_check(schema, STR("[\"a\",\"ab\"]"), &problem);
        bool passed = n_allocations < fail_at;
        fail_at = 0;
        if (usable && fits && passed)
            break;
        assert_true(usable || starved);
        assert_true(fits || problem.no_memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_hold),
        cmocka_unit_test(what_cannot_be_checked_is_refused),
        cmocka_unit_test(what_is_undecided_never_fits),
        cmocka_unit_test(any_number_of_distinct_items_is_unique),
        cmocka_unit_test(no_check_takes_long),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_problem_says_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
