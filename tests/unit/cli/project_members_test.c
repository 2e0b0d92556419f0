/* Every member that LangGraph's own schemas have is known; others are told.
 *
 * tests/langgraph/members.json has the list, and where it came from. */
#include "cli/project_members.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void note(void *arg, struct str path)
{
    struct buf *b = arg;

    if (b->n > 0)
        buf_char(b, ' ');
    buf_str(b, path);
}

static void assert_unknown(const char *json, const char *expected)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    struct buf b;

    assert_non_null(doc);
    buf_init(&b, 4096);
    project_members_unknown(yyjson_doc_get_root(doc), note, &b);
    buf_char(&b, '\0');
    assert_string_equal(b.p, expected);
    buf_done(&b);
    yyjson_doc_free(doc);
}

/* {"a":{"b":1}} for "a.b". */
static void assert_known(const char *path)
{
    char text[512] = "";
    size_t depth = 1, n = (size_t)snprintf(text, sizeof(text), "{\"");

    for (; *path != '\0'; path++) {
        depth += *path == '.';
        n += (size_t)(*path == '.' ? snprintf(text + n, sizeof(text) - n, "\":{\"")
                                   : snprintf(text + n, sizeof(text) - n, "%c", *path));
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n, "\":1");
    while (depth-- > 0)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "}");
    assert_in_range(n, 1, sizeof(text) - 1);
    assert_unknown(text, "");
}

static void every_member_of_the_schemas_is_known(void **state)
{
    yyjson_doc *doc = yyjson_read_file("tests/langgraph/members.json", 0, NULL, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc), *value;
    size_t i, max, n = 0;

    (void)state;
    assert_non_null(doc);
    yyjson_arr_foreach(yyjson_obj_get(root, "honoured"), i, max, value)
    {
        assert_known(yyjson_get_str(value));
        n++;
    }
    json_each_member(key, sentence, yyjson_obj_get(root, "ignored")) {
        assert_known(yyjson_get_str(key));
        n++;
    }
    assert_in_range(n, 50, 200);
    yyjson_doc_free(doc);
}

static void others_are_told_with_their_paths(void **state)
{
    (void)state;
    assert_unknown("{\"color\":1}", "color");
    assert_unknown("{\"store\":{\"ttl\":{\"color\":1,\"default_ttl\":1}}}", "store.ttl.color");
    assert_unknown("{\"stor\":1,\"store\":{\"\":1,\"path.\":1}}", "stor store. store.path.");
    assert_unknown("{\"python_version\":\"3.12\"}", "python_version");
    assert_unknown("{\"http\":{\"color\":null,\"colors\":[],\"cors\":{\"color\":{}}}}", "");
    assert_unknown("{\"graphs\":{\"a\":{\"color\":1}},\"env\":\".env\"}", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_of_the_schemas_is_known),
        cmocka_unit_test(others_are_told_with_their_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
