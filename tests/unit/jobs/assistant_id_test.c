/* Ids of assistants, ids that sort by time, objects that are put over one another. */
#include "base/buf.h"
#include "base/random.h"
#include "jobs/assistant_id.h"
#include "base/json_merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

static void assistants_have_the_ids_of_every_server(void **state)
{
    char id[KEY_UUID_CHARS + 1] = { 0 };

    (void)state;
    assert_true(assistant_id_of(STR("agent"), id));
    assert_string_equal(id, "fe096781-5601-53d2-b2f6-0d3403f7e9ca");
    assert_true(assistant_id_is(STR("agent"), STR("agent")));
    assert_true(assistant_id_is(str_of(id), STR("agent")));
    assert_false(assistant_id_is(str_of(id), STR("other")));
    assert_false(assistant_id_is(STR(""), STR("agent")));
}

static void later_ids_sort_behind_earlier_ones(void **state)
{
    char a[KEY_UUID_CHARS + 1] = { 0 }, b[KEY_UUID_CHARS + 1] = { 0 };

    (void)state;
    assert_true(random_uuid_at(1794704660754, a) && random_uuid_at(1794704660755, b));
    assert_true(strcmp(a, b) < 0);
    assert_true(a[14] == '7' && strchr("89ab", a[19]) != NULL);
}

static void expect_merged(const char *under, const char *over, const char *want)
{
    struct buf b;

    buf_init(&b, 1000);
    json_merge(&b, under != NULL ? str_of(under) : STR_NONE, str_of(over));
    expect_str(buf_text(&b), want);
    buf_done(&b);
}

static void one_object_is_put_over_another(void **state)
{
    (void)state;
    expect_merged("{\"a\":1,\"b\":{\"x\":1}}", "{\"b\":{\"y\":1.50},\"c\":[]}",
                  "{\"a\":1,\"b\":{\"y\":1.50},\"c\":[]}");
    expect_merged("{}", "{}", "{}");
    expect_merged(NULL, "{\"a\":null}", "{\"a\":null}");
    expect_merged("[1]", "nonsense", "{}");
    expect_merged("{\"a\":1}", "null", "{\"a\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assistants_have_the_ids_of_every_server),
        cmocka_unit_test(later_ids_sort_behind_earlier_ones),
        cmocka_unit_test(one_object_is_put_over_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
