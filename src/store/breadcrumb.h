/* A breadcrumb: one number that outlives the process, for the next start to read what this one
 * was doing.
 *
 * Setting it is a store to memory, in a page that is the system's and that the store's backend
 * provides.  It is not synced: after a restart of the machine it says nothing.
 *
 * For one thread at a time. */
#ifndef STORE_BREADCRUMB_H
#define STORE_BREADCRUMB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct store;

struct breadcrumb {
    _Atomic int64_t *number; /* the store's; NULL: not open */
};

/* The one of @s, the store that writes; it lives as long as @s. */
int store_breadcrumb(struct store *s, struct breadcrumb *ret, struct error *err);

/* Until something is set: what the last process left; 0: nothing. */
static inline int64_t breadcrumb_get(const struct breadcrumb *m)
{
    return m->number != NULL ? atomic_load_explicit(m->number, memory_order_relaxed) : 0;
}

/* Does nothing for a breadcrumb that is not open. */
static inline void breadcrumb_set(struct breadcrumb *m, int64_t number)
{
    if (m->number == NULL)
        return;
    atomic_store_explicit(m->number, number, memory_order_relaxed);
    /* A crash in what follows finds it: the compiler may not put the store off. */
    atomic_signal_fence(memory_order_seq_cst);
}

#endif
