#include "journal/mailbox_call.h"

#include "base/container_of.h"

#include <assert.h>

static void on_message(struct loop_message *message)
{
    struct mailbox_call *p = container_of(message, struct mailbox_call, message);

    p->is_flying = false;
    p->answered(p);
}

/* The journal's thread. */
static void on_done(struct journal_request *req)
{
    struct mailbox_call *p = req->data;

    p->message.deliver = on_message;
    (void)mailbox_post(p->home, &p->message); /* open: it waits for every post */
}

void mailbox_call_init(struct mailbox_call *p,
                       struct mailbox *home,
                       void *owner,
                       void (*answered)(struct mailbox_call *p))
{
    *p = (struct mailbox_call){ .home = home, .owner = owner, .answered = answered };
    arena_init(&p->req.mem);
}

void mailbox_call_done(struct mailbox_call *p)
{
    assert(!p->is_flying);
    arena_done(&p->req.mem);
}

struct journal_request *mailbox_call_begin(struct mailbox_call *p, enum journal_op op)
{
    assert(!p->is_flying);
    arena_reset(&p->req.mem);
    journal_request_init(&p->req, op);
    return &p->req;
}

void mailbox_call_send(struct mailbox_call *p, struct journal *j)
{
    assert(!p->is_flying);
    p->is_flying = true;
    p->req.done = on_done;
    p->req.data = p;
    journal_post(j, &p->req);
}
