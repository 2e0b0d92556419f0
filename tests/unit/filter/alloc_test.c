/* Memory: every allocation may fail, and tokens need none.
 *
 * The linker sends every malloc, calloc, realloc and free of the library and of this file
 * through the functions below (--wrap, see tests/meson.build).  They count, and make the
 * n-th one fail, or all from the n-th on. */
#include "base/error.h"
#include "base/json.h"
#include "dialect/dialect.h"
#include "filter/filter.h"
#include "ingest/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

/* --- the allocator -------------------------------------------------------------------- */

static struct {
    size_t n;       /* allocations so far */
    size_t fail_at; /* from 1; 0: none fails */
    bool from_then; /* all after it fail too */
    bool failed;    /* one has */
    long live;      /* blocks that are not freed */
} memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static bool fails(void)
{
    memory.n++;
    if (memory.fail_at == 0 || memory.n < memory.fail_at ||
        (memory.n > memory.fail_at && !memory.from_then))
        return false;
    memory.failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    void *p = fails() ? NULL : __real_malloc(size);

    memory.live += p != NULL;
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = fails() ? NULL : __real_calloc(n, size);

    memory.live += p != NULL;
    return p;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *p = fails() ? NULL : __real_realloc(old, size);

    memory.live += old == NULL && p != NULL;
    return p;
}

void __wrap_free(void *p)
{
    memory.live -= p != NULL;
    __real_free(p);
}

static void memory_fails_at(size_t n, bool from_then)
{
    memory.n = 0;
    memory.fail_at = n;
    memory.from_then = from_then;
    memory.failed = false;
}

/* --- the scenario --------------------------------------------------------------------- */

/* Static, so that only the library allocates. */
static char input[1 << 20];
static size_t input_n;
static char first_output[1 << 21], output[1 << 21];

struct sink {
    char *bytes;
    size_t n;
};

static int on_write(void *arg, struct str bytes)
{
    struct sink *sink = arg;

    if (bytes.n > sizeof(output) - sink->n)
        return ERR_TOO_LARGE;
    memcpy(sink->bytes + sink->n, bytes.p, bytes.n);
    sink->n += bytes.n;
    return 0;
}

static int64_t on_clock(void *arg)
{
    (void)arg;
    return INT64_C(1771237800000);
}

/* What a journal would do with it. */
static int on_record(void *arg, const struct record *rec)
{
    struct record *copy;
    int err = record_new(rec, &copy);

    (void)arg;
    if (err == 0)
        record_unref(copy);
    return err;
}

static int feed_all(struct filter *f)
{
    struct str rest = str_make(input, input_n);
    int err = filter_begin(f, STR("job-1"));

    /* In pieces, so that lines must be put together. */
    while (err == 0 && rest.n > 0) {
        err = filter_feed(f, str_head(rest, 1000));
        rest = str_skip(rest, 1000);
    }
    return err == 0 ? filter_end(f) : err;
}

/* The whole program: settings, filter, two jobs one after another. */
static int run(const struct dialect *dialect, const struct framing *framing, struct sink *sink)
{
    struct filter_options options = {
        .dialect = dialect,
        .framing = framing,
        .variant = { .modes = 0xFF, .subgraphs = true },
        .write = on_write,
        .clock = on_clock,
        .record = on_record,
        .arg = sink,
    };
    struct agent *agent = NULL;
    struct filter *f = NULL;

    sink->n = 0;
    int err = agent_new(STR("triage"), &agent);
    options.agent = agent;
    if (err == 0)
        err = filter_new(&options, &f);
    if (err == 0)
        err = feed_all(f);
    if (err == 0)
        err = feed_all(f);
    filter_free(f);
    agent_free(agent);
    return err;
}

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    input_n = fread(input, 1, sizeof(input), file);
    (void)fclose(file); /* only read from */
    assert_true(input_n > 0 && input_n < sizeof(input));
}

/* Every source format, and both framings of the input. */
static void load_scenario(void)
{
    static const char sse[] =
        "event: metadata\ndata: {\"run_id\":\"x\"}\n\n"
        "event: messages|sub:1\ndata: [{\"type\":\"AIMessageChunk\",\"id\":\"sse\",\n"
        "data: \"content\":\"over two lines\"},{\"langgraph_node\":\"n\"}]\n\n"
        "event: tool.start\ndata: {\"id\":\"sse-tool\",\"name\":\"look\"}\n\n";

    load("tests/pipeline/properties/odd.ndjson");
    memmove(input + sizeof(sse) - 1, input, input_n);
    memcpy(input, sse, sizeof(sse) - 1);
    input_n += sizeof(sse) - 1;
}

/* One allocation after another fails, until nothing does any more. */
static void survive(const struct dialect *dialect,
                    const struct framing *framing,
                    bool from_then)
{
    struct sink first = { .bytes = first_output }, sink = { .bytes = output };
    long live = memory.live;

    memory_fails_at(0, false);
    assert_int_equal(run(dialect, framing, &first), 0);
    assert_int_equal(memory.live, live);
    for (size_t n = 1;; n++) {
        memory_fails_at(n, from_then);
        int err = run(dialect, framing, &sink);
        bool failed = memory.failed;

        memory_fails_at(0, false);
        if (memory.live != live)
            print_error("%s: allocation %zu: %ld blocks are lost\n", dialect->name, n,
                        memory.live - live);
        assert_int_equal(memory.live, live);
        if (err != 0 && err != ERR_NOMEM)
            print_error("%s: allocation %zu gives %s\n", dialect->name, n, error_name(err));
        assert_true(err == 0 || (err == ERR_NOMEM && failed));
        /* What was written is right, as far as it goes; all of it when nobody complained. */
        if (sink.n > first.n || memcmp(output, first_output, sink.n) != 0 ||
            (err == 0 && sink.n != first.n))
            print_error("%s: allocation %zu changes the output, and %s\n", dialect->name, n,
                        err == 0 ? "nobody complains" : "not only by cutting it");
        assert_true(sink.n <= first.n && memcmp(output, first_output, sink.n) == 0);
        assert_true(err != 0 || sink.n == first.n);
        if (!failed)
            break;
    }
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    load_scenario();
    for (size_t i = 0; dialect_at(i) != NULL; i++)
        survive(dialect_at(i), i % 2 == 0 ? &framing_sse : &framing_ndjson, false);
}

static void memory_may_run_out_for_good(void **state)
{
    (void)state;
    load_scenario();
    survive(&dialect_agent, &framing_ndjson, true);
    survive(&dialect_messages, &framing_sse, true);
    survive(&dialect_raw, &framing_sse, true);
}

/* --- rebuilding ----------------------------------------------------------------------- */

static int replay_all(struct fold *fold, struct json_reader *reader, struct str stored)
{
    int err = 0;

    while (err == 0 && stored.n > 0) {
        struct str line = str_head(stored, str_find(stored, '\n'));
        struct record rec;

        err = record_decode(reader, line, &rec, NULL);
        if (err == 0)
            err = fold_replay(fold, &rec);
        stored = str_skip(stored, line.n + 1);
    }
    return err;
}

static int no_record(void *arg, const struct record *rec)
{
    (void)arg;
    (void)rec;
    return 0;
}

static int rebuild(struct str stored)
{
    struct fold_options options = { .job = STR("job-1"), .emit = no_record };
    struct json_reader reader;
    struct agent *agent = NULL;
    struct fold *fold = NULL;

    json_reader_init(&reader, 1 << 20, 64);
    int err = agent_new(STR("triage"), &agent);
    options.agent = agent;
    if (err == 0)
        err = fold_new(&options, &fold);
    if (err == 0)
        err = replay_all(fold, &reader, stored);
    fold_free(fold);
    agent_free(agent);
    json_reader_done(&reader);
    return err;
}

static void rebuilding_may_fail_too(void **state)
{
    struct sink sink = { .bytes = first_output };
    struct filter_options options = {
        .dialect = &dialect_raw,
        .framing = &framing_ndjson,
        .variant = { .stored = true },
        .write = on_write,
        .clock = on_clock,
        .arg = &sink,
    };
    struct agent *agent;
    struct filter *f;
    long live = memory.live;

    (void)state;
    load_scenario();
    memory_fails_at(0, false);
    assert_int_equal(agent_new(STR("triage"), &agent), 0);
    options.agent = agent;
    assert_int_equal(filter_new(&options, &f), 0);
    assert_int_equal(feed_all(f), 0);
    filter_free(f);
    agent_free(agent);
    for (size_t n = 1;; n++) {
        memory_fails_at(n, false);
        int err = rebuild(str_make(first_output, sink.n));

        assert_int_equal(memory.live, live);
        assert_int_equal(err, memory.failed ? ERR_NOMEM : 0);
        if (!memory.failed)
            break;
    }
    memory_fails_at(0, false);
}

/* --- steady state --------------------------------------------------------------------- */

static void count_per_token(const struct dialect *dialect)
{
    enum { WARM_UP = 100 };
    struct sink sink = { .bytes = output };
    struct filter_options options = {
        .dialect = dialect,
        .framing = &framing_sse,
        .variant = { .modes = MODE_DEFAULT },
        .write = on_write,
        .clock = on_clock,
        .arg = &sink,
    };
    struct str rest = str_make(input, input_n);
    struct agent *agent;
    struct filter *f;
    size_t counted = 0;

    assert_int_equal(agent_new(STR("other"), &agent), 0);
    options.agent = agent;
    assert_int_equal(filter_new(&options, &f), 0);
    assert_int_equal(filter_begin(f, STR("job-1")), 0);
    for (size_t line = 1; rest.n > 0; line++) {
        struct str one = str_head(rest, str_find(rest, '\n') + 1);
        size_t before = memory.n;

        sink.n = 0;
        assert_int_equal(filter_feed(f, one), 0);
        rest = str_skip(rest, one.n);
        if (line <= WARM_UP)
            continue;
        if (memory.n != before)
            print_error("%s: line %zu needs %zu allocations\n", dialect->name, line,
                        memory.n - before);
        assert_int_equal(memory.n, before);
        assert_true(sink.n > 0);
        counted++;
    }
    assert_true(counted >= 250);
    assert_int_equal(filter_end(f), 0);
    filter_free(f);
    agent_free(agent);
}

static void a_token_needs_no_allocation(void **state)
{
    (void)state;
    load("tests/recordings/e-big-head.ndjson"); /* tokens, but for its first lines */
    memory_fails_at(0, false);
    count_per_token(&dialect_agent);
    count_per_token(&dialect_messages);
    count_per_token(&dialect_raw);
    count_per_token(&dialect_envelope);
    count_per_token(&dialect_aiq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(memory_may_run_out_for_good),
        cmocka_unit_test(rebuilding_may_fail_too),
        cmocka_unit_test(a_token_needs_no_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
