/* Rows of items. */
#include "store/items.h"
#include "store/sqlite/sqlite.h"

static void bind_place(struct binder *b, const struct item_row *row)
{
    bind_text(b, row->owner);
    bind_text(b, row->ns);
    bind_text(b, row->key);
}

/* --- writing --------------------------------------------------------------------- */

int sqlite_item_put(struct store *s, const struct item_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_ITEM_PUT);
    bind_place(&b, row);
    bind_text(&b, row->value);
    bind_int(&b, row->created);
    bind_int(&b, row->updated);
    bind_int(&b, row->ttl_ms);
    bind_int(&b, row->expires);
    return write_run(s, &b, NULL, err);
}

int sqlite_item_index(struct store *s, const struct item_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    bool has_some = row->vectors.n > 0;
    struct binder b =
        statement_bind(s, has_some ? STATEMENT_ITEM_INDEX : STATEMENT_ITEM_UNINDEX);
    bind_place(&b, row);
    if (has_some)
        bind_blob(&b, row->vectors);
    return write_run(s, &b, NULL, err);
}

int sqlite_item_delete(struct store *s, const struct item_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_ITEM_DELETE);
    bind_place(&b, row);
    return write_run(s, &b, NULL, err);
}

int sqlite_item_touch(struct store *s,
                      const struct item_row *row,
                      int64_t now,
                      struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_ITEM_TOUCH);
    bind_int(&b, now);
    bind_place(&b, row);
    bind_int(&b, now);
    return write_run(s, &b, NULL, err);
}

int items_expire(struct store *s, int64_t now, size_t limit, size_t *ret_n, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_ITEMS_EXPIRE);
    bind_int(&b, now);
    bind_int(&b, (int64_t)limit);
    return write_run(s, &b, ret_n, err);
}

/* --- reading --------------------------------------------------------------------- */

static int each(struct store *s,
                struct binder *b,
                struct str owner,
                bool has_vectors,
                store_item_cb cb,
                void *arg,
                struct error *err)
{
    int rc = b->rc;

    while (rc == SQLITE_OK && (rc = sqlite3_step(b->stmt)) == SQLITE_ROW) {
        struct item_row row = { .owner = owner,
                                .ns = column_text(b->stmt, 0),
                                .key = column_text(b->stmt, 1),
                                .value = column_text(b->stmt, 2),
                                .created = sqlite3_column_int64(b->stmt, 3),
                                .updated = sqlite3_column_int64(b->stmt, 4),
                                .ttl_ms = sqlite3_column_int64(b->stmt, 5),
                                .expires = sqlite3_column_int64(b->stmt, 6) };

        if (has_vectors)
            row.vectors = column_blob(b->stmt, 7);
        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    return code;
}

int sqlite_item(struct store *s,
                const struct item_row *row,
                int64_t now,
                store_item_cb cb,
                void *arg,
                struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_ITEM);

    bind_place(&b, row);
    bind_int(&b, now);
    return each(s, &b, row->owner, false, cb, arg, err);
}

static struct binder bind_below(struct store *s,
                                enum statement id,
                                struct str owner,
                                struct str prefix,
                                int64_t now)
{
    struct binder b = statement_bind(s, id);

    bind_text(&b, owner);
    bind_text(&b, prefix);
    bind_text(&b, prefix.n > 0 ? prefix : STR_NONE);
    bind_int(&b, now);
    return b;
}

int sqlite_items(struct store *s,
                 struct str owner,
                 struct str prefix,
                 int64_t now,
                 store_item_cb cb,
                 void *arg,
                 struct error *err)
{
    struct binder b = bind_below(s, STATEMENT_ITEMS, owner, prefix, now);

    return each(s, &b, owner, false, cb, arg, err);
}

int sqlite_items_indexed(struct store *s,
                         struct str owner,
                         struct str prefix,
                         int64_t now,
                         store_item_cb cb,
                         void *arg,
                         struct error *err)
{
    struct binder b = bind_below(s, STATEMENT_ITEMS_INDEXED, owner, prefix, now);

    return each(s, &b, owner, true, cb, arg, err);
}

int sqlite_namespaces(struct store *s,
                      struct str owner,
                      int64_t now,
                      store_ns_cb cb,
                      void *arg,
                      struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_NAMESPACES);

    bind_text(&b, owner);
    bind_int(&b, now);
    int rc = b.rc;
    while (rc == SQLITE_OK && (rc = sqlite3_step(b.stmt)) == SQLITE_ROW)
        rc = cb(arg, column_text(b.stmt, 0)) == 0 ? SQLITE_OK : SQLITE_DONE;
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}
