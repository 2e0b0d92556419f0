/* A field is parsed into a set of bits; the next tick is searched day by day on the clocks of
 * the zone, and then put on the line of time, where clocks are set forward and back. */
#include "schedule/cron.h"

#include "base/calendar.h"
#include "base/error.h"
#include "schedule/zone.h"

#include <string.h>

enum { DAY_S = 86400, MAX_YEARS = 50, MAX_TEXT = 500 };

/* The year 9000: behind it the calendar ends. */
static const int64_t LAST_MS = INT64_C(221845392000000);

enum cron_field { MINUTE, HOUR, DAY, MONTH, WEEKDAY, SECOND, YEAR, FIELD_MAX };

enum { YEAR_FIRST = 1970, YEAR_LAST = 2099 };

static const struct {
    int first, last;
} ranges[FIELD_MAX] = {
    { 0, 59 }, { 0, 23 }, { 1, 31 }, { 1, 12 }, { 0, 6 }, { 0, 59 }, { YEAR_FIRST, YEAR_LAST }
};

/* --- parsing ------------------------------------------------------------------------------ */

/* One field while it is parsed.  Values are counted from 0; a year from 1970. */
struct parsed {
    enum cron_field field;
    size_t n_fields;
    uint64_t bits[3];
    bool star, last;  /* "*"; "L" */
    unsigned nearest; /* "15W" */
    uint32_t nth[7];
    bool has_nth;
};

static void add(struct parsed *p, int value)
{
    unsigned at = (unsigned)(p->field == YEAR ? value - YEAR_FIRST : value);

    p->bits[at / 64] |= UINT64_C(1) << at % 64;
}

static int count(const struct parsed *p)
{
    return __builtin_popcountll(p->bits[0]) + __builtin_popcountll(p->bits[1]) +
           __builtin_popcountll(p->bits[2]) + p->last;
}

static bool digits(struct str text, int *ret)
{
    int64_t value;

    if (!str_number(text, &value) || value > 9999)
        return false;
    *ret = (int)value;
    return true;
}

/* The number of a month or a weekday. */
static bool named(enum cron_field field, struct str text, int *ret)
{
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    static const char weekdays[] = "sunmontuewedthufrisat";
    const char *names = field == MONTH ? months : field == WEEKDAY ? weekdays : "";

    for (int i = 0; text.n == 3 && names[i * 3] != '\0'; i++) {
        if (memcmp(text.p, names + (ptrdiff_t)i * 3, 3) == 0) {
            *ret = field == MONTH ? i + 1 : i;
            return true;
        }
    }
    return false;
}

/* Seven is Sunday too; with seconds, day 0 is the first.  croniter does either only in
 * expressions of some lengths. */
static int alias(const struct parsed *p, int value)
{
    if (p->field == WEEKDAY && value == 7 && p->n_fields == 5)
        return 0;
    if (p->field == DAY && value == 0 && p->n_fields == 6)
        return 1;
    return value;
}

static bool value_of(const struct parsed *p, struct str text, int *ret)
{
    if (!digits(text, ret) && !named(p->field, text, ret))
        return false;
    *ret = alias(p, *ret);
    return true;
}

static bool in_range(enum cron_field field, int value)
{
    return value >= ranges[field].first && value <= ranges[field].last;
}

/* Adds a value; @nth: of the month (0: each; -1: the last). */
static bool add_value(struct parsed *p, int value, int nth)
{
    if (!in_range(p->field, value))
        return false;
    add(p, value);
    if (nth != 0) {
        p->nth[value] |= 1u << (nth < 0 ? 0 : nth);
        p->has_nth = true;
    }
    return true;
}

static bool add_steps(struct parsed *p, int low, int high, int step, int nth)
{
    bool ok = true;

    for (int v = low; ok && v <= high; v += step)
        ok = add_value(p, v, nth);
    return ok;
}

/* A range that goes over the end; how steps go on at the beginning is croniter's rule. */
static bool add_round(struct parsed *p, int low, int high, int step, int nth)
{
    int first = ranges[p->field].first, last = ranges[p->field].last;
    int reached = low + (last - low) / step * step;
    int left = last - reached, skip = 0;

    if (reached - first + step > last - first + 1 && left < step)
        skip = step - left;
    return add_steps(p, low, last, step, nth) && add_steps(p, first + skip, high, step, nth);
}

static bool add_range(struct parsed *p, int low, int high, int step, int nth)
{
    int first = ranges[p->field].first, last = ranges[p->field].last;

    if (step < 1 || low > last || high > last)
        return false;
    if (low == high) /* "sun-sun" is the whole week */
        return add_steps(p, first, last, step, nth);
    return low < high ? add_steps(p, low, high, step, nth) : add_round(p, low, high, step, nth);
}

/* "fri#2", "mon-fri#1", "L5": takes the part for the n-th off. */
static bool take_nth(struct str *text, int *nth)
{
    size_t at = str_find(*text, '#');
    int day;

    if (text->n > 1 && text->p[0] == 'l' && digits(str_skip(*text, 1), &day)) {
        *text = str_skip(*text, 1);
        *nth = -1;
        return true;
    }
    if (at == text->n)
        return true;
    struct str head = str_head(*text, at);
    bool is_number_range =
        str_has(head, '-') && digits(str_head(head, str_find(head, '-')), &day);
    if (!digits(str_skip(*text, at + 1), nth) || *nth < 1 || *nth > 5 || str_has(head, '/') ||
        is_number_range)
        return false;
    *text = head;
    return true;
}

/* "15W" or "W15", alone in its field. */
static bool take_nearest(struct parsed *p, struct str text, bool is_alone)
{
    struct str number =
        text.n > 1 && text.p[0] == 'w' ? str_skip(text, 1) : str_head(text, text.n - 1);
    int day;

    if (!is_alone || !digits(number, &day) || !in_range(DAY, day))
        return false;
    p->nearest = (unsigned)day;
    return true;
}

static bool is_nearest(struct str text)
{
    return text.n > 1 && (text.p[0] == 'w' || text.p[text.n - 1] == 'w');
}

/* "5", "mon", "1-5", "1-5/2", "5/2", "L"-"31" */
static bool parse_values(struct parsed *p, struct str text, int nth)
{
    size_t slash = str_find(text, '/'), dash = str_find(text, '-');
    struct str head = str_head(text, slash);
    int low, high = ranges[p->field].last, step = 1;

    if (slash < text.n && !digits(str_skip(text, slash + 1), &step))
        return false;
    if (str_is(head, "*"))
        return add_range(p, ranges[p->field].first, high, step, nth);
    if (dash >= head.n && slash == text.n)
        return value_of(p, text, &low) && add_value(p, low, nth);
    struct str end = dash < head.n ? str_skip(head, dash + 1) : STR_NONE;
    if (p->field == DAY && str_is(end, "l"))
        end = STR("31");
    if (!value_of(p, str_head(head, dash < head.n ? dash : head.n), &low) ||
        (!str_absent(end) && !value_of(p, end, &high)))
        return false;
    return add_range(p, low, high, step, nth);
}

static bool parse_item(struct parsed *p, struct str text, bool is_alone)
{
    int nth = 0;

    if (str_is(text, "*") || (str_is(text, "?") && is_alone)) {
        p->star = true;
        return text.p[0] == '*' || p->field == DAY || p->field == WEEKDAY;
    }
    if (p->field == DAY && str_is(text, "l")) {
        p->last = true;
        return true;
    }
    if (p->field == DAY && is_nearest(text))
        return take_nearest(p, text, is_alone);
    if (p->field == WEEKDAY && !take_nth(&text, &nth))
        return false;
    return parse_values(p, text, nth);
}

static bool parse_field(struct parsed *p, struct str text)
{
    bool is_alone = !str_has(text, ',');

    for (bool more = true; more;) {
        size_t at = str_find(text, ',');

        if (!parse_item(p, str_head(text, at), is_alone))
            return false;
        more = at < text.n;
        text = str_skip(text, at + 1);
    }
    return true;
}

static uint32_t small(const struct parsed *p)
{
    return (uint32_t)p->bits[0];
}

/* All values are the same as "*"; of days only if the weekdays have a star, and the other way
 * round, since else either field is enough. */
static bool is_any(const struct parsed *p, bool other_has_star)
{
    int all = ranges[p->field].last - ranges[p->field].first + 1;

    return p->star || (count(p) == all && other_has_star);
}

static uint64_t all_or(const struct parsed *p)
{
    return p->star ? UINT64_MAX : p->bits[0];
}

static bool fill(struct cron *c, const struct parsed *f, const struct str *texts, size_t n)
{
    bool day_star = str_has(texts[DAY], '*'), weekday_star = str_has(texts[WEEKDAY], '*');
    const struct parsed *w = &f[WEEKDAY];

    c->minutes = all_or(&f[MINUTE]);
    c->hours = (uint32_t)all_or(&f[HOUR]);
    c->any_hour = is_any(&f[HOUR], true);
    c->months = (uint32_t)all_or(&f[MONTH]);
    c->days = small(&f[DAY]);
    c->last_day = f[DAY].last;
    c->nearest = f[DAY].nearest;
    c->any_day = is_any(&f[DAY], weekday_star) && c->nearest == 0;
    c->weekdays = small(w);
    c->any_weekday = is_any(w, day_star);
    c->has_seconds = n > SECOND;
    c->seconds = n > SECOND ? all_or(&f[SECOND]) : 1;
    memcpy(c->years, f[YEAR].bits, sizeof(c->years));
    c->any_year = n <= YEAR || is_any(&f[YEAR], true);
    memcpy(c->nth, w->nth, sizeof(c->nth));
    c->has_nth = w->has_nth;
    for (int i = 0; w->has_nth && i < 7; i++) /* not mixed with plain weekdays */
        if ((c->weekdays >> i & 1) != 0 && w->nth[i] == 0 && count(w) != 7)
            return false;
    return true;
}

/* The short forms. */
static struct str expand(struct str text)
{
    static const struct {
        const char *name, *means;
    } forms[] = { { "@midnight", "0 0 * * *" }, { "@hourly", "0 * * * *" },
                  { "@daily", "0 0 * * *" },    { "@weekly", "0 0 * * 0" },
                  { "@monthly", "0 0 1 * *" },  { "@yearly", "0 0 1 1 *" },
                  { "@annually", "0 0 1 1 *" } };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (str_eq(text, str_of(forms[i].name)))
            return str_of(forms[i].means);
    return text;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Splits at white space; 0: too many fields. */
static size_t split(struct str text, struct str fields[FIELD_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < text.n;) {
        size_t end = i;

        while (end < text.n && !is_space(text.p[end]))
            end++;
        if (end > i && n == FIELD_MAX)
            return 0;
        if (end > i)
            fields[n++] = str_make(text.p + i, end - i);
        i = end + 1;
    }
    return n;
}

int cron_parse(struct str text, struct cron *ret, struct error *err)
{
    struct parsed fields[FIELD_MAX] = { 0 };
    struct str texts[FIELD_MAX];
    char low[MAX_TEXT];
    struct cron c = { 0 };

    bool ok = text.n <= sizeof(low);
    for (size_t i = 0; ok && i < text.n; i++)
        low[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] + 32) : text.p[i];
    size_t n = ok ? split(expand(str_make(low, text.n)), texts) : 0;
    ok = n >= 5;
    for (size_t i = 0; ok && i < n; i++) {
        fields[i].field = (enum cron_field)i;
        fields[i].n_fields = n;
        ok = parse_field(&fields[i], texts[i]);
    }
    if (!ok || !fill(&c, fields, texts, n))
        return error_set(
            err, ERR_TYPE,
            "Invalid cron schedule: '%.*s'. Reason: Invalid cron schedule. Ensure the schedule "
            "uses the standard cron format (minute hour day_of_month month day_of_week). "
            "Example: '*/5 * * * *' for every 5 minutes.",
            STR_ARG(str_head(text, 80)));
    *ret = c;
    return 0;
}

/* --- days --------------------------------------------------------------------------------- */

/* When days and weekdays are given, two searches are made, and the earlier result counts. */
enum days { DAYS_BOTH, DAYS_OF_MONTH, DAYS_OF_WEEK };

struct cron_date {
    unsigned year, month, day, weekday, n_days; /* n_days: of its month */
};

static unsigned days_in(unsigned year, unsigned month)
{
    static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && is_leap ? 1u : 0u);
}

static struct cron_date date_of(int64_t day)
{
    struct calendar at;

    calendar_of(day * DAY_S * 1000, &at);
    return (struct cron_date){ at.year, at.month, at.day, (unsigned)((day + 4) % 7),
                               days_in(at.year, at.month) };
}

/* The weekday that is nearest to @day, in the same month. */
static unsigned nearest_weekday(const struct cron_date *d, unsigned day)
{
    unsigned at = day < d->n_days ? day : d->n_days;
    unsigned weekday = (d->weekday + 35 + at - d->day) % 7;

    if (weekday == 6)
        return at > 1 ? at - 1 : at + 2;
    if (weekday == 0)
        return at < d->n_days ? at + 1 : at - 2;
    return at;
}

static bool is_nth(const struct cron *c, const struct cron_date *d)
{
    uint32_t nth = c->nth[d->weekday];

    return (nth >> ((d->day - 1) / 7 + 1) & 1) != 0 ||
           ((nth & 1) != 0 && d->day + 7 > d->n_days);
}

static bool fits_day(const struct cron *c, enum days days, const struct cron_date *d)
{
    bool of_month = days == DAYS_OF_WEEK || c->any_day || (c->days >> d->day & 1) != 0 ||
                    (c->last_day && d->day == d->n_days);
    bool of_week =
        days == DAYS_OF_MONTH || c->any_weekday || (c->weekdays >> d->weekday & 1) != 0;

    if (c->nearest != 0)
        of_month = d->day == nearest_weekday(d, c->nearest);
    if (c->has_nth)
        of_week = is_nth(c, d);
    return of_month && of_week;
}

static bool fits_year(const struct cron *c, unsigned year)
{
    return c->any_year ||
           (year <= YEAR_LAST &&
            (c->years[(year - YEAR_FIRST) / 64] >> (year - YEAR_FIRST) % 64 & 1) != 0);
}

/* The first time of the day from @from on, in seconds; -1: none. */
static int64_t time_of_day(const struct cron *c, int64_t from)
{
    for (int64_t h = from / 3600; h < 24; h++) {
        int64_t of_hour = h == from / 3600 ? from % 3600 : 0;

        for (int64_t m = of_hour / 60; m < 60 && (c->hours >> h & 1) != 0; m++) {
            int64_t s = m == of_hour / 60 ? of_hour % 60 : 0;

            for (; s < 60 && (c->minutes >> m & 1) != 0; s++)
                if ((c->seconds >> s & 1) != 0)
                    return h * 3600 + m * 60 + s;
        }
    }
    return -1;
}

/* The first time after @local that the clocks show and the schedule has. */
static bool next_local(const struct cron *c, enum days days, int64_t local, int64_t *ret)
{
    int64_t from = c->has_seconds ? local + 1 : local / 60 * 60 + 60;
    int64_t day = from / DAY_S, second = from % DAY_S;
    struct cron_date d = date_of(day);
    unsigned last_year = d.year + MAX_YEARS;

    while (d.year <= last_year) {
        bool is_month = fits_year(c, d.year) && (c->months >> d.month & 1) != 0;
        int64_t at = is_month && fits_day(c, days, &d) ? time_of_day(c, second) : -1;

        if (at >= 0) {
            *ret = day * DAY_S + at;
            return true;
        }
        day += is_month ? 1 : d.n_days - d.day + 1;
        second = 0;
        d = date_of(day);
    }
    return false;
}

/* --- on the line of time ------------------------------------------------------------------ */

/* A moment: UTC, and what the clocks of the zone show. */
struct moment {
    int64_t utc, local;
};

/* When the clocks show @local after @now.  False: they skip it; it is the next that they show.
 */
static bool place(const struct zone *zone, int64_t local, int64_t now, struct moment *ret)
{
    int64_t at[2] = { local, local };
    int n = zone != NULL ? zone_times(zone, local, at) : 1;
    bool is_there = n > 0;

    for (int i = 0; n == 0 && i < 2 * DAY_S / 60; i++)
        n = zone_times(zone, local += 60, at);
    *ret = (struct moment){ n == 2 && is_there && at[0] <= now ? at[1] : at[0], local };
    return is_there;
}

static bool search(const struct cron *c,
                   enum days days,
                   const struct zone *zone,
                   int64_t now,
                   struct moment *ret)
{
    int64_t offset = zone != NULL ? zone_offset(zone, now) : 0, local;
    struct moment other;

    if (!next_local(c, days, now + offset, &local))
        return false;
    bool is_there = place(zone, local, now, ret);
    if (!is_there && (ret->utc <= now || c->any_hour))
        while (!is_there) {
            if (!next_local(c, days, local, &local))
                return false;
            is_there = place(zone, local, now, ret);
        }
    int64_t moved = ret->local - ret->utc - offset;
    if (moved == 0)
        return true;
    /* The clocks were set in between: is there an earlier tick, by the other offset? */
    if (!next_local(c, days, now + offset + moved, &local))
        return true;
    (void)place(zone, local, now, &other);
    if (other.utc > now && other.utc < ret->utc)
        *ret = other;
    return true;
}

bool cron_next(const struct cron *cron, const struct zone *zone, int64_t after, int64_t *ret)
{
    struct moment at, other;
    int64_t now = after / 1000;
    bool is_either = !cron->any_day && !cron->any_weekday;

    if (after < DAY_S * INT64_C(1000) || after > LAST_MS)
        return false;
    bool found = search(cron, is_either ? DAYS_OF_MONTH : DAYS_BOTH, zone, now, &at);
    if (is_either && search(cron, DAYS_OF_WEEK, zone, now, &other) &&
        (!found || other.local <= at.local)) {
        found = true;
        at = other;
    }
    if (found)
        *ret = at.utc * 1000;
    return found;
}
