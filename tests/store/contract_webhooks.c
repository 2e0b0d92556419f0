/* The contract: deliveries of webhooks. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "contract.h"

#include "base/arena.h"
#include "store/rows.h"

struct listed {
    char text[200];
};

static struct webhook_row a_webhook(const char *id, int64_t job, const char *thread)
{
    return (struct webhook_row){ .id = str_of(id),
                                 .job = job,
                                 .thread = str_of(thread),
                                 .owner = STR("me"),
                                 .url = STR("http://x/"),
                                 .run = STR("{}"),
                                 .created = 5 };
}

static void put_webhook(struct store *s, const char *id, int64_t job, const char *thread)
{
    struct webhook_row row = a_webhook(id, job, thread);

    ok(store_webhook_insert(s, &row, err));
}

static void end_run(struct store *s, int64_t job, int64_t thread, int64_t now)
{
    const struct webhook_end end = { .job = job,
                                     .thread = thread,
                                     .status = STR("error"),
                                     .error = STR("{\"e\":1}"),
                                     .started = now - 1,
                                     .now = now };

    ok(store_webhook_end(s, &end, err));
}

static int on_webhook(void *arg, const struct webhook_row *row)
{
    struct listed *l = arg;
    size_t n = strlen(l->text);

    (void)snprintf(l->text + n, sizeof(l->text) - n, "%.*s:%.*s ", STR_ARG(row->id),
                   STR_ARG(row->state));
    return 0;
}

static void due(struct store *s, int64_t now, size_t limit, const char *want)
{
    struct listed l = { "" };

    ok(store_webhooks_due(s, now, limit, on_webhook, &l, err));
    assert_string_equal(l.text, want);
}

static struct arena texts; /* of the last one that get() has returned */

static int on_copied(void *arg, const struct webhook_row *row)
{
    struct webhook_row *copy = arg;

    *copy = *row;
    assert_true(row_copy(&texts, &webhook_texts, copy));
    return 0;
}

static struct webhook_row get(struct store *s, const char *id)
{
    struct webhook_row row = { 0 };

    arena_done(&texts);
    arena_init(&texts);
    ok(store_webhook(s, str_of(id), on_copied, &row, err));
    return row;
}

static void a_delivery_has_what_its_run_has_left(void **state)
{
    struct store *s = begun(state);
    struct thread_row thread = { .id = STR("t"),
                                 .status = STR("idle"),
                                 .metadata = STR("{}"),
                                 .config = STR("{}"),
                                 .interrupts = STR("{}"),
                                 .created = 1,
                                 .updated = 1 };
    struct webhook_row row = a_webhook("x", 7, "t");

    ok(store_thread_insert(s, &thread, err));
    ok(store_thread_values(s, thread.key, STR("{\"v\":1}"), 2, err));
    ok(store_webhook_insert(s, &row, err));
    refused(store_webhook_insert(s, &row, err), ERR_REFUSED);
    end_run(s, 8, thread.key, 90); /* a run that has none */
    row = get(s, "x");
    assert_true(str_is(row.state, "waiting") && str_absent(row.status) && row.n == 0);
    end_run(s, 7, thread.key, 100);
    end_run(s, 7, thread.key, 110); /* it has ended */
    row = get(s, "x");
    assert_true(str_is(row.id, "x") && str_is(row.thread, "t") && str_is(row.owner, "me"));
    assert_true(str_is(row.url, "http://x/") && str_is(row.run, "{}"));
    assert_true(str_is(row.state, "pending") && str_is(row.status, "error"));
    assert_true(str_is(row.error, "{\"e\":1}") && str_is(row.values, "{\"v\":1}"));
    assert_true(str_absent(row.reason));
    assert_int_equal(row.job, 7);
    assert_int_equal(row.created, 5);
    assert_int_equal(row.started, 99);
    assert_true(row.ended == 100 && row.since == 100 && row.due == 100 && row.n > 0);
    assert_true(row.attempts == 0 && row.version == 0 && row.expires == 0 && row.code == 0);
    arena_done(&texts);
}

static void deliveries_of_a_thread_are_due_one_after_another(void **state)
{
    struct store *s = begun(state);
    struct webhook_row row;

    put_webhook(s, "a", 1, "t");
    put_webhook(s, "b", 2, "t");
    put_webhook(s, "c", 3, "u");
    end_run(s, 2, 0, 100);
    end_run(s, 1, 0, 100); /* in the order of the ends, not of their names or times */
    end_run(s, 3, 0, 120);
    due(s, 99, 10, "");
    due(s, 110, 10, "b:pending ");
    due(s, 120, 10, "b:pending c:pending ");
    due(s, 120, 1, "b:pending ");
    row = get(s, "b");
    row.state = STR("pending");
    row.due = 500;
    ok(store_webhook_move(s, &row, err));
    due(s, 200, 10, "c:pending ");
    row = get(s, "b");
    row.state = STR("sent");
    ok(store_webhook_move(s, &row, err));
    due(s, 200, 10, "a:pending c:pending ");
    arena_done(&texts);
}

static void a_delivery_changes_from_the_version_that_was_read(void **state)
{
    struct store *s = begun(state);
    struct webhook_counts n;
    struct webhook_row row;

    put_webhook(s, "a", 1, "t");
    put_webhook(s, "b", 2, "t");
    end_run(s, 1, 0, 100);
    row = (struct webhook_row){ .id = STR("a"),
                                .version = 0,
                                .state = STR("dead"),
                                .reason = STR("why"),
                                .since = 101,
                                .due = 102,
                                .tried = 103,
                                .attempts = 4,
                                .code = 500,
                                .expires = 900 };
    ok(store_webhook_move(s, &row, err));
    row = get(s, "a");
    assert_true(str_is(row.state, "dead") && str_is(row.reason, "why") && row.version == 1);
    assert_true(row.since == 101 && row.due == 102 && row.tried == 103 && row.attempts == 4);
    assert_true(row.code == 500 && row.expires == 900 && row.ended == 100);
    arena_done(&texts);
    ok(store_webhooks_count(s, &n, err));
    assert_true(n.waiting == 1 && n.pending == 0 && n.sent == 0 && n.dead == 1);
    row = (struct webhook_row){ .id = STR("a"), .version = 0, .state = STR("sent") };
    refused(store_webhook_move(s, &row, err), ERR_CONFLICT); /* the last call: see crons */
}

static void lists(struct store *s,
                  struct str wanted,
                  int64_t n,
                  struct str id,
                  size_t limit,
                  const char *want)
{
    struct listed l = { "" };

    ok(store_webhooks(s, wanted, n, id, limit, on_webhook, &l, err));
    assert_string_equal(l.text, want);
}

static void deliveries_are_listed_forgotten_and_expire(void **state)
{
    struct store *s = begun(state);
    struct store_batch b;
    struct webhook_row row;
    size_t n = 0;

    put_webhook(s, "a", 1, "t");
    put_webhook(s, "b", 2, "u");
    put_webhook(s, "c", 3, "v");
    put_webhook(s, "d", 4, "w");
    for (int64_t job = 1; job < 4; job++)
        end_run(s, job, 0, 100);
    lists(s, STR_NONE, INT64_MAX, STR_NONE, 10, "c:pending b:pending a:pending ");
    int64_t at = get(s, "b").n;
    lists(s, STR_NONE, at, STR("b"), 10, "a:pending ");
    lists(s, STR_NONE, INT64_MAX, STR_NONE, 1, "c:pending ");
    store_batch_init(&b);
    row = (struct webhook_row){ .id = STR("a"), .state = STR("sent"), .expires = 300 };
    ok(store_batch_webhook_move(&b, &row));
    row = (struct webhook_row){ .id = STR("b"), .state = STR("dead"), .expires = 400 };
    ok(store_batch_webhook_move(&b, &row));
    ok(store_flush(s, &b, err));
    store_batch_done(&b);
    lists(s, STR("dead"), INT64_MAX, STR_NONE, 10, "b:dead ");
    ok(store_webhook_forget(s, 3, err)); /* it is pending */
    lists(s, STR_NONE, INT64_MAX, STR_NONE, 10, "c:pending b:dead a:sent ");
    ok(store_expire(s, 350, 0, 10, &n, err));
    lists(s, STR_NONE, INT64_MAX, STR_NONE, 10, "c:pending b:dead ");
    ok(store_webhook_forget(s, 2, err));
    ok(store_webhook_forget(s, 4, err));
    lists(s, STR_NONE, INT64_MAX, STR_NONE, 10, "c:pending ");
    assert_true(str_absent(get(s, "d").id));
    arena_done(&texts);
}

static int on_wanted(void *arg, const struct store_want *want, const struct store_found *found)
{
    assert_int_equal(want->kind, WANT_WEBHOOK);
    return on_webhook(arg, found->webhook);
}

static void deliveries_are_wanted_and_move_with_the_clock(void **state)
{
    struct store *s = begun(state);
    const struct store_want wants[] = { { .kind = WANT_WEBHOOK, .text = STR("a") },
                                        { .kind = WANT_WEBHOOK, .text = STR("none") } };
    struct listed l = { "" };
    struct store_batch b;
    struct webhook_row row = a_webhook("a", 1, "t");
    const struct webhook_end end = { .job = 1, .status = STR("success"), .now = 1000 };

    store_batch_init(&b);
    ok(store_batch_webhook_insert(&b, &row));
    ok(store_batch_webhook_end(&b, &end));
    ok(store_flush(s, &b, err));
    ok(store_read(s, wants, 2, on_wanted, &l, err));
    assert_string_equal(l.text, "a:pending ");
    ok(store_move_times(s, 500, 1500, err));
    row = get(s, "a");
    assert_true(row.since == 1500 && row.due == 1500 && row.expires == 0);
    ok(store_batch_webhook_forget(&b, 1));
    ok(store_flush(s, &b, err));
    store_batch_done(&b);
    assert_true(str_is(get(s, "a").state, "pending"));
    arena_done(&texts);
}

const struct contract_case contract_webhooks[] = {
    CASE_NEEDS(a_delivery_has_what_its_run_has_left, webhook_move),
    CASE_NEEDS(deliveries_of_a_thread_are_due_one_after_another, webhook_move),
    CASE_NEEDS(a_delivery_changes_from_the_version_that_was_read, webhook_move),
    CASE_NEEDS(deliveries_are_listed_forgotten_and_expire, webhook_move),
    CASE_NEEDS(deliveries_are_wanted_and_move_with_the_clock, webhook_move),
    { .name = NULL },
};
