/* Cron schedules: when the next tick is.
 *
 * The expressions are those that LangGraph's server takes, so their meaning is that of the
 * Python package croniter: five fields (minute, hour, day, month, weekday), a sixth with
 * seconds, a seventh with years; lists, ranges that may go over the end ("fri-mon"), steps,
 * names, "?", "L" (the last day of the month), "L5" (its last Friday), "fri#2" (its second
 * Friday), "15W" (the weekday nearest to the 15th) and "@daily" and the like.  When both days
 * and weekdays are given, either is enough.  tests/unit/schedule has a table of cases that
 * croniter has computed.
 *
 * Pure, besides what zone.h reads. */
#ifndef SCHEDULE_CRON_H
#define SCHEDULE_CRON_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct error;
struct zone;

/* A field is a set of bits; bit 0 is the value 0. */
struct cron {
    uint64_t seconds, minutes;
    uint32_t hours, days, months, weekdays;
    uint64_t years[3];                             /* from 1970 on */
    bool any_hour, any_day, any_weekday, any_year; /* "*", or all values */
    bool last_day;                                 /* "L" */
    bool has_seconds;
    unsigned nearest; /* "15W": the day; 0: none */
    uint32_t nth[7];  /* by weekday: bit n for the n-th, bit 0 for the last */
    bool has_nth;
};

/* ERR_TYPE, with a text for the person who has written it. */
MUST_CHECK int cron_parse(struct str text, struct cron *ret, struct error *err);
/* The first tick after @after, in milliseconds since 1970.  @zone: whose clocks it is for;
 * NULL: UTC.  A time that the clocks skip is moved to the end of the gap, or left out if the
 * schedule has every hour; one that comes twice has a tick the first time, or both times if the
 * schedule has every hour.  False: there is none in the next fifty years. */
bool cron_next(const struct cron *cron, const struct zone *zone, int64_t after, int64_t *ret);

#endif
