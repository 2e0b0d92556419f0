/* The two clocks.
 *
 * The wall clock tells the date: for times that people and other programs read.  It may be set
 * at any moment, back or forward.  The steady clock only rises: for whatever is compared with a
 * duration (timeouts, deadlines, rates, ages). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds since 1970. */
int64_t clock_wall_ms(void);
/* Milliseconds since some moment before the program began.  Goes on while the machine sleeps.
 */
int64_t clock_steady_ms(void);

#endif
