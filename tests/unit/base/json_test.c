/* JSON: limits, repair, the place of a member, numbers, and writing. */
#include "base/json.h"

#include "base/error.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MAX_BYTES = 200, MAX_DEPTH = 4 };

struct fixture {
    struct json_reader reader;
    struct json json;
    struct buf out;
    struct error error;
};

static int set_up(void **state)
{
    static struct fixture f; /* cmocka runs one test at a time */

    json_reader_init(&f.reader, MAX_BYTES, MAX_DEPTH);
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

static int read_line(struct fixture *f, struct str line)
{
    return json_read(&f->reader, line, &f->json, &f->error);
}

/* What the value read last looks like when it is written again. */
static const char *written(struct fixture *f)
{
    buf_clear(&f->out);
    json_put_value(&f->out, f->json.root);
    buf_char(&f->out, '\0');
    return f->out.p;
}

/* --- limits --------------------------------------------------------------------------- */

static void a_line_of_just_the_limit_is_read(void **state)
{
    struct fixture *f = *state;
    char line[MAX_BYTES + 1];

    memset(line, ' ', sizeof(line));
    line[0] = '1';
    assert_int_equal(read_line(f, str_make(line, MAX_BYTES)), 0);
    assert_int_equal(read_line(f, str_make(line, MAX_BYTES + 1)), ERR_TOO_LARGE);
    assert_string_equal(f->error.text, "line of 201 bytes, the limit is 200");
}

static void nesting_of_just_the_limit_is_read(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_line(f, STR("[[[[1,2,3,4,5]]],{},[]]")), 0);
    assert_int_equal(read_line(f, STR("[[[[[1,2,3,4,5]]]]]")), ERR_TOO_LARGE);
    assert_string_equal(f->error.text, "nested deeper than 4 levels");
    assert_int_equal(read_line(f, STR("[[[{\"a\":[]}]]]")), ERR_TOO_LARGE);
    /* Wide is not deep. */
    assert_int_equal(read_line(f, STR("[[],[],[],[],[],[[]],[[[]]]]")), 0);
}

static void a_reader_is_usable_after_an_error(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_line(f, STR("{\"a\"")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("{\"a\":1}")), 0);
    assert_string_equal(written(f), "{\"a\":1}");
}

/* --- what is wrong -------------------------------------------------------------------- */

static void says(struct fixture *f, struct str line, const char *sentence)
{
    assert_int_equal(read_line(f, line), ERR_SYNTAX);
    if (strncmp(f->error.text, sentence, strlen(sentence)) != 0)
        assert_string_equal(f->error.text, sentence);
}

static void an_error_says_what_and_where(void **state)
{
    struct fixture *f = *state;

    says(f, STR(""), "not JSON: ");
    says(f, STR("{\"a\":tru}"), "not JSON: ");
    says(f, STR("{} {}"), "not JSON: ");
    says(f, STR("[1,]"), "not JSON: ");
    says(f, STR("[\"a\0b\"]"), "not JSON: a NUL byte at position 3");
    says(f, STR("[\"\xFF\"]"), "not valid UTF-8 at byte 2");
    says(f, STR("[\"\xED\xA0\x80\"]"), "not valid UTF-8 at byte 2");
    says(f, STR("[\"\xC0\xAF\"]"), "not valid UTF-8 at byte 2");
    says(f, STR("\xEF\xBB\xBF{}"), "not JSON: ");
}

/* Half a tree of brackets needs more memory than any JSON of its length. */
static void brackets_without_end_are_not_out_of_memory(void **state)
{
    struct fixture *f = *state;
    char line[MAX_BYTES];

    memset(line, '[', sizeof(line));
    for (size_t n = 1; n <= sizeof(line); n++) {
        int err = read_line(f, str_make(line, n));

        assert_true(err == ERR_SYNTAX || err == ERR_TOO_LARGE);
    }
}

/* --- repair --------------------------------------------------------------------------- */

static void a_lone_half_stays_as_wtf8(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_line(f, STR("[\"a\\ud83d\",\"\\uDE00b\",\"\\ud83d\\ude00\"]")), 0);
    assert_true(f->json.repaired);
    struct str first = json_text(yyjson_arr_get(f->json.root, 0));
    struct str second = json_text(yyjson_arr_get(f->json.root, 1));
    struct str third = json_text(yyjson_arr_get(f->json.root, 2));
    assert_true(str_is(first, "a\xED\xA0\xBD"));
    assert_true(str_is(second, "\xED\xB8\x80"
                               "b"));
    assert_true(str_is(third, "\xF0\x9F\x98\x80"));
    assert_int_equal(utf8_half_last(first), 0xD83D);
    assert_int_equal(utf8_half_first(second), 0xDE00);
}

static void halves_in_keys_are_repaired_too(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_line(f, STR("{\"\\ud83d\":1}")), 0);
    assert_string_equal(written(f), "{\"\xEF\xBF\xBD\":1}");
}

static void two_high_halves_are_two_halves(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_line(f, STR("[\"\\ud83d\\ud83d\\ude00\"]")), 0);
    assert_string_equal(written(f), "[\"\xEF\xBF\xBD\xF0\x9F\x98\x80\"]");
}

static void an_escaped_backslash_is_no_escape(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_line(f, STR("[\"\\\\ud83d\"]")), 0);
    assert_false(f->json.repaired);
    assert_string_equal(written(f), "[\"\\\\ud83d\"]");
    /* Also when another one makes the line be repaired. */
    assert_int_equal(read_line(f, STR("[\"\\\\ud83d\",\"\\ud83d\"]")), 0);
    assert_string_equal(written(f), "[\"\\\\ud83d\",\"\xEF\xBF\xBD\"]");
}

static void what_is_not_a_number_becomes_null(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        read_line(f, STR("[NaN,Infinity,-Infinity,-1,{\"NaN\":\"NaN -Infinity\"}]")), 0);
    assert_string_equal(written(f), "[null,null,null,-1,{\"NaN\":\"NaN -Infinity\"}]");
    assert_int_equal(read_line(f, STR("[NaNa]")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[N]")), ERR_SYNTAX);
}

static void a_broken_line_is_not_repaired_into_another(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_line(f, STR("[\"\\ud83d\"")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[\"\\ud83d\xFF\"]")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[\"\\ud8\"]")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[\"\\ud83d\\")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[\"\\ud83d\x01\"]")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[\"\\ud83d\0\"]")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[\"\\ud83d\n\"]")), ERR_SYNTAX);
    assert_int_equal(read_line(f, STR("[[[[[\"\\ud83d\",1,2,3]]]]]")), ERR_TOO_LARGE);
}

/* --- the place of a member ------------------------------------------------------------ */

static void raw_is(struct fixture *f, struct str line, const char *key, const char *expected)
{
    yyjson_obj_iter it;
    yyjson_val *k;

    assert_int_equal(read_line(f, line), 0);
    it = yyjson_obj_iter_with(f->json.root);
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        if (!str_eq(json_text(k), str_of(key)))
            continue;
        struct str raw = json_raw_member(&f->json, k);
        struct str from = json_raw_from(&f->json, k);

        assert_int_equal(raw.n, strlen(expected));
        assert_memory_equal(raw.p, expected, raw.n);
        assert_true(str_starts(from, raw));
        return;
    }
    fail_msg("no member %s", key);
}

static void a_member_is_found_as_it_stands(void **state)
{
    struct fixture *f = *state;

    raw_is(f, STR("{\"a\":1}"), "a", "1");
    raw_is(f, STR("{\"a\" : 1.50e3 , \"b\":2}"), "a", "1.50e3");
    raw_is(f, STR("{\"a\":\"x\\\"}]\",\"b\":2}"), "a", "\"x\\\"}]\"");
    raw_is(f, STR("{\"a\":\"\\\\\",\"b\":2}"), "a", "\"\\\\\"");
    raw_is(f, STR("{\"a\":[ 1, {\"x\":\"]\"} ],\"b\":2}"), "a", "[ 1, {\"x\":\"]\"} ]");
    raw_is(f, STR("{\"a\":{},\"b\": true }"), "b", "true");
    raw_is(f, STR("{\"a\":null}"), "a", "null");
    raw_is(f, STR("{\"x\":\"\\u0041\\n\",\"a\":2}"), "a", "2");
    raw_is(f, STR("{\"\":7}"), "", "7");
}

static void a_member_after_escapes_and_repairs_is_found(void **state)
{
    struct fixture *f = *state;

    raw_is(f, STR("{\"x\":\"\\ud83d\\ud83d\\ude00\\t\",\"a\":{\"y\":NaN}}"), "a",
           "{\"y\":null}");
}

/* An escape in the key itself makes the key shorter than it stands in the line. */
static void a_key_with_escapes_is_found(void **state)
{
    struct fixture *f = *state;

    raw_is(f, STR("{\"\\u0061\":[1],\"b\":2}"), "a", "[1]");
    raw_is(f, STR("{\"q\\\"\":{\"c\":3}}"), "q\"", "{\"c\":3}");
}

/* --- values --------------------------------------------------------------------------- */

static void whole_numbers_are_read_within_64_bits(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        { "0", 0 },
        { "-0", 0 },
        { "7", 7 },
        { "-7", -7 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775808", INT64_MIN },
        { "9223372036854775808", 42 },
        { "-9223372036854775809", 42 },
        { "1.0", 42 },
        { "1e3", 42 },
        { "\"1\"", 42 },
        { "true", 42 },
        { "null", 42 },
        { "[1]", 42 },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(read_line(f, str_of(cases[i].text)), 0);
        assert_true(json_int(f->json.root, 42) == cases[i].value);
    }
    assert_int_equal(json_int(NULL, 42), 42);
}

static void numbers_pass_through_byte_for_byte(void **state)
{
    static const char line[] =
        "[0,-0,1.0,1.50,1e400,-1E-400,123456789012345678901234567890,0.1e+1]";
    struct fixture *f = *state;

    assert_int_equal(read_line(f, str_of(line)), 0);
    assert_string_equal(written(f), line);
}

static void looking_into_anything_is_safe(void **state)
{
    struct fixture *f = *state;

    assert_null(json_at(NULL, "a"));
    assert_null(json_text(NULL).p);
    assert_true(json_is_null(NULL));
    assert_int_equal(read_line(f, STR("[1]")), 0);
    assert_null(json_at(f->json.root, "a"));
    assert_null(json_text(f->json.root).p);
    assert_false(json_is_null(f->json.root));
    assert_int_equal(read_line(f, STR("{\"a\":null,\"b\":\"\"}")), 0);
    assert_true(json_is_null(json_at(f->json.root, "a")));
    assert_non_null(json_text(json_at(f->json.root, "b")).p);
}

/* --- writing -------------------------------------------------------------------------- */

static void values_are_written_compactly(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        read_line(
            f,
            STR(" { \"a\" : [ ] , \"b\" : { } , \"c\" : [ true , false , null , \"x\" ] } ")),
        0);
    assert_string_equal(written(f), "{\"a\":[],\"b\":{},\"c\":[true,false,null,\"x\"]}");
}

static void escaped_is(struct fixture *f, struct str text, const char *expected)
{
    buf_clear(&f->out);
    json_put_str(&f->out, text);
    buf_char(&f->out, '\0');
    assert_string_equal(f->out.p, expected);
}

static void text_is_escaped(void **state)
{
    struct fixture *f = *state;

    escaped_is(f, STR(""), "\"\"");
    escaped_is(f, STR("plain text, longer than eight"), "\"plain text, longer than eight\"");
    escaped_is(f, STR("\"\\/"), "\"\\\"\\\\/\"");
    escaped_is(f, STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
    escaped_is(f, STR("a\0b\x01\x1F\x7F"), "\"a\\u0000b\\u0001\\u001f\x7F\"");
    escaped_is(f, STR("1234567\"12345678\\1234567\n"), "\"1234567\\\"12345678\\\\1234567\\n\"");
    escaped_is(f, STR("\xC3\xA4\xE2\x80\xA8\xF0\x9F\x98\x80\xED\x9F\xBF"),
               "\"\xC3\xA4\xE2\x80\xA8\xF0\x9F\x98\x80\xED\x9F\xBF\"");
    escaped_is(f, STR("a\xED\xA0\xBDz"), "\"a\xEF\xBF\xBDz\"");
    escaped_is(f, STR("\xED\xB8\x80"), "\"\xEF\xBF\xBD\"");
}

/* Every byte at every place of a word: the fast path must not miss one. */
static void no_place_is_special(void **state)
{
    struct fixture *f = *state;

    for (int byte = 0; byte < 0x80; byte++) {
        for (size_t place = 0; place < 17; place++) {
            char text[17], back[17];
            struct json j;

            memset(text, 'a', sizeof(text));
            text[place] = (char)byte;
            buf_clear(&f->out);
            json_put_str(&f->out, str_make(text, sizeof(text)));
            assert_int_equal(json_read(&f->reader, buf_text(&f->out), &j, &f->error), 0);
            struct str read = json_text(j.root);
            assert_int_equal(read.n, sizeof(back));
            assert_memory_equal(read.p, text, sizeof(text));
        }
    }
}

static void absent_text_is_null(void **state)
{
    struct fixture *f = *state;

    buf_clear(&f->out);
    json_put_str_or_null(&f->out, STR_NONE);
    json_put_str_or_null(&f->out, STR(""));
    json_put_raw_or_null(&f->out, STR_NONE);
    json_put_raw_or_null(&f->out, STR("[1]"));
    buf_char(&f->out, '\0');
    assert_string_equal(f->out.p, "null\"\"null[1]");
}

static void members_and_elements_know_their_commas(void **state)
{
    struct fixture *f = *state;
    struct buf *b = &f->out;

    json_begin(b);
    json_add_str(b, "text", STR("a\"{"));
    json_add_str(b, "none", STR_NONE);
    json_add_text(b, "absent", STR_NONE);
    json_add_raw(b, "raw", STR("[1]"));
    json_add_int(b, "int", INT64_MIN);
    json_add_uint(b, "uint", UINT64_MAX);
    json_add_bool(b, "bool", true);
    json_add_time(b, "time", 1771237800123);
    json_add_time(b, "never", 0);
    json_add_lit(b, "lit", "x y");
    json_add_const(b, "const", "null");
    json_add_object(b, "empty");
    json_end(b);
    json_add_object(b, "object");
    json_put_key(b, STR("ke\"y"));
    json_begin(b);
    json_end(b);
    json_put_key(b, STR("other"));
    json_begin_array(b);
    json_end_array(b);
    json_end(b);
    json_add_array(b, "array");
    for (int i = 0; i < 2; i++) {
        json_begin(json_next(b));
        json_add_int(b, "i", i);
        json_end(b);
    }
    json_put_str(json_next(b), STR("["));
    json_put_str(json_next(b), STR("last"));
    json_end_array(b);
    json_end(b);
    buf_char(b, '\0');
    assert_string_equal(
        b->p, "{\"text\":\"a\\\"{\",\"none\":\"\",\"absent\":null,\"raw\":[1],"
              "\"int\":-9223372036854775808,\"uint\":18446744073709551615,\"bool\":true,"
              "\"time\":\"2026-02-16T10:30:00.123Z\",\"never\":null,\"lit\":\"x y\","
              "\"const\":null,\"empty\":{},\"object\":{\"ke\\\"y\":{},\"other\":[]},"
              "\"array\":[{\"i\":0},{\"i\":1},\"[\",\"last\"]}");
}

static void lists_and_strings_may_be_written_in_parts(void **state)
{
    struct fixture *f = *state;
    struct buf *b = &f->out;

    json_put_str(json_next(b), STR("a")); /* of a list that begins with its buffer */
    json_put_str(json_next(b), STR("b"));
    buf_char(b, '\n');
    json_begin_list(b, "list");
    json_next(b);
    json_begin_parts(b);
    buf_u64(b, 8);
    buf_char(b, '.');
    json_put_escaped(b, STR("\""));
    json_end_parts(b);
    buf_lit(json_next(b), "1");
    json_end_list(b);
    json_begin(b);
    json_add_members(b, JSON_LIT("a", "x") "," JSON_CONST("b", "[]"));
    json_add_parts(b, "parts");
    json_end_parts(b);
    json_end(b);
    buf_char(b, '\0');
    assert_string_equal(b->p, "\"a\",\"b\"\n{\"list\":[\"8.\\\"\",1]}"
                              "{\"a\":\"x\",\"b\":[],\"parts\":\"\"}");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_line_of_just_the_limit_is_read),
        TEST(nesting_of_just_the_limit_is_read),
        TEST(a_reader_is_usable_after_an_error),
        TEST(an_error_says_what_and_where),
        TEST(brackets_without_end_are_not_out_of_memory),
        TEST(a_lone_half_stays_as_wtf8),
        TEST(halves_in_keys_are_repaired_too),
        TEST(two_high_halves_are_two_halves),
        TEST(an_escaped_backslash_is_no_escape),
        TEST(what_is_not_a_number_becomes_null),
        TEST(a_broken_line_is_not_repaired_into_another),
        TEST(a_member_is_found_as_it_stands),
        TEST(a_member_after_escapes_and_repairs_is_found),
        TEST(a_key_with_escapes_is_found),
        TEST(whole_numbers_are_read_within_64_bits),
        TEST(numbers_pass_through_byte_for_byte),
        TEST(looking_into_anything_is_safe),
        TEST(values_are_written_compactly),
        TEST(text_is_escaped),
        TEST(no_place_is_special),
        TEST(absent_text_is_null),
        TEST(members_and_elements_know_their_commas),
        TEST(lists_and_strings_may_be_written_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
