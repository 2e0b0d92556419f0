#define _DEFAULT_SOURCE /* timegm */
#include "terminal/moment.h"

#include "base/buf.h"

#include <stdio.h>
#include <time.h>

enum { LENGTH = sizeof("2026-02-16T10:30:00.123Z") - 1 };

bool moment_parse(struct str text, int64_t *ret)
{
    struct tm tm = { 0 };
    char copy[LENGTH + 1];
    int ms, end = 0;

    if (text.n != LENGTH)
        return false;
    memcpy(copy, text.p, LENGTH);
    copy[LENGTH] = '\0';
    if (sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &end) != 7 ||
        end != LENGTH)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret = (int64_t)timegm(&tm) * 1000 + ms;
    return true;
}

void moment_put_span(struct buf *b, int64_t ms)
{
    static const struct {
        int64_t ms;
        char unit;
    } units[] = { { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'm' }, { 1000, 's' } };

    if (ms < 0)
        ms = 0;
    if (ms < 10000) { /* 0.4s */
        buf_i64(b, ms / 1000);
        buf_char(b, '.');
        buf_i64(b, ms % 1000 / 100);
        buf_char(b, 's');
        return;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (ms < units[i].ms * (units[i].unit == 's' ? 1 : 2))
            continue; /* 90 minutes say more than one hour */
        buf_i64(b, ms / units[i].ms);
        buf_char(b, units[i].unit);
        return;
    }
}
