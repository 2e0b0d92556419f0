/* Bytes cut into lines.  A line that comes in one piece is not copied. */
#ifndef AGENTS_LINES_H
#define AGENTS_LINES_H

#include "base/buf.h"

typedef void (*lines_cb)(void *arg, struct str line);

struct lines {
    struct buf begun; /* the beginning of a line */
    lines_cb cb;      /* each line without its newline */
    void *arg;
};

void lines_init(struct lines *l, size_t max_bytes, lines_cb cb, void *arg);
void lines_done(struct lines *l);

/* ERR_TOO_LARGE: a line over the limit, ERR_NOMEM.  It is of no more use then. */
int lines_put(struct lines *l, struct str bytes);
/* There is no more: what is left is the last line, without a newline. */
void lines_end(struct lines *l);

#endif
