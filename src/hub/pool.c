#define _GNU_SOURCE /* pthread_setname_np */
#include "hub/pool.h"

#include "base/error.h"
#include "hub/shelf.h"

#include <pthread.h>
#include <stdlib.h>

struct worker {
    struct pool *pool;
    struct store *store; /* owned */
    pthread_t thread;
    bool started;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct task *first, **last; /* under lock */
    bool stopping;              /* under lock */
    unsigned n_workers;
    struct worker *workers; /* owned */
    struct shelf *shelf;    /* owned */
};

static void on_letter(struct letter *letter)
{
    struct task *task = (struct task *)(void *)((char *)letter - offsetof(struct task, letter));

    task->done(task);
}

static struct task *take(struct pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (p->first == NULL && !p->stopping)
        (void)pthread_cond_wait(&p->news, &p->lock);
    struct task *task = p->first;
    if (task != NULL) {
        p->first = task->next;
        if (p->first == NULL)
            p->last = &p->first;
    }
    (void)pthread_mutex_unlock(&p->lock);
    return task;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct task *task;

    while ((task = take(w->pool)) != NULL) {
        task->run(task, w->store);
        task->letter.deliver = on_letter;
        /* A closed mailbox: the loop has ended and its connections are gone, so that all
         * that is left to do is to free what the task holds. */
        if (mailbox_post(task->home, &task->letter) != 0)
            task->done(task);
    }
    return NULL;
}

int pool_new(const struct store_options *store,
             unsigned n_threads,
             size_t shelf_bytes,
             struct pool **ret,
             struct error *err)
{
    struct pool *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&p->lock, NULL); /* cannot fail on Linux */
    (void)pthread_cond_init(&p->news, NULL);
    p->last = &p->first;
    p->workers = calloc(n_threads, sizeof(*p->workers));
    int code = p->workers == NULL || shelf_new(shelf_bytes, &p->shelf) != 0
                   ? error_set(err, ERR_NOMEM, "out of memory")
                   : 0;
    for (unsigned i = 0; i < n_threads && code == 0; i++) {
        struct worker *w = &p->workers[i];

        w->pool = p;
        p->n_workers = i + 1;
        code = store_open_reader(store, &w->store, err);
        if (code == 0 && pthread_create(&w->thread, NULL, work, w) != 0)
            code = error_set(err, ERR_NOMEM, "cannot start a reading thread");
        w->started = code == 0;
        if (w->started)
            (void)pthread_setname_np(w->thread, "reader"); /* only for people */
    }
    if (code != 0) {
        pool_free(p);
        return code;
    }
    *ret = p;
    return 0;
}

struct shelf *pool_shelf(const struct pool *p)
{
    return p->shelf;
}

void pool_post(struct pool *p, struct task *task)
{
    task->next = NULL;
    (void)pthread_mutex_lock(&p->lock);
    *p->last = task;
    p->last = &task->next;
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_cond_signal(&p->news);
}

void pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->lock);
    p->stopping = true;
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_cond_broadcast(&p->news);
    for (unsigned i = 0; i < p->n_workers; i++) {
        if (p->workers[i].started)
            (void)pthread_join(p->workers[i].thread, NULL);
        store_close(p->workers[i].store);
    }
    (void)pthread_cond_destroy(&p->news);
    (void)pthread_mutex_destroy(&p->lock);
    shelf_free(p->shelf);
    free(p->workers);
    free(p);
}
