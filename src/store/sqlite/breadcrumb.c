/* The mapped page beside the database, `<path>.folding` (mode 0600).  A store in memory has a
 * page that is lost with the process.
 *
 * The page begins with a magic text and the boot id of the machine.  A number of another boot
 * is ignored: the system writes the page back at any time, so after a power loss it may have
 * any of the earlier values. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, MAX_PATH = 4096 };

static const char magic[16] = "spoolwire fold\n";

struct breadcrumb_page {
    char magic[sizeof(magic)];
    char boot[40];
    _Atomic int64_t number;
};

_Static_assert(sizeof(struct breadcrumb_page) <= PAGE_BYTES, "it is one page");

/* Empty where the system has no boot id: then a reboot is not noticed. */
static void read_boot(char ret[40])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    memset(ret, 0, 40);
    if (fd < 0)
        return;
    if (read(fd, ret, 36) != 36)
        memset(ret, 0, 40);
    (void)close(fd); /* only read from */
}

static int open_file(const struct sqlite_store *s, struct error *err)
{
    char path[MAX_PATH];

    if ((size_t)snprintf(path, sizeof(path), "%s.folding", s->path) >= sizeof(path))
        return error_set(err, ERR_IO, "the path of %s is too long", s->name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set(err, ERR_IO, "cannot make %s.folding: %s", s->name, strerror(errno));
    /* Allocates the block: writing to a mapped page without disk space raises a signal. */
    int number = posix_fallocate(fd, 0, PAGE_BYTES);
    if (number == 0)
        return fd;
    (void)close(fd); /* nothing was written */
    return error_set(err, ERR_IO, "cannot make room for %s.folding: %s", s->name,
                     strerror(number));
}

static void begin(struct breadcrumb_page *page)
{
    char boot[sizeof(page->boot)];

    read_boot(boot);
    if (memcmp(page->magic, magic, sizeof(magic)) == 0 &&
        memcmp(page->boot, boot, sizeof(boot)) == 0)
        return;
    atomic_store(&page->number, 0); /* before the page is marked with this boot */
    memcpy(page->boot, boot, sizeof(boot));
    memcpy(page->magic, magic, sizeof(magic));
}

static int map(struct sqlite_store *s, struct error *err)
{
    bool in_memory = strcmp(s->path, ":memory:") == 0;
    int fd = in_memory ? -1 : open_file(s, err);

    if (fd < 0 && !in_memory)
        return fd;
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
                      in_memory ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    int number = errno;
    if (fd >= 0)
        (void)close(fd); /* the mapping stays */
    if (page == MAP_FAILED)
        return error_set(err, ERR_IO, "cannot map %s.folding: %s", s->name, strerror(number));
    s->breadcrumb = page;
    begin(page);
    return 0;
}

int sqlite_breadcrumb(struct store *store, struct breadcrumb *ret, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    int code = s->breadcrumb == NULL ? map(s, err) : 0;

    if (code == 0)
        ret->number = &s->breadcrumb->number;
    return code;
}

void breadcrumb_unmap(struct sqlite_store *s)
{
    if (s->breadcrumb != NULL)
        (void)munmap(s->breadcrumb, PAGE_BYTES); /* mapped by us */
}
