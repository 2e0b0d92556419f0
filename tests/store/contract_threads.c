/* The contract: threads and their runs. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "contract.h"

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
    ok(store_thread_insert(s, &row, err));
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

    ok(store_job_insert(s, &row, err));
    run.job = row.key;
    ok(store_run_insert(s, &run, err));
    return row.key;
}

/* --- threads --------------------------------------------------------------------------- */

static void a_thread_comes_out_as_it_is(void **state)
{
    struct store *s = begun(state);
    struct thread_row row;
    int64_t key = add_thread(s, "t", "me", false);

    ok(store_thread_get(s, STR("t"), &row, err));
    assert_int_equal(row.key, key);
    expect_text(row.owner, STR("me"));
    expect_text(row.status, STR("idle"));
    assert_true(str_absent(row.values) && str_absent(row.error));

    row.status = STR("error");
    row.error = STR("{}");
    row.n_runs = 3;
    row.updated = 99;
    ok(store_thread_update(s, &row, err));
    ok(store_thread_values(s, key, STR("{\"v\":1}"), 100, err));
    ok(store_thread_by_key(s, key, &row, err));
    expect_text(row.status, STR("error"));
    expect_text(row.values, STR("{\"v\":1}"));
    assert_true(row.n_runs == 3 && row.updated == 100 && row.state_updated == 100);

    struct thread_row again = { .id = STR("t"),
                                .status = STR("idle"),
                                .metadata = STR("{}"),
                                .config = STR("{}"),
                                .interrupts = STR("{}") };
    refused(store_thread_insert(s, &again, err), ERR_REFUSED);
    ok(store_thread_delete(s, key, err));
    refused(store_thread_get(s, STR("t"), &row, err), ERR_NOT_FOUND);
    refused(store_thread_delete(s, key, err), ERR_NOT_FOUND);
    refused(store_thread_update(s, &again, err), ERR_NOT_FOUND);
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

static int on_run(void *arg, const struct job_row *row)
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

    ok(store_threads(s, order, ascending, owner, on_thread, &l, err));
    assert_string_equal(l.text, want);
}

static void threads_come_in_every_order(void **state)
{
    struct store *s = begun(state);
    struct list few = { .most = 2 };

    (void)add_thread(s, "b", "me", false);
    (void)add_thread(s, "a", NULL, false);
    int64_t c = add_thread(s, "c", "me", false);
    (void)add_thread(s, "x", "me", true);
    ok(store_thread_values(s, c - 1, STR("1"), 1000, err));
    expect_threads(s, THREADS_BY_CREATED, false, STR_NONE, "cab");
    expect_threads(s, THREADS_BY_CREATED, true, STR_NONE, "bac");
    expect_threads(s, THREADS_BY_ID, true, STR_NONE, "abc");
    expect_threads(s, THREADS_BY_UPDATED, false, STR_NONE, "acb");
    expect_threads(s, THREADS_BY_STATUS, true, STR_NONE, "bac");
    expect_threads(s, THREADS_BY_CREATED, false, STR("me"), "cb");
    ok(store_threads(s, THREADS_BY_ID, false, STR_NONE, on_thread, &few, err));
    assert_string_equal(few.text, "cb");
}

/* --- runs ------------------------------------------------------------------------------ */

static void runs_of_a_thread_come_newest_first(void **state)
{
    struct store *s = begun(state);
    struct list l = { .n = 0 };
    struct run_row run;
    int64_t t = add_thread(s, "t", NULL, false), other = add_thread(s, "u", NULL, false);
    int64_t key = add_run(s, "1", t, 1);

    (void)add_run(s, "2", t, 2);
    (void)add_run(s, "x", other, 1);
    ok(store_thread_jobs(s, t, on_run, &l, err));
    assert_string_equal(l.text, "21");
    ok(store_run_get(s, key, &run, err));
    expect_text(run.thread, STR("t"));
    expect_text(run.kwargs, STR("{\"k\":1}"));
    assert_true(run.modes == 5 && run.subgraphs == 1);
    refused(store_run_get(s, 1234, &run, err), ERR_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        ok(store_run_read(s, key, err));
        ok(store_run_get(s, key, &run, err));
        assert_true(run.modes == (5 | RUN_IS_READ) && run.subgraphs == 1);
    }
    refused(store_run_read(s, 1234, err), ERR_NOT_FOUND);
}

static void what_a_run_was_made_with_goes_with_its_input(void **state)
{
    struct store *s = begun(state);
    struct run_row run;
    struct thread_row row;
    size_t n;
    int64_t t = add_thread(s, "t", NULL, false), temporary = add_thread(s, "u", NULL, true);
    int64_t key = add_run(s, "1", t, 1);

    ok(store_append(s, key, 2, STR("{}\n{}"), -1, err));
    ok(store_expire(s, 100000, 1000000, 1, &n, err));
    ok(store_run_get(s, key, &run, err));
    expect_text(run.kwargs, STR("{}"));
    ok(store_job_delete(s, key, err));
    refused(store_run_get(s, key, &run, err), ERR_NOT_FOUND);
    ok(store_thread_get(s, STR("t"), &row, err));
    /* A thread that was made for one run goes with it. */
    ok(store_job_delete(s, add_run(s, "2", temporary, 1), err));
    refused(store_thread_get(s, STR("u"), &row, err), ERR_NOT_FOUND);
}

static int on_values(void *arg, const struct store_want *want, const struct store_found *found)
{
    strncat(arg, found->job->id.p, found->job->id.n);
    strncat(arg, found->stored.p, found->stored.n);
    assert_int_equal(want->kind, WANT_VALUES_BEFORE);
    return 0;
}

/* The values that a thread had before a run: of the last run that has any and counts. */
static void the_values_before_a_run_are_found(void **state)
{
    struct store *s = begun(state);
    int64_t t = add_thread(s, "t", NULL, false);
    const char *ids[] = { "a", "b", "c", "d", "e" };
    char found[64] = "";

    for (int i = 0; i < 5; i++) {
        struct job_row row;
        int64_t key = add_run(s, ids[i], t, i + 1);

        ok(store_append(s, key, 2, STR("one\ntwo"), -1, err));
        ok(store_job_get(s, str_of(ids[i]), &row, err));
        row.state = STR("succeeded"); /* the texts of a row are gone with the next call */
        row.values_seq = i == 3 ? 0 : 2;
        row.outcome = i == 2 ? STR("rollback") : STR_NONE;
        ok(store_job_update(s, &row, err));
    }
    const struct store_want wants[] = {
        { .kind = WANT_VALUES_BEFORE, .key = t, .number = 5 },
        { .kind = WANT_VALUES_BEFORE, .key = t, .number = 1 },
        { .kind = WANT_VALUES_BEFORE, .key = t, .number = 2 },
    };
    ok(store_read(s, wants, 3, on_values, found, err));
    assert_string_equal(found, "btwoatwo");
}

const struct contract_case contract_threads[] = {
    CASE(a_thread_comes_out_as_it_is),
    CASE(threads_come_in_every_order),
    CASE(runs_of_a_thread_come_newest_first),
    CASE(what_a_run_was_made_with_goes_with_its_input),
    CASE(the_values_before_a_run_are_found),
    { .name = NULL },
};
