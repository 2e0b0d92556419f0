/* Exceptions in what a process has left on stderr. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agents/traceback.h"
#include "expect.h"

#define FRAMES                                 \
    "Traceback (most recent call last):\n"     \
    "  File \"/app/graph.py\", line 6, in f\n" \
    "    raise e\n"                            \
    "    ^^^^^^^\n"

static void is(const char *text, const char *type, const char *message)
{
    struct exception e;

    assert_true(traceback_read(str_of(text), &e));
    expect_str(e.type, type);
    expect_str(e.message, message);
}

static void is_none(const char *text)
{
    struct exception e;

    assert_false(traceback_read(str_of(text), &e));
}

static void the_line_behind_the_frames_is_the_exception(void **state)
{
    (void)state;
    is(FRAMES "ValueError: no such repository\n", "ValueError", "no such repository");
    is("starting\n" FRAMES "a.b.Error: x: y\n\n", "Error", "x: y");
    is(FRAMES "KeyboardInterrupt\n", "KeyboardInterrupt", "KeyboardInterrupt");
    is(FRAMES "ValueError: \n", "ValueError", "ValueError");
    is(FRAMES "what is this: x\n", NULL, "what is this: x");
}

static void the_note_of_langgraph_is_not_the_message(void **state)
{
    (void)state;
    is(FRAMES "ValueError: no\nDuring task with name 'writer' and id '1-2'\n", "ValueError",
       "no");
    is(FRAMES "E: one\n  two\n\nthree\nDuring task with name 'a' and id '1'\n"
              "During task with name 'b' and id '2'\n",
       "E", "one\n  two\n\nthree");
}

static void the_last_traceback_counts(void **state)
{
    (void)state;
    is(FRAMES "KeyError: 'a'\n\nDuring handling of the above exception, another exception "
              "occurred:\n\n" FRAMES "RuntimeError: b\n",
       "RuntimeError", "b");
}

static void the_beginning_may_be_cut_off(void **state)
{
    (void)state;
    is("    return f()\n  File \"x.py\", line 1, in f\n    g()\nOSError: full\n", "OSError",
       "full");
}

static void a_group_says_its_own_message(void **state)
{
    (void)state;
    is("  + Exception Group Traceback (most recent call last):\n"
       "  |   File \"/app/g.py\", line 5, in <module>\n"
       "  |     asyncio.run(m())\n"
       "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
       "  +-+---------------- 1 ----------------\n"
       "    | Traceback (most recent call last):\n"
       "    |   File \"/app/g.py\", line 2, in a\n"
       "    |     raise ValueError(\"x\")\n"
       "    | ValueError: x\n"
       "    +------------------------------------\n",
       "ExceptionGroup", "unhandled errors in a TaskGroup (1 sub-exception)");
}

static void node_says_the_exception_first(void **state)
{
    (void)state;
    is("/app/n.js:1\nfunction f(){throw new TypeError()}; f()\n             ^\n\n"
       "TypeError: no such\nthing\n    at f (/app/n.js:1:20)\n    at node:internal/main:28\n\n"
       "Node.js v20.20.2\n",
       "TypeError", "no such\nthing");
    is_none(
        "node:internal/process/promises\n[UnhandledPromiseRejection: x]\n\nNode.js v20.1.0");
}

static void other_words_are_no_traceback(void **state)
{
    (void)state;
    is_none("");
    is_none("Traceback\nBoom: no\n");
    is_none("ValueError: no\n");
    is_none("  File \"x.py\", line 1\n    cut");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_behind_the_frames_is_the_exception),
        cmocka_unit_test(the_note_of_langgraph_is_not_the_message),
        cmocka_unit_test(the_last_traceback_counts),
        cmocka_unit_test(the_beginning_may_be_cut_off),
        cmocka_unit_test(a_group_says_its_own_message),
        cmocka_unit_test(node_says_the_exception_first),
        cmocka_unit_test(other_words_are_no_traceback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
