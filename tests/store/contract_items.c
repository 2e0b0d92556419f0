/* The contract: items, assistants and crons. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "contract.h"

struct gathered {
    char text[64];
};

static void gather(struct gathered *g, struct str text)
{
    strncat(g->text, text.p, text.n);
    strcat(g->text, " ");
}

/* --- items ----------------------------------------------------------------------------- */

static struct item_row an_item(const char *ns, const char *key, const char *value, int64_t now)
{
    return (struct item_row){ .owner = STR("me"),
                              .ns = str_of(ns),
                              .key = str_of(key),
                              .value = str_of(value),
                              .created = now,
                              .updated = now };
}

static int on_item(void *arg, const struct item_row *row)
{
    gather(arg, row->value);
    return 0;
}

static int on_ns(void *arg, struct str ns)
{
    gather(arg, ns);
    return 0;
}

static void put_item(struct store *s, struct item_row row)
{
    ok(store_item_put(s, &row, err));
}

static void items_lie_below_their_namespaces(void **state)
{
    struct store *s = begun(state);
    struct gathered one = { "" }, below = { "" }, names = { "" }, gone = { "" };
    struct item_row wanted = an_item("a.b.", "k", "", 0);

    put_item(s, an_item("a.b.", "k", "1", 10));
    put_item(s, an_item("a.b.", "k", "2", 20)); /* in its place */
    put_item(s, an_item("a.", "k", "3", 30));
    put_item(s, an_item("ab.", "k", "4", 40));
    ok(store_item(s, &wanted, 50, on_item, &one, err));
    assert_string_equal(one.text, "2 ");
    ok(store_items(s, STR("me"), STR("a."), 50, on_item, &below, err));
    assert_string_equal(below.text, "3 2 ");
    ok(store_namespaces(s, STR("me"), 50, on_ns, &names, err));
    assert_string_equal(names.text, "a. a.b. ab. ");
    ok(store_items(s, STR("other"), STR(""), 50, on_item, &gone, err));
    ok(store_item_delete(s, &wanted, err));
    ok(store_item_delete(s, &wanted, err)); /* no error when there is none */
    ok(store_item(s, &wanted, 50, on_item, &gone, err));
    assert_string_equal(gone.text, "");
}

static void an_item_lives_for_its_time(void **state)
{
    struct store *s = begun(state);
    struct gathered seen = { "" };
    struct item_row row = an_item("n.", "k", "v", 100);

    row.ttl_ms = 50;
    row.expires = 150;
    put_item(s, row);
    ok(store_item_touch(s, &row, 140, err));
    ok(store_item(s, &row, 180, on_item, &seen, err)); /* its time has begun anew */
    assert_string_equal(seen.text, "v ");
    ok(store_item(s, &row, 191, on_item, &seen, err));
    assert_string_equal(seen.text, "v ");
}

static int on_vectors(void *arg, const struct item_row *row)
{
    gather(arg, row->value);
    gather(arg, row->vectors);
    return 0;
}

static void index_item(struct store *s, struct item_row row, struct str vectors)
{
    row.vectors = vectors;
    ok(store_item_index(s, &row, err));
}

static void the_vectors_of_an_item_go_with_it(void **state)
{
    struct store *s = begun(state);
    struct gathered seen = { "" }, fewer = { "" }, none = { "" };
    struct item_row one = an_item("a.b.", "k", "1", 10), two = an_item("a.", "k", "2", 20);

    put_item(s, one);
    put_item(s, two);
    put_item(s, an_item("a.", "without", "3", 30));
    two.ttl_ms = 5;
    two.expires = 25;
    put_item(s, two);
    index_item(s, one, STR("old"));
    index_item(s, one, STR("v1"));
    index_item(s, two, STR("v2"));
    ok(store_items_indexed(s, STR("me"), STR("a."), 22, on_vectors, &seen, err));
    assert_string_equal(seen.text, "2 v2 1 v1 ");
    ok(store_items_indexed(s, STR("me"), STR("a.b."), 22, on_vectors, &fewer, err));
    assert_string_equal(fewer.text, "1 v1 ");
    ok(store_items_indexed(s, STR("me"), STR("a."), 30, on_vectors, &none, err));
    assert_string_equal(none.text, "1 v1 "); /* the other has expired */
    none = fewer = (struct gathered){ "" };
    index_item(s, one, STR(""));
    ok(store_item_delete(s, &two, err));
    put_item(s, two); /* without its vectors */
    ok(store_items_indexed(s, STR("me"), STR(""), 22, on_vectors, &none, err));
    ok(store_items_indexed(s, STR("other"), STR(""), 22, on_vectors, &none, err));
    assert_string_equal(none.text, "");
}

static int count_items(void *arg, const struct item_row *row)
{
    (void)row;
    ++*(size_t *)arg;
    return 0;
}

static void items_of_a_time_come_by_name_and_not_too_many(void **state)
{
    struct store *s = begun(state);
    struct gathered seen = { "" };
    size_t n = 0, n_indexed = 0;
    struct store_batch b;
    char keys[500][16]; /* borrowed by the batch */

    store_batch_init(&b);
    for (int i = 0; i <= STORE_MAX_ITEMS; i++) {
        char *key = keys[i % 500];

        (void)snprintf(key, sizeof(keys[0]), "%d", i);
        struct item_row row = an_item("n.", key, "0", 10);
        row.vectors = STR("v");
        ok(store_batch_item_put(&b, &row));
        if (i % 500 == 499)
            ok(store_flush(s, &b, err));
    }
    ok(store_flush(s, &b, err));
    store_batch_done(&b);
    put_item(s, an_item("m.b.", "a", "1", 20));
    put_item(s, an_item("m.a.", "b", "2", 20));
    put_item(s, an_item("m.a.", "a", "3", 20));
    put_item(s, an_item("m.c.", "c", "4", 30));
    index_item(s, an_item("m.b.", "a", "1", 20), STR("v1"));
    index_item(s, an_item("m.a.", "b", "2", 20), STR("v2"));
    index_item(s, an_item("m.a.", "a", "3", 20), STR("v3"));
    index_item(s, an_item("m.c.", "c", "4", 30), STR("v4"));
    ok(store_commit(s, err));
    s = ((struct fixture *)*state)->r;
    ok(store_items_indexed(s, STR("me"), STR("m."), 50, on_vectors, &seen, err));
    assert_string_equal(seen.text, "4 v4 3 v3 2 v2 1 v1 ");
    ok(store_items(s, STR("me"), STR("n."), 50, count_items, &n, err));
    ok(store_items_indexed(s, STR("me"), STR(""), 50, count_items, &n_indexed, err));
    assert_int_equal(n, STORE_MAX_ITEMS);
    assert_int_equal(n_indexed, STORE_MAX_ITEMS);
}

/* --- assistants ------------------------------------------------------------------------ */

static struct assistant_row a_version(int64_t version, const char *name)
{
    return (struct assistant_row){ .id = STR("x"),
                                   .owner = STR(""),
                                   .graph = STR("g"),
                                   .name = str_of(name),
                                   .config = STR("{}"),
                                   .context = STR("{}"),
                                   .metadata = STR("{}"),
                                   .version = version,
                                   .created = 1,
                                   .updated = version };
}

static int on_assistant(void *arg, const struct assistant_row *row)
{
    gather(arg, row->name);
    return 0;
}

static void one_version_of_an_assistant_counts(void **state)
{
    struct store *s = begun(state);
    struct assistant_row one = a_version(1, "one"), two = a_version(2, "two");
    struct gathered all = { "" }, now = { "" }, counts = { "" }, gone = { "" };
    int64_t n = -1;

    ok(store_assistant_versions(s, STR("x"), &n, err));
    assert_int_equal(n, 0);
    ok(store_assistant_insert(s, &one, err));
    ok(store_assistant_insert(s, &two, err));
    refused(store_assistant_insert(s, &two, err), ERR_REFUSED);
    ok(store_assistant_versions(s, STR("x"), &n, err));
    assert_int_equal(n, 2);
    ok(store_assistants(s, STR("x"), on_assistant, &all, err));
    assert_string_equal(all.text, "two one ");
    ok(store_assistant(s, STR("x"), on_assistant, &now, err));
    assert_string_equal(now.text, "two ");
    ok(store_assistant_choose(s, STR("x"), 1, err));
    refused(store_assistant_choose(s, STR("x"), 3, err), ERR_NOT_FOUND);
    ok(store_assistants(s, STR_NONE, on_assistant, &counts, err));
    assert_string_equal(counts.text, "one ");
    ok(store_assistant_delete(s, STR("x"), err));
    refused(store_assistant_delete(s, STR("x"), err), ERR_NOT_FOUND);
    ok(store_assistant(s, STR("x"), on_assistant, &gone, err));
    assert_string_equal(gone.text, "");
}

/* --- crons ------------------------------------------------------------------------------ */

static struct cron_row a_cron(const char *id, int64_t next)
{
    return (struct cron_row){ .id = str_of(id),
                              .owner = STR("me"),
                              .assistant = STR("a"),
                              .schedule = STR("* * * * *"),
                              .payload = STR("{}"),
                              .metadata = str_of(id),
                              .enabled = 1,
                              .next = next,
                              .max_running = 3,
                              .created = next,
                              .updated = next,
                              .moved = next };
}

static int on_cron(void *arg, const struct cron_row *row)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%.*s:%lld", STR_ARG(row->metadata),
                   (long long)row->next);
    gather(arg, str_of(text));
    return 0;
}

static int on_whole_cron(void *arg, const struct cron_row *row)
{
    *(struct cron_row *)arg = *row;
    assert_true(str_is(row->timezone, "Asia/Tokyo") && str_is(row->on_completed, "keep"));
    assert_true(str_is(row->thread, "t") && str_is(row->owner, "me"));
    return 1;
}

static void a_cron_keeps_what_it_was_given(void **state)
{
    struct store *s = begun(state);
    struct cron_row row = a_cron("x", 100), found = { 0 };

    row.thread = STR("t");
    row.timezone = STR("Asia/Tokyo");
    row.on_completed = STR("keep");
    row.end_time = 7;
    ok(store_cron_insert(s, &row, err));
    refused(store_cron_insert(s, &row, err), ERR_REFUSED);
    row.next = -1; /* stays */
    row.enabled = 0;
    row.updated = 5;
    row.created = 6; /* as it was */
    ok(store_cron_update(s, &row, err));
    ok(store_cron(s, STR("x"), on_whole_cron, &found, err));
    assert_int_equal(found.next, 100);
    assert_int_equal(found.moved, 100);
    assert_int_equal(found.created, 100);
    assert_int_equal(found.updated, 5);
    assert_int_equal(found.enabled, 0);
    assert_int_equal(found.end_time, 7);
    assert_int_equal(found.max_running, 3);
    row.id = STR("y");
    refused(store_cron_update(s, &row, err), ERR_NOT_FOUND);
}

static void a_tick_is_taken_once(void **state)
{
    struct store *s = begun(state);
    struct cron_row x = a_cron("x", 100), y = a_cron("y", 200), ended = a_cron("e", 90),
                    off = a_cron("o", 80), late = a_cron("l", 0);
    struct gathered due = { "" }, moved = { "" }, one = { "" }, all = { "" }, gone = { "" };

    ended.end_time = 85;
    off.enabled = 0;
    ok(store_cron_insert(s, &y, err));
    ok(store_cron_insert(s, &x, err));
    ok(store_cron_insert(s, &ended, err));
    ok(store_cron_insert(s, &off, err));
    ok(store_cron_insert(s, &late, err));
    ok(store_crons_due(s, 200, 10, on_cron, &due, err));
    assert_string_equal(due.text, "x:100 y:200 ");
    ok(store_crons_due(s, 200, 1, on_cron, &one, err));
    assert_string_equal(one.text, "x:100 ");
    ok(store_cron_tick(s, STR("x"), 100, 300, 210, err));
    ok(store_crons_due(s, 200, 10, on_cron, &moved, err));
    assert_string_equal(moved.text, "y:200 ");
    ok(store_crons(s, on_cron, &all, err));
    assert_string_equal(all.text, "y:200 x:300 e:90 o:80 l:0 ");
    ok(store_cron_delete(s, STR("x"), err));
    ok(store_cron_delete(s, STR("x"), err));
    ok(store_crons_forget(s, STR_NONE, STR("a"), err));
    ok(store_crons(s, on_cron, &gone, err));
    assert_string_equal(gone.text, "");
    ok(store_cron_insert(s, &x, err));
    refused(store_cron_tick(s, STR("x"), 99, 300, 210, err), ERR_CONFLICT);
}

static int on_wanted_cron(void *arg,
                          const struct store_want *want,
                          const struct store_found *found)
{
    assert_int_equal(want->kind, WANT_CRON);
    return on_cron(arg, found->cron);
}

static void crons_of_a_thread_are_forgotten_alone(void **state)
{
    struct store *s = begun(state);
    struct cron_row x = a_cron("x", 100), y = a_cron("y", 200);
    const struct store_want want = { .kind = WANT_CRON, .text = STR("y") };
    struct gathered left = { "" };
    struct store_batch b;

    store_batch_init(&b);
    x.thread = STR("a"); /* the name of the assistant, too */
    y.thread = STR("u");
    ok(store_batch_cron_insert(&b, &x));
    ok(store_batch_cron_insert(&b, &y));
    ok(store_batch_crons_forget(&b, STR("a"), STR_NONE));
    ok(store_batch_cron_tick(&b, STR("y"), 200, 300, 250));
    ok(store_flush(s, &b, err));
    ok(store_crons(s, on_cron, &left, err));
    assert_string_equal(left.text, "y:300 ");
    ok(store_batch_cron_tick(&b, STR("y"), 300, 400, 350));
    y.next = 500;
    y.metadata = STR("z");
    ok(store_batch_cron_update(&b, &y));
    ok(store_flush(s, &b, err));
    left = (struct gathered){ "" };
    ok(store_read(s, &want, 1, on_wanted_cron, &left, err));
    assert_string_equal(left.text, "z:500 ");
    ok(store_batch_cron_delete(&b, STR("y")));
    ok(store_flush(s, &b, err));
    left = (struct gathered){ "" };
    ok(store_cron(s, STR("y"), on_cron, &left, err));
    assert_string_equal(left.text, "");
    store_batch_done(&b);
}

/* --- many at once ----------------------------------------------------------------------- */

static int on_wanted(void *arg, const struct store_want *want, const struct store_found *found)
{
    gather(arg, want->kind == WANT_ITEM ? found->item->value : found->assistant->name);
    return 0;
}

static void items_and_assistants_are_read_with_other_wants(void **state)
{
    struct store *s = begun(state);
    struct assistant_row one = a_version(1, "one"), two = a_version(2, "two");
    struct item_row there = an_item("a.", "k", "v", 10), absent = an_item("a.", "l", "", 0);
    const struct store_want wants[] = {
        { .kind = WANT_ASSISTANT, .text = STR("x") },
        { .kind = WANT_ITEM, .item = &absent, .key = 50 },
        { .kind = WANT_ASSISTANT_VERSION, .text = STR("x"), .number = 0 },
        { .kind = WANT_ITEM, .item = &there, .key = 50 },
        { .kind = WANT_ASSISTANT_VERSION, .text = STR("x"), .number = 1 },
        { .kind = WANT_ASSISTANT_VERSION, .text = STR("x"), .number = 3 },
        { .kind = WANT_ASSISTANT, .text = STR("y") },
    };
    struct gathered found = { "" };

    put_item(s, there);
    ok(store_assistant_insert(s, &one, err));
    ok(store_assistant_insert(s, &two, err));
    ok(store_assistant_choose(s, STR("x"), 1, err));
    ok(store_read(s, wants, sizeof(wants) / sizeof(wants[0]), on_wanted, &found, err));
    assert_string_equal(found.text, "one two v one ");
}

static void items_and_assistants_are_written_in_a_batch(void **state)
{
    struct store *s = begun(state);
    struct assistant_row one = a_version(1, "one"), two = a_version(2, "two");
    struct item_row row = an_item("n.", "k", "v", 100);
    struct gathered item = { "" }, counts = { "" }, gone = { "" };
    struct store_batch b;

    store_batch_init(&b);
    row.ttl_ms = 50;
    row.expires = 150;
    ok(store_batch_item_put(&b, &row));
    ok(store_batch_item_touch(&b, &row, 140));
    ok(store_batch_assistant_insert(&b, &one));
    ok(store_batch_assistant_insert(&b, &two));
    ok(store_batch_assistant_choose(&b, STR("x"), 1));
    ok(store_flush(s, &b, err));
    ok(store_item(s, &row, 180, on_item, &item, err));
    assert_string_equal(item.text, "v ");
    ok(store_assistant(s, STR("x"), on_assistant, &counts, err));
    assert_string_equal(counts.text, "one ");
    ok(store_batch_assistant_delete(&b, STR("x")));
    ok(store_flush(s, &b, err));
    ok(store_assistants(s, STR("x"), on_assistant, &gone, err));
    assert_string_equal(gone.text, "");
    store_batch_done(&b);
}

const struct contract_case contract_items[] = {
    CASE_NEEDS(items_lie_below_their_namespaces, item_put),
    CASE_NEEDS(the_vectors_of_an_item_go_with_it, item_index),
    CASE_NEEDS(items_of_a_time_come_by_name_and_not_too_many, item_index),
    CASE_NEEDS(an_item_lives_for_its_time, item_put),
    CASE_NEEDS(one_version_of_an_assistant_counts, assistant_insert),
    CASE_NEEDS(a_cron_keeps_what_it_was_given, cron_insert),
    CASE_NEEDS(a_tick_is_taken_once, cron_insert),
    CASE_NEEDS(crons_of_a_thread_are_forgotten_alone, cron_insert),
    CASE_NEEDS(items_and_assistants_are_read_with_other_wants, assistant_insert),
    CASE_NEEDS(items_and_assistants_are_written_in_a_batch, assistant_insert),
    { .name = NULL },
};
