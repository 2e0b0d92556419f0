/* Text from outside, made fit for a terminal: nothing in it moves the cursor, changes a
 * colour, rings, hides, or turns the direction of what is read.  Pure. */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include "base/str.h"

#include <stdint.h>

struct buf;

/* Is it a code point that may be shown? */
bool visible_point(uint32_t point);

/* Takes the first code point off *@s; U+FFFD for bytes that are none. */
uint32_t visible_next(struct str *s);

/* Appends @s on one line: blanks stand for what may not be shown. */
void visible_put(struct buf *b, struct str s);
/* The same, but line ends and tabs stay. */
void visible_put_lines(struct buf *b, struct str s);

#endif
