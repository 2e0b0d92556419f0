/* Rows and columns for a person: gathered cell by cell, then written with each column as wide
 * as it needs to be. */
#ifndef TERMINAL_GRID_H
#define TERMINAL_GRID_H

#include "base/buf.h"
#include "terminal/term.h"

enum { GRID_MAX_COLUMNS = 8 };

struct grid {
    size_t n_columns;
    const char *titles[GRID_MAX_COLUMNS];
    struct buf text;  /* of all cells */
    struct buf cells; /* struct cell */
    unsigned widths[GRID_MAX_COLUMNS];
};

/* @titles up to NULL. */
void grid_init(struct grid *g, const char *const *titles);
void grid_done(struct grid *g);

/* The next cell of the row, or the first of the next one.  Made visible and kept. */
void grid_cell(struct grid *g, struct str text, enum term_style style);

/* Appends titles and rows; on a terminal no line is longer than that.  ERR_NOMEM. */
int grid_write(const struct grid *g, const struct term *t, struct buf *out);

#endif
