/* A zone is a list of moments at which its offset changes, and a rule for the time after the
 * last of them (the TZ text of POSIX, at the end of the file).
 *
 * The file has its data twice: with 32-bit times, which are skipped, and with 64-bit times. */
#include "schedule/zone.h"

#include "base/buf.h"
#include "base/calendar.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

#define FOLDER "/usr/share/zoneinfo/"

enum { MAX_BYTES = 256 * 1024, MAX_NAME = 100, MAX_CHANGES = 4096, DAY_S = 86400 };

/* A day of the year on which the clocks are set, and when on that day. */
struct rule {
    char kind;            /* 'M', 'J' (1 to 365, without leap days), or 'N' (0 to 365) */
    int month, week, day; /* 'M': week 5 is the last; day 0 is Sunday.  Else only day */
    int64_t at;           /* seconds since midnight; may be negative */
};

struct zone {
    size_t n;
    int64_t *times;   /* owned: when the offset changes */
    int32_t *offsets; /* owned: from then on */
    int64_t first;    /* before the first change */
    bool has_rule;
    int64_t standard; /* after the last change */
    bool has_summer;
    int64_t summer;
    struct rule begin, end; /* of summer time */
};

/* --- the rule ----------------------------------------------------------------------------- */

/* What is left of the text. */
struct text {
    struct str s;
    bool is_bad;
};

static bool take(struct text *t, char c)
{
    if (t->s.n == 0 || t->s.p[0] != c)
        return false;
    t->s = str_skip(t->s, 1);
    return true;
}

static int take_number(struct text *t, int most)
{
    int value = 0;
    size_t n = 0;

    for (; n < t->s.n && n < 4 && t->s.p[n] >= '0' && t->s.p[n] <= '9'; n++)
        value = value * 10 + (t->s.p[n] - '0');
    if (n == 0 || value > most)
        t->is_bad = true;
    t->s = str_skip(t->s, n);
    return t->is_bad ? 0 : value;
}

/* [+-]hh[:mm[:ss]], in seconds. */
static int64_t take_time(struct text *t)
{
    bool is_negative = take(t, '-');

    if (!is_negative)
        (void)take(t, '+');
    int64_t value = take_number(t, 167) * INT64_C(3600);
    if (take(t, ':'))
        value += take_number(t, 59) * INT64_C(60);
    if (take(t, ':'))
        value += take_number(t, 59);
    return is_negative ? -value : value;
}

/* "CET" or "<+0330>" */
static void skip_name(struct text *t)
{
    size_t n = 0;

    if (take(t, '<')) {
        n = str_find(t->s, '>');
        t->is_bad |= n == t->s.n;
        t->s = str_skip(t->s, n + 1);
        return;
    }
    while (n < t->s.n && ((t->s.p[n] | 32) >= 'a' && (t->s.p[n] | 32) <= 'z'))
        n++;
    t->is_bad |= n < 3;
    t->s = str_skip(t->s, n);
}

static struct rule take_rule(struct text *t)
{
    struct rule r = { .kind = 'N', .at = 2 * 3600 };

    if (!take(t, ','))
        t->is_bad = true;
    if (take(t, 'M')) {
        r.kind = 'M';
        r.month = take_number(t, 12);
        t->is_bad |= r.month == 0 || !take(t, '.');
        r.week = take_number(t, 5);
        t->is_bad |= r.week == 0 || !take(t, '.');
        r.day = take_number(t, 6);
    } else {
        r.kind = take(t, 'J') ? 'J' : 'N';
        r.day = take_number(t, 365);
        t->is_bad |= r.kind == 'J' && r.day == 0;
    }
    if (take(t, '/'))
        r.at = take_time(t);
    return r;
}

/* False: it is not such a text. */
static bool parse_rule(struct zone *z, struct str text)
{
    struct text t = { text, false };

    if (text.n == 0)
        return true;
    skip_name(&t);
    z->standard = -take_time(&t);
    z->has_rule = true;
    if (t.s.n == 0 || t.is_bad)
        return !t.is_bad;
    skip_name(&t);
    z->has_summer = true;
    z->summer = z->standard + 3600;
    if (t.s.n > 0 && t.s.p[0] != ',')
        z->summer = -take_time(&t);
    z->begin = take_rule(&t);
    z->end = take_rule(&t);
    return !t.is_bad && t.s.n == 0;
}

static int64_t day_of(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year; /* years begin in March */
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

/* When the clocks are set in that year, on the clocks before. */
static int64_t rule_time(const struct rule *r, int64_t year)
{
    int64_t first = day_of(year, 1, 1), day;
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    if (r->kind == 'M') {
        int64_t start = day_of(year, r->month, 1);
        int64_t next = r->month == 12 ? day_of(year + 1, 1, 1) : day_of(year, r->month + 1, 1);

        day = start + (r->day - (start + 4) % 7 + 7) % 7 + (r->week - 1) * INT64_C(7);
        if (day >= next)
            day -= 7;
    } else {
        day = first + r->day;
        if (r->kind == 'J')
            day -= is_leap && r->day >= 60 ? 0 : 1;
    }
    return day * DAY_S + r->at;
}

static int64_t ruled_offset(const struct zone *z, int64_t utc)
{
    struct calendar at;

    if (!z->has_summer)
        return z->standard;
    calendar_of((utc + z->standard) * 1000, &at);
    int64_t begin = rule_time(&z->begin, at.year) - z->standard;
    int64_t end = rule_time(&z->end, at.year) - z->summer;
    bool is_summer = begin < end ? utc >= begin && utc < end : utc >= begin || utc < end;
    return is_summer ? z->summer : z->standard;
}

/* --- the file ----------------------------------------------------------------------------- */

enum { HEAD_BYTES = 44 };

/* Counts of a header, in the order of the file. */
enum { N_UT, N_STD, N_LEAP, N_TIME, N_TYPE, N_CHAR, N_COUNTS };

static uint64_t number(const char *p, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value = value << 8 | (unsigned char)p[i];
    return value;
}

static bool read_head(struct str bytes, size_t counts[N_COUNTS])
{
    if (bytes.n < HEAD_BYTES || memcmp(bytes.p, "TZif", 4) != 0 || bytes.p[4] < '2')
        return false;
    for (size_t i = 0; i < N_COUNTS; i++) {
        counts[i] = number(bytes.p + 20 + i * 4, 4);
        if (counts[i] > MAX_CHANGES)
            return false;
    }
    return counts[N_TYPE] > 0;
}

static size_t data_bytes(const size_t counts[N_COUNTS], size_t time)
{
    return counts[N_TIME] * (time + 1) + counts[N_TYPE] * 6 + counts[N_CHAR] +
           counts[N_LEAP] * (time + 4) + counts[N_STD] + counts[N_UT];
}

static bool read_offset(const char *types, size_t n_types, size_t i, int64_t *ret)
{
    if (i >= n_types)
        return false;
    *ret = (int32_t)(uint32_t)number(types + i * 6, 4);
    return *ret > -2 * DAY_S && *ret < 2 * DAY_S;
}

static bool read_changes(struct zone *z, const char *data, const size_t counts[N_COUNTS])
{
    size_t n = counts[N_TIME];
    const char *types = data + n * 9;
    int64_t offset;

    if (!read_offset(types, counts[N_TYPE], 0, &z->first))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!read_offset(types, counts[N_TYPE], (unsigned char)data[n * 8 + i], &offset))
            return false;
        z->times[i] = (int64_t)number(data + i * 8, 8);
        z->offsets[i] = (int32_t)offset;
        if (i > 0 && z->times[i] <= z->times[i - 1])
            return false;
    }
    z->n = n;
    return true;
}

static bool parse(struct zone *z, struct str bytes)
{
    size_t counts[N_COUNTS];

    if (!read_head(bytes, counts))
        return false;
    bytes = str_skip(bytes, HEAD_BYTES + data_bytes(counts, 4)); /* the 32-bit times */
    if (!read_head(bytes, counts) || bytes.n < HEAD_BYTES + data_bytes(counts, 8))
        return false;
    z->times = calloc(counts[N_TIME] + 1, sizeof(*z->times));
    z->offsets = calloc(counts[N_TIME] + 1, sizeof(*z->offsets));
    if (z->times == NULL || z->offsets == NULL ||
        !read_changes(z, bytes.p + HEAD_BYTES, counts))
        return false;
    struct str rest = str_skip(bytes, HEAD_BYTES + data_bytes(counts, 8));
    if (rest.n == 0 || rest.p[0] != '\n')
        return rest.n == 0;
    rest = str_skip(rest, 1);
    return parse_rule(z, str_head(rest, str_find(rest, '\n')));
}

int zone_parse(struct str bytes, struct zone **ret)
{
    struct zone *z = calloc(1, sizeof(*z));

    if (z == NULL)
        return ERR_NOMEM;
    if (!parse(z, bytes)) {
        zone_free(z);
        return ERR_TYPE;
    }
    *ret = z;
    return 0;
}

void zone_free(struct zone *z)
{
    if (z == NULL)
        return;
    free(z->times);
    free(z->offsets);
    free(z);
}

/* Only names below the folder: no dots, and no slash at the beginning. */
static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9');

        if (!is_letter && c != '_' && c != '-' && c != '+' && (c != '/' || i == 0))
            return false;
    }
    return name.n > 0 && name.n <= MAX_NAME;
}

static bool read_file(struct str name, struct buf *ret)
{
    char path[sizeof(FOLDER) + MAX_NAME], piece[4096];
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), FOLDER "%.*s", STR_ARG(name));
    f = fopen(path, "rbe");
    if (f == NULL)
        return false;
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && ret->error == 0)
        buf_put(ret, piece, n);
    bool ok = ferror(f) == 0 && ret->error == 0;
    (void)fclose(f); /* it was only read */
    return ok;
}

int zone_open(struct str name, struct zone **ret, struct error *err)
{
    struct buf bytes LOCAL_BUF(MAX_BYTES);
    int code = is_name(name) && read_file(name, &bytes) ? zone_parse(buf_text(&bytes), ret)
                                                        : ERR_NOT_FOUND;

    if (code == ERR_NOMEM)
        return error_set(err, code, "out of memory");
    if (code != 0)
        return error_set(err, ERR_NOT_FOUND,
                         "Invalid timezone: '%.*s'. Use IANA timezone format (e.g. "
                         "'America/New_York').",
                         STR_ARG(str_head(name, 80)));
    return 0;
}

/* --- use ---------------------------------------------------------------------------------- */

int64_t zone_offset(const struct zone *z, int64_t utc)
{
    size_t low = 0, high = z->n;

    if (z->n == 0 || utc < z->times[0])
        return z->n == 0 && z->has_rule ? ruled_offset(z, utc) : z->first;
    if (utc >= z->times[z->n - 1] && z->has_rule)
        return ruled_offset(z, utc);
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if (z->times[mid] <= utc)
            low = mid;
        else
            high = mid;
    }
    return z->offsets[low];
}

int zone_times(const struct zone *z, int64_t local, int64_t ret[2])
{
    int64_t before = zone_offset(z, local - DAY_S), after = zone_offset(z, local + DAY_S);
    int n = 0;

    if (zone_offset(z, local - before) == before)
        ret[n++] = local - before;
    if (after != before && zone_offset(z, local - after) == after)
        ret[n++] = local - after;
    return n; /* in order: the second has the later offset */
}
