/* Rows of deliveries. */
#include "store/webhooks.h"
#include "store/sqlite/sqlite.h"

/* --- writing --------------------------------------------------------------------- */

int sqlite_webhook_insert(struct store *s, const struct webhook_row *row, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_WEBHOOK_INSERT);
    bind_text(&b, row->id);
    bind_int(&b, row->job);
    bind_text(&b, row->thread);
    bind_text(&b, row->owner);
    bind_text(&b, row->url);
    bind_text(&b, row->run);
    bind_int(&b, row->created);
    code = write_run(s, &b, &n, err);
    return code == 0 && n == 0 ? error_set(err, ERR_REFUSED, "the delivery exists") : code;
}

int sqlite_webhook_end(struct store *s, const struct webhook_end *end, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_WEBHOOK_END);
    bind_int(&b, end->job);
    bind_int(&b, end->thread);
    bind_text(&b, end->status);
    bind_text(&b, end->error);
    bind_int(&b, end->started);
    bind_int(&b, end->now);
    return write_run(s, &b, NULL, err);
}

int sqlite_webhook_move(struct store *s, const struct webhook_row *row, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_WEBHOOK_MOVE);
    bind_text(&b, row->id);
    bind_int(&b, row->version);
    bind_text(&b, row->state);
    bind_text(&b, row->reason);
    bind_int(&b, row->since);
    bind_int(&b, row->due);
    bind_int(&b, row->tried);
    bind_int(&b, row->attempts);
    bind_int(&b, row->code);
    bind_int(&b, row->expires);
    code = write_run(s, &b, &n, err);
    return code == 0 && n == 0 ? error_set(err, ERR_CONFLICT, "the delivery has changed")
                               : code;
}

int sqlite_webhook_forget(struct store *s, int64_t job, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_WEBHOOK_FORGET);
    bind_int(&b, job);
    return write_run(s, &b, NULL, err);
}

int webhooks_expire(struct store *s,
                    int64_t now,
                    size_t limit,
                    size_t *ret_n,
                    struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_WEBHOOKS_EXPIRE);
    bind_int(&b, now);
    bind_int(&b, (int64_t)limit);
    return write_run(s, &b, ret_n, err);
}

/* --- reading --------------------------------------------------------------------- */

static struct webhook_row row_of(sqlite3_stmt *stmt)
{
    return (struct webhook_row){ .id = column_text(stmt, 0),
                                 .job = sqlite3_column_int64(stmt, 1),
                                 .thread = column_text(stmt, 2),
                                 .owner = column_text(stmt, 3),
                                 .url = column_text(stmt, 4),
                                 .run = column_text(stmt, 5),
                                 .status = column_text(stmt, 6),
                                 .error = column_text(stmt, 7),
                                 .values = column_text(stmt, 8),
                                 .state = column_text(stmt, 9),
                                 .reason = column_text(stmt, 10),
                                 .created = sqlite3_column_int64(stmt, 11),
                                 .started = sqlite3_column_int64(stmt, 12),
                                 .ended = sqlite3_column_int64(stmt, 13),
                                 .since = sqlite3_column_int64(stmt, 14),
                                 .due = sqlite3_column_int64(stmt, 15),
                                 .tried = sqlite3_column_int64(stmt, 16),
                                 .attempts = sqlite3_column_int64(stmt, 17),
                                 .code = sqlite3_column_int64(stmt, 18),
                                 .version = sqlite3_column_int64(stmt, 19),
                                 .expires = sqlite3_column_int64(stmt, 20),
                                 .n = sqlite3_column_int64(stmt, 21) };
}

static int each(struct store *s,
                struct binder *b,
                store_webhook_cb cb,
                void *arg,
                struct error *err)
{
    int rc = b->rc;

    while (rc == SQLITE_OK && (rc = sqlite3_step(b->stmt)) == SQLITE_ROW) {
        struct webhook_row row = row_of(b->stmt);

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    return code;
}

int sqlite_webhook(struct store *s,
                   struct str id,
                   store_webhook_cb cb,
                   void *arg,
                   struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_WEBHOOK);

    bind_text(&b, id);
    return each(s, &b, cb, arg, err);
}

int sqlite_webhooks(struct store *s,
                    struct str state,
                    int64_t n,
                    struct str id,
                    size_t limit,
                    store_webhook_cb cb,
                    void *arg,
                    struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_WEBHOOKS);

    bind_text(&b, state);
    bind_int(&b, n);
    bind_text(&b, str_absent(id) ? STR("") : id);
    bind_int(&b, (int64_t)limit);
    return each(s, &b, cb, arg, err);
}

int sqlite_webhooks_due(struct store *s,
                        int64_t now,
                        size_t limit,
                        store_webhook_cb cb,
                        void *arg,
                        struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_WEBHOOKS_DUE);

    bind_int(&b, now);
    bind_int(&b, (int64_t)limit);
    return each(s, &b, cb, arg, err);
}

int sqlite_webhooks_count(struct store *s, struct webhook_counts *ret, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_WEBHOOKS_COUNT);
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;

    if (rc == SQLITE_ROW)
        *ret = (struct webhook_counts){ sqlite3_column_int64(b.stmt, 0),
                                        sqlite3_column_int64(b.stmt, 1),
                                        sqlite3_column_int64(b.stmt, 2),
                                        sqlite3_column_int64(b.stmt, 3) };
    int code = rc == SQLITE_ROW ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}
