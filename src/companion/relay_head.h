/* The head of an app's answer, which comes in pieces: it is gathered until it is whole, and
 * gets the headers of ours that let pages read the answer.  Pure. */
#ifndef COMPANION_RELAY_HEAD_H
#define COMPANION_RELAY_HEAD_H

#include "base/buf.h"

#include <stdbool.h>

enum { RELAY_MAX_HEAD = 256 * 1024 };

struct relay_head {
    struct buf bytes;
    size_t seen; /* bytes in which it does not end */
};

void relay_head_init(struct relay_head *h);
void relay_head_done(struct relay_head *h);

/* Takes the next bytes of the answer.  True: the head is whole, and `bytes` has it and what
 * came behind it; @cors, header lines of ours, are behind its first line, unless the app has
 * rules for pages of its own.  False: more is needed, or bytes.error says what is wrong. */
bool relay_head_take(struct relay_head *h, struct str piece, struct str cors);

#endif
