#include "bus/post.h"

#include <assert.h>

static void on_letter(struct letter *letter)
{
    struct post *p = (struct post *)(void *)((char *)letter - offsetof(struct post, letter));

    p->is_flying = false;
    p->answered(p);
}

/* The journal's thread. */
static void on_done(struct journal_request *req)
{
    struct post *p = req->data;

    p->letter.deliver = on_letter;
    (void)mailbox_post(p->home, &p->letter); /* open: it waits for every post */
}

void post_init(struct post *p,
               struct mailbox *home,
               void *owner,
               void (*answered)(struct post *p))
{
    *p = (struct post){ .home = home, .owner = owner, .answered = answered };
    arena_init(&p->req.mem);
}

void post_done(struct post *p)
{
    assert(!p->is_flying);
    arena_done(&p->req.mem);
}

struct journal_request *post_begin(struct post *p, enum journal_op op)
{
    assert(!p->is_flying);
    struct arena mem = p->req.mem;
    arena_reset(&mem);
    p->req = (struct journal_request){ .op = op, .mem = mem, .producer_seq = -1 };
    return &p->req;
}

void post_send(struct post *p, struct journal *j)
{
    assert(!p->is_flying);
    p->is_flying = true;
    p->req.done = on_done;
    p->req.data = p;
    journal_post(j, &p->req);
}
