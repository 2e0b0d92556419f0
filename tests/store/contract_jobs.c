/* The contract: jobs, records, transactions, retention, the clock, tokens. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "contract.h"

#include <pthread.h>

/* --- jobs ------------------------------------------------------------------------- */

static void expect_job(const struct job_row *got, const struct job_row *want)
{
    expect_text(got->id, want->id);
    expect_text(got->agent, want->agent);
    expect_text(got->state, want->state);
    expect_text(got->input, want->input);
    expect_text(got->owner, want->owner);
    expect_text(got->worker, want->worker);
    expect_text(got->holder, want->holder);
    expect_text(got->error, want->error);
    expect_text(got->error_type, want->error_type);
    expect_text(got->outcome, want->outcome);
    expect_text(got->idempotency_key, want->idempotency_key);
    expect_text(got->request_hash, want->request_hash);
    expect_text(got->request_id, want->request_id);
    assert_int_equal(got->key, want->key);
    assert_int_equal(got->attempt, want->attempt);
    assert_int_equal(got->attempts_left, want->attempts_left);
    assert_int_equal(got->created, want->created);
    assert_int_equal(got->updated, want->updated);
    assert_int_equal(got->started, want->started);
    assert_int_equal(got->finished, want->finished);
    assert_int_equal(got->lease_until, want->lease_until);
    assert_int_equal(got->queue_deadline, want->queue_deadline);
    assert_int_equal(got->run_deadline, want->run_deadline);
    assert_int_equal(got->run_seconds, want->run_seconds);
    assert_int_equal(got->max_running, want->max_running);
    assert_int_equal(got->expiry_seconds, want->expiry_seconds);
    assert_int_equal(got->cancel_requested, want->cancel_requested);
    assert_int_equal(got->producer_seq, want->producer_seq);
    assert_int_equal(got->seq, want->seq);
    assert_int_equal(got->first_seq, want->first_seq);
}

static struct job_row a_full_job(void)
{
    return (struct job_row){ .id = STR("job-1"),
                             .agent = STR("triage"),
                             .state = STR("running"),
                             .input = STR("{\"text\":\"\xc3\xa4\"}"),
                             .owner = STR("acme"),
                             .worker = STR("w1"),
                             .holder = STR("crew"),
                             .error = STR("it broke"),
                             .error_type = STR("ValueError"),
                             .outcome = STR("{}"),
                             .idempotency_key = STR("key-1"),
                             .request_hash = STR("ab\0cd"),
                             .request_id = STR("request-1"),
                             .attempt = 3,
                             .attempts_left = 2,
                             .created = 1700000000001,
                             .updated = 1700000000002,
                             .started = 1700000000003,
                             .finished = 1700000000004,
                             .lease_until = 1700000000005,
                             .queue_deadline = 1700000000006,
                             .run_deadline = 1700000000007,
                             .run_seconds = 8,
                             .max_running = 14,
                             .expiry_seconds = 9,
                             .cancel_requested = 1700000000010,
                             .producer_seq = 11,
                             .seq = 12,
                             .first_seq = 13 };
}

static void a_job_comes_out_as_it_went_in(void **state)
{
    struct fixture *f = *state;
    struct job_row want = a_full_job();
    struct job_row got;

    insert(f->w, &want);
    ok(store_job_get(f->r, STR("job-1"), &got, err));
    expect_job(&got, &want);
    ok(store_job_by_idempotency(f->r, STR("key-1"), &got, err));
    expect_job(&got, &want);
}

static void absent_and_empty_texts_differ(void **state)
{
    struct fixture *f = *state;
    struct job_row none = a_job("none", "a", "queued");
    struct job_row empty = a_job("empty", "", "queued");

    empty.input = empty.worker = empty.error = empty.error_type = STR("");
    empty.outcome = empty.idempotency_key = empty.request_hash = STR("");
    empty.request_id = STR("");
    insert(f->w, &none);
    insert(f->w, &empty);
    struct job_row got = get_job(f->r, "none");
    expect_job(&got, &none);
    got = get_job(f->r, "empty");
    expect_job(&got, &empty);
}

static void a_job_that_is_not_there_is_not_found(void **state)
{
    struct fixture *f = *state;
    struct job_row row;

    refused(store_job_get(f->r, STR("x"), &row, err), ERR_NOT_FOUND);
    refused(store_job_by_idempotency(f->r, STR("x"), &row, err), ERR_NOT_FOUND);
    assert_int_equal(store_job_get(f->r, STR("x"), &row, NULL), ERR_NOT_FOUND);
    ok(store_begin(f->w, err));
    row = a_job("x", "a", "queued");
    row.key = 77;
    refused(store_job_update(f->w, &row, err), ERR_NOT_FOUND);
    refused(store_job_delete(f->w, 77, err), ERR_NOT_FOUND);
    ok(store_commit(f->w, err));
}

static void an_id_is_taken_once(void **state)
{
    struct fixture *f = *state;
    struct job_row row = a_job("same", "a", "queued");

    add_job(f->w, "same", "a", "queued");
    ok(store_begin(f->w, err));
    refused(store_job_insert(f->w, &row, err), ERR_REFUSED);
    row.id = STR("other");
    ok(store_job_insert(f->w, &row, err)); /* the transaction goes on */
    ok(store_commit(f->w, err));
    assert_int_equal(jobs(f->r, NULL, NULL, 0, 10).n, 2);
}

static void an_idempotency_key_is_taken_once(void **state)
{
    struct fixture *f = *state;
    struct job_row one = a_job("one", "a", "queued");
    struct job_row two = a_job("two", "a", "queued");
    struct error why;

    one.idempotency_key = two.idempotency_key = STR("key");
    insert(f->w, &one);
    ok(store_begin(f->w, err));
    assert_int_equal(store_job_insert(f->w, &two, &why), ERR_REFUSED);
    assert_non_null(strstr(why.text, "idempotency key \"key\""));
    ok(store_commit(f->w, err));
    add_job(f->w, "three", "a", "queued"); /* without one there is nothing to take */
    add_job(f->w, "four", "a", "queued");
}

static void keys_are_never_given_twice(void **state)
{
    struct fixture *f = *state;
    int64_t first = add_job(f->w, "1", "a", "queued");
    int64_t second = add_job(f->w, "2", "a", "queued");

    assert_true(second > first);
    ok(store_begin(f->w, err));
    ok(store_job_delete(f->w, second, err));
    ok(store_job_delete(f->w, first, err));
    ok(store_commit(f->w, err));
    reopen(f);
    assert_true(add_job(f->w, "2", "a", "queued") > second);
}

static void an_update_changes_all_but_what_is_fixed(void **state)
{
    struct fixture *f = *state;
    struct job_row want = a_job("job-1", "triage", "queued");

    want.input = STR("{}");
    want.idempotency_key = STR("key-1");
    insert(f->w, &want);
    struct job_row row = a_full_job();
    row.key = want.key;
    row.id = row.agent = row.owner = row.input = row.idempotency_key = STR("ignored");
    row.created = 5;
    row.first_seq = 77;
    ok(store_begin(f->w, err));
    ok(store_job_update(f->w, &row, err));
    ok(store_commit(f->w, err));

    row.id = want.id;
    row.agent = want.agent;
    row.owner = want.owner;
    row.input = want.input;
    row.idempotency_key = want.idempotency_key;
    row.created = want.created;
    row.max_running = want.max_running;
    row.first_seq = want.first_seq;
    struct job_row got = get_job(f->r, "job-1");
    expect_job(&got, &row);
}

/* The same state again, which is the usual case, and then another. */
static void updates_move_a_job_between_lists(void **state)
{
    struct fixture *f = *state;
    struct job_row row = a_job("j", "a", "running");

    insert(f->w, &row);
    ok(store_begin(f->w, err));
    row.seq = 5;
    row.producer_seq = 1;
    ok(store_job_update(f->w, &row, err));
    ok(store_commit(f->w, err));
    assert_int_equal(get_job(f->r, "j").seq, 5);
    assert_int_equal(open_jobs(f->r).n, 1);

    ok(store_begin(f->w, err));
    row.seq = 6;
    row.state = STR("succeeded");
    row.finished = 10;
    ok(store_job_update(f->w, &row, err));
    ok(store_commit(f->w, err));
    assert_int_equal(get_job(f->r, "j").seq, 6);
    assert_int_equal(open_jobs(f->r).n, 0);
    assert_int_equal(jobs(f->r, "running", NULL, 0, 10).n, 0);
    assert_int_equal(jobs(f->r, "succeeded", "a", 0, 10).n, 1);
}

static void jobs_are_listed_newest_first(void **state)
{
    struct fixture *f = *state;

    for (int i = 1; i <= 6; i++) {
        char id[2] = { (char)('0' + i), '\0' };
        assert_int_equal(
            add_job(f->w, id, i % 2 == 0 ? "even" : "odd", i <= 4 ? "failed" : "queued"), i);
    }
    struct seen all = jobs(f->r, NULL, NULL, 0, 10);
    struct seen before = jobs(f->r, NULL, NULL, 4, 2);
    struct seen failed = jobs(f->r, "failed", NULL, 0, 10);
    struct seen odd = jobs(f->r, NULL, "odd", 5, 10);
    struct seen both = jobs(f->r, "failed", "odd", 0, 10);
    numbers(&all, 6, 5, 4, 3, 2, 1);
    numbers(&before, 3, 2);
    numbers(&failed, 4, 3, 2, 1);
    numbers(&odd, 3, 1);
    numbers(&both, 3, 1);
    assert_int_equal(jobs(f->r, "", NULL, 0, 10).n, 0); /* empty is a filter, absent is none */
    assert_int_equal(jobs(f->r, NULL, NULL, 0, 0).n, 0);

    struct seen two = { .stop_at = 2 };
    ok(store_jobs(f->r, &(struct job_filter){ .limit = 10 }, on_job, &two, err));
    numbers(&two, 6, 5);
}

static void an_owner_sees_its_own(void **state)
{
    struct fixture *f = *state;
    static const char *const owners[] = { "a", "b", NULL, "a", "a" };
    struct job_filter filter = { .owner = STR("a"), .limit = 10 };
    struct seen all = { 0 }, failed = { 0 }, two = { 0 };

    ok(store_begin(f->w, err));
    for (int i = 0; i < 5; i++) {
        char id[3] = { 'j', (char)('1' + i), '\0' };
        struct job_row row = a_job(id, i == 4 ? "y" : "x", i == 3 ? "failed" : "queued");

        row.owner = str_of(owners[i]);
        ok(store_job_insert(f->w, &row, err));
    }
    ok(store_commit(f->w, err));
    ok(store_jobs(f->r, &filter, on_job, &all, err));
    numbers(&all, 5, 4, 1);
    filter.state = STR("queued");
    filter.agent = STR("x");
    ok(store_jobs(f->r, &filter, on_job, &failed, err));
    numbers(&failed, 1);
    filter = (struct job_filter){ .owner = STR("a"), .before = 5, .limit = 1 };
    ok(store_jobs(f->r, &filter, on_job, &two, err));
    numbers(&two, 4);
}

static void open_jobs_come_oldest_first(void **state)
{
    struct fixture *f = *state;
    static const char *const states[] = { "waiting", "succeeded", "queued",
                                          "failed",  "running",   "cancelled" };

    for (size_t i = 0; i < 6; i++)
        assert_int_equal(add_job(f->w, states[i], "a", states[i]), i + 1);
    struct seen seen = open_jobs(f->r);
    numbers(&seen, 1, 3, 5);
    reopen(f);
    seen = open_jobs(f->w);
    numbers(&seen, 1, 3, 5);
}

/* --- records ---------------------------------------------------------------------- */

static void records_come_in_order_and_of_one_job_only(void **state)
{
    struct fixture *f = *state;
    int64_t a = add_job(f->w, "a", "a", "running");
    int64_t b = add_job(f->w, "b", "a", "running");

    for (uint64_t seq = 1; seq <= 5; seq++) {
        add_records(f->w, b, seq, seq);
        add_records(f->w, a, seq, seq);
    }
    struct seen all = records(f->r, a, 0, 64, SIZE_MAX);
    struct seen after = records(f->r, b, 3, 64, SIZE_MAX);
    struct seen some = records(f->r, b, 1, 2, SIZE_MAX);
    numbers(&all, 1, 2, 3, 4, 5);
    numbers(&after, 4, 5);
    numbers(&some, 2, 3);
    assert_int_equal(records(f->r, b, 5, 64, SIZE_MAX).n, 0);
    assert_int_equal(records(f->r, b, UINT64_MAX, 64, SIZE_MAX).n, 0);
    assert_int_equal(records(f->r, b, 0, 0, SIZE_MAX).n, 0);
    assert_int_equal(records(f->r, 99, 0, 64, SIZE_MAX).n, 0);
    assert_int_equal(records(f->r, -1, 0, 64, SIZE_MAX).n, 0);
}

static void a_page_of_records_ends_at_its_bytes(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");

    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 1, STR("0123456789"), -1, err));
    ok(store_append(f->w, key, 2, STR("0123456789"), -1, err));
    ok(store_append(f->w, key, 3, STR("0123456789"), -1, err));
    ok(store_commit(f->w, err));
    assert_int_equal(records(f->r, key, 0, 64, 0).n, 1); /* the first one always */
    assert_int_equal(records(f->r, key, 0, 64, 9).n, 1);
    assert_int_equal(records(f->r, key, 0, 64, 10).n, 1);
    assert_int_equal(records(f->r, key, 0, 64, 19).n, 1);
    assert_int_equal(records(f->r, key, 0, 64, 20).n, 2);
    assert_int_equal(records(f->r, key, 0, 64, 30).n, 3);

    struct seen two = { .stop_at = 2 };
    ok(store_records(f->r, key, 0, 64, SIZE_MAX, on_record, &two, err));
    numbers(&two, 1, 2);
}

static void a_record_is_any_line(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");
    size_t n = (size_t)5 * 1024 * 1024;
    char *big = malloc(n);
    struct str got;

    assert_non_null(big);
    for (size_t i = 0; i < n; i++)
        big[i] = (char)(i * 7 + i / 251) == '\n' ? ' ' : (char)(i * 7 + i / 251);
    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 1, STR("a\0\t\"\xff\xc3"), -1, err));
    ok(store_append(f->w, key, 2, STR(""), -1, err));
    ok(store_append(f->w, key, 3, str_make(big, n), -1, err));
    ok(store_commit(f->w, err));

    ok(store_record(f->r, key, 1, &got, err));
    expect_text(got, STR("a\0\t\"\xff\xc3"));
    ok(store_record(f->r, key, 2, &got, err));
    expect_text(got, STR(""));
    ok(store_record(f->r, key, 3, &got, err));
    expect_text(got, str_make(big, n));
    assert_int_equal(records(f->r, key, 0, 64, SIZE_MAX).bytes, n + 6);
    ok(store_record(f->r, key, 1, &got, err)); /* after one so large */
    expect_text(got, STR("a\0\t\"\xff\xc3"));
    refused(store_record(f->r, key, 4, &got, err), ERR_NOT_FOUND);
    refused(store_record(f->r, key, 0, &got, err), ERR_NOT_FOUND);
    refused(store_record(f->r, -1, UINT64_MAX, &got, err), ERR_NOT_FOUND);
    free(big);
}

static void a_chunk_holds_several_records(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");
    struct str got;

    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 3, STR("one\n\nthree"), -1, err));
    ok(store_append(f->w, key, 4, STR("four"), 7, err));
    ok(store_append(f->w, key, 6, STR("five\nsix"), -1, err));
    ok(store_commit(f->w, err));

    for (uint64_t after = 0; after <= 6; after++) {
        struct seen seen = records(f->r, key, after, 64, SIZE_MAX);

        assert_int_equal(seen.n, 6 - after);
        for (size_t i = 0; i < seen.n; i++)
            assert_int_equal(seen.numbers[i], after + i + 1);
    }
    struct seen two = records(f->r, key, 1, 2, SIZE_MAX);
    numbers(&two, 2, 3);
    struct seen small = records(f->r, key, 2, 64, 9);
    numbers(&small, 3, 4);
    ok(store_record(f->r, key, 1, &got, err));
    expect_text(got, STR("one"));
    ok(store_record(f->r, key, 2, &got, err));
    expect_text(got, STR(""));
    ok(store_record(f->r, key, 5, &got, err));
    expect_text(got, STR("five"));
    refused(store_record(f->r, key, 7, &got, err), ERR_NOT_FOUND);
}

/* The row was stored at record 2 and batch 3; the chunks know better. */
static void a_row_knows_what_came_after_it(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");
    struct job_row row = get_job(f->r, "a");

    row.seq = 2;
    row.producer_seq = 3;
    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 2, STR("one\ntwo"), 9, err)); /* of an earlier attempt */
    ok(store_job_update(f->w, &row, err));
    ok(store_commit(f->w, err));
    struct job_row got = get_job(f->r, "a");
    assert_int_equal(got.seq, 2);
    assert_int_equal(got.producer_seq, 3);

    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 4, STR("three\nfour"), 4, err));
    ok(store_append(f->w, key, 5, STR("five"), 5, err));
    ok(store_append(f->w, key, 6, STR("six"), 5, err));
    ok(store_commit(f->w, err));
    got = get_job(f->r, "a");
    assert_int_equal(got.seq, 6);
    assert_int_equal(got.producer_seq, 5);
    (void)add_job(f->w, "b", "a", "running"); /* the next key: its chunks are not ours */
    got = get_job(f->w, "a");
    assert_int_equal(got.seq, 6);
}

static void a_record_is_stored_once(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");
    uint64_t too_many = store_max_seq(f->w) + 1;
    struct str got;

    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 1, STR("first"), -1, err));
    refused(store_append(f->w, key, 1, STR("second"), -1, err), ERR_REFUSED);
    refused(store_append(f->w, key, 0, STR("zero"), -1, err), ERR_REFUSED);
    refused(store_append(f->w, 0, 1, STR("nobody's"), -1, err), ERR_REFUSED);
    refused(store_append(f->w, key, too_many, STR("too many"), -1, err), ERR_TOO_LARGE);
    ok(store_commit(f->w, err)); /* refusals do not spoil it */
    ok(store_record(f->r, key, 1, &got, err));
    expect_text(got, STR("first"));
    assert_int_equal(count(f->r, key), 1);
}

static void a_deleted_job_takes_its_records_with_it(void **state)
{
    struct fixture *f = *state;
    int64_t a = add_job(f->w, "a", "a", "running");
    int64_t b = add_job(f->w, "b", "a", "running");
    struct job_row row;

    add_records(f->w, a, 1, 20);
    add_records(f->w, b, 1, 20);
    ok(store_begin(f->w, err));
    ok(store_job_delete(f->w, a, err));
    ok(store_commit(f->w, err));
    refused(store_job_get(f->r, STR("a"), &row, err), ERR_NOT_FOUND);
    expire_until(f->w, 0);
    assert_int_equal(count(f->r, a), 0);
    assert_int_equal(count(f->r, b), 20);
}

/* --- transactions ----------------------------------------------------------------- */

static int count_row(void *arg, const struct job_row *row)
{
    (void)row;
    ++*(size_t *)arg;
    return 0;
}

static void suspects_are_remembered(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;
    int64_t key = add_job(f->w, "j", "a", "queued");

    (void)add_job(f->w, "other", "a", "queued");
    ok(store_begin(f->w, err));
    ok(store_suspect(f->w, key, 5, 0, err));
    ok(store_commit(f->w, err));
    struct job_row row = get_job(f->r, "j");
    assert_true(row.crashed == 5 && row.set_aside == 0);
    ok(store_jobs_set_aside(f->r, count_row, &n, err));
    assert_int_equal(n, 0);
    row = get_job(f->r, "j"); /* its texts live until the next call */
    ok(store_begin(f->w, err));
    ok(store_suspect(f->w, key, 6, 7, err));
    ok(store_job_update(f->w, &row, err)); /* which has nothing to say about it */
    ok(store_commit(f->w, err));
    row = get_job(f->r, "j");
    assert_true(row.crashed == 6 && row.set_aside == 7);
    ok(store_jobs_set_aside(f->r, count_row, &n, err));
    assert_int_equal(n, 1);
    ok(store_begin(f->w, err));
    ok(store_suspect(f->w, key, 0, 0, err));
    ok(store_commit(f->w, err));
    row = get_job(f->r, "j");
    assert_true(row.crashed == 0 && row.set_aside == 0);
}

/* A store that one gateway has for itself offers none. */
static bool has_operations(struct store *s)
{
    struct error err = { 0 };
    struct str answer;

    return store_operation(s, STR("none"), &answer, &err) != ERR_REFUSED;
}

static void put_operations(struct store *s, int n)
{
    for (int i = 0; i < n; i++) {
        char id[32], answer[32];

        (void)snprintf(id, sizeof(id), "id-%d", i);
        (void)snprintf(answer, sizeof(answer), "{\"n\":%d}", i);
        ok(store_operation_put(s, str_of(id), str_of(answer), err));
    }
}

static void operations_of_a_turn_are_stored_with_it(void **state)
{
    struct fixture *f = *state;
    struct str answer;

    if (!has_operations(f->w))
        return;
    ok(store_begin(f->w, err));
    put_operations(f->w, 3);
    store_rollback(f->w);
    assert_int_equal(store_operation(f->w, STR("id-0"), &answer, NULL), ERR_NOT_FOUND);
    ok(store_begin(f->w, err));
    put_operations(f->w, 70);
    ok(store_commit(f->w, err));
    ok(store_operation(f->w, STR("id-69"), &answer, err));
    assert_true(str_is(answer, "{\"n\":69}"));
    ok(store_operation(f->w, STR("id-0"), &answer, err));
    assert_true(str_is(answer, "{\"n\":0}"));
}

/* Nothing of a turn that does something twice is stored. */
static void an_operation_is_stored_once(void **state)
{
    struct fixture *f = *state;
    struct error why = { 0 };

    if (!has_operations(f->w))
        return;
    int64_t key = add_job(f->w, "a", "a", "running");
    ok(store_begin(f->w, err));
    put_operations(f->w, 1);
    ok(store_commit(f->w, err));
    ok(store_begin(f->w, err));
    append_text(f->w, key, 1);
    put_operations(f->w, 2);
    assert_int_not_equal(store_commit(f->w, &why), 0);
    assert_int_equal(count(f->r, key), 0);
    ok(store_begin(f->w, err)); /* and none of it is left for the next */
    append_text(f->w, key, 1);
    ok(store_commit(f->w, err));
    assert_int_equal(count(f->r, key), 1);
}

static void readers_see_what_is_committed(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");

    ok(store_begin(f->w, err));
    append_text(f->w, key, 1);
    assert_int_equal(count(f->r, key), 0);
    assert_int_equal(count(f->w, key), 1); /* the writer sees its own */
    ok(store_commit(f->w, err));
    assert_int_equal(count(f->r, key), 1);
    add_records(f->w, key, 2, 3);
    assert_int_equal(count(f->r, key), 3);
}

static void a_rollback_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");
    struct job_row row = a_job("b", "a", "queued");

    ok(store_begin(f->w, err));
    append_text(f->w, key, 1);
    ok(store_job_insert(f->w, &row, err));
    store_rollback(f->w);
    assert_int_equal(count(f->r, key), 0);
    assert_int_equal(jobs(f->r, NULL, NULL, 0, 10).n, 1);
    add_records(f->w, key, 1, 1);
    assert_int_equal(count(f->r, key), 1);
}

static void closing_in_a_transaction_stores_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");

    ok(store_begin(f->w, err));
    append_text(f->w, key, 1);
    reopen(f);
    assert_int_equal(count(f->r, key), 0);
    add_records(f->w, key, 1, 1);
}

static void everything_survives_reopening(void **state)
{
    struct fixture *f = *state;
    struct job_row want = a_full_job();

    insert(f->w, &want);
    add_records(f->w, want.key, 1, 12);
    for (int i = 0; i < 3; i++) {
        reopen(f);
        struct job_row got = get_job(f->r, "job-1");
        expect_job(&got, &want);
        assert_int_equal(count(f->r, want.key), 12);
    }
}

/* A callback that calls the store: the texts of its row stay. */
static int on_job_look_up(void *arg, const struct job_row *row)
{
    struct store *s = arg;
    struct job_row same;

    ok(store_job_get(s, row->id, &same, err));
    expect_job(row, &same);
    assert_int_equal(count(s, row->key), 2);
    return 0;
}

static void a_callback_may_call_the_store(void **state)
{
    struct fixture *f = *state;
    int64_t a = add_job(f->w, "a", "a", "running");
    int64_t b = add_job(f->w, "b", "a", "queued");

    add_records(f->w, a, 1, 2);
    add_records(f->w, b, 1, 2);
    ok(store_open_jobs(f->w, on_job_look_up, f->w, err));
    ok(store_jobs(f->r, &(struct job_filter){ .limit = 10 }, on_job_look_up, f->r, err));
}

struct looking {
    struct store *s;
    int64_t key;
    uint64_t n, every; /* records seen; reads others at each so many */
};

static int on_record_look_up(void *arg, uint64_t seq, struct str stored)
{
    struct looking *l = arg;
    struct str first;

    assert_int_equal(seq, ++l->n);
    assert_int_equal(stored.n, 3000);
    if (l->n % l->every != 0)
        return 0;
    struct job_row row = get_job(l->s, "a"); /* anything but what calls this */
    assert_int_equal(row.key, l->key);
    ok(store_record(l->s, l->key, 1, &first, err));
    assert_int_equal(first.n, 3000);
    assert_int_equal(stored.p[2999], 'x'); /* the texts of the row stay */
    return 0;
}

/* More than the buffers of a connection hold. */
static void a_callback_may_read_between_records(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");
    char text[3000];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = 'x';
    ok(store_begin(f->w, err));
    for (uint64_t seq = 1; seq <= 700; seq++)
        ok(store_append(f->w, key, seq, str_make(text, sizeof(text)), -1, err));
    ok(store_commit(f->w, err));
    for (uint64_t every = 1; every < 1000; every *= 9) {
        struct looking l = { .s = f->r, .key = key, .every = every };

        ok(store_records(f->r, key, 0, 1000, SIZE_MAX, on_record_look_up, &l, err));
        assert_int_equal(l.n, 700);
    }
}

/* --- retention -------------------------------------------------------------------- */

static void only_final_jobs_expire_and_only_in_time(void **state)
{
    struct fixture *f = *state;
    struct job_row open = a_job("open", "a", "waiting");

    insert(f->w, &open);
    add_records(f->w, open.key, 1, 3);
    int64_t early = add_final(f->w, "early", "succeeded", 1000, 5);
    int64_t late = add_final(f->w, "late", "succeeded", 5000, 5);
    assert_int_equal(expire(f->w, 11000, 100), 0); /* not before, not at */
    expire_until(f->w, 11001);
    assert_int_equal(count(f->r, early), 1); /* the ending */
    assert_int_equal(count(f->r, late), 5);
    expire_until(f->w, 12000); /* nor the rest of it */
    struct seen left = jobs(f->r, NULL, NULL, 0, 10);
    numbers(&left, 3, 2, 1);
    expire_until(f->w, 12001);
    left = jobs(f->r, NULL, NULL, 0, 10);
    numbers(&left, 3, 1);
    assert_int_equal(count(f->r, early), 0);
    expire_until(f->w, INT64_MAX);
    left = jobs(f->r, NULL, NULL, 0, 10);
    numbers(&left, 1);
    assert_int_equal(count(f->r, open.key), 3);
}

static void the_ending_of_a_job_is_kept(void **state)
{
    struct fixture *f = *state;
    const struct {
        const char *state;
        uint64_t n, first;
    } jobs[] = { { "succeeded", 7, 7 }, { "failed", 7, 6 },    { "cancelled", 7, 6 },
                 { "succeeded", 2, 2 }, { "cancelled", 3, 2 }, { "succeeded", 1, 2 } };
    char id[2] = "a";

    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++, id[0]++) {
        int64_t key = add_final(f->w, id, jobs[i].state, 1000, jobs[i].n);
        expire_until(f->w, 11001);
        struct job_row row = get_job(f->r, id);
        assert_int_equal(row.first_seq, jobs[i].first);
        assert_int_equal(row.seq, jobs[i].n);
        assert_true(str_absent(row.input)); /* nobody needs it any more */
        assert_int_equal(count(f->r, key), jobs[i].n - (jobs[i].first - 1));
    }
}

static void the_chunk_that_an_ending_is_in_is_cut(void **state)
{
    struct fixture *f = *state;
    struct job_row row = a_job("j", "a", "failed");
    struct str got;

    row.seq = 6;
    row.expiry_seconds = 10;
    insert(f->w, &row);
    ok(store_begin(f->w, err));
    ok(store_append(f->w, row.key, 2, STR("one\ntwo"), -1, err));
    ok(store_append(f->w, row.key, 6, STR("three\nfour\nwhy\nend"), -1, err));
    ok(store_commit(f->w, err));
    expire_until(f->w, 10001);
    assert_int_equal(get_job(f->r, "j").first_seq, 5);
    assert_int_equal(count(f->r, row.key), 2);
    ok(store_record(f->r, row.key, 5, &got, err));
    expect_text(got, STR("why"));
    ok(store_record(f->r, row.key, 6, &got, err));
    expect_text(got, STR("end"));
    refused(store_record(f->r, row.key, 4, &got, err), ERR_NOT_FOUND);
}

static void retention_goes_in_small_steps(void **state)
{
    struct fixture *f = *state;
    int64_t a = add_final(f->w, "a", "succeeded", 1000, 1000);
    int64_t b = add_final(f->w, "b", "succeeded", 2000, 5);

    assert_int_equal(expire(f->w, 100000, 0), 0);
    assert_int_equal(expire(f->w, 100000, 4), 4);
    struct job_row row = get_job(f->r, "a"); /* out of sight as a whole */
    assert_int_equal(row.first_seq, 1000);
    uint64_t left = count(f->r, a);
    assert_in_range(left, 996, 999);
    assert_int_equal(count(f->r, b), 5);
    assert_int_equal(get_job(f->r, "b").first_seq, 1);
    assert_int_equal(expire(f->w, 100000, 6), 6);
    assert_int_equal(count(f->r, a), left - 6);
    expire_until(f->w, 100000);

    struct store_stats stats;
    ok(store_stats(f->r, &stats, err));
    assert_int_equal(stats.jobs, 0);
    assert_int_equal(stats.records, 0);
    assert_int_equal(count(f->r, a) + count(f->r, b), 0);
    assert_true(add_job(f->w, "a", "a", "queued") > b);
}

static void stats_count(void **state)
{
    struct fixture *f = *state;
    struct store_stats stats;

    ok(store_stats(f->r, &stats, err));
    assert_int_equal(stats.jobs, 0);
    assert_int_equal(stats.records, 0);
    add_final(f->w, "a", "succeeded", 1000, 10);
    add_final(f->w, "b", "succeeded", 1000, 20);
    add_job(f->w, "c", "a", "queued");
    ok(store_stats(f->r, &stats, err));
    assert_int_equal(stats.jobs, 3);
    assert_int_equal(stats.records, 30);
    assert_true(stats.bytes > 0);
}

/* --- threads ---------------------------------------------------------------------- */

enum { N_FOLLOWED = 30000, FOLLOWED_BYTES = 1000 };

/* A reader in a thread of its own, which follows job 1 to its end. */
struct follower {
    struct fixture *fixture;
    pthread_t thread;
    uint64_t seq;
    struct error why; /* code 0: all is well */
};

static int on_followed(void *arg, uint64_t seq, struct str stored)
{
    struct follower *f = arg;

    if (seq != f->seq + 1 || stored.n != FOLLOWED_BYTES)
        return error_set(&f->why, ERR_TYPE, "record %d after %d", (int)seq, (int)f->seq);
    f->seq = seq;
    return 0;
}

static void *follow(void *arg)
{
    struct follower *f = arg;
    struct store *s = NULL;
    int code = f->fixture->backend->open_reader(f->fixture, &s, &f->why);

    while (code == 0 && f->why.code == 0 && f->seq < N_FOLLOWED)
        code = store_records(s, 1, f->seq, 100, SIZE_MAX, on_followed, f, &f->why);
    store_close(s);
    return NULL;
}

static void readers_follow_in_their_own_threads(void **state)
{
    struct fixture *f = *state;
    struct follower followers[2] = { { .fixture = f }, { .fixture = f } };
    char text[FOLLOWED_BYTES];

    memset(text, 'x', sizeof(text));
    assert_int_equal(add_job(f->w, "a", "a", "running"), 1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&followers[i].thread, NULL, follow, &followers[i]), 0);
    for (uint64_t seq = 1; seq <= N_FOLLOWED;) { /* 30 MB: also checkpoints */
        ok(store_begin(f->w, err));
        for (int i = 0; i < 100; i++)
            ok(store_append(f->w, 1, seq++, str_make(text, sizeof(text)), -1, err));
        ok(store_commit(f->w, err));
        store_compact(f->w);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(followers[i].thread, NULL), 0);
        expect_ok(followers[i].why.code, &followers[i].why);
        assert_int_equal(followers[i].seq, N_FOLLOWED);
    }
}

/* --- the clock ---------------------------------------------------------------------- */

static void move(struct store *s, int64_t by, int64_t now)
{
    ok(store_begin(s, err));
    ok(store_move_times(s, by, now, err));
    ok(store_note_time(s, now, err));
    ok(store_commit(s, err));
}

static void deadlines_move_with_the_clock(void **state)
{
    struct fixture *f = *state;
    struct job_row open = a_full_job(), plain = a_job("plain", "a", "queued");

    open.finished = 0;
    open.answer_by = 1700000000008;
    open.not_before = 1700000000009;
    open.pause_requested = 1700000000011;
    insert(f->w, &open);
    insert(f->w, &plain);
    (void)add_final(f->w, "final", "succeeded", 1000, 5);
    struct job_row final = get_job(f->r, "final");
    int64_t length = final.expiry_seconds, ended = final.finished;

    move(f->w, -600000, 1699999400000);
    struct job_row got = get_job(f->r, "job-1");
    assert_int_equal(got.created, open.created); /* what has happened stays */
    assert_int_equal(got.started, open.started);
    assert_int_equal(got.updated, open.updated - 600000);
    assert_int_equal(got.lease_until, open.lease_until - 600000);
    assert_int_equal(got.queue_deadline, open.queue_deadline - 600000);
    assert_int_equal(got.run_deadline, open.run_deadline - 600000);
    assert_int_equal(got.answer_by, open.answer_by - 600000);
    assert_int_equal(got.not_before, open.not_before - 600000);
    assert_int_equal(got.cancel_requested, open.cancel_requested - 600000);
    assert_int_equal(got.pause_requested, open.pause_requested - 600000);
    got = get_job(f->r, "plain");
    assert_int_equal(got.lease_until + got.queue_deadline + got.run_deadline + got.answer_by +
                         got.not_before + got.cancel_requested + got.pause_requested,
                     0);
    got = get_job(f->r, "final");
    assert_int_equal(got.finished, ended);
    assert_int_equal(got.expiry_seconds, length - 600);
    move(f->w, 600000, 1700000000000);
    got = get_job(f->r, "job-1");
    assert_int_equal(got.lease_until, open.lease_until);
    got = get_job(f->r, "final");
    assert_int_equal(got.expiry_seconds, length);
}

static int on_expiry(void *arg, const struct token_row *row)
{
    int64_t *expires = arg;

    expires[row->id.p[0] - 'a'] = row->expires;
    return 0;
}

static void tokens_move_unless_they_are_on_the_new_clock(void **state)
{
    struct fixture *f = *state;
    struct token_row old = a_token("a", NULL), fresh = a_token("b", NULL),
                     never = a_token("c", NULL);
    int64_t expires[3];

    old.created = 100000;
    old.expires = 200000;
    fresh.created = 59000;
    fresh.expires = 99000;
    ok(store_token_insert(f->w, &old, err));
    ok(store_token_insert(f->w, &fresh, err));
    ok(store_token_insert(f->w, &never, err));
    move(f->w, -50000, 60000);
    ok(store_tokens(f->r, on_expiry, expires, err));
    assert_int_equal(expires[0], 150000);
    assert_int_equal(expires[1], 99000);
    assert_int_equal(expires[2], 0);
    int64_t n = 0;
    ok(store_token_changes(f->r, &n, err));
    assert_int_equal(n, 4); /* whoever has them in memory reads them again */
}

static void the_latest_time_is_noted(void **state)
{
    struct fixture *f = *state;
    struct job_row open = a_job("j", "a", "queued"), final = a_job("k", "a", "failed");
    int64_t noted = -1;

    ok(store_time_noted(f->w, &noted, err));
    assert_int_equal(noted, 0);
    open.updated = 500;
    final.updated = 900;
    insert(f->w, &open);
    insert(f->w, &final);
    ok(store_time_noted(f->w, &noted, err));
    assert_int_equal(noted, 500);
    for (int64_t at = 700; at >= 600; at -= 100) {
        ok(store_begin(f->w, err));
        ok(store_note_time(f->w, at, err));
        ok(store_commit(f->w, err));
        reopen(f);
        ok(store_time_noted(f->w, &noted, err));
        assert_int_equal(noted, at);
    }
}

/* --- tokens ------------------------------------------------------------------------- */

static int64_t changes(struct store *s)
{
    int64_t n = -1;

    ok(store_token_changes(s, &n, err));
    return n;
}

static void tokens_come_out_as_they_went_in(void **state)
{
    struct fixture *f = *state;
    struct token_row row = a_token("b", NULL);

    assert_int_equal(changes(f->r), 0);
    add_token(f->w, "s", "b");
    add_token(f->w, "b", NULL);
    add_token(f->w, "a", NULL);
    expect_tokens(f->r, "abs", 0);
    assert_int_equal(changes(f->r), 3);
    refused(store_token_insert(f->w, &row, err), ERR_REFUSED);
    assert_int_equal(changes(f->r), 3);

    refused(store_token_revoke(f->w, STR("c"), 5, err), ERR_NOT_FOUND);
    refused(store_token_revoke(f->w, STR("s"), 5, err), ERR_NOT_FOUND); /* no token */
    ok(store_token_revoke(f->w, STR("b"), 5, err));
    ok(store_token_revoke(f->w, STR("b"), 6, err));
    expect_tokens(f->r, "ab", 5);
    assert_int_equal(changes(f->r), 5);
    reopen(f);
    expect_tokens(f->r, "ab", 5);
}

static void sessions_end(void **state)
{
    struct fixture *f = *state;

    add_token(f->w, "a", NULL);
    add_token(f->w, "s", "a");
    add_token(f->w, "t", "a");
    refused(store_session_delete(f->w, STR("a"), err), ERR_NOT_FOUND);
    ok(store_session_delete(f->w, STR("s"), err));
    expect_tokens(f->r, "at", 0);
    ok(store_sessions_expire(f->w, 199, err));
    expect_tokens(f->r, "at", 0);
    ok(store_sessions_expire(f->w, 200, err));
    expect_tokens(f->r, "a", 0);
}

static void a_secret_stays_the_same(void **state)
{
    struct fixture *f = *state;
    struct str fresh = str_make(a_hash, STORE_SECRET_BYTES);
    unsigned char first[STORE_SECRET_BYTES], second[STORE_SECRET_BYTES];
    char other[STORE_SECRET_BYTES] = { 1 };

    ok(store_secret(f->w, STR("key"), fresh, first, err));
    assert_memory_equal(first, fresh.p, fresh.n);
    reopen(f);
    ok(store_secret(f->w, STR("key"), str_make(other, sizeof(other)), second, err));
    assert_memory_equal(first, second, sizeof(first));
    ok(store_secret(f->w, STR("other"), str_make(other, sizeof(other)), second, err));
    assert_memory_equal(second, other, sizeof(other));
}

const struct contract_case contract_jobs[] = {
    CASE(a_job_comes_out_as_it_went_in),
    CASE(absent_and_empty_texts_differ),
    CASE(a_job_that_is_not_there_is_not_found),
    CASE(an_id_is_taken_once),
    CASE(an_idempotency_key_is_taken_once),
    CASE(keys_are_never_given_twice),
    CASE(an_update_changes_all_but_what_is_fixed),
    CASE(updates_move_a_job_between_lists),
    CASE(jobs_are_listed_newest_first),
    CASE(an_owner_sees_its_own),
    CASE(open_jobs_come_oldest_first),
    CASE(records_come_in_order_and_of_one_job_only),
    CASE(a_page_of_records_ends_at_its_bytes),
    CASE(a_record_is_any_line),
    CASE(a_chunk_holds_several_records),
    CASE(a_row_knows_what_came_after_it),
    CASE(a_record_is_stored_once),
    CASE(a_deleted_job_takes_its_records_with_it),
    CASE(suspects_are_remembered),
    CASE(operations_of_a_turn_are_stored_with_it),
    CASE(an_operation_is_stored_once),
    CASE_BESIDE(readers_see_what_is_committed),
    CASE(a_rollback_leaves_nothing),
    CASE(closing_in_a_transaction_stores_nothing),
    CASE(everything_survives_reopening),
    CASE(a_callback_may_call_the_store),
    CASE(a_callback_may_read_between_records),
    CASE(only_final_jobs_expire_and_only_in_time),
    CASE(the_ending_of_a_job_is_kept),
    CASE(the_chunk_that_an_ending_is_in_is_cut),
    CASE(retention_goes_in_small_steps),
    CASE(stats_count),
    CASE(deadlines_move_with_the_clock),
    CASE_NEEDS(tokens_move_unless_they_are_on_the_new_clock, token_insert),
    CASE(the_latest_time_is_noted),
    CASE_NEEDS(tokens_come_out_as_they_went_in, token_insert),
    CASE_NEEDS(sessions_end, token_insert),
    CASE_NEEDS(a_secret_stays_the_same, token_insert),
    CASE_BESIDE(readers_follow_in_their_own_threads),
    { .name = NULL },
};
