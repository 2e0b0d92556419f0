#include "fakes.h"

#include "hub/page_cache.h"

#include <stdlib.h>

/* --- messages ------------------------------------------------------------------ */

struct mailbox {
    struct loop_message *first, **last;
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

int mailbox_post(struct mailbox *box, struct loop_message *message)
{
    if (box->closed)
        return UV_ECANCELED;
    message->next = NULL;
    *box->last = message;
    box->last = &message->next;
    box->n++;
    return 0;
}

size_t fake_mailbox_waiting(const struct mailbox *box)
{
    return box->n;
}

void fake_mailbox_deliver(struct mailbox *box)
{
    struct loop_message *message = box->first;

    if (message == NULL)
        return;
    box->first = message->next;
    if (box->first == NULL)
        box->last = &box->first;
    box->n--;
    message->deliver(message);
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

struct thread_pool {
    struct thread_task *first;
    size_t n;
    struct store *store;           /* owned */
    struct page_cache *page_cache; /* owned */
};

struct thread_pool *fake_pool_new(struct store *store)
{
    struct thread_pool *p = calloc(1, sizeof(*p));

    /* Room for a few: what is looked for is there, and gone, and another. */
    if (p == NULL || page_cache_new((size_t)1 << 18, &p->page_cache) != 0)
        abort();
    p->store = store;
    return p;
}

struct page_cache *thread_pool_page_cache(const struct thread_pool *p)
{
    return p->page_cache;
}

void thread_pool_post(struct thread_pool *p, struct thread_task *task)
{
    struct thread_task **last = &p->first;

    while (*last != NULL)
        last = &(*last)->next;
    task->next = NULL;
    loop_call_start(&task->loop_call);
    *last = task;
    p->n++;
}

size_t fake_pool_waiting(const struct thread_pool *p)
{
    return p->n;
}

void fake_pool_run(struct thread_pool *p, size_t i)
{
    struct thread_task **at = &p->first;

    while (i-- > 0)
        at = &(*at)->next;
    struct thread_task *task = *at;
    *at = task->next;
    p->n--;
    task->run(task, p->store);
    loop_call_answer(&task->loop_call);
}

void thread_pool_free(struct thread_pool *p)
{
    if (p == NULL)
        return;
    while (p->n > 0)
        fake_pool_run(p, 0);
    page_cache_free(p->page_cache);
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

int uv_timer_stop(uv_timer_t *timer)
{
    timer->timer_cb = NULL;
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
