/* Error messages for the operator.
 *
 * SQLite says how a call failed (and the system's errno for files); this file says what that
 * means for the operator.  Codes: ERR_IO for the disk, the file and its permissions, ERR_BUSY
 * for a temporary lock, ERR_REFUSED for a row that violates a constraint, ERR_TOO_LARGE and
 * ERR_NOMEM as their names say. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <string.h>

static int last_errno(sqlite3_file *file)
{
    int number = 0;

    if (file == NULL || file->pMethods == NULL ||
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number) != SQLITE_OK)
        return 0;
    return number;
}

/* The system's errno of an I/O error.  For a failed commit sqlite3_system_errno() does not have
 * it, so it is read from the WAL file. */
static int io_errno(struct sqlite_store *s, int rc)
{
    sqlite3_file *wal = NULL;
    int number = 0;

    if ((rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_FSYNC) &&
        sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) == SQLITE_OK)
        number = last_errno(wal);
    return number != 0 ? number : sqlite3_system_errno(s->db);
}

static int io_fault(struct sqlite_store *s, int rc, struct error *err)
{
    int number = io_errno(s, rc);

    if (number == ENOSPC || number == EDQUOT)
        return fault(&s->base, SQLITE_FULL, err);
    if (number == EFBIG)
        return error_set(err, ERR_IO,
                         "%s has reached the largest size that a file may have here: raise the "
                         "limit (ulimit -f); appends will go on by themselves",
                         s->name);
    if (rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_CORRUPTFS)
        return fault(&s->base, SQLITE_CORRUPT, err);
    return error_set(
        err, ERR_IO,
        "the device that holds %s fails (%s, SQLite code %d): see the system's log; "
        "the server tries again by itself",
        s->name, number != 0 ? strerror(number) : "no reason given", rc);
}

static int open_fault(struct sqlite_store *s, struct error *err)
{
    int number = sqlite3_system_errno(s->db);

    if (number == ENOENT)
        return error_set(err, ERR_IO,
                         "%s does not exist: start the server first, or check the path",
                         s->name);
    return error_set(err, ERR_IO,
                     "cannot open %s or its -wal and -shm files (%s): check owner and mode",
                     s->name, number != 0 ? strerror(number) : sqlite3_errmsg(s->db));
}

int fault(struct store *store, int rc, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return error_set(err, ERR_IO,
                         "no space left on the device that holds %s: free some; "
                         "appends will go on by themselves",
                         s->name);
    case SQLITE_IOERR:
        return rc == SQLITE_IOERR_NOMEM ? fault(&s->base, SQLITE_NOMEM, err)
                                        : io_fault(s, rc, err);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return error_set(err, ERR_IO,
                         "%s cannot be written: check the owner and mode of the file and its "
                         "folder, and that the file system is not mounted read-only",
                         s->name);
    case SQLITE_CORRUPT:
        return error_set(err, ERR_IO,
                         "%s is damaged: stop the server, keep a copy, and restore a backup "
                         "or try `sqlite3 FILE .recover`",
                         s->name);
    case SQLITE_NOTADB:
        return error_set(
            err, ERR_REFUSED,
            "%s is not a SQLite database: give another path, or move the file away", s->name);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, ERR_BUSY,
                         "another program has %s locked (a server that is stopped, a sqlite3 "
                         "shell, a backup?): nothing was written; try again when that program "
                         "has gone on or ended",
                         s->name);
    case SQLITE_CANTOPEN:
        return open_fault(s, err);
    case SQLITE_NOMEM:
        return error_set(err, ERR_NOMEM, "out of memory while using %s", s->name);
    case SQLITE_TOOBIG:
        return error_set(err, ERR_TOO_LARGE, "a text is too large for %s (the limit is 1 GB)",
                         s->name);
    case SQLITE_CONSTRAINT:
        return error_set(err, ERR_REFUSED, "%s refuses a row: %s", s->name,
                         sqlite3_errmsg(s->db));
    case SQLITE_ERROR: /* a statement does not fit: someone has changed the schema */
        return error_set(err, ERR_IO,
                         "%s does not have the tables of a spoolwire file (%s): restore a "
                         "backup, or give another path",
                         s->name, sqlite3_errmsg(s->db));
    default:
        return error_set(err, ERR_IO, "%s: %s (SQLite code %d)", s->name, sqlite3_errmsg(s->db),
                         rc);
    }
}
