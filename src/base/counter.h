/* Numbers that one thread changes and any other may look at, without a lock: adding is a
 * plain load, add and store.
 *
 * A counter only has one writer.  Where several threads count the same thing, each has a
 * counter of its own, and the reader adds them up. */
#ifndef BASE_COUNTER_H
#define BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

struct counter {
    _Atomic uint64_t n;
};

static inline uint64_t counter_get(const struct counter *c)
{
    return atomic_load_explicit(&c->n, memory_order_relaxed);
}

static inline void counter_set(struct counter *c, uint64_t n)
{
    atomic_store_explicit(&c->n, n, memory_order_relaxed);
}

static inline void counter_add(struct counter *c, uint64_t n)
{
    counter_set(c, counter_get(c) + n);
}

static inline void counter_sub(struct counter *c, uint64_t n)
{
    counter_set(c, counter_get(c) - n);
}

#endif
