/* A small pool of threads that read the store, so that no loop blocks on the disk.
 *
 * Each thread has its own store, and all share a page cache.  A task runs on one of them, and
 * the loop that posted it gets the answer (loop/loop_call.h). */
#ifndef HUB_THREAD_POOL_H
#define HUB_THREAD_POOL_H

#include "base/must_check.h"
#include "loop/loop_call.h"
#include "store/store.h"

struct thread_pool;
struct page_cache;

struct thread_task {
    struct thread_task *next;                                   /* used by the pool */
    struct loop_call loop_call;                                 /* answered when it has run */
    void (*run)(struct thread_task *task, struct store *store); /* on a thread of the pool */
};

MUST_CHECK int thread_pool_new(const struct store_options *store,
                               unsigned n_threads,
                               size_t page_cache_bytes,
                               struct thread_pool **ret,
                               struct error *err);
struct page_cache *thread_pool_page_cache(const struct thread_pool *p);
void thread_pool_post(struct thread_pool *p, struct thread_task *task);
/* Runs all queued tasks, and waits for them. */
void thread_pool_free(struct thread_pool *p);

#endif
