/* Splits bytes into lines.  A line that arrives in one piece is not copied. */
#ifndef AGENTS_LINES_H
#define AGENTS_LINES_H

#include "base/buf.h"

typedef void (*lines_cb)(void *arg, struct str line);

struct lines {
    struct buf begun; /* the beginning of a line */
    lines_cb cb;      /* called for each line, without its newline */
    void *arg;
};

void lines_init(struct lines *l, size_t max_bytes, lines_cb cb, void *arg);
void lines_done(struct lines *l);

/* ERR_TOO_LARGE: a line over the limit, ERR_NOMEM.  It cannot be used after an error. */
int lines_put(struct lines *l, struct str bytes);
/* End of input: the rest is the last line, without a newline. */
void lines_end(struct lines *l);

#endif
