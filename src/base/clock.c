#define _DEFAULT_SOURCE /* CLOCK_BOOTTIME */
#include "base/clock.h"

#include <time.h>

#ifdef CLOCK_BOOTTIME
#define CLOCK_STEADY CLOCK_BOOTTIME /* the monotonic clock stops while the machine sleeps */
#else
#define CLOCK_STEADY CLOCK_MONOTONIC
#endif

static struct timespec now_of(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
    return now;
}

static int64_t read_ms(clockid_t clock)
{
    struct timespec now = now_of(clock);

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

int64_t clock_monotonic_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_us(void)
{
    struct timespec now = now_of(CLOCK_MONOTONIC);

    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* --- waiting --------------------------------------------------------------------------- */

static struct timespec timespec_of(uint64_t us)
{
    return (struct timespec){ .tv_sec = (time_t)(us / 1000000u),
                              .tv_nsec = (long)(us % 1000000u) * 1000 };
}

void clock_sleep_ms(int64_t ms)
{
    clock_sleep_until(clock_monotonic_us() + (ms > 0 ? (uint64_t)ms * 1000u : 0));
}

void clock_sleep_until(uint64_t us)
{
    struct timespec then = timespec_of(us);

    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL); /* early is harmless */
}

void clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    (void)pthread_condattr_init(&attr); /* none of these fails on Linux */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

bool clock_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t us)
{
    struct timespec until = timespec_of(us);

    return pthread_cond_timedwait(cond, lock, &until) == 0;
}
