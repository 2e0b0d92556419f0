/* Reads the clock by itself, and makes a date of it. */
#include "base/clock.h"

void hub_waits(struct hub *h)
{
    h->at = time(NULL);
    gmtime_r(&h->at, &h->day);
    h->date.time(clock_wall_ms()); /* not these */
}
