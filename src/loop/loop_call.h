/* A loop call: something that another thread does for a loop, which gets the answer.
 *
 *     loop ──journal_post(), thread_pool_post(), token_service_post()──▶ another thread
 *     loop: answered() ◀──mailbox── loop_call_answer() ─────────────────────┘
 *
 * It is embedded in the request.  Until the answer the request belongs to the other thread.
 * A caller that does not want the answer any more cancels the call: then `dropped` is called
 * instead of `answered`.  So it is when the loop has ended before the answer came. */
#ifndef LOOP_LOOP_CALL_H
#define LOOP_LOOP_CALL_H

#include "loop/mailbox.h"

struct loop_call {
    struct loop_message message; /* loop_call's own */
    struct mailbox *home;        /* borrowed; NULL: answered on the thread that answers */
    void *owner;                 /* the caller's */
    void (*answered)(struct loop_call *call); /* on the loop */
    /* Nobody wants the answer: frees the request.  On the loop, or, when that has ended (`home`
     * is NULL then), on the thread that answers.  NULL: there is nothing to free. */
    void (*dropped)(struct loop_call *call);
    bool is_pending; /* another thread has it */
    bool is_cancelled;
};

/* For whoever takes requests: this one is under way from now on. */
void loop_call_start(struct loop_call *call);
/* On any thread: the request has been done. */
void loop_call_answer(struct loop_call *call);
/* On the loop: its answer is not wanted, however often it is sent from now on. */
void loop_call_cancel(struct loop_call *call);

#endif
