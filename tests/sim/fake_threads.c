/* Threads that are never started, because the scheduler does what they would do, and the loops
 * of libuv that they would run. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "fakes.h"

#include <pthread.h>
#include <stdlib.h>

int __wrap_pthread_create(pthread_t *ret,
                          const pthread_attr_t *attr,
                          void *(*work)(void *),
                          void *arg);
int __wrap_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);

int __wrap_pthread_create(pthread_t *ret,
                          const pthread_attr_t *attr,
                          void *(*work)(void *),
                          void *arg)
{
    (void)attr;
    (void)work;
    (void)arg;
    *ret = pthread_self();
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **ret)
{
    (void)thread;
    (void)ret;
    return 0;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
    (void)thread;
    (void)name;
    return 0;
}

/* --- loops -------------------------------------------------------------------- */

enum { MAX_LOOPS_MADE = 8 };

/* A loop and what wakes it. */
static struct {
    uv_loop_t *loop; /* NULL: free */
    uv_async_t *async;
    bool is_woken;
} made[MAX_LOOPS_MADE]; /* one simulator a process */
static uv_loop_t *last;

static size_t place_of(const uv_loop_t *loop)
{
    size_t i = 0;

    while (made[i].loop != loop)
        if (++i == MAX_LOOPS_MADE)
            abort();
    return i;
}

int uv_loop_init(uv_loop_t *loop)
{
    made[place_of(NULL)].loop = last = loop;
    loop->data = NULL;
    return 0;
}

int uv_loop_close(uv_loop_t *loop)
{
    size_t i = place_of(loop);

    made[i].loop = NULL;
    made[i].async = NULL;
    made[i].is_woken = false;
    return 0;
}

uv_loop_t *fake_loop_last(void)
{
    return last;
}

int uv_async_init(uv_loop_t *loop, uv_async_t *async, uv_async_cb cb)
{
    async->loop = loop;
    async->async_cb = cb;
    made[place_of(loop)].async = async;
    return 0;
}

int uv_async_send(uv_async_t *async)
{
    made[place_of(async->loop)].is_woken = true;
    return 0;
}

bool fake_loop_wake(uv_loop_t *loop)
{
    size_t i = place_of(loop);
    bool is_woken = made[i].is_woken;

    made[i].is_woken = false;
    if (is_woken)
        made[i].async->async_cb(made[i].async);
    return is_woken;
}

int uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    (void)loop;
    (void)mode;
    return 0;
}

void uv_stop(uv_loop_t *loop)
{
    (void)loop;
}
