/* A terminal with two parts: lines that stay, and below them a few that are drawn again and
 * again.
 *
 *     ✔ investigator 3.1s          lines that stay, and scroll away
 *     ⠹ writer                     live lines: erased and written anew each time
 *       The report begins
 *     12 tokens/s                  ◀─ the cursor rests at the end of the last
 *
 * The terminal's modes are not changed and its cursor is not hidden, so nothing has to be
 * restored, however the program ends. */
#ifndef TERMINAL_SCREEN_H
#define TERMINAL_SCREEN_H

#include "base/buf.h"
#include "terminal/term.h"

enum { SCREEN_MAX_LIVE = 200 };

struct screen {
    struct term *term;     /* borrowed */
    struct buf stay, live; /* of the picture that is being made */
    size_t n_live;         /* lines of it that live, */
    size_t n_drawn;        /* and of the one that is on the terminal */
    unsigned drawn[SCREEN_MAX_LIVE], columns[SCREEN_MAX_LIVE]; /* that each of them takes */
    struct buf out;
};

void screen_init(struct screen *s, struct term *term);
void screen_done(struct screen *s);

/* Adds a line that stays.  @mark may be empty. */
void screen_line(struct screen *s,
                 struct str mark,
                 enum term_style mark_style,
                 struct str text,
                 enum term_style style);
/* Adds a live line, cut to the terminal's width. */
void screen_live(struct screen *s,
                 struct str mark,
                 enum term_style mark_style,
                 struct str text,
                 enum term_style style);
/* Writes the picture, in the place of the live lines of the one before.  ERR_IO. */
int screen_show(struct screen *s);

/* Other output was written below the live lines: they stay where they are. */
void screen_forget(struct screen *s);

/* How many live lines there is room for. */
size_t screen_room(const struct screen *s);

#endif
