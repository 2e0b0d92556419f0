/* A small pool of threads that read the store, so that no loop ever waits for a disk.
 *
 * Each thread has a store of its own, and all have a shelf for what they have read.  A task
 * runs on one of them and is then delivered on the loop whose mailbox it names. */
#ifndef HUB_POOL_H
#define HUB_POOL_H

#include "loop/mailbox.h"
#include "store/store.h"

struct pool;
struct shelf;

struct task {
    struct task *next;                                   /* the pool's */
    struct letter letter;                                /* the pool's */
    struct mailbox *home;                                /* borrowed */
    void (*run)(struct task *task, struct store *store); /* on a thread of the pool */
    void (*done)(struct task *task);                     /* on the loop of `home` */
};

int pool_new(const struct store_options *store,
             unsigned n_threads,
             size_t shelf_bytes,
             struct pool **ret,
             struct error *err);
struct shelf *pool_shelf(const struct pool *p);
void pool_post(struct pool *p, struct task *task);
/* Waits for the tasks that run; those that wait are run too. */
void pool_free(struct pool *p);

#endif
