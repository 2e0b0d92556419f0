#include "fakes.h"

#include "hub/shelf.h"

#include <stdlib.h>

/* --- letters ------------------------------------------------------------------ */

struct mailbox {
    struct letter *first, **last;
    size_t n;
    bool closed;
};

int mailbox_new(uv_loop_t *loop, struct mailbox **ret)
{
    struct mailbox *box = calloc(1, sizeof(*box));

    (void)loop;
    if (box == NULL)
        return UV_ENOMEM;
    box->last = &box->first;
    *ret = box;
    return 0;
}

int mailbox_post(struct mailbox *box, struct letter *letter)
{
    if (box->closed)
        return UV_ECANCELED;
    letter->next = NULL;
    *box->last = letter;
    box->last = &letter->next;
    box->n++;
    return 0;
}

size_t fake_mailbox_waiting(const struct mailbox *box)
{
    return box->n;
}

void fake_mailbox_deliver(struct mailbox *box)
{
    struct letter *letter = box->first;

    if (letter == NULL)
        return;
    box->first = letter->next;
    if (box->first == NULL)
        box->last = &box->first;
    box->n--;
    letter->deliver(letter);
}

void mailbox_close(struct mailbox *box)
{
    box->closed = true;
    while (box->n > 0)
        fake_mailbox_deliver(box);
}

void mailbox_free(struct mailbox *box)
{
    free(box);
}

/* --- tasks -------------------------------------------------------------------- */

struct pool {
    struct task *first;
    size_t n;
    struct store *store; /* owned */
    struct shelf *shelf; /* owned */
};

struct pool *fake_pool_new(struct store *store)
{
    struct pool *p = calloc(1, sizeof(*p));

    /* Room for a few: what is looked for is there, and gone, and another. */
    if (p == NULL || shelf_new((size_t)1 << 18, &p->shelf) != 0)
        abort();
    p->store = store;
    return p;
}

struct shelf *pool_shelf(const struct pool *p)
{
    return p->shelf;
}

void pool_post(struct pool *p, struct task *task)
{
    struct task **last = &p->first;

    while (*last != NULL)
        last = &(*last)->next;
    task->next = NULL;
    *last = task;
    p->n++;
}

size_t fake_pool_waiting(const struct pool *p)
{
    return p->n;
}

static void on_letter(struct letter *letter)
{
    struct task *task = (struct task *)(void *)((char *)letter - offsetof(struct task, letter));

    task->done(task);
}

void fake_pool_run(struct pool *p, size_t i)
{
    struct task **at = &p->first;

    while (i-- > 0)
        at = &(*at)->next;
    struct task *task = *at;
    *at = task->next;
    p->n--;
    task->run(task, p->store);
    task->letter.deliver = on_letter;
    if (mailbox_post(task->home, &task->letter) != 0)
        task->done(task);
}

void pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    while (p->n > 0)
        fake_pool_run(p, 0);
    shelf_free(p->shelf);
    store_close(p->store);
    free(p);
}

/* --- timers ------------------------------------------------------------------- */

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    timer->loop = loop;
    timer->timer_cb = NULL;
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb cb, uint64_t timeout, uint64_t repeat)
{
    (void)timeout;
    (void)repeat;
    timer->timer_cb = cb;
    timer->loop->data = timer;
    return 0;
}

void uv_close(uv_handle_t *handle, uv_close_cb cb)
{
    handle->loop->data = NULL;
    if (cb != NULL)
        cb(handle);
}

void fake_timer_tick(uv_loop_t *loop)
{
    uv_timer_t *timer = loop->data;

    if (timer != NULL && timer->timer_cb != NULL)
        timer->timer_cb(timer);
}
