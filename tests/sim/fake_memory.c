/* The linker sends our code's calls here (--wrap), in every program that checks for leaks
 * without a sanitizer's help.  What libraries allocate for themselves is not counted. */
#include "fakes.h"

#include <stdlib.h>
#include <time.h>

static long blocks; /* one simulator a process: the wrapped functions have no argument */
static int64_t clock_ms;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

void *__wrap_malloc(size_t n)
{
    void *p = __real_malloc(n);

    blocks += p != NULL;
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = __real_calloc(n, size);

    blocks += p != NULL;
    return p;
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q = __real_realloc(p, n);

    blocks += p == NULL && q != NULL;
    return q;
}

void __wrap_free(void *p)
{
    blocks -= p != NULL;
    __real_free(p);
}

long fake_memory_blocks(void)
{
    return blocks;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    (void)id;
    ret->tv_sec = (time_t)(clock_ms / 1000);
    ret->tv_nsec = (long)(clock_ms % 1000) * 1000000;
    return 0;
}

void fake_clock_set(int64_t ms)
{
    clock_ms = ms;
}
