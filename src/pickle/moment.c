/* datetime pickles itself as one argument of bytes, the year first:
 *
 *     datetime  yy yy mm dd HH MM SS us us us  (the month's high bit is `fold`), perhaps a zone
 *     date      yy yy mm dd
 *     time                 HH MM SS us us us   (the hour's high bit is `fold`), perhaps a zone
 *
 * and timedelta as days, seconds and microseconds. */
#include "pickle/moment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { DATE_BYTES = 4, TIME_BYTES = 6, DAY_SECONDS = 86400, MAX_DAYS = 999999999 };

static unsigned at(struct str bytes, size_t i)
{
    return (unsigned char)bytes.p[i];
}

static void put_date(struct buf *out, struct str b)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%04u-%02u-%02u", at(b, 0) << 8 | at(b, 1),
                   at(b, 2) & 0x7f, at(b, 3)); /* fits */
    buf_str(out, str_of(text));
}

static void put_time(struct buf *out, struct str b)
{
    unsigned micros = at(b, 3) << 16 | at(b, 4) << 8 | at(b, 5);
    char text[32];

    (void)snprintf(text, sizeof(text), "%02u:%02u:%02u", at(b, 0) & 0x7f, at(b, 1), at(b, 2));
    buf_str(out, str_of(text));
    if (micros > 0) {
        (void)snprintf(text, sizeof(text), ".%06u", micros); /* fits */
        buf_str(out, str_of(text));
    }
}

static bool small_int(const struct value *v, int64_t *ret)
{
    if (v->kind != VALUE_INT || v->text.n > 18)
        return false;
    bool negative = v->text.p[0] == '-';
    bool ok = str_number(str_skip(v->text, negative ? 1 : 0), ret);
    if (negative)
        *ret = -*ret;
    return ok;
}

/* A timedelta's seconds and microseconds. */
static bool read_delta(const struct value *v, int64_t *ret_s, int64_t *ret_us)
{
    int64_t part[3] = { 0 };

    if (v->kind != VALUE_OBJECT || !str_is(v->text, "datetime.timedelta") || v->args->n > 3)
        return false;
    for (size_t i = 0; i < v->args->n; i++)
        if (!small_int(v->args->items[i], &part[i]) || llabs(part[i]) > MAX_DAYS)
            return false;
    *ret_s = part[0] * DAY_SECONDS + part[1];
    *ret_us = part[2];
    return *ret_us >= 0 && *ret_us < 1000000;
}

/* +02:00, or [Europe/Berlin]; nothing for a zone that is not known. */
static void put_zone(struct buf *out, const struct value *zone)
{
    int64_t seconds, micros;
    char text[32];

    if (zone->kind != VALUE_OBJECT || zone->args->n == 0)
        return;
    const struct value *first = zone->args->items[0];
    if (str_is(zone->text, "datetime.timezone") && read_delta(first, &seconds, &micros) &&
        llabs(seconds) < DAY_SECONDS) {
        int64_t minutes = llabs(seconds) / 60;
        (void)snprintf(text, sizeof(text), "%c%02" PRId64 ":%02" PRId64,
                       seconds < 0 ? '-' : '+', minutes / 60, minutes % 60); /* fits */
        buf_str(out, str_of(text));
    } else if (str_is(zone->text, "zoneinfo.ZoneInfo._unpickle") && first->kind == VALUE_TEXT &&
               str_find(first->text, '"') == first->text.n &&
               str_find(first->text, '\\') == first->text.n) {
        buf_char(out, '[');
        for (size_t i = 0; i < first->text.n; i++)
            if ((unsigned char)first->text.p[i] > ' ')
                buf_char(out, first->text.p[i]);
        buf_char(out, ']');
    }
}

/* 12.5 */
static void put_seconds(struct buf *out, int64_t seconds, int64_t micros)
{
    bool negative = seconds < 0;
    char text[48];

    if (negative && micros > 0) { /* Python's microseconds always count forwards */
        seconds++;
        micros = 1000000 - micros;
    }
    (void)snprintf(text, sizeof(text), "%s%" PRId64 ".%06" PRId64, negative ? "-" : "",
                   (int64_t)llabs(seconds), micros); /* fits */
    struct str s = str_of(text);
    while (s.p[s.n - 1] == '0' && s.p[s.n - 2] != '.')
        s.n--;
    buf_str(out, s);
}

/* One of the three that are bytes, and how many. */
static size_t bytes_of(struct str class)
{
    return str_is(class, "datetime.datetime") ? DATE_BYTES + TIME_BYTES
           : str_is(class, "datetime.date")   ? DATE_BYTES
           : str_is(class, "datetime.time")   ? TIME_BYTES
                                              : 0;
}

bool moment_put(struct buf *out, const struct value *object)
{
    size_t n = bytes_of(object->text);
    const struct value *args = object->args;
    int64_t seconds, micros;

    if (read_delta(object, &seconds, &micros)) {
        put_seconds(out, seconds, micros);
        return true;
    }
    if (n == 0 || args->n == 0 || args->items[0]->kind != VALUE_BYTES ||
        args->items[0]->text.n != n)
        return false;
    struct str b = args->items[0]->text;
    buf_char(out, '"');
    if (n != TIME_BYTES)
        put_date(out, b);
    if (n == DATE_BYTES + TIME_BYTES)
        buf_char(out, 'T');
    if (n != DATE_BYTES)
        put_time(out, str_skip(b, n - TIME_BYTES));
    if (args->n > 1)
        put_zone(out, args->items[1]);
    buf_char(out, '"');
    return true;
}
