/* A breadcrumb: one number that survives the process, so that after a crash the next start
 * knows which job was being folded.
 *
 * Setting it is a write to memory, in a shared page that the store's backend provides.  It is
 * not synced: after a reboot of the machine it is not used.
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
    _Atomic int64_t *number; /* owned by the store; NULL: not open */
};

/* The breadcrumb of @s, which must be the writer; valid as long as @s. */
int store_breadcrumb(struct store *s, struct breadcrumb *ret, struct error *err);

/* Before the first set: the value of the last process; 0: none. */
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
    /* The compiler must not delay the write: a crash in what follows has to find it. */
    atomic_signal_fence(memory_order_seq_cst);
}

#endif
