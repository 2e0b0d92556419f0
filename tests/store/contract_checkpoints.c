/* The contract: checkpoints. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "contract.h"

#include "base/buf.h"

static struct checkpoint_row place(const char *thread, const char *ns, const char *id)
{
    return (
        struct checkpoint_row){ .thread = str_of(thread), .ns = str_of(ns), .id = str_of(id) };
}

static void save(struct store *s, const char *thread, const char *ns, const char *id)
{
    struct checkpoint_row row = place(thread, ns, id);

    row.value = (struct typed){ STR("msgpack"), STR("\0\x01\xFF") };
    row.metadata = STR("{\"step\":1}");
    row.versions = STR("{\"a\":\"1\",\"b\":\"2\"}");
    ok(store_checkpoint_put(s, &row, err));
}

static void save_channel(struct store *s, const char *thread, const char *name, const char *v)
{
    struct checkpoint_row of = place(thread, "", "-");
    struct channel_row row = { str_of(name), str_of(v), { STR("json"), str_of(v) } };

    ok(store_channel_put(s, &of, &row, err));
}

static int put_id(void *arg, const struct checkpoint_row *row)
{
    struct buf *b = arg;

    assert_true(str_eq(row->value.data, STR("\0\x01\xFF")));
    buf_str(b, row->ns);
    buf_str(b, row->id);
    buf_char(b, ' ');
    return 0;
}

static int put_channel(void *arg, const struct channel_row *row)
{
    struct buf *b = arg;

    buf_str(b, row->channel);
    buf_str(b, row->version);
    buf_str(b, row->value.data);
    buf_char(b, ' ');
    return 0;
}

static int put_write(void *arg, const struct write_row *row)
{
    struct buf *b = arg;

    buf_str(b, row->task);
    buf_i64(b, row->idx);
    buf_str(b, row->value.data);
    buf_char(b, ' ');
    return 0;
}

static int put_state(void *arg, const struct checkpoint_row *of, struct str state)
{
    struct buf *b = arg;

    buf_str(b, of->id);
    buf_str(b, state);
    buf_char(b, ' ');
    return 0;
}

static void assert_is(struct buf *b, const char *text)
{
    assert_true(str_eq(buf_text(b), str_of(text)));
    buf_clear(b);
}

static void checkpoints_come_newest_first(void **state)
{
    struct store *s = begun(state);
    struct checkpoint_filter all = { .thread = STR("t") };
    struct checkpoint_filter root = { .thread = STR("t"), .ns = STR("") };
    struct buf b;

    buf_init(&b, 1000);
    save(s, "t", "", "1");
    save(s, "t", "sub", "2");
    save(s, "t", "", "3");
    save(s, "t", "", "3"); /* again */
    save(s, "other", "", "4");
    ok(store_checkpoints(s, &all, put_id, &b, err));
    assert_is(&b, "3 sub2 1 ");
    ok(store_checkpoints(s, &root, put_id, &b, err));
    assert_is(&b, "3 1 ");
    root.before = STR("3");
    ok(store_checkpoints(s, &root, put_id, &b, err));
    assert_is(&b, "1 ");
    root.id = STR("3");
    ok(store_checkpoints(s, &root, put_id, &b, err));
    assert_is(&b, "3 ");
    buf_done(&b);
}

static void channels_come_in_the_versions_of_the_checkpoint(void **state)
{
    struct store *s = begun(state);
    struct checkpoint_row of = place("t", "", "1");
    struct buf b;

    buf_init(&b, 1000);
    save_channel(s, "t", "a", "1");
    save_channel(s, "t", "a", "2");
    save_channel(s, "t", "b", "2");
    save_channel(s, "t", "c", "1");
    save_channel(s, "other", "b", "3");
    of.versions = STR("{\"a\":\"2\",\"b\":\"2\",\"missing\":\"1\"}");
    ok(store_channels(s, &of, put_channel, &b, err));
    assert_is(&b, "a22 b22 ");
    buf_done(&b);
}

static void the_first_write_stays_and_special_ones_are_replaced(void **state)
{
    struct store *s = begun(state);
    struct checkpoint_row of = place("t", "", "1");
    struct buf b;

    buf_init(&b, 1000);
    for (int i = 0; i < 2; i++) {
        struct typed value = { STR("json"), i == 0 ? STR("old") : STR("new") };
        struct write_row plain = { STR("task"), STR(""), STR("x"), 0, value };
        struct write_row special = { STR("task"), STR(""), STR("__error__"), -1, value };

        ok(store_write_put(s, &of, &plain, err));
        ok(store_write_put(s, &of, &special, err));
    }
    ok(store_writes(s, &of, put_write, &b, err));
    assert_is(&b, "task-1new task0old ");
    buf_done(&b);
}

static void what_a_forgotten_run_has_written_is_as_before(void **state)
{
    struct store *s = begun(state);
    struct checkpoint_filter root = { .thread = STR("t"), .ns = STR("") };
    struct typed values[] = { { STR("json"), STR("old") }, { STR("json"), STR("new") } };
    struct buf b;

    buf_init(&b, 1000);
    save(s, "t", "", "1");
    for (int i = 0; i < 2; i++) {
        struct checkpoint_row of = place("t", "", "1");
        struct write_row special = { STR("task"), STR(""), STR("__resume__"), -4, values[i] };
        struct write_row own = { i == 0 ? STR("a") : STR("b"), STR(""), STR("x"), 0,
                                 values[i] };

        of.run = i == 0 ? STR("one") : STR("another");
        ok(store_write_put(s, &of, &special, err));
        ok(store_write_put(s, &of, &own, err));
        ok(store_state_put(s, &of, i == 0 ? STR("{\"n\":1}") : STR("{\"n\":2}"), err));
    }
    struct checkpoint_row of = place("t", "", "1");
    ok(store_writes(s, &of, put_write, &b, err));
    ok(store_states(s, &root, put_state, &b, err));
    assert_is(&b, "a0old b0new task-4new 1{\"n\":2} ");
    ok(store_run_forget(s, STR("t"), STR("another"), err));
    buf_cut(&b, 0);
    ok(store_writes(s, &of, put_write, &b, err));
    ok(store_states(s, &root, put_state, &b, err));
    assert_is(&b, "a0old task-4old 1{\"n\":1} ");
    buf_done(&b);
}

static void a_state_is_seen_with_its_checkpoint(void **state)
{
    struct store *s = begun(state);
    struct checkpoint_filter root = { .thread = STR("t"), .ns = STR("") };
    struct checkpoint_row of = place("t", "", "1");
    struct buf b;

    buf_init(&b, 1000);
    ok(store_state_put(s, &of, STR("{}"), err));
    ok(store_states(s, &root, put_state, &b, err));
    assert_is(&b, "");
    save(s, "t", "", "1");
    ok(store_state_put(s, &of, STR("{\"n\":1}"), err));
    ok(store_states(s, &root, put_state, &b, err));
    assert_is(&b, "1{\"n\":1} ");
    buf_done(&b);
}

static void states_after_a_checkpoint_are_those_made_from_it(void **state)
{
    struct store *s = begun(state);
    struct checkpoint_row of = place("t", "", "1");
    struct buf b;

    buf_init(&b, 1000);
    save(s, "t", "", "1");
    ok(store_state_put(s, &of, STR("{}"), err));
    for (int i = 0; i < 4; i++) {
        static const char *const ids[] = { "4", "2", "3", "5" };
        static const char *const parents[] = { "1", "1", "2", "1" };
        struct checkpoint_row row = place("t", i < 3 ? "" : "sub", ids[i]);

        row.parent = str_of(parents[i]);
        row.value = (struct typed){ STR("json"), STR("1") };
        row.metadata = row.versions = STR("{}");
        ok(store_checkpoint_put(s, &row, err));
        ok(store_state_put(s, &row, i == 0 ? STR("old") : STR("state"), err));
    }
    struct checkpoint_row again = place("t", "", "4");
    again.run = STR("run");
    ok(store_state_put(s, &again, STR("new"), err));
    ok(store_states_after(s, &of, put_state, &b, err));
    assert_is(&b, "2state 4new ");
    of.id = STR("4");
    buf_cut(&b, 0);
    ok(store_states_after(s, &of, put_state, &b, err));
    assert_is(&b, "");
    buf_done(&b);
}

static void a_thread_is_copied_and_forgotten(void **state)
{
    struct store *s = begun(state);
    struct checkpoint_filter copy = { .thread = STR("copy") }, old = { .thread = STR("t") };
    struct checkpoint_row of = place("t", "", "1");
    struct buf b;

    buf_init(&b, 1000);
    save(s, "t", "", "1");
    save_channel(s, "t", "a", "1");
    ok(store_state_put(s, &of, STR("{}"), err));
    ok(store_thread_copy(s, STR("t"), STR("copy"), err));
    ok(store_thread_forget(s, STR("t"), err));
    ok(store_checkpoints(s, &old, put_id, &b, err));
    assert_is(&b, "");
    ok(store_checkpoints(s, &copy, put_id, &b, err));
    assert_is(&b, "1 ");
    ok(store_states(s, &copy, put_state, &b, err));
    assert_is(&b, "1{} ");
    of = place("copy", "", "1");
    of.versions = STR("{\"a\":\"1\"}");
    ok(store_channels(s, &of, put_channel, &b, err));
    assert_is(&b, "a11 ");
    buf_done(&b);
}

/* --- large values --------------------------------------------------------------------------
 */

/* So many of one character that the store shares them between copies. */
static struct str many(char (*to)[CHECKPOINT_LARGE], char of)
{
    memset(*to, of, sizeof(*to));
    return str_make(*to, sizeof(*to));
}

/* The first character of a text that has no other, and its length in thousands. */
static void put_many(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        assert_int_equal(text.p[i], text.p[0]);
    buf_str(b, str_head(text, text.n > 0));
    buf_i64(b, (int64_t)text.n / 1000);
    buf_char(b, ' ');
}

static int put_large_channel(void *arg, const struct channel_row *row)
{
    put_many(arg, row->value.data);
    return 0;
}

static int put_large_state(void *arg, const struct checkpoint_row *of, struct str state)
{
    buf_str(arg, of->id);
    put_many(arg, state);
    return 0;
}

/* Of one channel and of all states of a thread. */
static void put_values(struct store *s, const char *thread, struct buf *b)
{
    struct checkpoint_row of = place(thread, "", "1");
    struct checkpoint_filter all = { .thread = of.thread };

    of.versions = STR("{\"a\":\"1\"}");
    ok(store_channels(s, &of, put_large_channel, b, err));
    ok(store_states(s, &all, put_large_state, b, err));
}

static void save_large(struct store *s, const char *thread, const char *run, struct str value)
{
    struct checkpoint_row of = place(thread, "", "1");
    struct channel_row row = { STR("a"), STR("1"), { STR("json"), value } };

    of.run = str_of(run);
    ok(store_channel_put(s, &of, &row, err));
    ok(store_state_put(s, &of, value, err));
}

static void no_fault(void *arg, struct str what)
{
    (void)arg;
    fail_msg("%.*s", STR_ARG(what));
}

static void assert_sound(struct store *s)
{
    if (s->admin != NULL && s->admin->check != NULL)
        ok(store_check(s, no_fault, NULL, err));
}

static void copies_keep_large_values_whatever_becomes_of_the_others(void **state)
{
    struct store *s = begun(state);
    char x[CHECKPOINT_LARGE], y[CHECKPOINT_LARGE];
    struct buf b;

    buf_init(&b, 1000);
    save(s, "t", "", "1");
    save_large(s, "t", "", many(&x, 'x'));
    ok(store_thread_copy(s, STR("t"), STR("copy"), err));
    ok(store_thread_copy(s, STR("copy"), STR("again"), err));
    put_values(s, "again", &b);
    assert_is(&b, "x2 1x2 ");

    save_large(s, "copy", "", many(&y, 'y')); /* replaces its values alone */
    put_values(s, "copy", &b);
    put_values(s, "t", &b);
    assert_is(&b, "y2 1y2 x2 1x2 ");
    save_large(s, "copy", "", STR("")); /* and a small one replaces a large one */
    put_values(s, "copy", &b);
    assert_is(&b, "0 10 ");
    save_large(s, "copy", "run", many(&y, 'z'));
    assert_sound(s);
    ok(store_run_forget(s, STR("copy"), STR("run"), err));
    put_values(s, "copy", &b);
    assert_is(&b, "z2 10 "); /* channels belong to no run */

    ok(store_thread_forget(s, STR("t"), err));
    ok(store_thread_thin(s, STR("again"), err));
    put_values(s, "t", &b);
    put_values(s, "again", &b);
    assert_is(&b, "x2 1x2 ");
    assert_sound(s);
    ok(store_thread_forget(s, STR("again"), err));
    ok(store_thread_forget(s, STR("copy"), err));
    assert_sound(s); /* finds values that nothing names */
    buf_done(&b);
}

static void what_a_job_has_saved_goes_with_it(void **state)
{
    struct store *s = begun(state);
    struct job_row job = { .id = STR("j"), .agent = STR("a"), .state = STR("queued") };
    struct checkpoint_filter own = { .thread = STR("j") };
    struct buf b;

    buf_init(&b, 1000);
    job.input = STR("{}");
    job.first_seq = 1;
    ok(store_job_insert(s, &job, err));
    save(s, "j", "", "1");
    ok(store_job_delete(s, job.key, err));
    ok(store_checkpoints(s, &own, put_id, &b, err));
    assert_is(&b, "");
    buf_done(&b);
}

static int on_wanted(void *arg, const struct store_want *want, const struct store_found *found)
{
    buf_str(arg, want->text);
    buf_str(arg, found->stored);
    return 0;
}

static void the_newest_state_is_read_with_other_wants(void **state)
{
    struct store *s = begun(state);
    const struct store_want wants[] = { { .kind = WANT_STATE, .text = STR("u") },
                                        { .kind = WANT_STATE, .text = STR("t") } };
    struct checkpoint_row old = place("t", "", "1"), last = place("t", "", "2"),
                          inner = place("t", "n", "3"), early = place("t", "", "4");
    struct buf b;

    buf_init(&b, 1000);
    save(s, "t", "", "1");
    save(s, "t", "", "2");
    save(s, "t", "n", "3");
    ok(store_state_put(s, &old, STR("one"), err));
    ok(store_state_put(s, &last, STR("two"), err));
    ok(store_state_put(s, &inner, STR("inner"), err));
    ok(store_state_put(s, &early, STR("without its checkpoint"), err));
    ok(store_read(s, wants, 2, on_wanted, &b, err));
    assert_is(&b, "ttwo");
    buf_done(&b);
}

const struct contract_case contract_checkpoints[] = {
    CASE_NEEDS(checkpoints_come_newest_first, checkpoint_put),
    CASE_NEEDS(channels_come_in_the_versions_of_the_checkpoint, checkpoint_put),
    CASE_NEEDS(the_first_write_stays_and_special_ones_are_replaced, checkpoint_put),
    CASE_NEEDS(what_a_forgotten_run_has_written_is_as_before, checkpoint_put),
    CASE_NEEDS(a_state_is_seen_with_its_checkpoint, checkpoint_put),
    CASE_NEEDS(states_after_a_checkpoint_are_those_made_from_it, checkpoint_put),
    CASE_NEEDS(a_thread_is_copied_and_forgotten, checkpoint_put),
    CASE_NEEDS(copies_keep_large_values_whatever_becomes_of_the_others, checkpoint_put),
    CASE_NEEDS(what_a_job_has_saved_goes_with_it, checkpoint_put),
    CASE_NEEDS(the_newest_state_is_read_with_other_wants, checkpoint_put),
    { .name = NULL },
};
