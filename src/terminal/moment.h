/* Moments as the API writes them, and spans of time as people read them.  Pure. */
#ifndef TERMINAL_MOMENT_H
#define TERMINAL_MOMENT_H

#include "base/str.h"

#include <stdint.h>

struct buf;

/* "2026-02-16T10:30:00.123Z" as milliseconds since 1970. */
bool moment_parse(struct str text, int64_t *ret);

/* "0.4s", "12s", "3m", "2h", "5d": the largest unit that fits. */
void moment_put_span(struct buf *b, int64_t ms);

#endif
