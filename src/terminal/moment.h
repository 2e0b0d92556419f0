/* Spans of time as people read them.  Pure. */
#ifndef TERMINAL_MOMENT_H
#define TERMINAL_MOMENT_H

#include <stdint.h>

struct buf;

/* "0.4s", "12s", "3m", "2h", "5d": the largest unit that fits. */
void moment_put_span(struct buf *b, int64_t ms);

#endif
