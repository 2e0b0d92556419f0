/* The database file: its canonical path, its creation, its lock.
 *
 * A second server on the same file would number records twice, so the writer holds
 * `<path>.lock`.  flock() and not fcntl(), because the lock then belongs to this descriptor:
 * another store in the same process is refused too, and closing some other descriptor does not
 * drop it.  The lock ends with its process, however that ends; the lock file stays, since
 * removing it would let two servers lock two files of the same name.  It contains the holder's
 * process id, only for error messages.
 *
 * If the database is deleted or replaced by another file, writes to the open file still succeed
 * but are lost.  So before each commit the paths are checked: they must still lead to the files
 * that were opened.  One stat() of the folder is enough as long as its change time stays the
 * same, because creating, removing or renaming a file updates it.  That does not show every
 * change: two changes within one tick of the file system's clock have the same time, so a time
 * that is younger than a tick proves nothing; and a file system may be mounted over a
 * path.  So all files are checked once in FOLDER_TRUST_MS anyway.
 *
 * For SQLite's own fcntl() locks the opposite holds: closing any descriptor of the database
 * drops them for the whole process.  So the database is never opened here, except to create
 * it. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "store/sqlite/sqlite.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    COARSE_TICK_MS = 2500, /* FAT has the coarsest clock: two seconds */
    FINE_TICK_MS = 50,     /* a fine clock ticks with the kernel's, every 10 ms at most */
    FOLDER_TRUST_MS = 1000
};

static char *join(const char *a, const char *between, const char *b)
{
    size_t n = strlen(a) + strlen(between) + strlen(b) + 1;
    char *text = malloc(n);

    if (text != NULL)
        (void)snprintf(text, n, "%s%s%s", a, between, b); /* fits */
    return text;
}

/* The path for messages: all of it, or its end, starting at a whole character. */
static void name_from(struct sqlite_store *s, const char *path)
{
    size_t n = strlen(path);
    const char *cut = "…";

    if (n < sizeof(s->name)) {
        memcpy(s->name, path, n + 1);
        return;
    }
    path += n - (sizeof(s->name) - strlen(cut) - 1);
    while (((unsigned char)*path & 0xc0) == 0x80)
        path++;
    (void)snprintf(s->name, sizeof(s->name), "%s%s", cut, path); /* fits */
}

/* Resolves links in the folder of @path; the rest of @path stays as it is. */
static int resolve_folder(struct sqlite_store *s, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    char *folder = slash == NULL   ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    char *resolved = folder != NULL ? realpath(folder, NULL) : NULL;

    if (resolved != NULL)
        s->path = join(resolved, strcmp(resolved, "/") == 0 ? "" : "/", file);
    free(resolved);
    free(folder);
    if (s->path != NULL)
        return 0;
    return errno == ENOMEM
               ? error_set(err, ERR_NOMEM, "out of memory")
               : error_set(
                     err, ERR_IO,
                     "the folder of %s cannot be used (%s): make it, or give another path",
                     s->name, strerror(errno));
}

static const char *const
    file_ends[FILE_MAX] = { [FILE_DATABASE] = "", [FILE_WAL] = "-wal", [FILE_SHM] = "-shm" };

static int name_files(struct sqlite_store *s, struct error *err)
{
    const char *slash = strrchr(s->path, '/'); /* it is absolute */

    s->folder.path =
        slash == s->path ? strdup("/") : strndup(s->path, (size_t)(slash - s->path));
    if (s->folder.path == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    for (unsigned i = 0; i < FILE_MAX; i++) {
        s->files[i].path = join(s->path, "", file_ends[i]);
        if (s->files[i].path == NULL)
            return error_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

int file_name(struct sqlite_store *s, const char *path, struct error *err)
{
    struct stat st;

    name_from(s, path);
    if (strcmp(path, ":memory:") == 0) {
        s->path = strdup(path);
        return s->path != NULL ? 0 : error_set(err, ERR_NOMEM, "out of memory");
    }
    size_t n = strlen(path);
    if (n == 0 || path[n - 1] == '/')
        return error_set(err, ERR_REFUSED, "the path \"%s\" names no file", s->name);
    s->path = realpath(path, NULL);
    if (s->path == NULL) {
        if (errno != ENOENT)
            return error_set(err, ERR_IO, "cannot use %s: %s", s->name, strerror(errno));
        int code = resolve_folder(s, path, err);
        if (code != 0)
            return code;
    } else if (stat(s->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return error_set(err, ERR_REFUSED, "%s is not a file: give another path", s->name);
    }
    name_from(s, s->path);
    return name_files(s, err);
}

void file_forget(struct sqlite_store *s)
{
    for (unsigned i = 0; i < FILE_MAX; i++)
        free(s->files[i].path);
    free(s->folder.path);
    free(s->path);
}

static int refuse_second(const struct sqlite_store *s, int fd, struct error *err)
{
    char text[16] = "";
    long pid = 0;

    if (pread(fd, text, sizeof(text) - 1, 0) > 0)
        pid = strtol(text, NULL, 10);
    if (pid == (long)getpid())
        return error_set(err, ERR_BUSY, "%s is already open in this process", s->name);
    if (pid > 0)
        return error_set(err, ERR_BUSY,
                         "%s is in use by another server, process %ld: stop that one, or give "
                         "this one a file of its own",
                         s->name, pid);
    return error_set(
        err, ERR_BUSY,
        "%s is in use by another server: stop that one, or give this one a file of "
        "its own",
        s->name);
}

int file_lock(struct sqlite_store *s, struct error *err)
{
    char *path = join(s->path, "", ".lock");
    char text[16];

    if (path == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int number = errno;
    free(path);
    if (fd < 0)
        return error_set(
            err, ERR_IO,
            "cannot make the lock file %s.lock (%s): the folder must be writable for "
            "the server",
            s->name, strerror(number));
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR)
            continue;
        int code = errno == EWOULDBLOCK ? refuse_second(s, fd, err)
                                        : error_set(err, ERR_IO, "cannot lock %s.lock: %s",
                                                    s->name, strerror(errno));
        (void)close(fd); /* nothing was written */
        return code;
    }
    int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    /* On a full disk the lock still works; only the message of a second server lacks the
     * process id. */
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, text, (size_t)n, 0);
    s->lock_fd = fd;
    return 0;
}

int file_create(const struct sqlite_store *s, struct error *err)
{
    int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return errno == EEXIST
                   ? 0
                   : error_set(err, ERR_IO, "cannot make %s: %s", s->name, strerror(errno));
    /* SQLite gives -wal and -shm the mode of the file. */
    int rc = fchmod(fd, 0600); /* regardless of the umask */
    int number = errno;
    (void)close(fd); /* empty, and nobody has locks in it yet */
    return rc == 0 ? 0
                   : error_set(err, ERR_IO, "cannot make %s private: %s", s->name,
                               strerror(number));
}

static int say_lost(const struct sqlite_store *s,
                    enum file file,
                    bool replaced,
                    struct error *err)
{
    if (file == FILE_DATABASE && replaced)
        return error_set(err, ERR_IO,
                         "%s was replaced by another file: nothing is stored until the old one "
                         "is back, or the server is restarted with the new one",
                         s->name);
    if (file == FILE_DATABASE)
        return error_set(err, ERR_IO,
                         "%s was deleted or moved: nothing is stored until it is back (while "
                         "the server runs, /proc/%ld/fd still has it)",
                         s->name, (long)getpid());
    return error_set(err, ERR_IO,
                     "%s%s was deleted or replaced: nothing is stored until the server is "
                     "restarted",
                     s->name, file_ends[file]);
}

static int check_one(struct sqlite_store *s, enum file file, struct error *err)
{
    struct file_id *id = &s->files[file];
    struct stat st;

    bool is_there = stat(id->path, &st) == 0;
    if (!is_there && errno != ENOENT && errno != ENOTDIR)
        return 0; /* unknown */
    if (is_there && id->number == 0) {
        id->device = st.st_dev;
        id->number = st.st_ino;
    }
    if (id->number == 0 || (is_there && st.st_dev == id->device && st.st_ino == id->number))
        return 0;
    return say_lost(s, file, is_there, err);
}

int file_check(struct sqlite_store *s, struct error *err)
{
    int code = 0;

    for (unsigned i = 0; i < FILE_MAX && s->files[i].path != NULL && code == 0; i++)
        code = check_one(s, (enum file)i, err);
    return code;
}

static bool is_same(const struct folder_state *f, const struct stat *now)
{
    return now->st_dev == f->device && now->st_ino == f->number &&
           now->st_ctim.tv_sec == f->changed.tv_sec &&
           now->st_ctim.tv_nsec == f->changed.tv_nsec;
}

static int64_t time_ms(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

/* How far apart two times of a file system may be that it cannot tell from each other.  A clock
 * that shows microseconds is a fine one. */
static int64_t tick_ms(const struct timespec *t)
{
    return t->tv_nsec % 1000000 != 0 ? FINE_TICK_MS : COARSE_TICK_MS;
}

int file_check_folder(struct sqlite_store *s, struct error *err)
{
    struct folder_state *f = &s->folder;
    int64_t now = clock_monotonic_ms();
    struct stat st;

    /* Before the files are checked, so that a change in between is noticed the next time. */
    bool is_known = f->path != NULL && stat(f->path, &st) == 0;
    if (is_known && now < f->until_ms && is_same(f, &st))
        return 0;
    int code = file_check(s, err);
    f->until_ms = 0;
    if (code == 0 && is_known &&
        clock_wall_ms() - time_ms(&st.st_ctim) > tick_ms(&st.st_ctim)) {
        f->device = st.st_dev;
        f->number = st.st_ino;
        f->changed = st.st_ctim;
        f->until_ms = now + FOLDER_TRUST_MS;
    }
    return code;
}

bool sqlite_is_lost(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);
    return file_check(s, NULL) != 0;
}

void file_sync_folder(const struct sqlite_store *s)
{
    int fd =
        s->folder.path != NULL ? open(s->folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    (void)fsync(fd); /* best effort: some file systems cannot */
    (void)close(fd);
}

int sqlite_disk(struct store *store, struct store_disk *ret, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    const char *wal = s->files[FILE_WAL].path;
    struct stat file = { 0 }, log = { 0 };
    struct statvfs disk = { 0 };

    *ret = (struct store_disk){ .figures = { { "file", "Size of the database.", 0 },
                                             { "wal", "Size of its write-ahead log.", 0 } },
                                .n = 2 };
    int rc = stat(s->path, &file) == 0 && statvfs(s->path, &disk) == 0 ? 0 : errno;
    if (wal != NULL)
        (void)stat(wal, &log); /* it may not exist */
    if (rc != 0)
        return error_set(err, ERR_IO, "cannot look at %s: %s", s->name, strerror(rc));
    ret->figures[0].bytes = (uint64_t)file.st_size;
    ret->figures[1].bytes = (uint64_t)log.st_size;
    ret->free = (uint64_t)disk.f_bavail * disk.f_frsize;
    ret->total = (uint64_t)disk.f_blocks * disk.f_frsize;
    return 0;
}

/* Device and inode: only one server uses the file at a time. */
int sqlite_identity(struct store *store, char ret[STORE_IDENTITY_BYTES], struct error *err)
{
    const struct file_id *id = &sqlite_of(store)->files[FILE_DATABASE];

    if (id->number == 0)
        return error_set(err, ERR_NOT_FOUND, "it is in no file");
    (void)snprintf(ret, STORE_IDENTITY_BYTES, "%llx-%llx", (unsigned long long)id->device,
                   (unsigned long long)id->number); /* fits */
    return 0;
}
