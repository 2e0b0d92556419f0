/* Allocations that fail: libyaml's too, so malloc itself is replaced.
 *
 * These definitions come before the C library's for the whole process.  The block comes
 * from the sanitizer's allocator if there is one, so that leaks and bad accesses are seen
 * as ever.  Not with the thread sanitizer, which needs the first malloc before it is
 * ready for instrumented code such as this.
 *
 * Included once, after cmocka.h, by a program that is one test. */
#ifndef UNIT_FAILING_MALLOC_H
#define UNIT_FAILING_MALLOC_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#endif

static size_t fail_at; /* the n-th allocation from now on fails; 0: none */
static size_t n_allocations;

#if !defined(WITH_TSAN)

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__interceptor_malloc(size_t n) __attribute__((weak));
void *__interceptor_calloc(size_t n, size_t size) __attribute__((weak));
void *__interceptor_realloc(void *p, size_t n) __attribute__((weak));

static bool fails_now(void)
{
    return fail_at > 0 && ++n_allocations == fail_at;
}

void *malloc(size_t n)
{
    if (fails_now())
        return NULL;
    return __interceptor_malloc != NULL ? __interceptor_malloc(n) : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    if (fails_now())
        return NULL;
    return __interceptor_calloc != NULL ? __interceptor_calloc(n, size)
                                        : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    if (fails_now())
        return NULL;
    return __interceptor_realloc != NULL ? __interceptor_realloc(p, n) : __libc_realloc(p, n);
}

#endif

static void skip_without_failing_allocations(void)
{
#if defined(WITH_TSAN)
    skip();
#endif
}

/* Prints with every allocation failing in its turn, until none is left. */
static inline void print_without_memory(void (*print)(struct buf *))
{
    bool passed = false;

    for (size_t n = 1; !passed; n++) {
        struct buf b;

        buf_init(&b, 65536);
        n_allocations = 0;
        fail_at = n;
        print(&b);
        passed = n_allocations < fail_at;
        fail_at = 0;
        assert_int_equal(b.error, passed ? 0 : ERR_NOMEM);
        buf_done(&b);
    }
}

#endif
