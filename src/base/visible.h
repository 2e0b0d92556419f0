/* Makes untrusted text safe for a terminal: without control characters, escape sequences,
 * invisible characters, and changes of the text's direction.  Pure. */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include "base/str.h"

#include <stdint.h>

struct buf;

/* Is it a code point that may be shown? */
bool visible_point(uint32_t point);

/* Takes the first code point off *@s; U+FFFD for invalid bytes. */
uint32_t visible_next(struct str *s);

/* Appends @s on one line: blanks stand for what may not be shown. */
void visible_put(struct buf *b, struct str s);
/* The same, but line ends and tabs stay. */
void visible_put_lines(struct buf *b, struct str s);

#endif
