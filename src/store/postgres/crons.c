/* Rows of crons. */
#include "store/postgres/postgres.h"

int postgres_cron_insert(struct store *s, const struct cron_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_CRON_INSERT);
    params_text(&p, row->id);
    params_text(&p, row->owner);
    params_text(&p, row->assistant);
    params_text(&p, row->thread);
    params_text(&p, row->schedule);
    params_text(&p, row->timezone);
    params_text(&p, row->on_completed);
    params_text(&p, row->payload);
    params_text(&p, row->metadata);
    params_int(&p, row->end_time);
    params_int(&p, row->next);
    params_int(&p, row->enabled);
    params_int(&p, row->max_jobs);
    params_int(&p, row->max_queued);
    params_int(&p, row->max_running);
    params_int(&p, row->created);
    params_int(&p, row->updated);
    params_int(&p, row->moved);
    int code = write_row(&p, err);
    return code == ERR_NOT_FOUND ? error_set(err, ERR_REFUSED, "the cron exists") : code;
}

int postgres_cron_update(struct store *s, const struct cron_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_CRON_UPDATE);
    params_text(&p, row->id);
    params_text(&p, row->schedule);
    params_text(&p, row->timezone);
    params_text(&p, row->on_completed);
    params_text(&p, row->payload);
    params_text(&p, row->metadata);
    params_int(&p, row->end_time);
    params_int(&p, row->next);
    params_int(&p, row->enabled);
    params_int(&p, row->updated);
    if (postgres_of(s)->gathering) /* it may have been deleted in another shard */
        return write_rows(&p, NULL, err);
    return not_found(write_row(&p, err), "cron", err);
}

int postgres_cron_tick(struct store *s,
                       struct str id,
                       int64_t due,
                       int64_t next,
                       int64_t now,
                       struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_CRON_TICK);
    params_text(&p, id);
    params_int(&p, due);
    params_int(&p, next);
    params_int(&p, now);
    return write_rows(&p, NULL, err);
}

int postgres_cron_delete(struct store *s, struct str id, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_CRON_DELETE);
    params_text(&p, id);
    return write_rows(&p, NULL, err);
}

/* An older schema has no crons. */
int postgres_crons_forget(struct store *s,
                          struct str thread,
                          struct str assistant,
                          struct error *err)
{
    struct postgres_params p;

    if (postgres_of(s)->version < SCHEMA_WITH_CRONS)
        return 0;
    params_init(&p, s, SQL_CRONS_FORGET);
    params_text(&p, thread);
    params_text(&p, assistant);
    return write_rows(&p, NULL, err);
}

/* --- reading --------------------------------------------------------------------- */

struct cron_row cron_row_at(const PGresult *r, int i)
{
    return (struct cron_row){ .id = cell_text(r, i, 0),
                              .owner = cell_text(r, i, 1),
                              .assistant = cell_text(r, i, 2),
                              .thread = cell_text(r, i, 3),
                              .schedule = cell_text(r, i, 4),
                              .timezone = cell_text(r, i, 5),
                              .on_completed = cell_text(r, i, 6),
                              .payload = cell_text(r, i, 7),
                              .metadata = cell_text(r, i, 8),
                              .end_time = cell_int(r, i, 9),
                              .next = cell_int(r, i, 10),
                              .enabled = cell_int(r, i, 11),
                              .max_jobs = cell_int(r, i, 12),
                              .max_queued = cell_int(r, i, 13),
                              .max_running = cell_int(r, i, 14),
                              .created = cell_int(r, i, 15),
                              .updated = cell_int(r, i, 16),
                              .moved = cell_int(r, i, 17) };
}

static int give(struct postgres_params *p, store_cron_cb cb, void *arg, struct error *err)
{
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    for (int i = 0; i < PQntuples(r); i++) {
        struct cron_row row = cron_row_at(r, i);

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_cron(struct store *s,
                  struct str id,
                  store_cron_cb cb,
                  void *arg,
                  struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_CRON);
    params_text(&p, id);
    return give(&p, cb, arg, err);
}

int postgres_crons(struct store *s, store_cron_cb cb, void *arg, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_CRONS);
    return give(&p, cb, arg, err);
}

int postgres_crons_due(struct store *s,
                       int64_t now,
                       size_t limit,
                       store_cron_cb cb,
                       void *arg,
                       struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_CRONS_DUE);
    params_int(&p, now);
    params_int(&p, (int64_t)limit);
    return give(&p, cb, arg, err);
}
