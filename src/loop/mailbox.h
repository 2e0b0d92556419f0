/* A loop's mailbox: how other threads hand it work.
 *
 * A message is embedded in what is sent.  Messages are delivered on the loop's thread in
 * the order in which they were posted; many are delivered in one turn of the loop. */
#ifndef LOOP_MAILBOX_H
#define LOOP_MAILBOX_H

#include "base/must_check.h"

#include <stdbool.h>
#include <uv.h>

struct loop_message {
    struct loop_message *next;                     /* the mailbox's */
    void (*deliver)(struct loop_message *message); /* on the loop's thread */
};

struct mailbox;

MUST_CHECK int mailbox_new(uv_loop_t *loop, struct mailbox **ret);
/* On the loop's thread.  Delivers what was posted before. What is posted later is never
 * delivered and stays the sender's. */
void mailbox_close(struct mailbox *box);
/* After the loop has ended. */
void mailbox_free(struct mailbox *box);

/* From any thread.  0, or UV_ECANCELED when it is closed. */
MUST_CHECK int mailbox_post(struct mailbox *box, struct loop_message *message);

/* On the loop's thread: delivers what is there.  With @rest, messages do not wake the loop
 * until the next call, which the caller must make. */
void mailbox_look(struct mailbox *box, bool rest);

#endif
