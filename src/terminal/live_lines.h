/* The lines of the live view: of cards that are over, which stay, and of those at work, which
 * are drawn anew.
 *
 * Internal to the view (live.h), whose state is here for both of its files. */
#ifndef TERMINAL_LIVE_LINES_H
#define TERMINAL_LIVE_LINES_H

#include "base/json.h"
#include "terminal/card.h"
#include "terminal/live.h"
#include "terminal/prompt.h"
#include "terminal/screen.h"

#include <signal.h>

enum { LIVE_TICK_MS = 100, LIVE_MAX_NOTE = 256 };

/* What the marks are made of. */
struct live_marks {
    const char *done, *bad, *asks, *tool, *gives, *node, *more, *between;
    const char *spin[8];
    size_t n_spin;
};

struct live_view {
    struct screen screen;
    const struct live_marks *marks;
    struct json_reader reader;
    struct card *cards;   /* owned; open ones, the oldest first */
    struct card *speaker; /* whose token came last; one of those, or NULL */
    struct buf line;      /* the one being made */
    char job[CARD_MAX_NAME];
    char note[LIVE_MAX_NOTE];     /* what is wrong with the connection; "" for nothing */
    char question[LIVE_MAX_NOTE]; /* "" for none */
    struct prompt *prompt;        /* owned; NULL: not interactive */
    uint64_t n_tokens, n_tools, n_nodes;
    int64_t step;
    int64_t began_ms, drawn_ms, first_token_ms;
    bool ended;
    sigset_t signals, before;
    int signal; /* that said to stop; 0: none */
};

/* A card that is over: all of it. */
void live_keep_card(struct live_view *l, const struct card *c, struct str status, int64_t ms);
/* As many lines as it takes. */
void live_keep_text(struct live_view *l, struct str text, enum term_style style);
/* "1 token", "2 tokens" */
void live_put_number(struct buf *out, uint64_t n, const char *what);

/* What is at work, how far it is, and what is typed. */
void live_draw_lines(struct live_view *l, int64_t now);

#endif
