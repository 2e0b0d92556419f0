/* An asker: a loop's questions to the companion, over one connection.
 *
 * A question is a line, and so is its answer; the number in front of both says which belong
 * together:
 *
 *     7 {"request":{...},"events":[...]}
 *     7 {"user":{...},"results":[...]}
 *
 * Answers come in any order.  The connection is made when there is a question; if it breaks, or
 * cannot be made, all that are open get no answer.
 *
 * Loop thread only. */
#ifndef COMPANION_ASKER_H
#define COMPANION_ASKER_H

#include "base/buf.h"
#include "base/must_check.h"

#include <uv.h>

struct asker;

/* Embedded in what waits for the answer. */
struct ask {
    struct ask *next; /* the asker's, like the next two */
    uint64_t number;
    uint64_t deadline;
    /* Once, unless it is cancelled, and never inside asker_ask().  @answer is absent when there
     * is none; @why says why. */
    void (*answered)(struct ask *ask, struct str answer, const char *why);
};

/* @path is borrowed. */
MUST_CHECK int asker_new(uv_loop_t *loop, const char *path, struct asker **ret);
/* Copies @question, JSON without newlines. */
void asker_ask(struct asker *a, struct ask *ask, struct str question, int64_t wait_ms);
void asker_cancel(struct asker *a, struct ask *ask);
/* Open questions get no answer, and no callback.  Its memory is freed when its handles are
 * closed. */
void asker_close(struct asker *a);

#endif
