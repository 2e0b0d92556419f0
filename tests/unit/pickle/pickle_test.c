/* Pickles: the bytes that are written, and what is taken from bytes.  tests/agents/arq has
 * Python read what is written here, and write what is read. */
#include "base/error.h"
#include "base/json.h"
#include "pickle/names.h"
#include "pickle/number.h"
#include "pickle/read.h"
#include "pickle/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct pickle_limits limits = { .max_bytes = 1 << 20,
                                             .max_values = 10000,
                                             .max_depth = 50 };

static void assert_text(struct str got, struct str wanted)
{
    if (!str_eq(got, wanted))
        fail_msg("got %.*s, not %.*s", STR_ARG(got), STR_ARG(wanted));
}

/* --- writing ----------------------------------------------------------------- */

static void write_json(struct buf *b, const char *text)
{
    struct json_reader reader;
    struct json json;

    json_reader_init(&reader, 1 << 20, 200);
    assert_int_equal(json_read(&reader, str_of(text), &json, NULL), 0);
    pickle_value(b, json.root);
    json_reader_done(&reader);
}

/* The example of a job that a queue holds, byte by byte. */
static void a_job_has_the_bytes_of_the_example(void **state)
{
    static const char bytes[] = "\x80\x03}("
                                "X\x01\0\0\0tN"
                                "X\x01\0\0\0fX\x0a\0\0\0run_triage"
                                "X\x01\0\0\0aX\x05\0\0\0job-1"
                                "}(X\x05\0\0\0issueX\x07\0\0\0API 500u\x86"
                                "X\x01\0\0\0k}"
                                "X\x02\0\0\0et\x8a\x06\0\x68\xe5\xcf\x8b\x01u.";
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    pickle_begin(&b);
    pickle_dict_begin(&b, 5);
    pickle_text(&b, STR("t"));
    pickle_none(&b);
    pickle_text(&b, STR("f"));
    pickle_text(&b, STR("run_triage"));
    pickle_text(&b, STR("a"));
    pickle_tuple_begin(&b, 2);
    pickle_text(&b, STR("job-1"));
    write_json(&b, "{\"issue\":\"API 500\"}");
    pickle_tuple_end(&b, 2);
    pickle_text(&b, STR("k"));
    write_json(&b, "{}");
    pickle_text(&b, STR("et"));
    pickle_int(&b, 1700000000000);
    pickle_dict_end(&b, 5);
    pickle_end(&b);
    assert_int_equal(b.n, 98);
    assert_memory_equal(b.p, bytes, sizeof(bytes) - 1);
    buf_done(&b);
}

static void every_kind_of_value_has_its_bytes(void **state)
{
    static const struct {
        const char *json;
        struct str bytes;
    } cases[] = {
        { "null", { "N", 1 } },
        { "true", { "\x88", 1 } },
        { "false", { "\x89", 1 } },
        { "0", { "J\0\0\0\0", 5 } },
        { "-0", { "J\0\0\0\0", 5 } },
        { "-1", { "J\xff\xff\xff\xff", 5 } },
        { "2147483647", { "J\xff\xff\xff\x7f", 5 } },
        { "-2147483648", { "J\0\0\0\x80", 5 } },
        { "2147483648", { "\x8a\x05\0\0\0\x80\0", 7 } },
        { "-2147483649", { "\x8a\x05\xff\xff\xff\x7f\xff", 7 } },
        { "-549755813888", { "\x8a\x05\0\0\0\0\x80", 7 } },
        { "9223372036854775808", { "\x8a\x09\0\0\0\0\0\0\0\x80\0", 11 } },
        { "-9223372036854775808", { "\x8a\x08\0\0\0\0\0\0\0\x80", 10 } },
        { "1.5", { "G\x3f\xf8\0\0\0\0\0\0", 9 } },
        { "1e3", { "G\x40\x8f\x40\0\0\0\0\0", 9 } },
        { "-0.0", { "G\x80\0\0\0\0\0\0\0", 9 } },
        { "\"\\u00e9\"", { "X\x02\0\0\0\xc3\xa9", 7 } },
        { "\"\\ud83d\"", { "X\x03\0\0\0\xed\xa0\xbd", 8 } },
        { "[]", { "]", 1 } },
        { "[[],1]", { "](]J\x01\0\0\0e", 9 } },
        { "{}", { "}", 1 } },
        { "{\"\":{}}", { "}(X\0\0\0\0}u", 9 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf b;
        buf_init(&b, 1000);
        write_json(&b, cases[i].json);
        if (b.n != cases[i].bytes.n || memcmp(b.p, cases[i].bytes.p, b.n) != 0)
            fail_msg("%s is not what it should be", cases[i].json);
        buf_done(&b);
    }
}

static void tuples_of_every_length_have_their_opcode(void **state)
{
    static const char *const wanted[] = { ")", "N\x85", "NN\x86", "NNN\x87", "(NNNNt" };

    (void)state;
    for (size_t n = 0; n < 5; n++) {
        struct buf b;
        buf_init(&b, 100);
        pickle_tuple_begin(&b, n);
        for (size_t i = 0; i < n; i++)
            pickle_none(&b);
        pickle_tuple_end(&b, n);
        assert_text(buf_text(&b), str_of(wanted[n]));
        buf_done(&b);
    }
}

static void whole_numbers_of_any_size_come_back(void **state)
{
    char digits[NUMBER_MAX_DIGITS + 3];

    (void)state;
    for (size_t n = 1; n <= NUMBER_MAX_DIGITS; n += n < 50 ? 1 : 97)
        for (int negative = 0; negative < 2; negative++)
            for (int first = '1'; first <= '9'; first += 4) {
                struct buf bytes, text;
                size_t k = 0;
                if (negative)
                    digits[k++] = '-';
                for (size_t i = 0; i < n; i++)
                    digits[k++] = i == 0 ? (char)first : (char)('0' + (i * 7 + n) % 10);
                buf_init(&bytes, NUMBER_MAX_BYTES);
                buf_init(&text, sizeof(digits));
                assert_int_equal(number_put_bytes(&bytes, str_make(digits, k)), 0);
                assert_int_equal(number_put_text(&text, buf_text(&bytes)), 0);
                assert_int_equal(bytes.error, 0);
                assert_text(buf_text(&text), str_make(digits, k));
                buf_done(&bytes);
                buf_done(&text);
            }
}

static void a_number_without_end_is_refused(void **state)
{
    char json[NUMBER_MAX_DIGITS + 2];
    struct buf b;

    (void)state;
    memset(json, '9', sizeof(json) - 1);
    json[sizeof(json) - 1] = '\0';
    buf_init(&b, 100000);
    write_json(&b, json);
    assert_int_equal(b.error, ERR_TOO_LARGE);
    buf_done(&b);
}

/* --- reading ----------------------------------------------------------------- */

static int to_json(struct str bytes, struct buf *out, struct error *err)
{
    buf_init(out, 1 << 16);
    return pickle_to_json(bytes, &limits, out, err);
}

static void assert_reads(struct str bytes, const char *json)
{
    struct error err = { 0 };
    struct buf out;

    if (to_json(bytes, &out, &err) != 0)
        fail_msg("%s: %s", json, err.text);
    assert_text(buf_text(&out), str_of(json));
    buf_done(&out);
}

static void assert_refuses(struct str bytes, int code, const char *why)
{
    struct error err = { 0 };
    struct buf out;

    if (to_json(bytes, &out, &err) != code)
        fail_msg("not refused as it should be: %s (%s)", why, err.text);
    if (strstr(err.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, why);
    buf_done(&out);
}

#define READS(literal, json)          assert_reads(STR(literal), (json))
#define REFUSES(literal, code, words) assert_refuses(STR(literal), (code), (words))

static void protocol_0_is_read(void **state)
{
    (void)state;
    READS("N.", "null");
    READS("I01\n.", "true");
    READS("I-12\n.", "-12");
    READS("L123456789012345678901234567890L\n.", "123456789012345678901234567890");
    READS("F2.5\n.", "2.5");
    READS("F1e400\n.", "null");
    READS("S'it\\'s \\x41\\n'\n.", "\"it's A\\n\"");
    READS("S'\\xff'\n.", "\"/w==\"");
    READS("V\\u20ac\xe9\\U0001f600\n.", "\"\xe2\x82\xac\xc3\xa9\xf0\x9f\x98\x80\"");
    READS("(lp0\nI1\naI2\na.", "[1,2]");
    READS("(dp0\nVa\nI1\ns.", "{\"a\":1}");
    READS("(I1\nI2\nt.", "[1,2]");
    READS("(lp1\n(g1\ng1\nt.", "[[],[]]");
    READS("c__builtin__\nset\n((lI1\natR.", "[1]");
    READS("(iexceptions\nValueError\n.", "{\"type\":\"exceptions.ValueError\",\"args\":[]}");
    READS("(cexceptions\nValueError\nVboom\no.",
          "{\"type\":\"exceptions.ValueError\",\"args\":[\"boom\"]}");
}

static void classes_that_are_known_become_values(void **state)
{
    (void)state;
    READS("\x80\x03"
          "cdatetime\ndatetime\nC\x0a\x07\xea\x01\x02\x03\x04\x05\0\0\x06\x85R.",
          "\"2026-01-02T03:04:05.000006\"");
    READS("\x80\x03"
          "cdatetime\ndate\nC\x04\x07\xea\x0c\x1f\x85R.",
          "\"2026-12-31\"");
    READS("\x80\x03"
          "cdatetime\ntimedelta\nJ\xff\xff\xff\xffM\x80\x51J\x01\0\0\0\x87R.",
          "-65535.999999");
    READS("cuuid\nUUID\n)\x81}X\x03\0\0\0intK\x05sb.",
          "\"00000000-0000-0000-0000-000000000005\"");
    READS("cdecimal\nDecimal\nX\x04\0\0\0001.50\x85R.", "\"1.50\"");
    READS("cshop\nOrder\n)\x81}X\x01\0\0\0nK\x03sb.", "{\"n\":3}");
    READS("cshop\nOrder\n)\x81N}X\x01\0\0\0nK\x03s\x86"
          "b.",
          "{\"n\":3}");
    READS("cshop\nColor\nK\x03\x85R.", "{\"type\":\"shop.Color\",\"args\":[3]}");
    READS("cshop\nColor\n.", "\"shop.Color\"");
    READS("cbuiltins\ngetattr\ncshop\nColor\nX\x02\0\0\0of\x86R.", "\"shop.Color.of\"");
    READS("c_codecs\nencode\nX\x03\0\0\0a\xc3\xbfX\x06\0\0\0latin1\x86R.", "\"Yf8=\"");
}

static void keys_become_text(void **state)
{
    (void)state;
    READS("}(K\x01K\x02NK\x03\x88K\x04G\x3f\xf8\0\0\0\0\0\0K\x05K\x01K\x02\x86K\x06u.",
          "{\"1\":2,\"null\":3,\"true\":4,\"1.5\":5,\"[1,2]\":6}");
}

static void nothing_that_could_run_is_taken(void **state)
{
    (void)state;
    REFUSES("cos\nsystem\n(S'true'\ntR.", ERR_REFUSED, "os.system");
    REFUSES("cposix\nsystem\nX\x04\0\0\0true\x85R.", ERR_REFUSED, "posix.system");
    REFUSES("\x8c\x08"
            "builtins\x8c\x04"
            "eval\x93.",
            ERR_REFUSED, "builtins.eval");
    REFUSES("c__builtin__\ngetattr\nNN\x86R.", ERR_REFUSED, "getattr");
    REFUSES("csubprocess\nPopen\n(lp0\ntR.", ERR_REFUSED, "subprocess.Popen");
    REFUSES("(ios\nsystem\n.", ERR_REFUSED, "os.system");
    REFUSES("cos.path\njoin\n.", ERR_REFUSED, "os.path.join");
    REFUSES("Pid\n.", ERR_REFUSED, "0x50"); /* a persistent id */
    REFUSES("NQ.", ERR_REFUSED, "0x51");
    REFUSES("\x82\x01.", ERR_REFUSED, "0x82"); /* an extension */
    REFUSES("\x97.", ERR_REFUSED, "0x97");     /* a buffer from outside */
    REFUSES("\xff.", ERR_REFUSED, "0xff");
    assert_true(pickle_name_is_harmless(STR("builtins"), STR("ValueError")));
    assert_false(pickle_name_is_harmless(STR("builtins"), STR("eval.Error")));
}

static void what_is_no_pickle_is_refused(void **state)
{
    (void)state;
    REFUSES("", ERR_SYNTAX, "ends");
    REFUSES("N", ERR_SYNTAX, "ends");
    REFUSES(".", ERR_SYNTAX, "empty stack");
    REFUSES("(.", ERR_SYNTAX, "empty stack");
    REFUSES("X\xff\xff\xff\xff"
            "a.",
            ERR_SYNTAX, "ends");
    REFUSES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
            "a.",
            ERR_SYNTAX, "ends");
    REFUSES("X\x01\0\0\0\xff.", ERR_SYNTAX, "UTF-8");
    REFUSES("I1x\n.", ERR_SYNTAX, "number");
    REFUSES("F1e\n.", ERR_SYNTAX, "number");
    REFUSES("t.", ERR_SYNTAX, "mark");
    REFUSES("(Nd.", ERR_SYNTAX, "key");
    REFUSES("NNa.", ERR_SYNTAX, "adds");
    REFUSES("](NNu.", ERR_SYNTAX, "adds");
    REFUSES("h\x01.", ERR_SYNTAX, "recalls");
    REFUSES("q\x01.", ERR_SYNTAX, "stores");
    REFUSES("N)R.", ERR_SYNTAX, "call");
    REFUSES("cshop\nOrder\nNR.", ERR_SYNTAX, "call");
    REFUSES("NNb.", ERR_SYNTAX, "state");
    REFUSES("NN\x93.", ERR_SYNTAX, "name");
    REFUSES("c\n\n.", ERR_SYNTAX, "name");
}

static void what_is_too_much_is_refused(void **state)
{
    struct str bytes;
    struct buf b;

    (void)state;
    REFUSES("]q\0h\0a.", ERR_TOO_LARGE, "contains itself");
    REFUSES("}q\0h\0Ns.", ERR_TOO_LARGE, "of keys"); /* {itself: None} */
    REFUSES("Nr\xff\xff\xff\x7f.", ERR_TOO_LARGE, "10000 values");
    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < 20000; i++)
        buf_char(&b, 'N');
    buf_char(&b, '.');
    assert_refuses(buf_text(&b), ERR_TOO_LARGE, "10000 values");
    buf_clear(&b);
    buf_char(&b, 'N'); /* each tuple holds the one before twice */
    for (size_t i = 0; i < 40; i++)
        buf_lit(&b, "2\x86");
    buf_char(&b, '.');
    assert_refuses(buf_text(&b), ERR_TOO_LARGE, "too much");
    buf_clear(&b);
    buf_lit(&b, "\x8b\xff\xff\0\0");
    for (size_t i = 0; i < 0xffff; i++)
        buf_char(&b, 'N');
    buf_char(&b, '.');
    assert_refuses(buf_text(&b), ERR_TOO_LARGE, "65535 bytes");
    buf_done(&b);
    bytes = (struct str){ "N.", limits.max_bytes + 1 }; /* it is not even looked at */
    assert_refuses(bytes, ERR_TOO_LARGE, "limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_has_the_bytes_of_the_example),
        cmocka_unit_test(every_kind_of_value_has_its_bytes),
        cmocka_unit_test(tuples_of_every_length_have_their_opcode),
        cmocka_unit_test(whole_numbers_of_any_size_come_back),
        cmocka_unit_test(a_number_without_end_is_refused),
        cmocka_unit_test(protocol_0_is_read),
        cmocka_unit_test(classes_that_are_known_become_values),
        cmocka_unit_test(keys_become_text),
        cmocka_unit_test(nothing_that_could_run_is_taken),
        cmocka_unit_test(what_is_no_pickle_is_refused),
        cmocka_unit_test(what_is_too_much_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
