/* Allocations of a real server that fail, for LD_PRELOAD.
 *
 * The file that FAILING_ALLOC names has one number: how many allocations of the HTTP loops are
 * left until one fails; 0: none does.  Whoever maps it sets the number, and sees how far it has
 * come.  Other threads are left alone: the simulator has those.  So is libuv's table of
 * descriptors, which grows by realloc(): without memory for it, libuv ends the program itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static _Atomic int64_t *left;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAILING_ALLOC");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *page =
        fd >= 0 ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (fd >= 0)
        (void)close(fd); /* the mapping stays */
    if (page != MAP_FAILED)
        left = page;
}

static bool is_loop(void)
{
    char name[16] = "";

    return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
           strncmp(name, "http-", 5) == 0;
}

static bool fails(void)
{
    if (left == NULL || atomic_load(left) <= 0 || !is_loop())
        return false;
    return atomic_fetch_sub(left, 1) == 1;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

static bool is_libuv(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
           strstr(info.dli_fname, "libuv") != NULL;
}

void *realloc(void *p, size_t n)
{
    bool spared =
        left != NULL && atomic_load(left) > 0 && is_libuv(__builtin_return_address(0));

    return !spared && fails() ? NULL : __libc_realloc(p, n);
}
