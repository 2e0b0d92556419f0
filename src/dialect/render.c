/* What several dialects say in the same way.
 *
 * The date is computed here because gmtime_r is slower than a whole frame may be.
 * Days since 1970 become year, month and day by counting years from March, so
 * that the leap day is the last of its year; an era is 400 years, the period after
 * which the calendar repeats. */
#include "dialect/render.h"

enum { TIME_BYTES = 24 };

static void put_digits(char *at, uint32_t value, size_t n)
{
    while (n-- > 0) {
        at[n] = (char)('0' + value % 10);
        value /= 10;
    }
}

static void put_date(char *at, uint32_t days)
{
    uint32_t z = days + 719468; /* since 0000-03-01 */
    uint32_t era = z / 146097;
    uint32_t day_of_era = z % 146097;
    uint32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t month = (5 * day_of_year + 2) / 153; /* 0 is March */
    uint32_t day = day_of_year - (153 * month + 2) / 5 + 1;
    uint32_t year = year_of_era + era * 400 + (month >= 10 ? 1 : 0);

    put_digits(at, year, 4);
    put_digits(at + 5, month >= 10 ? month - 9 : month + 3, 2);
    put_digits(at + 8, day, 2);
}

void render_time(struct buf *b, int64_t ms)
{
    static const int64_t last_ms = INT64_C(253402300799999); /* the end of 9999 */
    char text[TIME_BYTES + 1] = "0000-00-00T00:00:00.000Z";

    if (ms < 0)
        ms = 0;
    if (ms > last_ms)
        ms = last_ms;
    uint32_t of_day = (uint32_t)(ms % 86400000);
    put_date(text, (uint32_t)(ms / 86400000));
    put_digits(text + 11, of_day / 3600000, 2);
    put_digits(text + 14, of_day / 60000 % 60, 2);
    put_digits(text + 17, of_day / 1000 % 60, 2);
    put_digits(text + 20, of_day % 1000, 3);
    buf_put(b, text, TIME_BYTES);
}

void render_number_value(struct buf *b, int64_t value)
{
    if (value == RECORD_NO_NUMBER)
        buf_lit(b, "null");
    else
        buf_i64(b, value);
}

void render_moment_value(struct buf *b, int64_t ms)
{
    if (ms == 0) {
        buf_lit(b, "null");
        return;
    }
    buf_char(b, '"');
    render_time(b, ms);
    buf_char(b, '"');
}

struct buf *render_begin(struct frames *out, struct str name, struct str header)
{
    struct buf *b = frames_begin(out, name, MODE_ANY);

    if (b != NULL)
        buf_str(b, header);
    return b;
}

void render_end(struct frames *out)
{
    buf_char(&out->body, '}');
    frames_end(out);
}

struct str render_job_id(const struct record *rec)
{
    return render_some(str_absent(rec->job_id) ? rec->job : rec->job_id);
}

bool render_is_ok(const struct record *rec)
{
    return str_absent(rec->status) || str_is(rec->status, "ok");
}

struct str render_error(const struct record *rec)
{
    if (render_is_ok(rec) || !str_empty(rec->error))
        return rec->error;
    return rec->status;
}

struct str render_outer_ns(struct str ns)
{
    size_t n = ns.n;

    while (n > 0 && ns.p[n - 1] != '|')
        n--;
    return str_head(ns, n > 0 ? n - 1 : 0);
}
