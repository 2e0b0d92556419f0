/* The store suite: what every backend must do, then what is particular to SQLite's files.
 *
 * The first part knows only store.h and the table of backends; a second backend is a line
 * in that table.  The second part looks at the files, and puts a faulty disk and a faulty
 * allocator under SQLite: the n-th call fails, for n = 1, 2, 3 and so on until everything
 * passes untouched. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "base/error.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* --- backends -------------------------------------------------------------------- */

struct fixture {
    const struct backend *backend;
    char folder[64]; /* its own, removed afterwards */
    char path[128];
    struct store *w; /* what the test opens, it may leave open */
    struct store *r;
};

struct backend {
    const char *name;
    int (*open)(struct fixture *f, struct store **ret, struct error *err);
    int (*open_reader)(struct fixture *f, struct store **ret, struct error *err);
};

static struct store_options options(const struct fixture *f)
{
    /* Relaxed: no test here pulls the plug, and a sync takes its time. */
    return (struct store_options){ .path = f->path, .relaxed = true, .busy_ms = 1000 };
}

static int sqlite_open(struct fixture *f, struct store **ret, struct error *err)
{
    struct store_options o = options(f);

    return store_open(&o, ret, err);
}

static int sqlite_open_reader(struct fixture *f, struct store **ret, struct error *err)
{
    struct store_options o = options(f);

    return store_open_reader(&o, ret, err);
}

static const struct backend backends[] = {
    { "sqlite", sqlite_open, sqlite_open_reader },
};

/* --- what tests share ------------------------------------------------------------- */

static void expect_ok(int code, const struct error *err)
{
    if (code != 0)
        fail_msg("%s: %s", error_name(code), err->text);
}

#define ok(call)                \
    do {                        \
        struct error e = { 0 }; \
        struct error *err = &e; \
        expect_ok(call, err);   \
    } while (0)

#define refused(call, want)             \
    do {                                \
        struct error e = { 0 };         \
        struct error *err = &e;         \
        assert_int_equal(call, want);   \
        assert_int_equal(e.code, want); \
        assert_true(e.text[0] != '\0'); \
    } while (0)

static void expect_text(struct str got, struct str want)
{
    assert_true((got.p == NULL) == (want.p == NULL));
    assert_int_equal(got.n, want.n);
    if (got.n > 0)
        assert_memory_equal(got.p, want.p, got.n);
}

static int make_folder(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    f->backend = *state != NULL ? *state : &backends[0];
    /* In memory where there is such a place: some tests make thousands of files. */
    (void)snprintf(f->folder, sizeof(f->folder), "%s/store_test.XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    (void)snprintf(f->path, sizeof(f->path), "%s/jobs.db", f->folder);
    *state = f;
    return 0;
}

static void open_both(struct fixture *f)
{
    ok(f->backend->open(f, &f->w, err));
    ok(f->backend->open_reader(f, &f->r, err));
}

static void close_both(struct fixture *f)
{
    store_close(f->r);
    store_close(f->w);
    f->r = f->w = NULL;
}

static void reopen(struct fixture *f)
{
    close_both(f);
    open_both(f);
}

static int setup(void **state)
{
    if (make_folder(state) != 0)
        return -1;
    open_both(*state);
    return 0;
}

static void remove_files(const struct fixture *f)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal", ".lock" };
    char path[160];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", f->path, ends[i]);
        (void)unlink(path); /* most are not there */
    }
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    close_both(f);
    remove_files(f);
    int rc = rmdir(f->folder); /* fails when something else was left there */
    free(f);
    return rc;
}

static struct job_row a_job(const char *id, const char *agent, const char *state)
{
    return (struct job_row){ .id = str_of(id),
                             .agent = str_of(agent),
                             .state = str_of(state),
                             .created = 1,
                             .updated = 1,
                             .producer_seq = -1,
                             .first_seq = 1 };
}

/* In a transaction of its own. */
static int64_t add_job(struct store *s, const char *id, const char *agent, const char *state)
{
    struct job_row row = a_job(id, agent, state);

    ok(store_begin(s, err));
    ok(store_job_insert(s, &row, err));
    ok(store_commit(s, err));
    assert_true(row.key > 0);
    return row.key;
}

static void append_text(struct store *s, int64_t key, uint64_t seq)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "{\"job\":%d,\"seq\":%d}", (int)key, (int)seq);

    ok(store_append(s, key, seq, str_make(text, (size_t)n), -1, err));
}

/* Records @from to @to, in a transaction of their own. */
static void add_records(struct store *s, int64_t key, uint64_t from, uint64_t to)
{
    ok(store_begin(s, err));
    for (uint64_t seq = from; seq <= to; seq++)
        append_text(s, key, seq);
    ok(store_commit(s, err));
}

/* What a callback was given: the numbers in order. */
struct seen {
    uint64_t numbers[64];
    size_t n;
    size_t stop_at; /* 0: never */
    size_t bytes;
};

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct seen *seen = arg;

    assert_true(seen->n < 64);
    seen->numbers[seen->n++] = seq;
    seen->bytes += stored.n;
    return seen->n == seen->stop_at;
}

static int on_job(void *arg, const struct job_row *row)
{
    return on_record(arg, (uint64_t)row->key, row->id);
}

static void expect_numbers(const struct seen *seen, size_t n, const uint64_t *want)
{
    assert_int_equal(seen->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(seen->numbers[i], want[i]);
}

#define numbers(seen, ...)                                                       \
    expect_numbers(seen, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), \
                   (uint64_t[]){ __VA_ARGS__ })

static struct seen records(struct store *s,
                           int64_t key,
                           uint64_t after,
                           size_t limit,
                           size_t bytes)
{
    struct seen seen = { 0 };

    ok(store_records(s, key, after, limit, bytes, on_record, &seen, err));
    return seen;
}

static int on_counted(void *arg, uint64_t seq, struct str stored)
{
    (void)seq, (void)stored;
    ++*(size_t *)arg;
    return 0;
}

static size_t count(struct store *s, int64_t key)
{
    size_t n = 0;

    ok(store_records(s, key, 0, SIZE_MAX, SIZE_MAX, on_counted, &n, err));
    return n;
}

static struct seen jobs(struct store *s,
                        const char *state,
                        const char *agent,
                        int64_t before,
                        size_t limit)
{
    struct seen seen = { 0 };
    struct job_filter filter = {
        .state = str_of(state), .agent = str_of(agent), .before = before, .limit = limit
    };

    ok(store_jobs(s, &filter, on_job, &seen, err));
    return seen;
}

static struct seen open_jobs(struct store *s)
{
    struct seen seen = { 0 };

    ok(store_open_jobs(s, on_job, &seen, err));
    return seen;
}

static struct job_row get_job(struct store *s, const char *id)
{
    struct job_row row;

    ok(store_job_get(s, str_of(id), &row, err));
    return row;
}

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

static void insert(struct store *s, struct job_row *row)
{
    ok(store_begin(s, err));
    ok(store_job_insert(s, row, err));
    ok(store_commit(s, err));
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

static void a_run_holds_several_records(void **state)
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

/* The row was stored at record 2 and batch 3; the runs know better. */
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
    (void)add_job(f->w, "b", "a", "running"); /* the next key: its runs are not ours */
    got = get_job(f->w, "a");
    assert_int_equal(got.seq, 6);
}

static void a_record_is_stored_once(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "a", "a", "running");
    uint64_t most = ((uint64_t)1 << 30) - 1;
    struct str got;

    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 1, STR("first"), -1, err));
    refused(store_append(f->w, key, 1, STR("second"), -1, err), ERR_REFUSED);
    refused(store_append(f->w, key, 0, STR("zero"), -1, err), ERR_REFUSED);
    refused(store_append(f->w, 0, 1, STR("nobody's"), -1, err), ERR_REFUSED);
    ok(store_append(f->w, key, most, STR("last"), -1, err));
    refused(store_append(f->w, key, most + 1, STR("too many"), -1, err), ERR_TOO_LARGE);
    ok(store_commit(f->w, err)); /* refusals do not spoil it */
    ok(store_record(f->r, key, 1, &got, err));
    expect_text(got, STR("first"));
    assert_int_equal(count(f->r, key), 2);
}

enum { KEEP_MS = 1000 }; /* the ending, after the rest */

static size_t expire(struct store *s, int64_t now, size_t limit)
{
    size_t n = 99;

    ok(store_begin(s, err));
    ok(store_expire(s, now, KEEP_MS, limit, &n, err));
    ok(store_commit(s, err));
    return n;
}

/* All that there is to do. */
static void expire_until(struct store *s, int64_t now)
{
    while (expire(s, now, 100) > 0)
        ;
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

/* --- retention -------------------------------------------------------------------- */

static int64_t add_final(struct store *s,
                         const char *id,
                         const char *state,
                         int64_t finished,
                         uint64_t n)
{
    struct job_row row = a_job(id, "a", state);

    row.input = STR("{}");
    row.finished = finished;
    row.expiry_seconds = 10;
    row.seq = n;
    insert(s, &row);
    add_records(s, row.key, 1, n);
    return row.key;
}

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

static void the_run_that_an_ending_is_in_is_cut(void **state)
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

static void a_deleted_job_is_swept_in_small_steps(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_final(f->w, "a", "succeeded", 1000, 100);
    struct job_row row;

    ok(store_begin(f->w, err));
    ok(store_job_delete(f->w, key, err));
    ok(store_commit(f->w, err));
    refused(store_job_get(f->r, STR("a"), &row, err), ERR_NOT_FOUND);
    assert_int_equal(expire(f->w, 0, 30), 30);
    assert_int_equal(count(f->r, key), 70);
    expire_until(f->w, 0);
    assert_int_equal(count(f->r, key), 0);
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
        store_checkpoint(f->w);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(followers[i].thread, NULL), 0);
        expect_ok(followers[i].why.code, &followers[i].why);
        assert_int_equal(followers[i].seq, N_FOLLOWED);
    }
}

/* --- SQLite: files ---------------------------------------------------------------- */

static void expect_mode(const struct fixture *f, const char *end)
{
    char path[160];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s%s", f->path, end);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void files_are_for_their_owner_only(void **state)
{
    struct fixture *f = *state;
    static const mode_t masks[] = { 0, 022, 0377 };

    for (size_t i = 0; i < 3; i++) {
        mode_t old = umask(masks[i]);
        open_both(f);
        add_job(f->w, "a", "a", "queued");
        (void)umask(old);
        expect_mode(f, "");
        expect_mode(f, "-wal");
        expect_mode(f, "-shm");
        if (masks[i] != 0377)
            expect_mode(f, ".lock");
        close_both(f);
        remove_files(f);
    }
}

static void expect_refusal(struct fixture *f, int code, const char *words)
{
    struct store *s = NULL;
    struct error why = { 0 };

    assert_int_equal(f->backend->open(f, &s, &why), code);
    assert_null(s);
    if (strstr(why.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why.text, words);
}

static void a_second_writer_is_refused_and_disturbs_nobody(void **state)
{
    struct fixture *f = *state;
    char real[128];

    open_both(f);
    int64_t key = add_job(f->w, "a", "a", "running");
    expect_refusal(f, ERR_BUSY, "already open in this process");
    /* By another name, too. */
    (void)snprintf(real, sizeof(real), "%s", f->path);
    (void)snprintf(f->path, sizeof(f->path), "%s/link.db", f->folder);
    assert_int_equal(symlink("jobs.db", f->path), 0);
    expect_refusal(f, ERR_BUSY, "jobs.db is already open");
    assert_int_equal(unlink(f->path), 0);
    (void)snprintf(f->path, sizeof(f->path), "%s", real);

    add_records(f->w, key, 1, 3);
    assert_int_equal(count(f->r, key), 3);
    close_both(f);
    open_both(f);
    assert_int_equal(count(f->r, key), 3);
}

/* Makes a SQLite file with @sql. */
static void make_file(const struct fixture *f, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void write_file(const struct fixture *f, const char *text, size_t n)
{
    FILE *file = fopen(f->path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    struct stat st;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    *ret_n = (size_t)st.st_size;
    char *text = malloc(*ret_n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *ret_n, file), *ret_n);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void files_of_others_are_refused_and_left_alone(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *sql;
        const char *words;
    } files[] = {
        { "CREATE TABLE t(x); INSERT INTO t VALUES(1)", "of another program" },
        { "PRAGMA journal_mode=WAL; CREATE TABLE t(x)", "of another program" },
        { "PRAGMA application_id=7", "of another program" },
        { "PRAGMA user_version=7", "of another program" },
        { "PRAGMA application_id=0x53705772; PRAGMA user_version=1000; CREATE TABLE t(x)",
          "by a newer spoolwire (schema 1000" },
        { "PRAGMA application_id=0x53705772; PRAGMA user_version=-1", "is damaged" },
        { "PRAGMA application_id=0x53705772; PRAGMA user_version=1; CREATE TABLE jobs(x)",
          "does not have the tables" },
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t n = 0;
        size_t n_after = 0;

        make_file(f, files[i].sql);
        char *before = read_file(f->path, &n);
        struct error why = { 0 };
        struct store *s = NULL;
        assert_int_not_equal(f->backend->open(f, &s, &why), 0);
        assert_null(s);
        assert_non_null(strstr(why.text, files[i].words));
        if (i < 5) {
            char *after = read_file(f->path, &n_after);
            assert_int_equal(n, n_after);
            assert_memory_equal(before, after, n);
            free(after);
        }
        assert_int_not_equal(f->backend->open_reader(f, &s, &why), 0);
        free(before);
        remove_files(f);
    }
}

static void what_is_no_database_is_refused(void **state)
{
    struct fixture *f = *state;
    char text[8192];
    struct store *s = NULL;

    refused(f->backend->open_reader(f, &s, err), ERR_IO); /* a reader makes no file */
    memset(text, 'x', sizeof(text));
    write_file(f, text, sizeof(text));
    expect_refusal(f, ERR_REFUSED, "is not a SQLite database");
    write_file(f, text, 10);
    expect_refusal(f, ERR_REFUSED, "is not a SQLite database");
    remove_files(f);
    assert_int_equal(mkdir(f->path, 0700), 0);
    expect_refusal(f, ERR_REFUSED, "is not a file");
    assert_int_equal(rmdir(f->path), 0);

    struct fixture other = *f;
    (void)snprintf(other.path, sizeof(other.path), "%s/no/such.db", f->folder);
    expect_refusal(&other, ERR_IO, "the folder of");
    (void)snprintf(other.path, sizeof(other.path), "%s/", f->folder);
    expect_refusal(&other, ERR_REFUSED, "names no file");
    other.path[0] = '\0';
    expect_refusal(&other, ERR_REFUSED, "names no file");
}

static bool has_wal(const struct fixture *f)
{
    char wal[160];

    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    return access(wal, F_OK) == 0;
}

static void the_last_to_close_moves_the_wal_if_it_is_the_writer(void **state)
{
    struct fixture *f = *state;

    open_both(f);
    add_job(f->w, "a", "a", "queued");
    store_close(f->r);
    f->r = NULL;
    assert_true(has_wal(f));
    store_close(f->w);
    f->w = NULL;
    assert_false(has_wal(f));

    open_both(f);
    add_job(f->w, "b", "a", "queued");
    store_close(f->w);
    f->w = NULL;
    assert_int_equal(jobs(f->r, NULL, NULL, 0, 10).n, 2);
    store_close(f->r);
    f->r = NULL;
    assert_true(has_wal(f));
    open_both(f);
    assert_int_equal(jobs(f->r, NULL, NULL, 0, 10).n, 2);
}

/* A WAL that its program has left, for instance by a crash, stays as it is. */
static void the_wal_of_others_is_left_alone(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = NULL;
    struct fixture copy = *f;
    size_t n = 0;
    size_t n_wal = 0;
    char wal[160];

    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)", NULL, NULL, NULL),
        SQLITE_OK);
    char *file = read_file(f->path, &n);
    char *log = read_file(wal, &n_wal);
    assert_true(n_wal > 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);

    write_file(f, file, n);
    (void)snprintf(copy.path, sizeof(copy.path), "%.100s-wal", f->path);
    write_file(&copy, log, n_wal);
    expect_refusal(f, ERR_REFUSED, "of another program");
    size_t n_after = 0;
    char *after = read_file(wal, &n_after);
    assert_int_equal(n_after, n_wal);
    assert_memory_equal(after, log, n_wal);
    free(after);
    free(log);
    free(file);
}

static void an_empty_file_is_a_new_one(void **state)
{
    struct fixture *f = *state;

    write_file(f, "", 0);
    open_both(f);
    add_job(f->w, "a", "a", "queued");
    close_both(f);
    remove_files(f);
    make_file(f, "PRAGMA journal_mode=WAL"); /* as left by a crash in the first moment */
    open_both(f);
    add_job(f->w, "a", "a", "queued");
}

static void a_store_in_memory_works_without_readers(void **state)
{
    struct fixture *f = *state;
    struct store *s = NULL;

    (void)snprintf(f->path, sizeof(f->path), ":memory:");
    ok(f->backend->open(f, &f->w, err));
    int64_t key = add_job(f->w, "a", "a", "queued");
    add_records(f->w, key, 1, 5);
    store_checkpoint(f->w);
    assert_int_equal(count(f->w, key), 5);
    refused(f->backend->open_reader(f, &s, err), ERR_REFUSED);
}

static void long_paths_are_told_by_their_end(void **state)
{
    struct fixture *f = *state;
    struct error why;
    struct store *s;
    char path[600] = "/tmp/";

    /* One byte, then two-byte characters, so that the cut falls into one of them. */
    for (size_t n = strlen(path); n + 20 < sizeof(path);)
        n += (size_t)snprintf(path + n, sizeof(path) - n, "x/%s", "\xc3\xa4\xc3\xa4\xc3\xa4");
    strcat(path, "/the.db");
    struct store_options o = { .path = path };
    assert_int_equal(store_open(&o, &s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/the.db"));
    assert_non_null(strstr(why.text, "give another path"));
    (void)f;
}

static void the_wal_stays_small_beside_readers(void **state)
{
    struct fixture *f = *state;
    char wal[160];
    struct stat st;
    size_t n = (size_t)256 * 1024;
    char *text = malloc(n);

    assert_non_null(text);
    memset(text, 'x', n);
    open_both(f);
    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    int64_t key = add_job(f->w, "a", "a", "running");
    for (uint64_t seq = 1; seq <= 400; seq++) { /* 100 MiB */
        ok(store_begin(f->w, err));
        ok(store_append(f->w, key, seq, str_make(text, n), -1, err));
        ok(store_commit(f->w, err));
        assert_int_equal(records(f->r, key, seq - 1, 1, SIZE_MAX).n, 1);
        store_checkpoint(f->w);
        assert_int_equal(stat(wal, &st), 0);
        assert_true(st.st_size < (off_t)18 * 1024 * 1024);
    }
    free(text);
}

/* A commit that makes a file larger takes long: few may. */
static void the_wal_is_made_larger_ahead_of_commits(void **state)
{
    struct fixture *f = *state;
    char wal[160], command[200];
    struct stat st;
    off_t before = 0;
    int grown = 0;

    struct store_options synced = { .path = f->path, .busy_ms = 1000 };
    ok(store_open(&synced, &f->w, err));
    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    int64_t key = add_job(f->w, "a", "a", "running");
    for (uint64_t seq = 1; seq <= 500; seq++) {
        assert_int_equal(stat(wal, &st), 0);
        before = st.st_size;
        add_records(f->w, key, seq, seq);
        assert_int_equal(stat(wal, &st), 0);
        grown += st.st_size > before;
        store_checkpoint(f->w);
    }
    assert_true(grown <= 1); /* not 500 times */
    /* What a crash would leave is read without the zeros behind it. */
    (void)snprintf(command, sizeof(command),
                   "cd %s && cp jobs.db c.db && cp jobs.db-wal c.db-wal", f->folder);
    assert_int_equal(system(command), 0);
    close_both(f);
    (void)snprintf(f->path, sizeof(f->path), "%s/c.db", f->folder);
    open_both(f);
    assert_int_equal(count(f->w, key), 500);
    close_both(f);
    remove_files(f);
    (void)snprintf(f->path, sizeof(f->path), "%s/jobs.db", f->folder);
}

/* --- SQLite: a file that is damaged ------------------------------------------------ */

/* Reads all there is; errors are fine, crashes are not. */
static void read_everything(struct store *s)
{
    struct seen seen = { 0 };
    struct job_row row;
    struct store_stats stats;
    struct str text;

    (void)store_jobs(s, &(struct job_filter){ .limit = 20 }, on_job, &seen, NULL);
    (void)store_jobs(
        s, &(struct job_filter){ .state = STR("failed"), .agent = STR("a"), .limit = 20 },
        on_job, &seen, NULL);
    (void)store_open_jobs(s, on_job, &seen, NULL);
    (void)store_job_get(s, STR("j3"), &row, NULL);
    (void)store_stats(s, &stats, NULL);
    for (int64_t key = 1; key <= 4; key++) {
        seen.n = 0;
        (void)store_records(s, key, 0, 60, SIZE_MAX, on_record, &seen, NULL);
        (void)store_record(s, key, 3, &text, NULL);
    }
}

static void write_something(struct store *s)
{
    size_t n;
    struct job_row row = a_job("new", "a", "queued");

    if (store_begin(s, NULL) != 0)
        return;
    (void)store_job_insert(s, &row, NULL);
    (void)store_append(s, 2, 60, STR("more"), -1, NULL);
    (void)store_expire(s, INT64_MAX, 0, 10, &n, NULL);
    (void)store_commit(s, NULL);
}

static void a_damaged_file_is_an_error_and_no_crash(void **state)
{
    struct fixture *f = *state;
    unsigned seed = 1;
    size_t n = 0;

    open_both(f);
    for (int i = 0; i < 4; i++) {
        char id[3] = { 'j', (char)('0' + i), '\0' };
        add_records(f->w, add_job(f->w, id, "a", i == 1 ? "failed" : "queued"), 1, 50);
    }
    close_both(f);
    char *good = read_file(f->path, &n);
    char *bad = malloc(n);
    assert_non_null(bad);
    for (int round = 0; round < 300; round++) {
        memcpy(bad, good, n);
        for (int i = 0; i < 20; i++) {
            seed = seed * 1103515245 + 12345;
            size_t at = seed / 3 % n;
            bad[at < 100 ? at + 100 : at] = (char)(seed >> 24);
        }
        write_file(f, bad, round % 10 == 9 ? n / 2 : n);
        struct error why = { 0 };
        if (f->backend->open(f, &f->w, &why) == 0) {
            read_everything(f->w);
            write_something(f->w);
            read_everything(f->w);
            close_both(f);
        } else {
            assert_true(why.text[0] != '\0');
        }
        remove_files(f);
    }
    free(bad);
    free(good);
}

/* --- tokens ------------------------------------------------------------------------- */

static const char a_hash[STORE_SECRET_BYTES + 1] = "0123456789abcdef0123456789ABCDE\0";

static struct token_row a_token(const char *id, const char *parent)
{
    return (struct token_row){ .id = str_of(id),
                               .parent = str_of(parent),
                               .hash = str_make(a_hash, STORE_SECRET_BYTES),
                               .name = STR("laptop"),
                               .scopes = STR("client,worker"),
                               .owner = STR("acme"),
                               .jobs = STR("own"),
                               .agents = STR_NONE,
                               .max_jobs = -1,
                               .max_queued = 3,
                               .max_running = 4,
                               .max_streams = 5,
                               .max_events = 0,
                               .created = 100,
                               .expires = parent != NULL ? 200 : 0 };
}

struct tokens {
    char ids[64];
    int64_t revoked; /* of the last one */
};

static int on_token(void *arg, const struct token_row *row)
{
    struct tokens *t = arg;
    struct token_row want = a_token("x", row->parent.p != NULL ? "x" : NULL);

    expect_text(row->hash, want.hash);
    expect_text(row->name, want.name);
    expect_text(row->scopes, want.scopes);
    expect_text(row->owner, want.owner);
    expect_text(row->jobs, want.jobs);
    expect_text(row->agents, want.agents);
    assert_int_equal(row->max_jobs, want.max_jobs);
    assert_int_equal(row->max_queued, want.max_queued);
    assert_int_equal(row->max_running, want.max_running);
    assert_int_equal(row->max_streams, want.max_streams);
    assert_int_equal(row->max_events, want.max_events);
    assert_int_equal(row->created, want.created);
    assert_int_equal(row->expires, want.expires);
    strncat(t->ids, row->id.p, row->id.n);
    t->revoked = row->revoked;
    return 0;
}

static void expect_tokens(struct store *s, const char *ids, int64_t revoked)
{
    struct tokens got = { 0 };

    ok(store_tokens(s, on_token, &got, err));
    assert_string_equal(got.ids, ids);
    assert_int_equal(got.revoked, revoked);
}

static int64_t changes(struct store *s)
{
    int64_t n = -1;

    ok(store_token_changes(s, &n, err));
    return n;
}

static void add_token(struct store *s, const char *id, const char *parent)
{
    struct token_row row = a_token(id, parent);

    ok(store_token_insert(s, &row, err));
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

static void tokens_are_made_beside_a_server(void **state)
{
    struct fixture *f = *state;
    struct store_options o = options(f);
    struct store *beside = NULL;

    refused(store_open_beside(&o, &beside, err), ERR_IO); /* there is no file yet */
    open_both(f);
    ok(store_open_beside(&o, &beside, err));
    add_token(beside, "a", NULL);
    expect_tokens(f->r, "a", 0);
    ok(store_begin(f->w, err));
    refused(store_token_revoke(beside, STR("a"), 5, err), ERR_BUSY);
    ok(store_commit(f->w, err));
    ok(store_token_revoke(beside, STR("a"), 5, err));
    store_close(beside);
    expect_tokens(f->r, "a", 5);
    (void)add_job(f->w, "j", "a", "queued");
}

static void an_older_file_is_brought_up_to_date(void **state)
{
    struct fixture *f = *state;
    struct store_options o = options(f);
    struct store *s = NULL;

    open_both(f);
    (void)add_job(f->w, "j", "a", "queued");
    int64_t expired = add_final(f->w, "expired", "succeeded", 1000, 5);
    close_both(f);
    make_file(
        f,
        "DROP INDEX jobs_unpublished; ALTER TABLE jobs DROP COLUMN published;"
        "DROP TABLE assistants; DROP TABLE items; DROP TABLE checkpoints; DROP TABLE channels; DROP TABLE writes;"
        "DROP TABLE states; DROP TABLE threads; DROP TABLE runs; DROP INDEX jobs_thread;"
        "ALTER TABLE jobs DROP COLUMN thread; ALTER TABLE jobs DROP COLUMN ordinal;"
        "ALTER TABLE jobs DROP COLUMN not_before;"
        "ALTER TABLE jobs DROP COLUMN values_seq;"
        "DROP TABLE questions; ALTER TABLE jobs DROP COLUMN pause_requested;"
        "ALTER TABLE jobs DROP COLUMN resumed; ALTER TABLE jobs DROP COLUMN answer_by;"
        "DROP TABLE leavings; DROP INDEX jobs_whole; DROP INDEX jobs_expired;"
        "CREATE INDEX jobs_expiry ON jobs(finished + expiry_seconds * 1000);"
        "UPDATE jobs SET first_seq = seq + 1 WHERE id = 'expired';"
        "DROP INDEX jobs_owner; ALTER TABLE jobs DROP COLUMN owner;"
        "ALTER TABLE jobs DROP COLUMN holder; ALTER TABLE jobs DROP COLUMN request_id;"
        "ALTER TABLE jobs DROP COLUMN max_running;"
        "DROP TABLE tokens;"
        "DROP TABLE token_changes; DROP TABLE secrets; DROP VIEW job_runs;"
        "ALTER TABLE records DROP COLUMN batch;"
        "CREATE VIEW job_records AS SELECT id FROM records; PRAGMA user_version=1");
    refused(f->backend->open_reader(f, &s, err), ERR_REFUSED);
    refused(store_open_beside(&o, &s, err), ERR_REFUSED);
    open_both(f);
    struct job_row row = get_job(f->r, "j");
    assert_true(str_absent(row.owner) && str_absent(row.holder));
    assert_true(str_absent(row.request_id));
    refused(store_job_get(f->r, STR("expired"), &row, err), ERR_NOT_FOUND);
    expire_until(f->w, 0);
    assert_int_equal(count(f->r, expired), 0);
    add_token(f->w, "a", NULL);
    expect_tokens(f->r, "a", 0);
}

/* --- SQLite: a disk and an allocator that fail -------------------------------------- */

/* Calls count down; the one that reaches 0 fails, and if it lasts, all after it. */
struct trouble {
    long countdown; /* 0: none */
    bool lasting;
    int rc;
    long n_failed;
};

static struct trouble disk;
static struct trouble memory;

static bool fails(struct trouble *t)
{
    if (t->countdown == 0 || --t->countdown > 0)
        return false;
    t->n_failed++;
    if (t->lasting)
        t->countdown = 1;
    return true;
}

/* SQLite's own file methods, and ours, which are the same but for those that can fail. */
static sqlite3_vfs *real_vfs;
static sqlite3_vfs faulty_vfs;
static struct faulty_methods {
    sqlite3_io_methods methods; /* first, as files point to it */
    const sqlite3_io_methods *real;
} faulty_methods[2]; /* SQLite has one for databases, and one without locks for the others */

static const sqlite3_io_methods *real_of(const sqlite3_file *file)
{
    return ((const struct faulty_methods *)(const void *)file->pMethods)->real;
}

static int faulty_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    return fails(&disk) ? disk.rc : real_of(file)->xWrite(file, p, n, at);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    return fails(&disk) ? SQLITE_IOERR_FSYNC : real_of(file)->xSync(file, flags);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 n)
{
    return fails(&disk) ? SQLITE_IOERR_TRUNCATE : real_of(file)->xTruncate(file, n);
}

static int faulty_shm_map(sqlite3_file *file, int page, int n, int extend, void volatile **ret)
{
    return extend != 0 && fails(&disk) ? SQLITE_IOERR_SHMSIZE
                                       : real_of(file)->xShmMap(file, page, n, extend, ret);
}

static const sqlite3_io_methods *make_faulty(const sqlite3_io_methods *real)
{
    struct faulty_methods *m = &faulty_methods[0];

    if (m->real != NULL && m->real != real)
        m++;
    assert_true(m->real == NULL || m->real == real);
    m->real = real;
    m->methods = *real;
    m->methods.xWrite = faulty_write;
    m->methods.xSync = faulty_sync;
    m->methods.xTruncate = faulty_truncate;
    if (real->xShmMap != NULL)
        m->methods.xShmMap = faulty_shm_map;
    return &m->methods;
}

static int faulty_open(sqlite3_vfs *vfs,
                       const char *name,
                       sqlite3_file *file,
                       int flags,
                       int *out)
{
    (void)vfs;
    int rc = real_vfs->xOpen(real_vfs, name, file, flags, out);
    if (rc == SQLITE_OK && file->pMethods != NULL)
        file->pMethods = make_faulty(file->pMethods);
    return rc;
}

static sqlite3_mem_methods real_memory;

static void *faulty_malloc(int n)
{
    return fails(&memory) ? NULL : real_memory.xMalloc(n);
}

static void *faulty_realloc(void *p, int n)
{
    return fails(&memory) ? NULL : real_memory.xRealloc(p, n);
}

static void install_faults(void)
{
    sqlite3_mem_methods methods;

    (void)sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    methods = real_memory;
    methods.xMalloc = faulty_malloc;
    methods.xRealloc = faulty_realloc;
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    real_vfs = sqlite3_vfs_find(NULL);
    faulty_vfs = *real_vfs;
    faulty_vfs.zName = "faulty";
    faulty_vfs.pNext = NULL;
    faulty_vfs.xOpen = faulty_open;
    (void)sqlite3_vfs_register(&faulty_vfs, 1);
}

/* What must be in the store: only what a commit has said is. */
struct model {
    size_t n_jobs;
    size_t n_records; /* of the first job */
    bool expired;     /* the second job is gone */
};

/* One transaction; 0 when it is stored. */
static int add_first_job(struct store *s, const char *id, const char *state)
{
    struct job_row row = a_job(id, "a", state);

    row.input = STR("{\"some\":\"input\"}");
    row.finished = 1;
    int code = store_begin(s, NULL);
    if (code != 0)
        return code;
    (void)store_job_insert(s, &row, NULL); /* the commit knows */
    return store_commit(s, NULL);
}

/* @n records in a transaction. */
static int add_some(struct store *s, uint64_t after, uint64_t n)
{
    char text[300];
    int code = store_begin(s, NULL);

    if (code != 0)
        return code;
    memset(text, 'x', sizeof(text));
    for (uint64_t i = 1; i <= n && code == 0; i++)
        code = store_append(s, 1, after + i, str_make(text, sizeof(text)), -1, NULL);
    if (code != 0) {
        store_rollback(s);
        return code;
    }
    return store_commit(s, NULL);
}

static int expire_all(struct store *s)
{
    size_t n;
    int code = store_begin(s, NULL);

    if (code != 0)
        return code;
    (void)store_expire(s, INT64_MAX, 0, 100, &n, NULL); /* the commit knows */
    return store_commit(s, NULL);
}

static void expect_model(struct store *s, const struct model *m)
{
    assert_int_equal(jobs(s, NULL, NULL, 0, 10).n, m->n_jobs - (m->expired ? 1 : 0));
    struct seen seen = records(s, 1, 0, 64, SIZE_MAX);
    assert_int_equal(seen.n, m->n_records);
    for (size_t i = 0; i < seen.n; i++)
        assert_int_equal(seen.numbers[i], i + 1);
}

/* All that a store does, going on after every failure. */
static void live(struct store *s, struct model *m)
{
    m->n_jobs += add_first_job(s, "first", "running") == 0;
    if (m->n_jobs == 1)
        m->n_jobs += add_first_job(s, "second", "failed") == 0;
    for (uint64_t round = 0; m->n_jobs == 2 && round < 4; round++)
        m->n_records += add_some(s, m->n_records, 10) == 0 ? 10 : 0;
    if (m->n_jobs == 2)
        m->expired = expire_all(s) == 0;
}

/* Opens and lives with the n-th call failing, for every n (every seventh, once the first few
 * hundred are done); what was acknowledged is there, what was not is not, and the store goes
 * on once the trouble is over.  With @opening there is trouble from the start, else only
 * after the store is open, and once more while it closes. */
static void survive(struct fixture *f, struct trouble *t, int rc, bool lasting, bool opening)
{
    long n = 0;

    do {
        struct model m = { 0 };
        struct error why = { 0 };

        n += n < 300 ? 1 : n < 1000 ? 7 : 31;
        *t = (struct trouble){ .countdown = opening ? n : 0, .lasting = lasting, .rc = rc };
        int code = f->backend->open(f, &f->w, &why);
        if (!opening)
            *t = (struct trouble){ .countdown = n, .lasting = lasting, .rc = rc };
        if (code == 0) {
            live(f->w, &m);
            t->countdown = 0;
            expect_model(f->w, &m);
            if (m.n_jobs >= 1) {
                assert_int_equal(add_some(f->w, m.n_records, 3), 0);
                m.n_records += 3;
                expect_model(f->w, &m);
            }
            if (!opening) { /* the checkpoint at the end may fail as well */
                *t = (struct trouble){ .countdown = n, .rc = rc, .n_failed = t->n_failed };
            }
        } else {
            assert_true(why.text[0] != '\0' && why.code == code);
            t->countdown = 0;
        }
        close_both(f);
        t->countdown = 0;
        open_both(f);
        expect_model(f->r, &m);
        close_both(f);
        remove_files(f);
    } while (t->n_failed > 0);
    assert_true(n > 5); /* it did fail some times */
}

static void a_full_disk_loses_nothing_that_was_stored(void **state)
{
    survive(*state, &disk, SQLITE_FULL, false, true);
    survive(*state, &disk, SQLITE_FULL, true, false);
}

static void a_failing_disk_loses_nothing_that_was_stored(void **state)
{
    survive(*state, &disk, SQLITE_IOERR_WRITE, false, false);
    survive(*state, &disk, SQLITE_IOERR_WRITE, true, true);
}

static void memory_that_runs_out_fails_one_call_only(void **state)
{
    survive(*state, &memory, 0, false, false);
}

static void memory_that_runs_out_while_opening_is_an_error(void **state)
{
    survive(*state, &memory, 0, false, true);
}

static void a_commit_after_a_lost_transaction_gives_its_error(void **state)
{
    struct fixture *f = *state;
    struct error why = { 0 };
    struct str big;
    size_t n = (size_t)40 * 1024 * 1024; /* more than the cache: written before the commit */
    char *text = malloc(n);

    assert_non_null(text);
    memset(text, 'x', n);
    big = str_make(text, n);
    open_both(f);
    int64_t key = add_job(f->w, "a", "a", "running");
    ok(store_begin(f->w, err));
    append_text(f->w, key, 1);
    disk = (struct trouble){ .countdown = 20, .rc = SQLITE_FULL };
    assert_int_equal(store_append(f->w, key, 2, big, -1, &why), ERR_IO);
    assert_non_null(strstr(why.text, "no space left"));
    /* SQLite has rolled back by now: this must not become a transaction of its own. */
    refused(store_append(f->w, key, 3, STR("x"), -1, err), ERR_IO);
    assert_int_equal(store_commit(f->w, &why), ERR_IO);
    assert_non_null(strstr(why.text, "no space left"));
    assert_int_equal(count(f->r, key), 0);

    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 1, big, -1, err));
    ok(store_commit(f->w, err));
    assert_int_equal(count(f->r, key), 1);
    free(text);
}

int main(void)
{
    install_faults();
#define shared(test)                                                  \
    {                                                                 \
#test, test, setup, teardown, (void *)(uintptr_t)&backends[0] \
    }
#define sqlite_only(test) cmocka_unit_test_setup_teardown(test, make_folder, teardown)
    const struct CMUnitTest tests[] = {
        shared(a_job_comes_out_as_it_went_in),
        shared(absent_and_empty_texts_differ),
        shared(a_job_that_is_not_there_is_not_found),
        shared(an_id_is_taken_once),
        shared(an_idempotency_key_is_taken_once),
        shared(keys_are_never_given_twice),
        shared(an_update_changes_all_but_what_is_fixed),
        shared(updates_move_a_job_between_lists),
        shared(jobs_are_listed_newest_first),
        shared(an_owner_sees_its_own),
        shared(open_jobs_come_oldest_first),
        shared(records_come_in_order_and_of_one_job_only),
        shared(a_page_of_records_ends_at_its_bytes),
        shared(a_record_is_any_line),
        shared(a_run_holds_several_records),
        shared(a_row_knows_what_came_after_it),
        shared(a_record_is_stored_once),
        shared(a_deleted_job_takes_its_records_with_it),
        shared(readers_see_what_is_committed),
        shared(a_rollback_leaves_nothing),
        shared(closing_in_a_transaction_stores_nothing),
        shared(everything_survives_reopening),
        shared(a_callback_may_call_the_store),
        shared(only_final_jobs_expire_and_only_in_time),
        shared(the_ending_of_a_job_is_kept),
        shared(the_run_that_an_ending_is_in_is_cut),
        shared(retention_goes_in_small_steps),
        shared(a_deleted_job_is_swept_in_small_steps),
        shared(stats_count),
        shared(tokens_come_out_as_they_went_in),
        shared(sessions_end),
        shared(a_secret_stays_the_same),
        shared(readers_follow_in_their_own_threads),

        sqlite_only(files_are_for_their_owner_only),
        sqlite_only(a_second_writer_is_refused_and_disturbs_nobody),
        sqlite_only(tokens_are_made_beside_a_server),
        sqlite_only(an_older_file_is_brought_up_to_date),
        sqlite_only(files_of_others_are_refused_and_left_alone),
        sqlite_only(what_is_no_database_is_refused),
        sqlite_only(the_last_to_close_moves_the_wal_if_it_is_the_writer),
        sqlite_only(the_wal_of_others_is_left_alone),
        sqlite_only(an_empty_file_is_a_new_one),
        sqlite_only(a_store_in_memory_works_without_readers),
        sqlite_only(long_paths_are_told_by_their_end),
        sqlite_only(the_wal_stays_small_beside_readers),
        sqlite_only(the_wal_is_made_larger_ahead_of_commits),
        sqlite_only(a_damaged_file_is_an_error_and_no_crash),
        sqlite_only(a_full_disk_loses_nothing_that_was_stored),
        sqlite_only(a_failing_disk_loses_nothing_that_was_stored),
        sqlite_only(memory_that_runs_out_fails_one_call_only),
        sqlite_only(memory_that_runs_out_while_opening_is_an_error),
        sqlite_only(a_commit_after_a_lost_transaction_gives_its_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
