#define _XOPEN_SOURCE   700 /* wcwidth */
#define _DEFAULT_SOURCE     /* TIOCGWINSZ */
#include "terminal/term.h"

#include "base/buf.h"
#include "base/text_format.h"
#include "base/visible.h"

#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { USUAL_WIDTH = 80, USUAL_HEIGHT = 24 };

/* https://no-color.org: set and not empty means none. */
static bool wants_colour(void)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");

    return (none == NULL || none[0] == '\0') && kind != NULL && kind[0] != '\0' &&
           strcmp(kind, "dumb") != 0;
}

void term_measure(struct term *t)
{
    struct winsize size = { 0 };

    if (!t->is_terminal)
        return;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    t->width = known && size.ws_col > 0 ? size.ws_col : USUAL_WIDTH;
    t->height = known && size.ws_row > 0 ? size.ws_row : USUAL_HEIGHT;
}

bool term_open(struct term *t, const char *color)
{
    bool automatic = color == NULL || strcmp(color, "auto") == 0;

    *t = (struct term){ .is_terminal = isatty(STDOUT_FILENO) };
    t->colour = automatic ? t->is_terminal && wants_colour() : strcmp(color, "always") == 0;
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* for wcwidth; without it each is one column wide */
    term_measure(t);
    return automatic || t->colour || strcmp(color, "never") == 0;
}

static unsigned columns_of(uint32_t point)
{
    int width = point < 0x80 ? 1 : wcwidth((wchar_t)point);

    return width < 0 ? 1 : (unsigned)width;
}

unsigned term_columns(struct str s)
{
    unsigned n = 0;

    while (s.n > 0)
        n += columns_of(visible_next(&s));
    return n;
}

struct str term_head(struct str s, unsigned columns)
{
    struct str rest = s;
    unsigned n = 0;

    while (rest.n > 0) {
        struct str before = rest;

        n += columns_of(visible_next(&rest));
        if (n > columns)
            return str_head(s, s.n - before.n);
    }
    return s;
}

void term_style(const struct term *t, struct buf *b, enum term_style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "0",  [STYLE_BOLD] = "1",    [STYLE_DIM] = "2",   [STYLE_RED] = "31",
        [STYLE_GREEN] = "32", [STYLE_YELLOW] = "33", [STYLE_BLUE] = "34", [STYLE_CYAN] = "36",
    };

    if (!t->colour)
        return;
    text_format(b, "\033[%sm", codes[style]);
}

enum term_style term_state_style(struct str state)
{
    if (str_is(state, "failed"))
        return STYLE_RED;
    if (str_is(state, "succeeded"))
        return STYLE_GREEN;
    if (str_is(state, "running"))
        return STYLE_CYAN;
    return str_is(state, "waiting") || str_is(state, "cancelled") ? STYLE_YELLOW : STYLE_PLAIN;
}
