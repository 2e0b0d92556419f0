#include "redis/push.h"

#include "base/error.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

#define SUBSCRIBED "*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n"
#define MESSAGE    "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$2\r\nc1\r\n$4\r\na\r\nb\r\n"

static void a_message_has_its_channel_and_its_payload(void **state)
{
    struct push push;

    (void)state;
    assert_int_equal(push_read(STR(MESSAGE "*4"), &push), sizeof(MESSAGE) - 1);
    assert_int_equal(push.kind, PUSH_MESSAGE);
    assert_true(str_is(push.channel, "c1"));
    assert_true(str_is(push.payload, "a\r\nb"));
    assert_int_equal(push_read(STR(SUBSCRIBED), &push), sizeof(SUBSCRIBED) - 1);
    assert_int_equal(push.kind, PUSH_OTHER);
    assert_int_equal(push_read(STR("-NOPERM no\r\n"), &push), 12);
    assert_int_equal(push.kind, PUSH_ERROR);
    assert_true(str_is(push.payload, "NOPERM no"));
}

static void half_of_one_is_waited_for(void **state)
{
    struct push push;

    (void)state;
    for (size_t n = 0; n < sizeof(MESSAGE) - 1; n++)
        assert_int_equal(push_read(str_make(MESSAGE, n), &push), 0);
}

static void what_redis_does_not_say_is_refused(void **state)
{
    static const char *const bad[] = {
        "+OK\r\n",          "*x\r\n",  "*\r\n",        "\r\n",
        "*1\r\n$1\r\nab\r", "*17\r\n", "*1\r\n*1\r\n", "*1\r\n$00000000000000000000000000"
    };
    struct push push;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(push_read(str_of(bad[i]), &push), ERR_SYNTAX);
    assert_int_equal(push_read(STR("*1\r\n$536870913\r\n"), &push), ERR_TOO_LARGE);
}

struct seen {
    unsigned n, enough;
};

static bool on_push(void *arg, const struct push *push)
{
    struct seen *seen = arg;

    assert_true(push->kind == PUSH_OTHER || str_is(push->payload, "a\r\nb"));
    return ++seen->n != seen->enough;
}

/* However they are cut. */
static void they_come_as_the_bytes_do(void **state)
{
    static const char text[] = SUBSCRIBED MESSAGE MESSAGE;
    struct seen seen = { 0 };
    struct pushes pushes;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    pushes_init(&pushes);
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        assert_int_equal(write(ends[1], text + i, 1), 1);
        assert_int_equal(pushes_take(&pushes, ends[0], on_push, &seen), 0);
    }
    assert_int_equal(seen.n, 3);
    assert_int_equal(pushes_take(&pushes, ends[0], on_push, &seen), 0);
    assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
    seen = (struct seen){ .enough = 2 };
    assert_int_equal(pushes_take(&pushes, ends[0], on_push, &seen), 0);
    assert_int_equal(seen.n, 2);
    pushes_done(&pushes);
    (void)close(ends[1]);
    assert_int_equal(pushes_take(&pushes, ends[0], on_push, &seen), ERR_CLOSED);
    (void)close(ends[0]);
    pushes_done(&pushes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_has_its_channel_and_its_payload),
        cmocka_unit_test(half_of_one_is_waited_for),
        cmocka_unit_test(what_redis_does_not_say_is_refused),
        cmocka_unit_test(they_come_as_the_bytes_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
