/* Of two connections of one gateway only the newer one's requests are done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

#include "cluster/newest.h"

#include <stdio.h>

/* A journal that is closed forwards what is posted: here it is counted. */
static void on_forward(void *arg, struct journal_request *chain)
{
    for (; chain != NULL; chain = chain->next)
        ++*(size_t *)arg;
}

static void on_answered(struct loop_call *call)
{
    (void)call;
}

static void an_old_connections_requests_are_not_posted(void **state)
{
    size_t n_posted = 0;
    struct journal_options options = { .forward = on_forward, .forward_arg = &n_posted };
    struct newest_place first, second, other;
    struct journal_request req;
    struct journal *journal;
    struct newest *n;
    struct error err;

    (void)state;
    assert_int_equal(journal_new(&options, &journal, &err), 0);
    assert_int_equal(newest_new(&n), 0);
    journal_request_init(&req, NULL, NULL, on_answered);
    (void)journal_request_begin(&req, JOURNAL_CANCEL);
    assert_true(newest_read_place(STR("one 1"), &first));
    assert_true(newest_read_place(STR("one 2"), &second));
    assert_true(newest_read_place(STR("other 1"), &other));
    first.journal = second.journal = other.journal = journal;
    assert_true(newest_begin(n, &first));
    assert_true(newest_begin(n, &other));
    assert_true(newest_post(n, &first, &req));
    assert_true(newest_begin(n, &second));
    assert_false(newest_post(n, &first, &req));
    assert_true(newest_post(n, &second, &req));
    assert_true(newest_post(n, &other, &req));
    assert_int_equal(n_posted, 3);
    assert_false(newest_begin(n, &first)); /* its head comes late */
    newest_free(n);
    journal_free(journal);
    req.loop_call.is_pending = false;
    journal_request_done(&req);
}

static void gateways_of_long_ago_are_forgotten(void **state)
{
    struct newest_place place = { .number = 5 };
    struct newest *n;

    (void)state;
    assert_int_equal(newest_new(&n), 0);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(place.gateway, sizeof(place.gateway), "gateway-%d", i);
        assert_true(newest_begin(n, &place));
    }
    place.number = 4;
    assert_false(newest_begin(n, &place)); /* the last one is known */
    newest_free(n);
}

static void a_place_is_a_name_and_a_number(void **state)
{
    static const char *const bad[] = {
        "", "one", "one ", " 1", "one x", "one -1", "one 1 2", "one 1234567890123456789"
    };
    struct newest_place place;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(newest_read_place(str_of(bad[i]), &place));
    assert_false(newest_read_place(STR_NONE, &place));
    assert_true(newest_read_place(STR("a-b 17"), &place));
    assert_string_equal(place.gateway, "a-b");
    assert_int_equal(place.number, 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_connections_requests_are_not_posted),
        cmocka_unit_test(gateways_of_long_ago_are_forgotten),
        cmocka_unit_test(a_place_is_a_name_and_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
