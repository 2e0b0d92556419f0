/* The requests of one loop to the journal.
 *
 * The batch is sent once per turn of the loop, after all readable sockets were read, so that
 * requests that arrive together share a commit.  Requests that are handled between two polls
 * (pipelined ones, whose bytes were read earlier) are sent before the next poll, which may
 * block for long. */
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
/* On the loop's thread, like all functions here. */
void journal_batch_put(struct journal_batch *p, struct journal_request *req);
/* Sends what is still in it. */
void journal_batch_close(struct journal_batch *p);

#endif
