#include "http/date.h"

#include "base/calendar.h"
#include "base/clock.h"

#include <stdio.h>

void date_set(struct date *d, int64_t ms)
{
    bool is_same = d->http[0] != '\0' && ms / 1000 == d->ms / 1000;
    struct calendar t;

    d->ms = ms;
    if (is_same)
        return;
    calendar_of(ms, &t);
    (void)snprintf(d->http, sizeof(d->http), "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
                   t.day_name, t.day % 100, t.month_name, t.year % 10000, t.hour % 100,
                   t.minute % 100, t.second % 100); /* fits */
}

void date_update(struct date *d)
{
    date_set(d, clock_wall_ms());
}
