/* Which thread may use an object: asserted in builds for tests, nothing in others.
 *
 * The first thread that uses the object owns it.  Where it is handed to another thread, that
 * thread says so with thread_owner_take(). */
#ifndef BASE_THREAD_OWNER_H
#define BASE_THREAD_OWNER_H

#ifdef THREAD_CHECKS
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#endif

struct thread_owner {
#ifdef THREAD_CHECKS
    _Atomic(pthread_t) thread; /* 0: nobody yet */
#else
    char unused;
#endif
};

#ifdef THREAD_CHECKS
/* The calling thread uses it from now on, and no other. */
static inline void thread_owner_take(struct thread_owner *o)
{
    atomic_store(&o->thread, pthread_self());
}

/* Its thread has ended: the next one that uses it owns it. */
static inline void thread_owner_release(struct thread_owner *o)
{
    atomic_store(&o->thread, (pthread_t)0);
}

static inline void assert_owner(struct thread_owner *o)
{
    pthread_t nobody = 0;

    (void)atomic_compare_exchange_strong(&o->thread, &nobody, pthread_self());
    assert(atomic_load(&o->thread) == pthread_self());
}
#else
static inline void thread_owner_take(struct thread_owner *o)
{
    (void)o;
}

static inline void thread_owner_release(struct thread_owner *o)
{
    (void)o;
}

static inline void assert_owner(struct thread_owner *o)
{
    (void)o;
}
#endif

#endif
