/* The clocks: the one place that reads them, and that waits for them.
 *
 * The wall clock tells the date: for times that people and other programs read.  It may be set
 * at any moment, back or forward.  The other two never go back.  The steady clock runs while
 * the machine sleeps: use it for whatever is compared with a duration (timeouts, deadlines,
 * rates, ages).  The monotonic clock stops then: use it to measure and to wait. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Milliseconds since 1970. */
int64_t clock_wall_ms(void);
/* Milliseconds since some moment before the program began. */
int64_t clock_steady_ms(void);
/* The same, on the monotonic clock. */
int64_t clock_monotonic_ms(void);
uint64_t clock_monotonic_us(void);

/* Sleeps; a signal makes it shorter. */
void clock_sleep_ms(int64_t ms);
/* Until @us of the monotonic clock. */
void clock_sleep_until(uint64_t us);

/* A condition to be waited for with clock_wait(). */
void clock_cond_init(pthread_cond_t *cond);
/* Waits for @cond with @lock held, at most until @us of the monotonic clock.  False: that
 * moment has come. */
bool clock_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t us);

#endif
