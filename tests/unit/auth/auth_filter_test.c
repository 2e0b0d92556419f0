/* Which metadata the filters of a project's handlers let pass.  Whatever is not understood lets
 * nothing pass. */
#include "auth/auth_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

struct row {
    const char *filter;
    const char *metadata;
    bool lets;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (auth_filter_lets(str_of(rows[i].filter), str_of(rows[i].metadata)) != rows[i].lets)
            fail_msg("%s on %s", rows[i].filter, rows[i].metadata);
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void no_filter_lets_everything_pass(void **state)
{
    static const struct row rows[] = {
        { "", "{\"owner\":\"ann\"}", true },   { "", "", true },   { "null", "{}", true },
        { "{}", "{\"owner\":\"ann\"}", true }, { "{}", "", true },
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void values_must_be_the_same(void **state)
{
    static const struct row rows[] = {
        { "{\"owner\":\"ann\"}", "{\"owner\":\"ann\",\"more\":1}", true },
        { "{\"owner\":\"ann\"}", "{\"owner\":\"bob\"}", false },
        { "{\"owner\":\"ann\"}", "{\"owner\":[\"ann\"]}", false },
        { "{\"owner\":\"ann\"}", "{}", false },
        { "{\"owner\":\"ann\"}", "", false },
        { "{\"owner\":null}", "{}", false },
        { "{\"owner\":{\"$eq\":\"ann\"}}", "{\"owner\":\"ann\"}", true },
        { "{\"owner\":{\"$eq\":\"ann\"}}", "{\"owner\":\"bob\"}", false },
        { "{\"owner\":\"ann\",\"team\":1}", "{\"owner\":\"ann\",\"team\":1}", true },
        { "{\"owner\":\"ann\",\"team\":1}", "{\"owner\":\"ann\",\"team\":2}", false },
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void lists_must_have_the_elements(void **state)
{
    static const struct row rows[] = {
        { "{\"r\":{\"$contains\":\"a\"}}", "{\"r\":[\"b\",\"a\"]}", true },
        { "{\"r\":{\"$contains\":\"a\"}}", "{\"r\":[\"b\"]}", false },
        { "{\"r\":{\"$contains\":\"a\"}}", "{\"r\":\"a\"}", false },
        { "{\"r\":{\"$contains\":[\"a\",\"b\"]}}", "{\"r\":[\"b\",\"c\",\"a\"]}", true },
        { "{\"r\":{\"$contains\":[\"a\",\"b\"]}}", "{\"r\":[\"a\"]}", false },
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void filters_may_be_joined(void **state)
{
    static const struct row rows[] = {
        { "{\"$or\":[{\"a\":1},{\"b\":1}]}", "{\"b\":1}", true },
        { "{\"$or\":[{\"a\":1},{\"b\":1}]}", "{\"b\":2}", false },
        { "{\"$or\":[]}", "{\"b\":2}", false },
        { "{\"$and\":[{\"a\":1},{\"b\":1}]}", "{\"a\":1,\"b\":1}", true },
        { "{\"$and\":[{\"a\":1},{\"b\":1}]}", "{\"a\":1}", false },
        { "{\"$and\":{\"a\":1}}", "{\"a\":1}", false },
        { "{\"c\":1,\"$or\":[{\"a\":1},{\"b\":1}]}", "{\"b\":1}", false },
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void what_is_not_understood_lets_nothing_pass(void **state)
{
    static const struct row rows[] = {
        { "{\"a\":{\"$gt\":0}}", "{\"a\":1}", false },
        { "{\"a\":{}}", "{\"a\":1}", false },
        { "{\"a\":{\"$eq\":1,\"$in\":[1]}}", "{\"a\":1}", false },
        { "{\"$not\":{\"a\":2}}", "{\"a\":1}", false },
        { "[]", "{\"a\":1}", false },
        { "true", "{\"a\":1}", false },
        { "{\"a\":1", "{\"a\":1}", false },
        { "{\"a\":1}", "{\"a\":1", false },
    };

    (void)state;
    CHECK_ROWS(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_filter_lets_everything_pass),
        cmocka_unit_test(values_must_be_the_same),
        cmocka_unit_test(lists_must_have_the_elements),
        cmocka_unit_test(filters_may_be_joined),
        cmocka_unit_test(what_is_not_understood_lets_nothing_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
