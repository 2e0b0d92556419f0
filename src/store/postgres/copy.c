/* Rows of any table, for store/copy.h: read through a cursor, written in the pipeline.
 *
 * Some columns exist only in PostgreSQL: whether a job is unpublished is derived from
 * `published`, and the run of a checkpoint from its metadata.  Booleans are numbers in other
 * backends. */
#include "store/copy.h"
#include "store/postgres/postgres.h"

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

enum { SQL_BYTES = 4096, ROWS_AT_ONCE = 200 };

static bool is_table(const struct store_table *table, const char *name)
{
    return strcmp(table->name, name) == 0;
}

/* --- reading ---------------------------------------------------------------------- */

static void put_select(struct buf *sql, const struct store_table *table)
{
    const char *rest = table->columns;
    struct str name;
    enum cell_type type;

    buf_lit(sql, "DECLARE copied BINARY NO SCROLL CURSOR FOR SELECT ");
    for (bool first = true; store_column_next(&rest, &name, &type); first = false) {
        if (!first)
            buf_char(sql, ',');
        buf_str(sql, name);
        if (str_is(name, "counts"))
            buf_lit(sql, "::int");
    }
    buf_lit(sql, " FROM ");
    buf_str(sql, is_table(table, "records") ? STR(SQL_ALL_RECORDS) : str_of(table->name));
    if (table->in_order)
        buf_lit(sql, " ORDER BY n");
    buf_char(sql, '\0');
}

static size_t read_cells(const PGresult *r,
                         int i,
                         const char *columns,
                         struct store_cell *cells)
{
    struct str name;
    enum cell_type type;
    int n = 0;

    for (; store_column_next(&columns, &name, &type); n++)
        cells[n] = (struct store_cell){
            .is_null = PQgetisnull(r, i, n) != 0,
            .number = type == CELL_INT ? cell_int(r, i, n) : 0,
            .bytes = type == CELL_INT ? STR_NONE : cell_text(r, i, n),
        };
    return (size_t)n;
}

/* One page of the cursor; *@ret_more is false after the last row and when @cb has stopped. */
static int give_page(struct postgres_store *s,
                     const struct store_table *table,
                     store_row_cb cb,
                     void *arg,
                     bool *ret_more,
                     struct error *err)
{
    struct store_cell cells[STORE_MAX_CELLS];
    PGresult *r = NULL;
    int code = run_text(s, "FETCH 200 FROM copied", &r, err);

    *ret_more = code == 0 && PQntuples(r) == ROWS_AT_ONCE;
    for (int i = 0; code == 0 && i < PQntuples(r); i++)
        if (cb(arg, cells, read_cells(r, i, table->columns, cells)) != 0) {
            *ret_more = false;
            break;
        }
    PQclear(r);
    return code;
}

int postgres_dump(struct store *store,
                  const struct store_table *table,
                  store_row_cb cb,
                  void *arg,
                  struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    struct buf sql LOCAL_BUF(SQL_BYTES);
    bool more = true, is_inside = s->in_transaction;
    int code = is_inside ? 0 : postgres_begin(store, err);

    if (code != 0)
        return code;
    put_select(&sql, table);
    code = sql.error == 0 ? run_text(s, sql.p, NULL, err)
                          : error_set(err, ERR_NOMEM, "out of memory");
    while (code == 0 && more)
        code = give_page(s, table, cb, arg, &more, err);
    if (!is_inside)
        postgres_rollback(store);
    else if (code == 0)
        code = run_text(s, "CLOSE copied", NULL, err);
    return code;
}

/* --- writing ---------------------------------------------------------------------- */

static void put_insert(struct buf *sql, const struct store_table *table)
{
    const char *rest = table->columns;
    bool is_jobs = is_table(table, "jobs");
    struct str name;
    enum cell_type type;
    uint64_t n = 0, published = 0;

    buf_lit(sql, "INSERT INTO ");
    buf_str(sql, str_of(table->name));
    buf_char(sql, '(');
    while (store_column_next(&rest, &name, &type)) {
        if (n++ > 0)
            buf_char(sql, ',');
        buf_str(sql, name);
        published = str_is(name, "published") ? n : published;
    }
    buf_str(sql, is_jobs ? STR(",unpublished) VALUES(") : STR(") VALUES("));
    rest = table->columns;
    for (uint64_t i = 1; store_column_next(&rest, &name, &type); i++) {
        buf_str(sql, i > 1 ? STR(",$") : STR("$"));
        buf_u64(sql, i);
        buf_str(sql, str_is(name, "counts") ? STR("::int8 <> 0")
                     : type == CELL_INT     ? STR("::int8")
                                            : STR("::bytea"));
    }
    if (is_jobs) {
        buf_lit(sql, ",$");
        buf_u64(sql, published);
        buf_lit(sql, "::int8 >= 0");
    }
    buf_char(sql, ')');
    buf_char(sql, '\0');
}

static int prepare_load(struct postgres_store *s,
                        const struct store_table *table,
                        struct error *err)
{
    struct buf sql LOCAL_BUF(SQL_BYTES);

    if (s->loading == table)
        return 0;
    put_insert(&sql, table);
    int code = sql.error == 0 ? prepare_text(s, table->name, sql.p, err)
                              : error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        s->loading = table;
    return code;
}

/* Uses the regular function for checkpoints, which derives the run. */
static int load_checkpoint(struct store *s, const struct store_cell *c, struct error *err)
{
    return postgres_checkpoint_put(
        s,
        &(struct checkpoint_row){ .thread = c[0].bytes,
                                  .ns = c[1].bytes,
                                  .id = c[2].bytes,
                                  .parent = c[3].bytes,
                                  .value = { .type = c[4].bytes, .data = c[5].bytes },
                                  .metadata = c[6].bytes,
                                  .versions = c[7].bytes },
        err);
}

int postgres_load(struct store *store,
                  const struct store_table *table,
                  const struct store_cell *cells,
                  size_t n,
                  struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    const char *rest = table->columns;
    struct postgres_params p;
    struct str name;
    enum cell_type type;

    if (is_table(table, "checkpoints"))
        return load_checkpoint(store, cells, err);
    int code = prepare_load(s, table, err);
    if (code == 0 && is_table(table, "records"))
        code = partitions_reach(s, cells[0].number, err);
    params_init(&p, store, SQL_STATEMENT_MAX);
    for (size_t i = 0; i < n && store_column_next(&rest, &name, &type); i++)
        if (type == CELL_INT && !cells[i].is_null)
            params_int(&p, cells[i].number);
        else if (cells[i].is_null)
            params_text(&p, STR_NONE);
        else
            params_text(&p, cells[i].bytes.p != NULL ? cells[i].bytes : STR(""));
    if (code == 0)
        code = send_named(&p, table->name, err);
    return code == 0 && s->n_unread >= ROWS_AT_ONCE ? settle(s, NULL, err) : code;
}

/* --- keys ------------------------------------------------------------------------- */

static const char *const sequences
    [STORE_KEYS_MAX] = { [STORE_JOB_KEYS] = "job_keys", [STORE_THREAD_KEYS] = "thread_keys" };

/* A value of the sequence is the first key of a block. */
int postgres_last_key(struct store *store,
                      enum store_keys kind,
                      int64_t *ret,
                      struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    char sql[160];
    PGresult *r = NULL;
    int code = connection_ready(s, err);

    (void)snprintf(
        sql, sizeof(sql),
        "SELECT CASE WHEN is_called THEN last_value + %d ELSE last_value - 1 END FROM %s",
        POSTGRES_KEY_BLOCK - 1, sequences[kind]);
    if (code == 0)
        code = run_text(s, sql, &r, err);
    if (code == 0)
        *ret = cell_int(r, 0, 0);
    PQclear(r);
    return code;
}

/* Ids that were copied did not come from the sequence. */
static int skip_large(struct postgres_store *s, struct error *err)
{
    return run_text(s,
                    "SELECT setval('large_values_id_seq', max(id)) FROM large_values "
                    "HAVING max(id) > 0",
                    NULL, err);
}

/* The last step of a copy. */
int postgres_skip_keys(struct store *store,
                       enum store_keys kind,
                       int64_t last,
                       struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    char sql[160];
    int64_t now = 0;
    int code = kind == STORE_JOB_KEYS ? partitions_keep_endings(s, err) : 0;

    if (code == 0 && kind == STORE_JOB_KEYS)
        code = skip_large(s, err);
    if (code == 0)
        code = postgres_last_key(store, kind, &now, err);

    if (code != 0 || last <= now)
        return code;
    (void)snprintf(sql, sizeof(sql), "SELECT setval('%s', %lld)", sequences[kind],
                   (long long)last);
    return run_text(s, sql, NULL, err);
}
