/* The requests of one loop to the journal.
 *
 * It goes there once in every turn of the loop, after all sockets that had something were
 * read: requests that came together then share a commit, instead of the first one having one
 * to itself.  Requests that are handled between two polls (pipelined ones, whose bytes were
 * read earlier) go before the next poll, which may wait long. */
#ifndef API_JOURNAL_BATCH_H
#define API_JOURNAL_BATCH_H

#include "journal/journal.h"

#include <uv.h>

struct journal_batch {
    uv_check_t check;        /* after each poll */
    uv_prepare_t prepare;    /* before each poll */
    struct journal *journal; /* borrowed */
    struct journal_request *first, **last;
};

void journal_batch_init(struct journal_batch *p, uv_loop_t *loop, struct journal *journal);
/* On the loop's thread, like all of it. */
void journal_batch_put(struct journal_batch *p, struct journal_request *req);
/* What is in it goes out. */
void journal_batch_close(struct journal_batch *p);

#endif
