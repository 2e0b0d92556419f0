/* Times as text. */
#include "base/buf.h"
#include "base/calendar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

enum { MAX_BYTES = 1000 };

static void expect_time(int64_t ms, const char *want)
{
    struct buf b;

    buf_init(&b, MAX_BYTES);
    calendar_put(&b, ms);
    buf_char(&b, '\0');
    assert_string_equal(b.p, want);
    buf_done(&b);
}

static void times_are_utc_with_milliseconds(void **state)
{
    (void)state;
    expect_time(0, "1970-01-01T00:00:00.000Z");
    expect_time(INT64_C(1771237800123), "2026-02-16T10:30:00.123Z");
    expect_time(INT64_C(951782400000) - 1, "2000-02-28T23:59:59.999Z");
    expect_time(INT64_C(951782400000), "2000-02-29T00:00:00.000Z");
    expect_time(INT64_C(4107542400000) - 1, "2100-02-28T23:59:59.999Z");
    expect_time(INT64_C(4107542400000), "2100-03-01T00:00:00.000Z");
    expect_time(INT64_C(253402300799999), "9999-12-31T23:59:59.999Z");
    expect_time(INT64_MAX, "9999-12-31T23:59:59.999Z");
    expect_time(-1, "1970-01-01T00:00:00.000Z");
    expect_time(INT64_MIN, "1970-01-01T00:00:00.000Z");
}

/* Every day until 2400, each at another time of day. */
static void times_agree_with_the_c_library(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, MAX_BYTES);
    for (int64_t ms = 0; ms < INT64_C(13569465600000); ms += 86400000 + 1234567) {
        time_t seconds = (time_t)(ms / 1000);
        struct calendar c;
        struct tm tm;
        char want[32];
        int64_t back;

        gmtime_r(&seconds, &tm);
        strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S", &tm);
        buf_clear(&b);
        calendar_put(&b, ms);
        assert_int_equal(b.n, 24);
        assert_memory_equal(b.p, want, 19);
        assert_true(calendar_parse(buf_text(&b), &back));
        assert_int_equal(back, ms);
        calendar_of(ms, &c);
        strftime(want, sizeof(want), "%a%b", &tm);
        assert_memory_equal(c.day_name, want, 3);
        assert_memory_equal(c.month_name, want + 3, 3);
    }
    buf_done(&b);
}

static void other_texts_are_no_times(void **state)
{
    static const char *const bad[] = { "",
                                       "2026-02-16T10:30:00.123",
                                       "2026-02-16T10:30:00.123Zx",
                                       "2026-02-16 10:30:00.123Z",
                                       "2026-13-16T10:30:00.123Z",
                                       "1969-12-31T23:59:59.999Z",
                                       "2026-00-16T10:30:00.123Z",
                                       "2026-02- 6T10:30:00.123Z" };
    int64_t ms = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(calendar_parse(str_of(bad[i]), &ms));
    assert_false(calendar_parse(STR_NONE, &ms));
    assert_int_equal(ms, 7);
}

static void times_of_other_programs_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t want; /* -1: none */
    } cases[] = {
        { "2026-02-16T10:30:00Z", INT64_C(1771237800000) },
        { "2026-02-16T10:30:00", INT64_C(1771237800000) },
        { "2026-02-16 10:30:00.5+00:00", INT64_C(1771237800500) },
        { "2026-02-16T10:30:00.123456+00:00", INT64_C(1771237800123) },
        { "2026-02-16T11:30:00+01:00", INT64_C(1771237800000) },
        { "2026-02-16T05:00:00-0530", INT64_C(1771237800000) },
        { "2026-02-16T10:30:00z", INT64_C(1771237800000) },
        { "2026-02-16", -1 },
        { "2026-02-16T10:30", -1 },
        { "2026-02-16T10:30:00.", -1 },
        { "2026-02-16T10:30:00+1:00", -1 },
        { "2026-02-16T10:30:00+01:0x", -1 },
        { "2026-02-16T10:30:00 Z", -1 },
        { "soon", -1 },
        { "", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t got = -1;

        if (!calendar_read(str_of(cases[i].text), &got))
            got = -1;
        if (got != cases[i].want)
            fail_msg("%s: %lld", cases[i].text, (long long)got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_utc_with_milliseconds),
        cmocka_unit_test(times_agree_with_the_c_library),
        cmocka_unit_test(other_texts_are_no_times),
        cmocka_unit_test(times_of_other_programs_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
