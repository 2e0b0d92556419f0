/* A post: a request to the journal whose answer comes back to the loop that asked.
 *
 *     loop: post_begin, fill in, post_send ──▶ journal's thread ──letter──▶ loop: answered
 *
 * Loop thread only, but for the journal's side.  The mailbox must stay open while a post
 * is under way. */
#ifndef BUS_POST_H
#define BUS_POST_H

#include "journal/journal.h"
#include "loop/mailbox.h"

struct post {
    struct journal_request req;
    struct letter letter;
    struct mailbox *home; /* borrowed */
    void *owner;
    void (*answered)(struct post *p);
    bool is_flying; /* the journal has it */
};

void post_init(struct post *p,
               struct mailbox *home,
               void *owner,
               void (*answered)(struct post *p));
/* Not while it is under way. */
void post_done(struct post *p);

/* An empty request of that kind; what the last answer held is gone. */
struct journal_request *post_begin(struct post *p, enum journal_op op);
/* `answered` runs once, and never from inside this call. */
void post_send(struct post *p, struct journal *j);

#endif
