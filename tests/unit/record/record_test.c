/* The canonical record: its stored form, and copies that outlive their event. */
#include "record/record.h"

#include "base/error.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

struct fixture {
    struct json_reader reader;
    struct buf out;
    struct error error;
};

static int set_up(void **state)
{
    static struct fixture f; /* cmocka runs one test at a time */

    json_reader_init(&f.reader, 1 << 20, 64);
    buf_init(&f.out, 1 << 20);
    f.error = (struct error){ 0 };
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    json_reader_done(&f->reader);
    buf_done(&f->out);
    return 0;
}

static const char *encoded(struct fixture *f, const struct record *rec)
{
    buf_clear(&f->out);
    record_encode(rec, &f->out);
    buf_char(&f->out, '\0');
    return f->out.p;
}

static int decode(struct fixture *f, const char *stored, struct record *ret)
{
    return record_decode(&f->reader, str_of(stored), ret, &f->error);
}

static struct record delta(void)
{
    struct record rec;

    record_init(&rec, REC_LLM_DELTA);
    rec.seq = 7;
    rec.ts = 1771237800123;
    rec.text = STR("a\n\"b\"");
    rec.index = 0;
    rec.first = true;
    rec.usage = STR("{\"n\":1.50}");
    return rec;
}

static struct record start(void)
{
    struct record rec;

    record_init(&rec, REC_LLM_START);
    rec.seq = 3;
    rec.ts = 1;
    rec.info.run = STR("l1");
    rec.info.exec = STR("w1");
    rec.info.step = 2;
    rec.info.card = true;
    rec.info.tags = STR("[\"t\"]");
    rec.input = STR("{}");
    return rec;
}

static void stored_form_has_only_what_is_there(void **state)
{
    struct fixture *f = *state;
    struct record rec = delta();

    rec.info.run = STR("l1");
    assert_string_equal(encoded(f, &rec),
                        "{\"seq\":7,\"ts\":1771237800123,\"kind\":\"llm.delta\",\"run\":\"l1\","
                        "\"index\":0,\"first\":true,\"text\":\"a\\n\\\"b\\\"\","
                        "\"usage\":{\"n\":1.50}}");
}

static void a_record_with_a_head_names_it_instead_of_repeating_it(void **state)
{
    struct fixture *f = *state;
    struct record header = start(), rec = delta();

    rec.header = &header;
    rec.header_seq = header.seq;
    assert_string_equal(encoded(f, &rec),
                        "{\"seq\":7,\"ts\":1771237800123,\"kind\":\"llm.delta\",\"head\":3,"
                        "\"index\":0,\"first\":true,\"text\":\"a\\n\\\"b\\\"\","
                        "\"usage\":{\"n\":1.50}}");
    assert_ptr_equal(record_info(&rec), &header.info);
}

static void a_record_alone_has_its_heads_constant_part(void **state)
{
    struct fixture *f = *state;
    struct record header = start(), rec = delta();
    struct record *counted;

    rec.header = &header;
    rec.header_seq = header.seq;
    buf_clear(&f->out);
    record_encode_alone(&rec, &f->out);
    buf_char(&f->out, '\0');
    assert_string_equal(f->out.p, "{\"seq\":7,\"ts\":1771237800123,\"kind\":\"llm.delta\","
                                  "\"run\":\"l1\",\"exec\":\"w1\",\"step\":2,\"card\":true,"
                                  "\"tags\":[\"t\"],\"index\":0,\"first\":true,"
                                  "\"text\":\"a\\n\\\"b\\\"\",\"usage\":{\"n\":1.50}}");
    /* The same from a copy, which has it ready. */
    assert_int_equal(record_new(&header, &counted), 0);
    rec.header = counted;
    struct buf again;
    buf_init(&again, 1 << 20);
    record_encode_alone(&rec, &again);
    buf_char(&again, '\0');
    assert_string_equal(again.p, f->out.p);
    buf_done(&again);
    record_unref(counted);
}

static void every_kind_reads_back(void **state)
{
    struct fixture *f = *state;

    for (int kind = 0; kind < REC_KIND_MAX; kind++) {
        struct record rec, back;

        record_init(&rec, (enum record_kind)kind);
        rec.seq = 1;
        assert_string_not_equal(record_kind_name(rec.kind), "unknown");
        struct buf stored;
        buf_init(&stored, 1 << 20);
        record_encode(&rec, &stored);
        assert_int_equal(record_decode(&f->reader, buf_text(&stored), &back, &f->error), 0);
        assert_int_equal(back.kind, kind);
        buf_done(&stored);
    }
    assert_string_equal(record_kind_name(REC_KIND_MAX), "unknown");
}

static void every_field_reads_back(void **state)
{
    /* Every member of struct run_info and of struct record that is stored. */
    static const char all[] =
        "{\"seq\":9,\"ts\":-5,\"kind\":\"tool.end\",\"run\":\"1\",\"parent\":\"2\","
        "\"exec\":\"3\",\"node\":\"4\",\"step\":5,\"ns\":\"6\",\"depth\":7,\"name\":\"8\","
        "\"type\":\"9\",\"section\":\"10\",\"model\":\"11\",\"path\":\"12\",\"root\":true,"
        "\"top\":true,\"card\":true,\"panel\":true,\"counted\":true,\"derived\":true,"
        "\"tags\":[1],\"meta\":{\"a\":1e400},\"parents\":[],\"job\":\"13\",\"agent\":\"14\","
        "\"id\":\"15\",\"title\":\"16\",\"status\":\"17\",\"outcome\":\"18\",\"phase\":\"19\","
        "\"error\":\"20\",\"error_type\":\"21\",\"message\":\"22\",\"text\":\"23\","
        "\"reasoning\":\"24\",\"preview\":\"25\",\"call\":\"26\",\"percent\":27.0,"
        "\"note\":\"28\",\"content\":[29],\"calls\":[30],\"usage\":{},\"response\":{\"x\":{}},"
        "\"extra\":{},\"input\":31,\"output\":null,\"data\":\"32\",\"question\":\"33\","
        "\"context\":true,\"resolves\":[],\"seen\":[],\"details\":{},\"model_version\":\"41\",\"prompt_id\":\"42\",\"attempt\":34,\"elapsed\":35,"
        "\"index\":36,\"count\":37,\"chains\":38,\"llms\":39,\"tools\":40,\"half\":55357,"
        "\"first\":true,\"last\":true,\"lossy\":true,\"tool\":true,\"mirror\":true,\"owes\":true}";
    struct fixture *f = *state;
    yyjson_doc *want = yyjson_read(all, sizeof(all) - 1, YYJSON_READ_NUMBER_AS_RAW);
    struct record rec;

    assert_non_null(want);
    assert_int_equal(decode(f, all, &rec), 0);
    const char *stored = encoded(f, &rec);
    yyjson_doc *got = yyjson_read(stored, strlen(stored), YYJSON_READ_NUMBER_AS_RAW);
    assert_non_null(got);
    if (!yyjson_equals(yyjson_doc_get_root(got), yyjson_doc_get_root(want)))
        assert_string_equal(stored, all); /* the order may be another, the members not */
    yyjson_doc_free(got);
    yyjson_doc_free(want);
}

static void fields_are_found_in_any_order(void **state)
{
    struct fixture *f = *state;
    struct record rec;

    assert_int_equal(
        decode(f,
               "{\"text\":\"t\",\"first\":true,\"kind\":\"llm.delta\",\"run\":\"r\","
               "\"seq\":2,\"ts\":3}",
               &rec),
        0);
    assert_string_equal(encoded(f, &rec), "{\"seq\":2,\"ts\":3,\"kind\":\"llm.delta\","
                                          "\"run\":\"r\",\"first\":true,\"text\":\"t\"}");
}

static void fields_of_a_later_version_are_skipped(void **state)
{
    struct fixture *f = *state;
    struct record rec;

    assert_int_equal(
        decode(f,
               "{\"seq\":1,\"ts\":0,\"kind\":\"custom\",\"new\":{\"x\":[1]},\"title\":\"t\"}",
               &rec),
        0);
    assert_true(str_is(rec.title, "t"));
}

static void what_is_no_record_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"seq\":1,\"ts\":0}",
        "{\"seq\":1,\"ts\":0,\"kind\":\"nothing\"}",
        "{\"seq\":1,\"ts\":0,\"kind\":7}",
        "{\"seq\":0,\"ts\":0,\"kind\":\"custom\"}",
        "{\"seq\":-1,\"ts\":0,\"kind\":\"custom\"}",
        "{\"seq\":\"1\",\"ts\":0,\"kind\":\"custom\"}",
        "{\"ts\":0,\"kind\":\"custom\"}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"head\":3}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"head\":-1}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"head\":\"1\"}",
        "{\"seq\":3,\"ts\":\"0\",\"kind\":\"custom\"}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"title\":1}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"title\":null}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"index\":1.5}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"index\":9223372036854775808}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\",\"first\":1}",
        "{\"seq\":3,\"ts\":0,\n\"kind\":\"custom\"}",
        "{\"seq\":3,\"ts\":0,\"kind\":\"custom\"",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct record rec;

        f->error = (struct error){ 0 };
        int err = decode(f, bad[i], &rec);
        if (err == 0)
            print_error("taken: %s\n", bad[i]);
        assert_int_not_equal(err, 0);
        assert_int_equal(f->error.code, err);
        assert_true(f->error.text[0] != '\0');
    }
}

static void a_copy_outlives_what_it_was_made_of(void **state)
{
    struct fixture *f = *state;
    char text[] = "text";
    struct record rec = delta(), *copy;

    rec.text = str_make(text, 4);
    rec.job_id = STR("job-1");
    rec.message = STR("");
    assert_int_equal(record_new(&rec, &copy), 0);
    memset(text, 'x', 4);
    assert_true(str_is(copy->text, "text"));
    assert_true(str_is(copy->job_id, "job-1"));
    assert_non_null(copy->message.p); /* empty, not absent */
    assert_int_equal(copy->message.n, 0);
    assert_null(copy->reasoning.p);
    assert_null(copy->header);
    rec.text = STR("text");
    assert_string_equal(encoded(f, copy),
                        "{\"seq\":7,\"ts\":1771237800123,\"kind\":\"llm.delta\","
                        "\"index\":0,\"first\":true,\"message\":\"\","
                        "\"text\":\"text\",\"usage\":{\"n\":1.50}}");
    record_unref(copy);
}

static void a_copy_lives_until_its_last_reference(void **state)
{
    struct record rec = start(), *copy;

    (void)state;
    assert_int_equal(record_new(&rec, &copy), 0);
    assert_ptr_equal(record_ref(copy), copy);
    record_unref(copy);
    assert_true(str_is(copy->info.run, "l1"));
    record_unref(copy);
    record_unref(NULL);
}

static void a_copy_with_its_head_keeps_the_head(void **state)
{
    struct record rec = delta(), first = start(), *header, *copy;

    (void)state;
    assert_int_equal(record_new(&first, &header), 0);
    rec.header = header;
    rec.header_seq = header->seq;
    assert_int_equal(record_new_with_header(&rec, &copy), 0);
    record_unref(header);
    assert_true(str_is(record_info(copy)->run, "l1"));
    record_unref(copy);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(stored_form_has_only_what_is_there),
        TEST(a_record_with_a_head_names_it_instead_of_repeating_it),
        TEST(a_record_alone_has_its_heads_constant_part),
        TEST(every_kind_reads_back),
        TEST(every_field_reads_back),
        TEST(fields_are_found_in_any_order),
        TEST(fields_of_a_later_version_are_skipped),
        TEST(what_is_no_record_is_refused),
        TEST(a_copy_outlives_what_it_was_made_of),
        TEST(a_copy_lives_until_its_last_reference),
        TEST(a_copy_with_its_head_keeps_the_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
