/* Times as text, in UTC: days, months and the form of RFC 3339.  Pure.
 *
 * Times before 1970 and after 9999 are clamped to that range. */
#ifndef BASE_CALENDAR_H
#define BASE_CALENDAR_H

#include "base/str.h"

#include <stdint.h>

struct buf;

struct calendar {
    uint32_t year;
    uint32_t month; /* 1 to 12 */
    uint32_t day;   /* 1 to 31 */
    uint32_t hour;
    uint32_t minute;
    uint32_t second;
    uint32_t millis;
    const char *month_name; /* "Jan" */
    const char *day_name;   /* "Sun" */
};

enum { CALENDAR_BYTES = sizeof("2026-02-16T10:30:00.123Z") - 1 };

/* @ms since 1970. */
void calendar_of(int64_t ms, struct calendar *ret);
/* 2026-02-16T10:30:00.123Z */
void calendar_put(struct buf *b, int64_t ms);
/* The same text as milliseconds since 1970; false when it is not such a text. */
bool calendar_parse(struct str text, int64_t *ret);
/* Any time of RFC 3339 and Python's isoformat(): 2026-02-16T10:30:00+01:00, with or without a
 * fraction; without an offset it is UTC. */
bool calendar_read(struct str text, int64_t *ret);

#endif
