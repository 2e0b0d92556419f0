/* A small pool of threads that read the store, so that no loop ever waits for a disk.
 *
 * Each thread has a store of its own, and all have a page cache for what they have read.  A
 * task runs on one of them and is then delivered on the loop whose mailbox it names. */
#ifndef HUB_THREAD_POOL_H
#define HUB_THREAD_POOL_H

#include "base/must_check.h"
#include "loop/mailbox.h"
#include "store/store.h"

struct thread_pool;
struct page_cache;

struct thread_task {
    struct thread_task *next;                                   /* the pool's */
    struct thread_pool *pool;                                   /* the pool's */
    struct loop_message message;                                /* the pool's */
    struct mailbox *home;                                       /* borrowed */
    void (*run)(struct thread_task *task, struct store *store); /* on a thread of the pool */
    void (*done)(struct thread_task *task);                     /* on the loop of `home` */
};

MUST_CHECK int thread_pool_new(const struct store_options *store,
                               unsigned n_threads,
                               size_t page_cache_bytes,
                               struct thread_pool **ret,
                               struct error *err);
struct page_cache *thread_pool_page_cache(const struct thread_pool *p);
void thread_pool_post(struct thread_pool *p, struct thread_task *task);
/* From any thread: it has run.  `done` is called on the loop of `home`.  If that loop has ended
 * and its connections with it, `done` only frees what the task holds: when the pool is freed,
 * or here if it was never posted to one. */
void thread_task_answer(struct thread_task *task);
/* Waits for the tasks that run; those that wait are run too. */
void thread_pool_free(struct thread_pool *p);

#endif
