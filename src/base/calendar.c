/* Times as text.
 *
 * The date is computed here because gmtime_r is slower than rendering a whole frame may be, and
 * strftime's names are the locale's.  Days since 1970 become year, month and day by counting
 * years from March, so that the leap day is the last of its year; an era is 400 years, the
 * period after which the calendar repeats. */
#include "base/calendar.h"

#include "base/buf.h"

enum { DAY_MS = 86400000, DAYS_BEFORE_1970 = 719468 /* since 0000-03-01 */ };

struct date_parts {
    uint32_t year;
    uint32_t month;
    uint32_t day;
};

static struct date_parts date_of(uint32_t days)
{
    uint32_t z = days + DAYS_BEFORE_1970;
    uint32_t era = z / 146097;
    uint32_t day_of_era = z % 146097;
    uint32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t month = (5 * day_of_year + 2) / 153; /* 0 is March */

    return (struct date_parts){
        .year = year_of_era + era * 400 + (month >= 10 ? 1 : 0),
        .month = month >= 10 ? month - 9 : month + 3,
        .day = day_of_year - (153 * month + 2) / 5 + 1,
    };
}

static uint32_t days_to(uint32_t year, uint32_t month, uint32_t day)
{
    uint32_t y = month <= 2 ? year - 1 : year; /* years begin in March */
    uint32_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - DAYS_BEFORE_1970;
}

static int64_t within(int64_t ms)
{
    static const int64_t last_ms = INT64_C(253402300799999); /* the end of 9999 */

    return ms < 0 ? 0 : ms > last_ms ? last_ms : ms;
}

void calendar_of(int64_t ms, struct calendar *ret)
{
    static const char day_names[7][4] = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
    static const char month_names[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    uint32_t days = (uint32_t)(within(ms) / DAY_MS), of_day = (uint32_t)(within(ms) % DAY_MS);
    struct date_parts date = date_of(days);

    *ret = (struct calendar){
        .year = date.year,
        .month = date.month,
        .day = date.day,
        .hour = of_day / 3600000,
        .minute = of_day / 60000 % 60,
        .second = of_day / 1000 % 60,
        .millis = of_day % 1000,
        .month_name = month_names[date.month - 1],
        .day_name = day_names[days % 7],
    };
}

/* --- RFC 3339 -------------------------------------------------------------------------- */

static void put_digits(char *at, uint32_t value, size_t n)
{
    while (n-- > 0) {
        at[n] = (char)('0' + value % 10);
        value /= 10;
    }
}

void calendar_put(struct buf *b, int64_t ms)
{
    char text[CALENDAR_BYTES + 1] = "0000-00-00T00:00:00.000Z";
    uint32_t of_day = (uint32_t)(within(ms) % DAY_MS);
    struct date_parts date = date_of((uint32_t)(within(ms) / DAY_MS));

    put_digits(text, date.year, 4);
    put_digits(text + 5, date.month, 2);
    put_digits(text + 8, date.day, 2);
    put_digits(text + 11, of_day / 3600000, 2);
    put_digits(text + 14, of_day / 60000 % 60, 2);
    put_digits(text + 17, of_day / 1000 % 60, 2);
    put_digits(text + 20, of_day % 1000, 3);
    buf_put(b, text, CALENDAR_BYTES);
}

static uint32_t digits_at(const char *at, size_t n)
{
    uint32_t value = 0;

    for (size_t i = 0; i < n; i++)
        value = value * 10 + (uint32_t)(at[i] - '0');
    return value;
}

static bool has_form(struct str text)
{
    static const char form[] = "0000-00-00T00:00:00.000Z";

    if (text.n != CALENDAR_BYTES)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (form[i] == '0' ? text.p[i] < '0' || text.p[i] > '9' : text.p[i] != form[i])
            return false;
    return true;
}

bool calendar_parse(struct str text, int64_t *ret)
{
    if (!has_form(text))
        return false;
    uint32_t year = digits_at(text.p, 4), month = digits_at(text.p + 5, 2),
             day = digits_at(text.p + 8, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    *ret = (int64_t)days_to(year, month, day) * DAY_MS + digits_at(text.p + 11, 2) * 3600000 +
           digits_at(text.p + 14, 2) * 60000 + digits_at(text.p + 17, 2) * 1000 +
           digits_at(text.p + 20, 3);
    return true;
}

/* "+01:30" or "-0130" in minutes; "Z" and nothing are 0. */
static bool read_offset(struct str text, int64_t *ret)
{
    size_t colon = text.n == 6 ? 1 : 0;

    *ret = 0;
    if (text.n == 0 || str_is(text, "Z") || str_is(text, "z"))
        return true;
    if (text.n != 5 + colon || (text.p[0] != '+' && text.p[0] != '-') ||
        (colon == 1 && text.p[3] != ':'))
        return false;
    for (size_t i = 1; i < text.n; i++)
        if (i != 3 - (colon == 0) * 3 && (text.p[i] < '0' || text.p[i] > '9'))
            return false;
    *ret = (int64_t)digits_at(text.p + 1, 2) * 60 + digits_at(text.p + 3 + colon, 2);
    *ret = text.p[0] == '-' ? -*ret : *ret;
    return true;
}

bool calendar_read(struct str text, int64_t *ret)
{
    enum { SECONDS = sizeof("2026-02-16T10:30:00") - 1 };
    char whole[CALENDAR_BYTES + 1] = "0000-00-00T00:00:00.000Z";
    struct str rest = str_skip(text, SECONDS);
    int64_t minutes;

    if (text.n < SECONDS)
        return false;
    str_copy(whole, str_head(text, SECONDS));
    whole[10] = whole[10] == ' ' ? 'T' : whole[10];
    if (rest.n > 1 && rest.p[0] == '.') {
        size_t n = 1;

        for (; n < rest.n && rest.p[n] >= '0' && rest.p[n] <= '9'; n++)
            if (n <= 3)
                whole[SECONDS + n] = rest.p[n];
        if (n == 1)
            return false;
        rest = str_skip(rest, n);
    }
    if (!read_offset(rest, &minutes) || !calendar_parse(str_of(whole), ret))
        return false;
    *ret -= minutes * 60000;
    return *ret > 0;
}
