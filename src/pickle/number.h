/* Whole numbers of any size: decimal text, and the bytes that Python writes (little-endian
 * two's complement, as few as possible).  Pure. */
#ifndef PICKLE_NUMBER_H
#define PICKLE_NUMBER_H

#include "base/buf.h"

/* What Python itself turns into text and back. */
enum { NUMBER_MAX_DIGITS = 4300, NUMBER_MAX_BYTES = 1787 };

/* Digits with an optional '-'.  ERR_TOO_LARGE: more digits than that. */
int number_put_bytes(struct buf *out, struct str decimal);
/* ERR_TOO_LARGE: more bytes than that. */
int number_put_text(struct buf *out, struct str bytes);

#endif
