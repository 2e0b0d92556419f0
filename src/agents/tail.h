/* The tail of a worker's stderr: whole lines for the log, the last bytes for the error.
 *
 * Lines are converted to valid UTF-8 without NUL; very long ones are split. */
#ifndef AGENTS_TAIL_H
#define AGENTS_TAIL_H

#include "base/buf.h"

typedef void (*tail_line_cb)(void *arg, struct str line);

struct tail {
    struct buf line;  /* the beginning of a line, as written */
    struct buf clean; /* one line, converted */
    struct buf kept;  /* the last lines */
    tail_line_cb cb;
    void *arg;
};

void tail_init(struct tail *t, tail_line_cb cb, void *arg);
void tail_done(struct tail *t);

/* Lines are lost when memory runs out. */
void tail_put(struct tail *t, struct str bytes);
/* End of input. */
void tail_end(struct tail *t);

/* The last line that is not blank; absent when there is none. */
struct str tail_last(const struct tail *t);
/* The last 4 KiB, from the beginning of a line if there is one. */
struct str tail_text(const struct tail *t);

#endif
