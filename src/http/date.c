#include "http/date.h"

#include <stdio.h>
#include <time.h>

static const char days[] = "SunMonTueWedThuFriSat";
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* Not strftime: its names are the locale's. */
void date_set(struct date *d, int64_t second)
{
    time_t when = (time_t)second;
    struct tm t;
    char text[96]; /* roomier than the fields, for years that will not come */

    d->second = second;
    if (gmtime_r(&when, &t) == NULL)
        return;
    int n = snprintf(text, sizeof(text), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
                     days + 3 * t.tm_wday, t.tm_mday, months + 3 * t.tm_mon, t.tm_year + 1900,
                     t.tm_hour, t.tm_min, t.tm_sec);
    if (n == sizeof(d->http) - 1)
        memcpy(d->http, text, sizeof(d->http));
    n = snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d", t.tm_year + 1900,
                 t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
    if (n == sizeof(d->iso) - 1)
        memcpy(d->iso, text, sizeof(d->iso));
}

void date_update(struct date *d)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return;
    d->millis = (uint32_t)(now.tv_nsec / 1000000);
    if ((int64_t)now.tv_sec != d->second || d->http[0] == '\0')
        date_set(d, (int64_t)now.tv_sec);
}
