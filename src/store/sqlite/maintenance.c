/* Maintenance of the file: checks it, copies it, and returns its free space. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large values that no row names, and those that are named and are not there. */
#define LARGE_MISSING(table)                                                        \
    "SELECT 'a row of " table " of thread ' || thread || ' names large value ' || " \
    "large || ', which is not there' FROM " table " WHERE large IS NOT NULL "       \
    "AND large NOT IN (SELECT id FROM large_values)"
#define LARGE_FAULTS                                                                         \
    "SELECT 'large value ' || id || ' is named by no row' FROM large_values v "              \
    "WHERE NOT EXISTS (SELECT 1 FROM channels WHERE large = v.id) "                          \
    "AND NOT EXISTS (SELECT 1 FROM run_states WHERE large = v.id) UNION ALL " LARGE_MISSING( \
        "channels") " UNION ALL " LARGE_MISSING("run_states")

enum { BACKUP_PAGES = 1000, BACKUP_PAUSE_MS = 20, MAX_PATH = 4096 };

/* Tells what the rows of @sql say. */
static int tell_rows(struct sqlite_store *s,
                     const char *sql,
                     store_finding_cb cb,
                     void *arg,
                     struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        struct str text = rc == SQLITE_ROW ? column_text(stmt, 0) : STR_NONE;
        if (text.n > 0 && !str_is(text, "ok"))
            cb(arg, text);
    }
    int code = rc == SQLITE_DONE ? 0 : fault(&s->base, rc, err); /* before finalize */
    (void)sqlite3_finalize(stmt);                                /* repeats the error */
    return code;
}

int sqlite_check(struct store *store, store_finding_cb cb, void *arg, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    int code = tell_rows(s, "PRAGMA integrity_check", cb, arg, err);

    return code == 0 ? tell_rows(s, LARGE_FAULTS, cb, arg, err) : code;
}

/* --- a copy ---------------------------------------------------------------------- */

static int backup_failed(const char *path, sqlite3 *to, int rc, struct error *err)
{
    return error_set(err, rc == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO, "cannot write %s: %s", path,
                     to != NULL ? sqlite3_errmsg(to) : sqlite3_errstr(rc));
}

/* Copies a few pages at a time, so that the server can write in between; pages that it changes
 * are copied again. */
static int copy_pages(struct sqlite_store *s, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", s->db, "main");
    int rc = backup != NULL ? SQLITE_OK : sqlite3_errcode(to);

    while (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED) {
        rc = sqlite3_backup_step(backup, BACKUP_PAGES);
        if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
            (void)sqlite3_sleep(BACKUP_PAUSE_MS);
    }
    int last = sqlite3_backup_finish(backup);
    return rc == SQLITE_DONE ? last : rc;
}

/* With mode 0600, like the database; never overwrites a link or an existing file. */
static int make_file(const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_set(err, errno == EEXIST ? ERR_REFUSED : ERR_IO, "cannot make %s: %s",
                         path, strerror(errno));
    (void)close(fd); /* nothing was written */
    return 0;
}

static int sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd >= 0 ? fsync(fd) : -1;

    if (fd >= 0)
        (void)close(fd); /* whether or not the sync succeeded */
    return rc;
}

/* Writes to a temporary name first: the copy is complete, or does not exist. */
int sqlite_backup(struct store *store, const char *path, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    char partial[MAX_PATH];
    sqlite3 *to = NULL;
    struct stat about;

    if (lstat(path, &about) == 0)
        return error_set(err, ERR_REFUSED, "%s is there already", path);
    if ((size_t)snprintf(partial, sizeof(partial), "%s.partial", path) >= sizeof(partial))
        return error_set(err, ERR_REFUSED, "the path is too long");
    int code = make_file(partial, err);
    if (code != 0)
        return code;
    int rc = sqlite3_open_v2(partial, &to, SQLITE_OPEN_READWRITE, NULL);
    if (rc == SQLITE_OK)
        rc = copy_pages(s, to);
    if (rc != SQLITE_OK)
        code = backup_failed(path, to, rc, err);
    (void)sqlite3_close(to); /* no statements are open */
    if (code == 0 && (sync_file(partial) != 0 || rename(partial, path) != 0))
        code = error_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    if (code != 0)
        (void)unlink(partial); /* an incomplete copy is useless */
    return code;
}

int sqlite_vacuum(struct store *store, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    int rc = sqlite3_exec(s->db, "VACUUM", NULL, NULL, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return rc == SQLITE_OK ? 0 : fault(&s->base, rc, err);
}
