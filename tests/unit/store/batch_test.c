/* A batch of writes: in order, all at once, and with keys that were taken before. */
#include "store/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "open_store.h"

static struct job_row job_of(int64_t key, const char *id)
{
    return (struct job_row){ .key = key,
                             .id = str_of(id),
                             .agent = STR("a"),
                             .state = STR("queued"),
                             .input = STR("{}"),
                             .producer_seq = -1,
                             .first_seq = 1 };
}

static void put_records(struct store_batch *b, int64_t key, uint64_t last, const char *lines)
{
    size_t from = b->records.n;

    buf_str(&b->records, str_of(lines));
    ok(store_batch_append(b, key, last, from, -1));
}

static int64_t take(struct store *s, enum store_keys kind, size_t n)
{
    int64_t first = 0;

    ok(store_take_keys(s, kind, n, &first, &why));
    return first;
}

static void keys_are_taken_once(void **state)
{
    struct store *s = *state;
    struct job_row row = job_of(0, "made-without");

    assert_int_equal(take(s, STORE_JOB_KEYS, 3), 1);
    assert_int_equal(take(s, STORE_THREAD_KEYS, 1), 1);
    assert_int_equal(take(s, STORE_JOB_KEYS, 1), 4);
    row.key = 4;
    ok(store_job_insert(s, &row, &why));
    assert_int_equal(row.key, 4);
    row = job_of(0, "another");
    ok(store_job_insert(s, &row, &why));
    assert_int_equal(row.key, 5);
    assert_int_equal(take(s, STORE_JOB_KEYS, 1), 6);
    ok(store_job_delete(s, 5, &why));
    assert_int_equal(take(s, STORE_JOB_KEYS, 1), 7);
    assert_int_equal(take(s, STORE_JOB_KEYS, 10000), 8); /* more than any block */
    assert_int_equal(take(s, STORE_JOB_KEYS, 1), 10008);
}

static void nothing_is_written_before_the_flush(void **state)
{
    struct store *s = *state;
    struct job_row row = job_of(take(s, STORE_JOB_KEYS, 1), "j"), got;
    struct store_batch b;

    store_batch_init(&b);
    ok(store_batch_job_insert(&b, &row));
    put_records(&b, row.key, 2, "one\ntwo");
    assert_int_equal(store_job_get(s, STR("j"), &got, &why), ERR_NOT_FOUND);
    ok(store_flush(s, &b, &why));
    ok(store_job_get(s, STR("j"), &got, &why));
    assert_int_equal(got.key, row.key);
    assert_int_equal(got.seq, 2);
    ok(store_flush(s, &b, &why)); /* it is empty again */
    store_batch_done(&b);
}

static void writes_keep_their_order(void **state)
{
    struct store *s = *state;
    struct job_row row = job_of(take(s, STORE_JOB_KEYS, 2), "j"), again, got;
    struct str stored;
    struct store_batch b;

    store_batch_init(&b);
    ok(store_batch_job_insert(&b, &row));
    put_records(&b, row.key, 1, "old");
    ok(store_batch_job_delete(&b, row.key));
    again = job_of(row.key + 1, "j"); /* the id is free again */
    ok(store_batch_job_insert(&b, &again));
    put_records(&b, again.key, 1, "new");
    put_records(&b, again.key, 2, "newer");
    again.state = STR("running");
    ok(store_batch_job_update(&b, &again));
    ok(store_flush(s, &b, &why));
    ok(store_job_get(s, STR("j"), &got, &why));
    assert_int_equal(got.key, again.key);
    assert_true(str_is(got.state, "running"));
    ok(store_record(s, again.key, 2, &stored, &why));
    assert_true(str_is(stored, "newer"));
    store_batch_done(&b);
}

static void copied_texts_may_go(void **state)
{
    struct store *s = *state;
    char metadata[] = "{\"a\":1}", values[] = "{\"b\":2}";
    struct thread_row row = { .key = take(s, STORE_THREAD_KEYS, 1),
                              .id = STR("t"),
                              .status = STR("idle"),
                              .metadata = str_of(metadata),
                              .config = STR("{}"),
                              .interrupts = STR("{}") };
    struct thread_row got;
    struct store_batch b;

    store_batch_init(&b);
    ok(store_batch_thread_insert(&b, &row));
    ok(store_batch_thread_values(&b, row.key, str_of(values), 5));
    metadata[1] = values[1] = '#';
    ok(store_flush(s, &b, &why));
    ok(store_thread_get(s, STR("t"), &got, &why));
    assert_int_equal(got.key, row.key);
    assert_true(str_is(got.metadata, "{\"a\":1}"));
    assert_true(str_is(got.values, "{\"b\":2}"));
    store_batch_done(&b);
}

/* A temporary thread goes with its run, and a run may end in the turn that deletes its thread.
 */
static void a_thread_that_has_gone_is_no_error(void **state)
{
    struct store *s = *state;
    struct thread_row row = { .key = 77,
                              .id = STR("t"),
                              .status = STR("idle"),
                              .metadata = STR("{}"),
                              .config = STR("{}"),
                              .interrupts = STR("{}") };
    struct store_batch b;

    store_batch_init(&b);
    ok(store_batch_thread_update(&b, &row));
    ok(store_batch_thread_values(&b, row.key, STR("{}"), 5));
    ok(store_batch_thread_delete(&b, row.key));
    ok(store_flush(s, &b, &why));
    store_batch_done(&b);
}

static void an_id_that_is_taken_fails_the_turn(void **state)
{
    struct store *s = *state;
    struct job_row row = job_of(take(s, STORE_JOB_KEYS, 2), "j"), again = row;
    struct store_batch b;

    store_batch_init(&b);
    again.key++;
    ok(store_batch_job_insert(&b, &row));
    ok(store_batch_job_insert(&b, &again));
    int code = store_flush(s, &b, &why);
    if (code == 0) /* the store did not wait for the result */
        code = store_commit(s, &why);
    assert_int_equal(code, ERR_REFUSED);
    ok(store_flush(s, &b, &why)); /* what was left of it is forgotten */
    store_batch_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_are_taken_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_written_before_the_flush, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_keep_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copied_texts_may_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_has_gone_is_no_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_id_that_is_taken_fails_the_turn, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
