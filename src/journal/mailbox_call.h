/* A mailbox call: a request to the journal whose answer comes back to the loop that asked.
 *
 *     loop: begin, fill in, send ──▶ journal's thread ──message──▶ loop: answered
 *
 * Loop thread only, but for the journal's side.  The mailbox must stay open while a post
 * is under way. */
#ifndef JOURNAL_MAILBOX_CALL_H
#define JOURNAL_MAILBOX_CALL_H

#include "journal/journal.h"
#include "loop/mailbox.h"

struct mailbox_call {
    struct journal_request req;
    struct loop_message message;
    struct mailbox *home; /* borrowed */
    void *owner;
    void (*answered)(struct mailbox_call *p);
    bool is_flying; /* the journal has it */
};

void mailbox_call_init(struct mailbox_call *p,
                       struct mailbox *home,
                       void *owner,
                       void (*answered)(struct mailbox_call *p));
/* Not while it is under way. */
void mailbox_call_done(struct mailbox_call *p);

/* An empty request of that kind; what the last answer held is gone. */
struct journal_request *mailbox_call_begin(struct mailbox_call *p, enum journal_op op);
/* `answered` runs once, and never from inside this call. */
void mailbox_call_send(struct mailbox_call *p, struct journal *j);

#endif
