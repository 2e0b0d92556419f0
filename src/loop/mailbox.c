#include "loop/mailbox.h"

#include "base/thread_owner.h"

#include <stdlib.h>

struct mailbox {
    uv_async_t async;
    struct thread_owner owner; /* the loop's thread */
    uv_mutex_t lock;
    struct loop_message *first, **last; /* under lock */
    bool closed;                        /* under lock */
    bool rests;                         /* under lock */
};

void mailbox_look(struct mailbox *box, bool rest)
{
    assert_owner(&box->owner);
    uv_mutex_lock(&box->lock);
    struct loop_message *message = box->first;
    box->rests = rest;
    box->first = NULL;
    box->last = &box->first;
    uv_mutex_unlock(&box->lock);
    while (message != NULL) {
        struct loop_message *next = message->next; /* the message is its receiver's from here on
                                                    */

        message->deliver(message);
        message = next;
    }
}

static void on_async(uv_async_t *async)
{
    mailbox_look(async->data, false);
}

int mailbox_new(uv_loop_t *loop, struct mailbox **ret)
{
    struct mailbox *box = calloc(1, sizeof(*box));

    if (box == NULL)
        return UV_ENOMEM;
    box->last = &box->first;
    int err = uv_mutex_init(&box->lock);
    if (err == 0) {
        err = uv_async_init(loop, &box->async, on_async);
        if (err != 0)
            uv_mutex_destroy(&box->lock);
    }
    if (err != 0) {
        free(box);
        return err;
    }
    box->async.data = box;
    *ret = box;
    return 0;
}

void mailbox_close(struct mailbox *box)
{
    uv_mutex_lock(&box->lock);
    box->closed = true;
    uv_mutex_unlock(&box->lock);
    mailbox_look(box, false);
    uv_close((uv_handle_t *)&box->async, NULL);
}

void mailbox_free(struct mailbox *box)
{
    if (box == NULL)
        return;
    uv_mutex_destroy(&box->lock);
    free(box);
}

int mailbox_post(struct mailbox *box, struct loop_message *message)
{
    message->next = NULL;
    uv_mutex_lock(&box->lock);
    bool closed = box->closed, was_empty = box->first == NULL;
    if (!closed) {
        *box->last = message;
        box->last = &message->next;
        /* Under the lock: afterwards the loop may have closed and freed the box. */
        if (was_empty && !box->rests)
            (void)uv_async_send(&box->async); /* cannot fail for an open handle */
    }
    uv_mutex_unlock(&box->lock);
    return closed ? UV_ECANCELED : 0;
}
