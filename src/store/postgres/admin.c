/* Administration: consistency checks, the identity of the database, and the breadcrumb.
 *
 * The breadcrumb is in shared memory of the machine, named after the database and the shard:
 * it survives the process but not a reboot, as it should.  Beside it is the epoch of the writer
 * whose it is, so that the next one knows whether it is that of the writer before.  A gateway
 * on another machine does not see it, and relies on the name in the row of the shard. */
#include "store/breadcrumb.h"
#include "store/postgres/postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, EPOCH = 1 }; /* its place in the page */

int postgres_identity(struct store *s, char ret[STORE_IDENTITY_BYTES], struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_IDENTITY);
    int code = not_found(row_get(&p, &r, err), "identity", err);
    if (code == 0)
        (void)snprintf(ret, STORE_IDENTITY_BYTES, "%.*s", STR_ARG(cell_text(r, 0, 0)));
    return code;
}

/* Tells what the rows of a statement without parameters say. */
static int tell_rows(struct store *s,
                     enum postgres_statement id,
                     store_finding_cb cb,
                     void *arg,
                     struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, id);
    int code = rows_get(&p, &r, err);
    for (int i = 0; i < PQntuples(r); i++)
        cb(arg, cell_text(r, i, 0));
    PQclear(r);
    return code;
}

int postgres_check(struct store *s, store_finding_cb cb, void *arg, struct error *err)
{
    int code = tell_rows(s, SQL_CHECK, cb, arg, err);

    return code == 0 && postgres_of(s)->version >= SCHEMA_WITH_LARGE
               ? tell_rows(s, SQL_CHECK_LARGE, cb, arg, err)
               : code;
}

bool postgres_is_lost(struct store *s)
{
    return atomic_load(&postgres_of(s)->is_fenced);
}

static int open_page(struct postgres_store *s, struct error *err)
{
    char identity[STORE_IDENTITY_BYTES], name[STORE_IDENTITY_BYTES + 40];
    int code = postgres_identity(&s->base, identity, err);

    if (code != 0)
        return code;
    int n = snprintf(name, sizeof(name), "/spoolwire-%s", identity);
    if (s->shard > 0)
        (void)snprintf(name + n, sizeof(name) - (size_t)n, "-%lld", (long long)s->shard);
    int fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Allocates the page: writing to a mapped page without disk space raises a signal. */
    int number = fd < 0 ? errno : posix_fallocate(fd, 0, PAGE_BYTES);
    if (number == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd); /* nothing was written */
    return error_set(err, ERR_IO, "cannot make the shared memory %s: %s", name,
                     strerror(number));
}

int postgres_breadcrumb(struct store *store, struct breadcrumb *ret, struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    int fd = s->breadcrumb == NULL ? open_page(s, err) : -1;

    if (s->breadcrumb == NULL && fd < 0)
        return fd;
    if (s->breadcrumb == NULL) {
        void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        int number = errno;

        (void)close(fd); /* the mapping stays */
        if (page == MAP_FAILED)
            return error_set(err, ERR_IO, "cannot map shared memory: %s", strerror(number));
        s->breadcrumb = page;
        if (s->breadcrumb[EPOCH] == s->left_epoch)
            s->left.suspect = 0; /* the breadcrumb says whether it was being folded */
        breadcrumb_sign(s);
    }
    ret->number = s->breadcrumb;
    return 0;
}

void breadcrumb_sign(struct postgres_store *s)
{
    if (s->breadcrumb != NULL)
        s->breadcrumb[EPOCH] = s->epoch;
}

void breadcrumb_release(struct postgres_store *s)
{
    if (s->breadcrumb != NULL)
        (void)munmap((void *)(uintptr_t)s->breadcrumb, PAGE_BYTES); /* mapped by us */
}
