/* Text in the form of manual pages.  Pure. */
#ifndef CONFIG_TEXT_ROFF_H
#define CONFIG_TEXT_ROFF_H

#include "base/str.h"

struct buf;

/* Appends @text, without `, so that roff takes none of it for a command. */
void roff_text(struct buf *out, struct str text);
/* Appends ".TP", the flag in bold with its value (which may be absent) in italics, a line
 * end. */
void roff_option(struct buf *out, struct str flag, struct str value);
/* Appends lines as columns_text takes them: an empty one begins a paragraph, and those that
 * begin with a blank stay as they are. */
void roff_lines(struct buf *out, struct str text);

#endif
