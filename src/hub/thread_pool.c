#define _GNU_SOURCE /* pthread_setname_np */
#include "hub/thread_pool.h"

#include "base/error.h"
#include "hub/page_cache.h"

#include <pthread.h>
#include <stdlib.h>

struct worker {
    struct thread_pool *pool;
    struct store *store; /* owned */
    pthread_t thread;
    bool started;
};

struct thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct thread_task *first, **last; /* under lock */
    bool stopping;                     /* under lock */
    unsigned n_workers;
    struct worker *workers;        /* owned */
    struct page_cache *page_cache; /* owned */
};

static struct thread_task *take(struct thread_pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (p->first == NULL && !p->stopping)
        (void)pthread_cond_wait(&p->news, &p->lock);
    struct thread_task *task = p->first;
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
    struct thread_task *task;

    while ((task = take(w->pool)) != NULL) {
        task->run(task, w->store);
        loop_call_answer(&task->loop_call);
    }
    return NULL;
}

int thread_pool_new(const struct store_options *store,
                    unsigned n_threads,
                    size_t page_cache_bytes,
                    struct thread_pool **ret,
                    struct error *err)
{
    struct thread_pool *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&p->lock, NULL); /* cannot fail on Linux */
    (void)pthread_cond_init(&p->news, NULL);
    p->last = &p->first;
    p->workers = calloc(n_threads, sizeof(*p->workers));
    int code = p->workers == NULL || page_cache_new(page_cache_bytes, &p->page_cache) != 0
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
            (void)pthread_setname_np(w->thread, "reader"); /* shown in ps and debuggers */
    }
    if (code != 0) {
        thread_pool_free(p);
        return code;
    }
    *ret = p;
    return 0;
}

struct page_cache *thread_pool_page_cache(const struct thread_pool *p)
{
    return p->page_cache;
}

void thread_pool_post(struct thread_pool *p, struct thread_task *task)
{
    task->next = NULL;
    loop_call_start(&task->loop_call);
    (void)pthread_mutex_lock(&p->lock);
    *p->last = task;
    p->last = &task->next;
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_cond_signal(&p->news);
}

void thread_pool_free(struct thread_pool *p)
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
    page_cache_free(p->page_cache);
    free(p->workers);
    free(p);
}
