/* Extends the WAL file ahead of the commits.
 *
 * A commit that makes the file larger forces the file system to store the new size too, which
 * takes several times as long as syncing the bytes alone.  So the WAL is extended in advance,
 * with zeros after its end, which SQLite does not take for frames: most commits then overwrite
 * existing bytes, as in any WAL that was restarted.
 *
 * All of this is best effort.  It is skipped when little disk space is left, or when commits
 * are not synced. */
#include "store/sqlite/sqlite.h"

#include <stdlib.h>

enum {
    FRAME_BYTES = 24 + 4096,
    STEP_BYTES = 512 * 1024,
    AHEAD_BYTES = 128 * 1024, /* extend the file when less than this is left */
    PIECE_BYTES = 64 * 1024,
};

#define LEAST_FREE ((uint64_t)256 * 1024 * 1024)

static sqlite3_file *wal_of(const struct sqlite_store *s)
{
    sqlite3_file *wal = NULL;
    int rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);

    return rc == SQLITE_OK && wal != NULL && wal->pMethods != NULL ? wal : NULL;
}

static bool has_space(struct sqlite_store *s)
{
    struct store_disk disk;
    struct error err;

    return sqlite_disk(&s->base, &disk, &err) == 0 && disk.free >= LEAST_FREE;
}

static void put_zeros(sqlite3_file *wal, sqlite3_int64 from)
{
    char *zeros = calloc(1, PIECE_BYTES);
    int rc = zeros != NULL ? SQLITE_OK : SQLITE_NOMEM;

    for (int i = 0; i < STEP_BYTES / PIECE_BYTES && rc == SQLITE_OK; i++)
        rc = wal->pMethods->xWrite(wal, zeros, PIECE_BYTES, from + i * PIECE_BYTES);
    free(zeros);
}

void wal_make_room(struct sqlite_store *s)
{
    sqlite3_int64 used = (sqlite3_int64)s->wal_frames * FRAME_BYTES;
    sqlite3_int64 size = 0;

    if (s->relaxed || used + AHEAD_BYTES < s->wal_room)
        return;
    s->wal_room = used + STEP_BYTES; /* do not try again before that, even after an error */
    sqlite3_file *wal = wal_of(s);
    if (wal == NULL || wal->pMethods->xFileSize(wal, &size) != SQLITE_OK)
        return;
    if (size < used + AHEAD_BYTES + STEP_BYTES / 2 && has_space(s)) {
        put_zeros(wal, size);
        size += STEP_BYTES;
    }
    if (size > s->wal_room)
        s->wal_room = size;
}
