/* What the handlers of one loop ask of the journal.
 *
 * It goes there once in every turn of the loop, after all sockets that had something were
 * read: requests that came together then share a commit, instead of the first one having one
 * to itself. */
#ifndef API_POUCH_H
#define API_POUCH_H

#include "journal/journal.h"

#include <uv.h>

struct pouch {
    uv_check_t check;
    struct journal *journal; /* borrowed */
    struct journal_request *first, **last;
};

int pouch_init(struct pouch *p, uv_loop_t *loop, struct journal *journal);
/* On the loop's thread, like all of it. */
void pouch_put(struct pouch *p, struct journal_request *req);
/* What is in it goes out. */
void pouch_close(struct pouch *p);

#endif
