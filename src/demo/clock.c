/* The time that pauses take; nothing of it gets into what is written. */
#include "demo/demo.h"

#include <time.h>

int64_t demo_now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void demo_sleep_until(int64_t us)
{
    struct timespec then = { .tv_sec = (time_t)(us / 1000000),
                             .tv_nsec = (long)(us % 1000000) * 1000 };

    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL); /* early is harmless */
}
