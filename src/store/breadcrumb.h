/* A breadcrumb: one number in a mapped page beside the database, `<path>.folding`.
 *
 * Setting it is a store to memory.  The page is the system's, so the number outlives the
 * process however that ends: the next start reads what this one was doing.  It is not synced:
 * after a restart of the machine it says nothing.
 *
 * For one thread at a time. */
#ifndef STORE_BREADCRUMB_H
#define STORE_BREADCRUMB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct store;

struct breadcrumb_page;

struct breadcrumb {
    struct breadcrumb_page *page; /* mapped */
    _Atomic int64_t *number;      /* inside of it */
};

/* Maps the page beside @s, the one that writes; makes the file (mode 0600) unless it is there.
 * A store in memory has a page that nobody finds again. */
int breadcrumb_open(struct store *s, struct breadcrumb *ret, struct error *err);
void breadcrumb_close(struct breadcrumb *m);

/* Until something is set: what the last process left; 0: nothing. */
static inline int64_t breadcrumb_get(const struct breadcrumb *m)
{
    return m->number != NULL ? atomic_load_explicit(m->number, memory_order_relaxed) : 0;
}

/* of a breadcrumb that is not open it does nothing. */
static inline void breadcrumb_set(struct breadcrumb *m, int64_t number)
{
    if (m->number == NULL)
        return;
    atomic_store_explicit(m->number, number, memory_order_relaxed);
    /* A crash in what follows finds it: the compiler may not put the store off. */
    atomic_signal_fence(memory_order_seq_cst);
}

#endif
