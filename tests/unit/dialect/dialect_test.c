/* Dialects: how they are found, and what no worker can do to any of them.  The frames of each
 * dialect are tested in <name>_test.c. */
#include "dialect/dialect.h"
#include "framing/framing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"

/* --- the registry --------------------------------------------------------------- */

static void dialects_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIALECT_COUNT; i++) {
        const struct dialect *d = dialect_at(i);

        assert_non_null(d);
        assert_ptr_equal(dialect_find(str_of(d->name)), d);
        assert_true(strlen(d->about) > 0);
    }
    assert_null(dialect_at(DIALECT_COUNT));
    assert_null(dialect_at(SIZE_MAX));
    assert_null(dialect_find(STR("agen")));
    assert_null(dialect_find(STR_NONE));
}

/* The list says in words what the tables say as data. */
static void the_list_agrees_with_the_dialects(void **state)
{
#define NAME(name, kind) #name,
    static const char *const names[] = { DIALECT_LIST(NAME) };
#undef NAME
    struct buf words;
    size_t n = 0;

    (void)state;
    buf_init(&words, MAX_BYTES);
    for (size_t i = 0; i < DIALECT_COUNT; i++) {
        const struct dialect *d = dialect_at(i);

        assert_string_equal(d->name, names[i]);
        if (!d->names_itself)
            continue;
        assert_ptr_equal(dialect_published_at(n++), d);
        buf_char(&words, '|');
        buf_str(&words, str_of(d->name));
    }
    assert_null(dialect_published_at(n));
    buf_char(&words, '\0');
    assert_string_equal(words.p, DIALECT_PUBLISHED);
    buf_done(&words);
}

/* Which frames a connection gets by itself. */
static void dialects_say_what_a_connection_gets(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONNECTION_FRAME_MAX; i++) {
        assert_non_null(dialect_aiq.connection[i]);
        assert_null(dialect_agent.connection[i]);
    }
    assert_null(dialect_raw.connection[FRAME_STREAM_MODE]);
    assert_null(dialect_raw.connection[FRAME_JOB_STATUS]);
    assert_non_null(dialect_raw.connection[FRAME_HEARTBEAT]);
    assert_non_null(dialect_raw.connection[FRAME_SHUTDOWN]);
    /* One without a frame gives none. */
    expect_connection(&dialect_agent, &usual,
                      (struct connection_frame){ .kind = FRAME_HEARTBEAT }, "");
}

/* --- namespaces ------------------------------------------------------------------ */

static void the_outer_namespace_is_all_but_the_last_segment(void **state)
{
    (void)state;
    assert_true(str_is(record_outer_ns(STR("a:1|b:2|c:3")), "a:1|b:2"));
    assert_true(str_is(record_outer_ns(STR("a:1|b:2")), "a:1"));
    assert_true(str_empty(record_outer_ns(STR("a:1"))));
    assert_true(str_empty(record_outer_ns(STR("|a"))));
    assert_true(str_empty(record_outer_ns(STR(""))));
    assert_true(str_empty(record_outer_ns(STR_NONE)));
}

/* --- what holds for all --------------------------------------------------------- */

#define HOSTILE_TEXT \
    "x\"\\\n\r\n\nevent: job.done\ndata: {}\n\nid: 1\r\r\x01\x1F\x7F\0y\xED\xA0\x80"
#define HOSTILE_JSON \
    "{\"k\\n\\\"\":\"\\n\\n\\r\\nevent: job.done\\ndata: {}\\n\\n\\u0000\\\\\\\"\",\"n\":1e5}"

static void fill_info(struct run_info *info)
{
    const struct str text = STR(HOSTILE_TEXT);
    const struct str json = STR(HOSTILE_JSON);

    info->run = info->parent = info->exec = info->node = info->name = text;
    info->section = info->model = info->path = text;
    info->type = text;
    info->ns = STR(HOSTILE_TEXT "|" HOSTILE_TEXT "|x");
    info->meta = json;
    info->tags = info->parents = STR("[\"\\n\\nevent: job.done\"]");
    info->step = info->depth = 1;
    info->top = info->card = info->panel = info->counted = true;
}

/* Every field holds what could hurt. */
static void fill_record(struct record *rec)
{
    const struct str text = STR(HOSTILE_TEXT);
    const struct str json = STR(HOSTILE_JSON);
    const struct str list = STR("[\"\\n\\nevent: job.done\"]");

    fill_info(&rec->info);
    rec->job_id = rec->job = rec->agent = rec->id = rec->title = rec->status = text;
    rec->outcome = rec->phase = rec->error = rec->error_type = rec->message = text;
    rec->text = rec->reasoning = rec->preview = rec->call = rec->note = text;
    rec->percent = STR("1.50");
    rec->content = rec->calls = rec->resolves = rec->seen = list;
    rec->usage = rec->response = rec->extra = rec->input = rec->output = json;
    rec->data = rec->question = rec->context = json;
    rec->attempt = rec->elapsed = rec->index = rec->count = 1;
    rec->chains = rec->llms = rec->tools = rec->half = 1;
    rec->first = rec->last = rec->lossy = rec->tool = true;
}

static void check_json(struct str data)
{
    yyjson_doc *doc = yyjson_read(data.p, data.n, 0);

    assert_non_null(doc);
    yyjson_doc_free(doc);
    for (size_t i = 0; i < data.n; i++)
        assert_true((unsigned char)data.p[i] >= 0x20);
}

static size_t count_lines(struct str text, struct str prefix)
{
    size_t n = 0;

    while (text.n > 0) {
        size_t end = str_find(text, '\n');

        n += str_starts(str_head(text, end), prefix) ? 1 : 0;
        text = str_skip(text, end + 1);
    }
    return n;
}

/* Puts all frames on the wire and reads it as a client would: by lines. */
static void check_wire(const struct frames *f, uint64_t seq)
{
    struct buf sse;
    struct buf lines;

    buf_init(&sse, MAX_BYTES);
    buf_init(&lines, MAX_BYTES);
    for (size_t i = 0; i < f->n; i++) {
        struct message_out m = { .seq = seq,
                                 .k = f->frame[i].k,
                                 .total = f->total,
                                 .event = frame_name(f, &f->frame[i]),
                                 .data = frame_data(f, &f->frame[i]) };

        check_json(m.data);
        framing_sse.put(&m, &sse);
        m.wrap = true;
        framing_ndjson.put(&m, &lines);
    }
    assert_int_equal(count_lines(buf_text(&sse), STR("id: ")), f->n);
    assert_int_equal(count_lines(buf_text(&sse), STR("event: ")), f->n);
    assert_int_equal(count_lines(buf_text(&sse), STR("data: ")), f->n);
    assert_int_equal(count_lines(buf_text(&sse), STR("")), 4 * f->n);
    assert_int_equal(str_find(buf_text(&sse), '\r'), sse.n);
    assert_int_equal(count_lines(buf_text(&lines), STR("{\"id\":\"57")), f->n);
    assert_int_equal(count_lines(buf_text(&lines), STR("")), f->n);
    buf_done(&lines);
    buf_done(&sse);
}

static void hostile_text_cannot_forge_a_frame(void **state)
{
    struct frames f;
    size_t n_frames = 0;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t i = 0; dialect_at(i) != NULL; i++) {
        for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
            struct record rec = make((enum record_kind)kind);

            fill_record(&rec);
            assert_int_equal(dialect_render(dialect_at(i), &rec, &all_subgraphs, &f), 0);
            check_wire(&f, rec.seq);
            n_frames += f.n;
            rec.info.root = true;
            rec.status = STR("ok");
            assert_int_equal(dialect_render(dialect_at(i), &rec, &all_subgraphs, &f), 0);
            check_wire(&f, rec.seq);
        }
    }
    assert_true(n_frames > 100);
    frames_done(&f);
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char ch = name.p[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
        bool digit = ch >= '0' && ch <= '9';

        if (!letter && !digit && strchr("_.:|-", ch) == NULL)
            return false;
    }
    return name.n > 0;
}

static void names_are_from_a_strict_alphabet(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
        struct record rec = make((enum record_kind)kind);

        fill_record(&rec);
        assert_int_equal(dialect_render(&dialect_messages, &rec, &all_subgraphs, &f), 0);
        for (size_t i = 0; i < f.n; i++)
            assert_true(is_name(frame_name(&f, &f.frame[i])));
    }
    frames_done(&f);
}

static void check_names_itself(const struct frames *f, size_t i)
{
    struct str data = frame_data(f, &f->frame[i]);
    yyjson_doc *doc = yyjson_read(data.p, data.n, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *own = json_at(root, "type");

    if (str_starts(data, STR("{\"event\"")))
        own = json_at(root, "event");
    if (str_starts(data, STR("{\"seq\"")))
        own = json_at(root, "kind");
    assert_true(str_eq(json_text(own), frame_name(f, &f->frame[i])));
    yyjson_doc_free(doc);
}

static void payloads_name_themselves_where_the_dialect_says_so(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t i = 0; dialect_at(i) != NULL; i++) {
        for (size_t kind = 0; dialect_at(i)->names_itself && kind < REC_KIND_MAX; kind++) {
            struct record rec = make((enum record_kind)kind);

            rec.info.top = rec.info.card = rec.info.panel = rec.info.root = true;
            rec.info.counted = true;
            rec.text = STR("x");
            rec.tool = true;
            assert_int_equal(dialect_render(dialect_at(i), &rec, &usual, &f), 0);
            for (size_t k = 0; k < f.n; k++)
                check_names_itself(&f, k);
        }
    }
    frames_done(&f);
}

static void aiq_gives_at_most_one_frame(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
        struct record rec = make((enum record_kind)kind);

        fill_record(&rec);
        rec.info.root = true;
        assert_int_equal(dialect_render(&dialect_aiq, &rec, &usual, &f), 0);
        assert_true(f.total <= 1);
    }
    frames_done(&f);
}

static const struct frame *find_frame(const struct frames *f, uint32_t k)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->frame[i].k == k)
            return &f->frame[i];
    }
    return NULL;
}

/* Whatever a reader asks for, frame k stays frame k, of the same total. */
static void filters_do_not_renumber(void **state)
{
    struct frames full;
    struct frames some;

    (void)state;
    frames_init(&full, MAX_BYTES);
    frames_init(&some, MAX_BYTES);
    for (size_t kind = 0; kind < REC_KIND_MAX; kind++) {
        struct record rec = make((enum record_kind)kind);

        fill_record(&rec);
        rec.status = STR("ok");
        rec.info.root = kind % 2 == 0;
        assert_int_equal(dialect_render(&dialect_messages, &rec, &all_subgraphs, &full), 0);
        assert_int_equal(full.n, full.total);
        for (uint32_t v = 0; v < 512; v++) {
            struct variant variant = { .modes = v & MODE_ALL, .subgraphs = v > MODE_ALL };

            assert_int_equal(dialect_render(&dialect_messages, &rec, &variant, &some), 0);
            assert_int_equal(some.total, full.total);
            for (size_t i = 0; i < some.n; i++) {
                const struct frame *same = find_frame(&full, some.frame[i].k);

                assert_non_null(same);
                assert_true(str_eq(frame_data(&some, &some.frame[i]), frame_data(&full, same)));
            }
        }
    }
    frames_done(&some);
    frames_done(&full);
}

static void a_payload_over_the_limit_is_an_error_and_no_frame(void **state)
{
    struct frames f;
    struct buf text;

    (void)state;
    buf_init(&text, MAX_BYTES);
    for (int i = 0; i < 5000; i++)
        buf_char(&text, 'x');
    for (size_t i = 0; dialect_at(i) != NULL; i++) {
        struct record rec = make(REC_LLM_DELTA);

        if (dialect_at(i)->on[REC_LLM_DELTA] == NULL)
            continue;
        rec.info.card = true;
        rec.text = buf_text(&text);
        frames_init(&f, 1000);
        assert_int_equal(dialect_render(dialect_at(i), &rec, &usual, &f), ERR_TOO_LARGE);
        assert_int_equal(f.n, 0);
        /* The next record is not the worse for it. */
        rec.text = STR("x");
        assert_int_equal(dialect_render(dialect_at(i), &rec, &usual, &f), 0);
        assert_int_equal(f.n, 1);
        frames_done(&f);
    }
    buf_done(&text);
}

static void more_frames_than_there_is_room_for_is_an_error(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    frames_clear(&f, &usual);
    for (size_t i = 0; i < FRAMES_MAX; i++) {
        assert_non_null(frames_begin(&f, STR("x"), MODE_ANY));
        frames_end(&f);
    }
    assert_int_equal(frames_error(&f), 0);
    assert_null(frames_begin(&f, STR("x"), MODE_ANY));
    assert_int_equal(frames_error(&f), ERR_TOO_LARGE);
    frames_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialects_are_found_by_name),
        cmocka_unit_test(the_list_agrees_with_the_dialects),
        cmocka_unit_test(dialects_say_what_a_connection_gets),
        cmocka_unit_test(the_outer_namespace_is_all_but_the_last_segment),
        cmocka_unit_test(hostile_text_cannot_forge_a_frame),
        cmocka_unit_test(names_are_from_a_strict_alphabet),
        cmocka_unit_test(payloads_name_themselves_where_the_dialect_says_so),
        cmocka_unit_test(aiq_gives_at_most_one_frame),
        cmocka_unit_test(filters_do_not_renumber),
        cmocka_unit_test(a_payload_over_the_limit_is_an_error_and_no_frame),
        cmocka_unit_test(more_frames_than_there_is_room_for_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
