#include "transport/thread_wait.h"

#include "base/container_of.h"
#include "transport/streams.h"

/* @key 0: wakes all. */
static void wake(struct thread_waits *all, int64_t key)
{
    struct thread_wait *next;

    for (struct thread_wait *w = all->all.next; w != &all->all; w = next) {
        next = w->next; /* waking it may remove it, but no other */
        if (key == 0 || w->key == 0 || w->key == key)
            w->wake(w);
    }
}

static void on_change(struct hub_listener *l, const struct change *change)
{
    struct thread_waits *all = container_of(l, struct thread_waits, listener);

    if (change == NULL)
        all->is_due = true;
    else if (!change->state_changed || change->state != JOB_QUEUED)
        return;
    else if (change->thread != 0)
        wake(all, change->thread);
    else
        all->is_due = true;
}

void thread_waits_init(struct thread_waits *all)
{
    *all = (struct thread_waits){ .listener = { .hear = on_change } };
    all->all.prev = all->all.next = &all->all;
}

void thread_waits_tick(struct thread_waits *all)
{
    if (!all->is_due)
        return;
    all->is_due = false;
    wake(all, 0);
}

void thread_wait_join(struct streams *l, struct thread_wait *w)
{
    struct thread_waits *all = &l->thread_waits;

    if (all->all.next == &all->all)
        hub_listen(l->hub, &all->listener);
    w->next = &all->all;
    w->prev = all->all.prev;
    w->prev->next = all->all.prev = w;
}

void thread_wait_leave(struct streams *l, struct thread_wait *w)
{
    struct thread_waits *all = &l->thread_waits;

    w->prev->next = w->next;
    w->next->prev = w->prev;
    if (all->all.next == &all->all)
        hub_unlisten(l->hub, &all->listener);
}
