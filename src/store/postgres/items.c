/* Rows of items. */
#include "store/postgres/postgres.h"

static void start_at(struct postgres_params *p,
                     struct store *s,
                     enum postgres_statement id,
                     const struct item_row *row)
{
    params_init(p, s, id);
    params_text(p, row->owner);
    params_text(p, row->ns);
    params_text(p, row->key);
}

int postgres_item_put(struct store *s, const struct item_row *row, struct error *err)
{
    struct postgres_params p;

    start_at(&p, s, SQL_ITEM_PUT, row);
    params_text(&p, row->value);
    params_int(&p, row->created);
    params_int(&p, row->updated);
    params_int(&p, row->ttl_ms);
    params_int(&p, row->expires);
    return write_rows(&p, NULL, err);
}

int postgres_item_index(struct store *s, const struct item_row *row, struct error *err)
{
    struct postgres_params p;

    if (postgres_of(s)->version < SCHEMA_WITH_VECTORS)
        return 0; /* older gateways have not gone yet: it is found by words until it is put
                     again */
    start_at(&p, s, row->vectors.n > 0 ? SQL_ITEM_INDEX : SQL_ITEM_UNINDEX, row);
    if (row->vectors.n > 0)
        params_text(&p, row->vectors);
    return write_rows(&p, NULL, err);
}

int postgres_item_delete(struct store *s, const struct item_row *row, struct error *err)
{
    struct postgres_params p;

    start_at(&p, s, SQL_ITEM_DELETE, row);
    return write_rows(&p, NULL, err);
}

int postgres_item_touch(struct store *s,
                        const struct item_row *row,
                        int64_t now,
                        struct error *err)
{
    struct postgres_params p;

    start_at(&p, s, SQL_ITEM_TOUCH, row);
    params_int(&p, now);
    return write_rows(&p, NULL, err);
}

/* --- reading --------------------------------------------------------------------- */

struct item_row item_row_at(const PGresult *r, int i, struct str owner)
{
    return (struct item_row){ .owner = owner,
                              .ns = cell_text(r, i, 0),
                              .key = cell_text(r, i, 1),
                              .value = cell_text(r, i, 2),
                              .created = cell_int(r, i, 3),
                              .updated = cell_int(r, i, 4),
                              .ttl_ms = cell_int(r, i, 5),
                              .expires = cell_int(r, i, 6) };
}

static int give(struct postgres_params *p,
                struct str owner,
                store_item_cb cb,
                void *arg,
                struct error *err)
{
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    for (int i = 0; i < PQntuples(r); i++) {
        struct item_row row = item_row_at(r, i, owner);

        if (PQnfields(r) > 7)
            row.vectors = cell_text(r, i, 7);
        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

/* The same, without keeping all rows at a time: vectors are large. */
static int give_streamed(struct postgres_params *p,
                         struct str owner,
                         store_item_cb cb,
                         void *arg,
                         struct error *err)
{
    struct row_stream st;
    const PGresult *r;
    bool is_enough = false;
    int code = row_stream_begin(&st, p, err);

    if (code != 0)
        return code;
    while (!is_enough && (r = row_stream_next(&st)) != NULL) {
        struct item_row row = item_row_at(r, 0, owner);

        row.vectors = cell_text(r, 0, 7);
        is_enough = cb(arg, &row) != 0;
    }
    return row_stream_end(&st, err);
}

int postgres_item(struct store *s,
                  const struct item_row *row,
                  int64_t now,
                  store_item_cb cb,
                  void *arg,
                  struct error *err)
{
    struct postgres_params p;

    start_at(&p, s, SQL_ITEM, row);
    params_int(&p, now);
    return give(&p, row->owner, cb, arg, err);
}

static void start_below(struct postgres_params *p,
                        struct store *s,
                        enum postgres_statement id,
                        struct str owner,
                        struct str prefix,
                        int64_t now)
{
    params_init(p, s, id);
    params_text(p, owner);
    params_text(p, prefix.n > 0 ? prefix : STR(""));
    params_text(p, prefix.n > 0 ? prefix : STR_NONE);
    params_int(p, now);
}

int postgres_items(struct store *s,
                   struct str owner,
                   struct str prefix,
                   int64_t now,
                   store_item_cb cb,
                   void *arg,
                   struct error *err)
{
    struct postgres_params p;

    start_below(&p, s, SQL_ITEMS, owner, prefix, now);
    return give(&p, owner, cb, arg, err);
}

int postgres_items_indexed(struct store *s,
                           struct str owner,
                           struct str prefix,
                           int64_t now,
                           store_item_cb cb,
                           void *arg,
                           struct error *err)
{
    struct postgres_params p;

    if (postgres_of(s)->version < SCHEMA_WITH_VECTORS)
        return 0;
    start_below(&p, s, SQL_ITEMS_INDEXED, owner, prefix, now);
    return (postgres_of(s)->in_transaction ? give : give_streamed)(&p, owner, cb, arg, err);
}

int postgres_namespaces(struct store *s,
                        struct str owner,
                        int64_t now,
                        store_ns_cb cb,
                        void *arg,
                        struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_NAMESPACES);
    params_text(&p, owner);
    params_int(&p, now);
    int code = rows_get(&p, &r, err);
    for (int i = 0; i < PQntuples(r) && cb(arg, cell_text(r, i, 0)) == 0; i++)
        ;
    PQclear(r);
    return code;
}
