/* Rows of deliveries.  An older schema has none; a session that reads does not notice that
 * there was a migration, so it tries. */
#include "store/postgres/postgres.h"

static bool has_webhooks(struct store *s)
{
    const struct postgres_store *p = postgres_of(s);

    return p->role == STORE_READER || p->version >= SCHEMA_WITH_WEBHOOKS;
}

int postgres_webhook_insert(struct store *s, const struct webhook_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_WEBHOOK_INSERT);
    params_text(&p, row->id);
    params_int(&p, row->job);
    params_text(&p, row->thread);
    params_text(&p, row->owner);
    params_text(&p, row->url);
    params_text(&p, row->run);
    params_int(&p, row->created);
    int code = write_row(&p, err);
    return code == ERR_NOT_FOUND ? error_set(err, ERR_REFUSED, "the delivery exists") : code;
}

int postgres_webhook_end(struct store *s, const struct webhook_end *end, struct error *err)
{
    struct postgres_params p;

    if (!has_webhooks(s))
        return 0;
    params_init(&p, s, SQL_WEBHOOK_END);
    params_int(&p, end->job);
    params_int(&p, end->thread);
    params_text(&p, end->status);
    params_text(&p, end->error);
    params_int(&p, end->started);
    params_int(&p, end->now);
    return write_rows(&p, NULL, err);
}

int postgres_webhook_move(struct store *s, const struct webhook_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_WEBHOOK_MOVE);
    params_text(&p, row->id);
    params_int(&p, row->version);
    params_text(&p, row->state);
    params_text(&p, row->reason);
    params_int(&p, row->since);
    params_int(&p, row->due);
    params_int(&p, row->tried);
    params_int(&p, row->attempts);
    params_int(&p, row->code);
    params_int(&p, row->expires);
    return write_rows(&p, NULL, err);
}

int postgres_webhook_forget(struct store *s, int64_t job, struct error *err)
{
    struct postgres_params p;

    if (!has_webhooks(s))
        return 0;
    params_init(&p, s, SQL_WEBHOOK_FORGET);
    params_int(&p, job);
    return write_rows(&p, NULL, err);
}

int postgres_webhooks_expire(struct store *s,
                             int64_t now,
                             size_t limit,
                             size_t *ret_n,
                             struct error *err)
{
    struct postgres_params p;

    if (!has_webhooks(s))
        return 0;
    params_init(&p, s, SQL_WEBHOOKS_EXPIRE);
    params_int(&p, now);
    params_int(&p, (int64_t)limit);
    return write_rows(&p, ret_n, err);
}

/* --- reading --------------------------------------------------------------------- */

struct webhook_row webhook_row_at(const PGresult *r, int i)
{
    return (struct webhook_row){ .id = cell_text(r, i, 0),
                                 .job = cell_int(r, i, 1),
                                 .thread = cell_text(r, i, 2),
                                 .owner = cell_text(r, i, 3),
                                 .url = cell_text(r, i, 4),
                                 .run = cell_text(r, i, 5),
                                 .status = cell_text(r, i, 6),
                                 .error = cell_text(r, i, 7),
                                 .values = cell_text(r, i, 8),
                                 .state = cell_text(r, i, 9),
                                 .reason = cell_text(r, i, 10),
                                 .created = cell_int(r, i, 11),
                                 .started = cell_int(r, i, 12),
                                 .ended = cell_int(r, i, 13),
                                 .since = cell_int(r, i, 14),
                                 .due = cell_int(r, i, 15),
                                 .tried = cell_int(r, i, 16),
                                 .attempts = cell_int(r, i, 17),
                                 .code = cell_int(r, i, 18),
                                 .version = cell_int(r, i, 19),
                                 .expires = cell_int(r, i, 20),
                                 .n = cell_int(r, i, 21) };
}

static int give(struct postgres_params *p, store_webhook_cb cb, void *arg, struct error *err)
{
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    for (int i = 0; i < PQntuples(r); i++) {
        struct webhook_row row = webhook_row_at(r, i);

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_webhook(struct store *s,
                     struct str id,
                     store_webhook_cb cb,
                     void *arg,
                     struct error *err)
{
    struct postgres_params p;

    if (!has_webhooks(s))
        return 0;
    params_init(&p, s, SQL_WEBHOOK);
    params_text(&p, id);
    return give(&p, cb, arg, err);
}

int postgres_webhooks(struct store *s,
                      struct str state,
                      int64_t n,
                      struct str id,
                      size_t limit,
                      store_webhook_cb cb,
                      void *arg,
                      struct error *err)
{
    struct postgres_params p;

    if (!has_webhooks(s))
        return 0;
    params_init(&p, s, SQL_WEBHOOKS);
    params_text(&p, state);
    params_int(&p, n);
    params_text(&p, str_absent(id) ? STR("") : id);
    params_int(&p, (int64_t)limit);
    return give(&p, cb, arg, err);
}

int postgres_webhooks_due(struct store *s,
                          int64_t now,
                          size_t limit,
                          store_webhook_cb cb,
                          void *arg,
                          struct error *err)
{
    struct postgres_params p;

    if (!has_webhooks(s))
        return 0;
    params_init(&p, s, SQL_WEBHOOKS_DUE);
    params_int(&p, now);
    params_int(&p, (int64_t)limit);
    return give(&p, cb, arg, err);
}

int postgres_webhooks_count(struct store *s, struct webhook_counts *ret, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;
    int code = 0;

    *ret = (struct webhook_counts){ 0 };
    if (!has_webhooks(s))
        return 0;
    params_init(&p, s, SQL_WEBHOOKS_COUNT);
    code = rows_get(&p, &r, err);
    if (code == 0 && PQntuples(r) == 1)
        *ret = (struct webhook_counts){ cell_int(r, 0, 0), cell_int(r, 0, 1), cell_int(r, 0, 2),
                                        cell_int(r, 0, 3) };
    PQclear(r);
    return code;
}
