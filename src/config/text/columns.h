/* Text for a person at a terminal: filled lines, and two columns for options.  Pure. */
#ifndef CONFIG_TEXT_COLUMNS_H
#define CONFIG_TEXT_COLUMNS_H

#include "base/str.h"

struct buf;

/* Appends "  --flag VALUE" and, beside or below it, what it means; ` is left out. */
void columns_option(struct buf *out, struct str flag, struct str help);
/* Appends lines "  0  all well" of lines "0 all well". */
void columns_list(struct buf *out, struct str lines);
/* Appends lines: each is filled up to the width, but one that begins with a blank stays as
 * it is. */
void columns_text(struct buf *out, struct str text);

#endif
