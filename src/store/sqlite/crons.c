/* Rows of crons. */
#include "store/crons.h"
#include "store/sqlite/sqlite.h"

/* --- writing --------------------------------------------------------------------- */

int sqlite_cron_insert(struct store *s, const struct cron_row *row, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CRON_INSERT);
    bind_text(&b, row->id);
    bind_text(&b, row->owner);
    bind_text(&b, row->assistant);
    bind_text(&b, row->thread);
    bind_text(&b, row->schedule);
    bind_text(&b, row->timezone);
    bind_text(&b, row->on_completed);
    bind_text(&b, row->payload);
    bind_text(&b, row->metadata);
    bind_int(&b, row->end_time);
    bind_int(&b, row->next);
    bind_int(&b, row->enabled);
    bind_int(&b, row->max_jobs);
    bind_int(&b, row->max_queued);
    bind_int(&b, row->max_running);
    bind_int(&b, row->created);
    bind_int(&b, row->updated);
    bind_int(&b, row->moved);
    code = write_run(s, &b, &n, err);
    return code == 0 && n == 0 ? error_set(err, ERR_REFUSED, "the cron exists") : code;
}

int sqlite_cron_update(struct store *s, const struct cron_row *row, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CRON_UPDATE);
    bind_text(&b, row->id);
    bind_text(&b, row->schedule);
    bind_text(&b, row->timezone);
    bind_text(&b, row->on_completed);
    bind_text(&b, row->payload);
    bind_text(&b, row->metadata);
    bind_int(&b, row->end_time);
    bind_int(&b, row->next);
    bind_int(&b, row->enabled);
    bind_int(&b, row->updated);
    code = write_run(s, &b, &n, err);
    return code == 0 && n == 0 ? error_set(err, ERR_NOT_FOUND, "there is no such cron") : code;
}

int sqlite_cron_tick(struct store *s,
                     struct str id,
                     int64_t due,
                     int64_t next,
                     int64_t now,
                     struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CRON_TICK);
    bind_text(&b, id);
    bind_int(&b, due);
    bind_int(&b, next);
    bind_int(&b, now);
    code = write_run(s, &b, &n, err);
    return code == 0 && n == 0 ? error_set(err, ERR_CONFLICT, "the tick was taken") : code;
}

int sqlite_cron_delete(struct store *s, struct str id, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CRON_DELETE);
    bind_text(&b, id);
    return write_run(s, &b, NULL, err);
}

int sqlite_crons_forget(struct store *s,
                        struct str thread,
                        struct str assistant,
                        struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CRONS_FORGET);
    bind_text(&b, thread);
    bind_text(&b, assistant);
    return write_run(s, &b, NULL, err);
}

/* --- reading --------------------------------------------------------------------- */

static struct cron_row row_of(sqlite3_stmt *stmt)
{
    return (struct cron_row){ .id = column_text(stmt, 0),
                              .owner = column_text(stmt, 1),
                              .assistant = column_text(stmt, 2),
                              .thread = column_text(stmt, 3),
                              .schedule = column_text(stmt, 4),
                              .timezone = column_text(stmt, 5),
                              .on_completed = column_text(stmt, 6),
                              .payload = column_text(stmt, 7),
                              .metadata = column_text(stmt, 8),
                              .end_time = sqlite3_column_int64(stmt, 9),
                              .next = sqlite3_column_int64(stmt, 10),
                              .enabled = sqlite3_column_int64(stmt, 11),
                              .max_jobs = sqlite3_column_int64(stmt, 12),
                              .max_queued = sqlite3_column_int64(stmt, 13),
                              .max_running = sqlite3_column_int64(stmt, 14),
                              .created = sqlite3_column_int64(stmt, 15),
                              .updated = sqlite3_column_int64(stmt, 16),
                              .moved = sqlite3_column_int64(stmt, 17) };
}

static int each(struct store *s,
                struct binder *b,
                store_cron_cb cb,
                void *arg,
                struct error *err)
{
    int rc = b->rc;

    while (rc == SQLITE_OK && (rc = sqlite3_step(b->stmt)) == SQLITE_ROW) {
        struct cron_row row = row_of(b->stmt);

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    return code;
}

int sqlite_cron(struct store *s, struct str id, store_cron_cb cb, void *arg, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_CRON);

    bind_text(&b, id);
    return each(s, &b, cb, arg, err);
}

int sqlite_crons(struct store *s, store_cron_cb cb, void *arg, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_CRONS);

    return each(s, &b, cb, arg, err);
}

int sqlite_crons_due(struct store *s,
                     int64_t now,
                     size_t limit,
                     store_cron_cb cb,
                     void *arg,
                     struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_CRONS_DUE);

    bind_int(&b, now);
    bind_int(&b, (int64_t)limit);
    return each(s, &b, cb, arg, err);
}
