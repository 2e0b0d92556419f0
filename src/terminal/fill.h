/* Text broken into lines that fit.  Pure. */
#ifndef TERMINAL_FILL_H
#define TERMINAL_FILL_H

#include "base/str.h"

/* Calls @each for every line of @text, broken between words, or inside one that is too long,
 * so that none is wider than @columns.  The lines point into @text, which is safe for a
 * terminal. */
void fill(struct str text,
          unsigned columns,
          void (*each)(void *arg, struct str line),
          void *arg);

enum { FILL_MAX_LAST = 64 };

/* The last lines of a text: line[(first + i) % max], for i < n. */
struct fill_last {
    struct str line[FILL_MAX_LAST];
    size_t first, n, max;
};

/* The last @max lines, without looking at much more than those. */
void fill_last(struct str text, unsigned columns, size_t max, struct fill_last *ret);
struct str fill_last_at(const struct fill_last *l, size_t i);

#endif
