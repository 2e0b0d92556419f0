/* The terminal that standard output may be. */
#ifndef TERMINAL_TERM_H
#define TERMINAL_TERM_H

#include "base/str.h"

struct buf;

struct term {
    bool is_terminal;
    bool colour;    /* wanted, and understood */
    unsigned width; /* columns; 0: not a terminal, so the width is not limited */
    unsigned height;
};

#define TERM_COLOR_WORDS "auto always never"

/* @color is --color's value or NULL: auto, always or never.  False: it is none of them. */
bool term_open(struct term *t, const char *color);
/* Looks at its size again. */
void term_measure(struct term *t);

/* Columns that @s takes; it has no control characters. */
unsigned term_columns(struct str s);
/* As much of @s as fits into @columns. */
struct str term_head(struct str s, unsigned columns);

enum term_style {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_RED,
    STYLE_GREEN,
    STYLE_YELLOW,
    STYLE_BLUE,
    STYLE_CYAN,
};

/* Appends the sequence that begins @style; nothing without colour.  STYLE_PLAIN ends it. */
void term_style(const struct term *t, struct buf *b, enum term_style style);
/* The colour of a job's state. */
enum term_style term_state_style(struct str state);

#endif
