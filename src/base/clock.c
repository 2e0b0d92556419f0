#define _DEFAULT_SOURCE /* CLOCK_BOOTTIME */
#include "base/clock.h"

#include <time.h>

#ifdef CLOCK_BOOTTIME
#define CLOCK_STEADY CLOCK_BOOTTIME /* the monotonic clock stops while the machine sleeps */
#else
#define CLOCK_STEADY CLOCK_MONOTONIC
#endif

static int64_t read_ms(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

int64_t clock_steady_ms(void)
{
    return read_ms(CLOCK_STEADY);
}
