/* Offsets of zones, against the C library's. */
#define _GNU_SOURCE /* tm_gmtoff */
#include "base/error.h"
#include "schedule/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

enum { DAY_S = 86400 };

static int64_t library_offset(int64_t utc)
{
    time_t at = (time_t)utc;
    struct tm tm;

    assert_non_null(localtime_r(&at, &tm));
    return tm.tm_gmtoff;
}

/* The moment of the change between two times with different offsets. */
static int64_t change_between(int64_t low, int64_t high)
{
    while (high - low > 1) {
        int64_t mid = low + (high - low) / 2;

        if (library_offset(mid) == library_offset(low))
            low = mid;
        else
            high = mid;
    }
    return high;
}

/* Around a change the clocks skip times, or show them twice. */
static void expect_change(const struct zone *z, int64_t at)
{
    int64_t before = library_offset(at - 1), after = library_offset(at), times[2];
    int64_t step = after - before, local = at + (step > 0 ? before : after);

    assert_int_equal(zone_offset(z, at - 1), before);
    assert_int_equal(zone_offset(z, at), after);
    assert_int_equal(zone_times(z, local - 1, times), 1);
    assert_int_equal(times[0] + zone_offset(z, times[0]), local - 1);
    int n = zone_times(z, local, times);
    assert_int_equal(n, step > 0 ? 0 : 2);
    if (n == 2) {
        assert_int_equal(times[0], local - before);
        assert_int_equal(times[1], local - after);
    }
}

static void expect_zone(const char *name)
{
    struct zone *z = NULL;

    assert_int_equal(zone_open(str_of(name), &z, NULL), 0);
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
    for (int64_t at = INT64_C(946684800); at < INT64_C(4102444800); at += 5 * DAY_S) {
        assert_int_equal(zone_offset(z, at), library_offset(at));
        if (library_offset(at) != library_offset(at + 5 * DAY_S))
            expect_change(z, change_between(at, at + 5 * DAY_S));
    }
    zone_free(z);
}

static void offsets_are_those_of_the_c_library(void **state)
{
    static const char *const names[] = {
        "Europe/Berlin",    "America/New_York",    "America/Santiago",
        "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata",
        "Europe/Dublin",    "America/Sao_Paulo",   "Asia/Jerusalem",
        "Asia/Gaza",        "America/Nuuk",        "Africa/Cairo",
        "Pacific/Chatham",  "Etc/GMT+5",           "UTC",
        "Asia/Tehran",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        expect_zone(names[i]);
}

static void unknown_names_are_refused(void **state)
{
    static const char *const names[] = {
        "",         "Nowhere/City",   "../../../etc/passwd", "Europe", "/etc/localtime",
        "zone.tab", "Europe/Berlin\n"
    };
    struct zone *z = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct error err = { 0 };

        assert_int_equal(zone_open(str_of(names[i]), &z, &err), ERR_NOT_FOUND);
        assert_non_null(strstr(err.text, "Invalid timezone"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_those_of_the_c_library),
        cmocka_unit_test(unknown_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
