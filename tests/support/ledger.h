/* The ledger: reads frames the way a strict client would, and books what they begin and
 * end.  It knows the protocols' documents and nothing of the code that made the frames. */
#ifndef SUPPORT_LEDGER_H
#define SUPPORT_LEDGER_H

#include "base/str.h"
#include "base/table.h"

/* What one frame says about beginnings and ends. */
enum mark { MARK_NONE, MARK_START, MARK_INSIDE, MARK_END };

struct entry {
    enum mark mark;
    bool terminal;
    struct key key; /* of what begins or ends */
};

/* Is it one line of JSON of the right shape, under a safe name that it repeats?
 * NULL, or what is wrong. @view is one of play.h's. */
const char *ledger_read_frame(size_t view,
                              struct str name,
                              struct str data,
                              struct str job,
                              struct entry *ret);

struct ledger {
    struct ledger_line {
        struct key key;
        bool ended;
    } * line; /* owned */
    size_t n;
    size_t cap;
    size_t n_open;
    size_t n_terminal;
};

void ledger_init(struct ledger *l);
void ledger_done(struct ledger *l);
/* Makes @l a copy of @from. */
void ledger_copy(struct ledger *l, const struct ledger *from);

/* NULL, or what is wrong. */
const char *ledger_take(struct ledger *l, const struct entry *e);
/* Between two attempts: everything but the job is closed, and its id may be used again.
 * NULL, or what is wrong. */
const char *ledger_next_attempt(struct ledger *l);
/* After the job's end.  NULL, or what is wrong. */
const char *ledger_settle(const struct ledger *l, size_t view);

/* --- server-sent events, read strictly ----------------------------------------------- */

struct sse_frame {
    struct str id;
    struct str event;
    struct str data;
};

/* Takes the next frame off @rest: exactly an id, an event and a data line, then a blank
 * one.  False when that is not what is there. */
bool sse_frame_next(struct str *rest, struct sse_frame *ret);

#endif
