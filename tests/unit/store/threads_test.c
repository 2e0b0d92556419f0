/* Threads and runs in the store; ids of assistants; objects, one over another. */
#include "base/error.h"
#include "base/random.h"
#include "jobs/assistant_id.h"
#include "base/json_merge.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"
#include "open_store.h"

static int64_t add_thread(struct store *s, const char *id, const char *owner, bool temporary)
{
    static int64_t clock;
    struct thread_row row = { .id = str_of(id),
                              .owner = str_of(owner),
                              .status = STR("idle"),
                              .metadata = STR("{}"),
                              .config = STR("{}"),
                              .interrupts = STR("{}"),
                              .is_temporary = temporary };

    row.created = row.updated = ++clock;
    ok(store_thread_insert(s, &row, &why));
    return row.key;
}

static int64_t add_run(struct store *s, const char *id, int64_t thread, int64_t ordinal)
{
    struct job_row row = { .id = str_of(id),
                           .agent = STR("a"),
                           .state = STR("succeeded"),
                           .first_seq = 1,
                           .producer_seq = -1,
                           .published = -1,
                           .thread = thread,
                           .ordinal = ordinal,
                           .finished = 1,
                           .expiry_seconds = 1 };
    struct run_row run = { .assistant = STR("as"),
                           .metadata = STR("{\"m\":1}"),
                           .kwargs = STR("{\"k\":1}"),
                           .strategy = STR("enqueue"),
                           .modes = 5,
                           .subgraphs = 1 };

    ok(store_job_insert(s, &row, &why));
    run.job = row.key;
    ok(store_run_insert(s, &run, &why));
    return row.key;
}

/* --- threads --------------------------------------------------------------------------- */

static void a_thread_comes_out_as_it_is(void **state)
{
    struct store *s = *state;
    struct thread_row row;
    int64_t key = add_thread(s, "t", "me", false);

    ok(store_thread_get(s, STR("t"), &row, &why));
    assert_int_equal(row.key, key);
    expect_str(row.owner, "me");
    expect_str(row.status, "idle");
    assert_true(str_absent(row.values) && str_absent(row.error));

    row.status = STR("error");
    row.error = STR("{}");
    row.n_runs = 3;
    row.updated = 99;
    ok(store_thread_update(s, &row, &why));
    ok(store_thread_values(s, key, STR("{\"v\":1}"), 100, &why));
    ok(store_thread_by_key(s, key, &row, &why));
    expect_str(row.status, "error");
    expect_str(row.values, "{\"v\":1}");
    assert_true(row.n_runs == 3 && row.updated == 100 && row.state_updated == 100);

    struct thread_row again = { .id = STR("t"),
                                .status = STR("idle"),
                                .metadata = STR("{}"),
                                .config = STR("{}"),
                                .interrupts = STR("{}") };
    assert_int_equal(store_thread_insert(s, &again, &why), ERR_REFUSED);
    ok(store_thread_delete(s, key, &why));
    assert_int_equal(store_thread_get(s, STR("t"), &row, &why), ERR_NOT_FOUND);
    assert_int_equal(store_thread_delete(s, key, &why), ERR_NOT_FOUND);
    assert_int_equal(store_thread_update(s, &again, &why), ERR_NOT_FOUND);
}

struct list {
    char text[64];
    size_t n, most;
};

static int put(struct list *l, struct str id)
{
    memcpy(l->text + l->n, id.p, id.n);
    l->n += id.n;
    l->text[l->n] = '\0';
    return l->most != 0 && l->n >= l->most;
}

static int on_thread(void *arg, const struct thread_row *row)
{
    return put(arg, row->id);
}

static int on_job(void *arg, const struct job_row *row)
{
    return put(arg, row->id);
}

static void expect_threads(struct store *s,
                           enum thread_order order,
                           bool ascending,
                           struct str owner,
                           const char *want)
{
    struct list l = { .n = 0 };

    ok(store_threads(s, order, ascending, owner, on_thread, &l, &why));
    assert_string_equal(l.text, want);
}

static void threads_come_in_every_order(void **state)
{
    struct store *s = *state;
    struct list few = { .most = 2 };

    (void)add_thread(s, "b", "me", false);
    (void)add_thread(s, "a", NULL, false);
    int64_t c = add_thread(s, "c", "me", false);
    (void)add_thread(s, "x", "me", true);
    ok(store_thread_values(s, c - 1, STR("1"), 1000, &why));
    expect_threads(s, THREADS_BY_CREATED, false, STR_NONE, "cab");
    expect_threads(s, THREADS_BY_CREATED, true, STR_NONE, "bac");
    expect_threads(s, THREADS_BY_ID, true, STR_NONE, "abc");
    expect_threads(s, THREADS_BY_UPDATED, false, STR_NONE, "acb");
    expect_threads(s, THREADS_BY_STATUS, true, STR_NONE, "bac");
    expect_threads(s, THREADS_BY_CREATED, false, STR("me"), "cb");
    ok(store_threads(s, THREADS_BY_ID, false, STR_NONE, on_thread, &few, &why));
    assert_string_equal(few.text, "cb");
}

/* --- runs ------------------------------------------------------------------------------ */

static void runs_of_a_thread_come_newest_first(void **state)
{
    struct store *s = *state;
    struct list l = { .n = 0 };
    struct run_row run;
    int64_t t = add_thread(s, "t", NULL, false), other = add_thread(s, "u", NULL, false);
    int64_t key = add_run(s, "1", t, 1);

    (void)add_run(s, "2", t, 2);
    (void)add_run(s, "x", other, 1);
    ok(store_thread_jobs(s, t, on_job, &l, &why));
    assert_string_equal(l.text, "21");
    ok(store_run_get(s, key, &run, &why));
    expect_str(run.thread, "t");
    expect_str(run.kwargs, "{\"k\":1}");
    assert_true(run.modes == 5 && run.subgraphs == 1);
    assert_int_equal(store_run_get(s, 1234, &run, &why), ERR_NOT_FOUND);
}

static void what_a_run_was_made_with_goes_with_its_input(void **state)
{
    struct store *s = *state;
    struct run_row run;
    struct thread_row row;
    size_t n;
    int64_t t = add_thread(s, "t", NULL, false), temporary = add_thread(s, "u", NULL, true);
    int64_t key = add_run(s, "1", t, 1);

    ok(store_append(s, key, 2, STR("{}\n{}"), -1, &why));
    ok(store_expire(s, 100000, 1000000, 1, &n, &why));
    ok(store_run_get(s, key, &run, &why));
    expect_str(run.kwargs, "{}");
    ok(store_job_delete(s, key, &why));
    assert_int_equal(store_run_get(s, key, &run, &why), ERR_NOT_FOUND);
    ok(store_thread_get(s, STR("t"), &row, &why));
    /* A thread that was made for one run goes with it. */
    ok(store_job_delete(s, add_run(s, "2", temporary, 1), &why));
    assert_int_equal(store_thread_get(s, STR("u"), &row, &why), ERR_NOT_FOUND);
}

/* --- ids and objects ------------------------------------------------------------------- */

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
        cmocka_unit_test_setup_teardown(a_thread_comes_out_as_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_come_in_every_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_of_a_thread_come_newest_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_run_was_made_with_goes_with_its_input, set_up,
                                        tear_down),
        cmocka_unit_test(assistants_have_the_ids_of_every_server),
        cmocka_unit_test(later_ids_sort_behind_earlier_ones),
        cmocka_unit_test(one_object_is_put_over_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
