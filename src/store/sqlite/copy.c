/* Rows of any table, for store/copy.h.  A row of records has its job and its last seq in one
 * id. */
#include "store/copy.h"
#include "store/sqlite/sqlite.h"

#include "base/buf.h"

enum { SQL_BYTES = 2048 };

static bool is_records(const struct store_table *table)
{
    return strcmp(table->name, "records") == 0;
}

static void put_columns(struct buf *sql, const struct store_table *table, bool marks)
{
    const char *rest = table->columns;
    struct str name;
    enum cell_type type;

    for (bool first = true; store_column_next(&rest, &name, &type); first = false) {
        if (!first)
            buf_char(sql, ',');
        buf_str(sql, marks ? STR("?") : name);
    }
}

static int prepare(struct sqlite_store *s,
                   const struct buf *sql,
                   sqlite3_stmt **ret,
                   struct error *err)
{
    int rc = sql->error != 0 ? SQLITE_NOMEM
                             : sqlite3_prepare_v2(s->db, sql->p, (int)sql->n, ret, NULL);

    return rc == SQLITE_OK ? 0 : fault(&s->base, rc, err);
}

static size_t read_cells(sqlite3_stmt *stmt, const char *columns, struct store_cell *cells)
{
    struct str name;
    enum cell_type type;
    int n = 0;

    for (; store_column_next(&columns, &name, &type); n++)
        cells[n] = (struct store_cell){
            .is_null = sqlite3_column_type(stmt, n) == SQLITE_NULL,
            .number = type == CELL_INT ? sqlite3_column_int64(stmt, n) : 0,
            .bytes = type == CELL_INT    ? STR_NONE
                     : type == CELL_BLOB ? column_blob(stmt, n)
                                         : column_text(stmt, n),
        };
    return (size_t)n;
}

int sqlite_dump(struct store *store,
                const struct store_table *table,
                store_row_cb cb,
                void *arg,
                struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    struct store_cell cells[STORE_MAX_CELLS];
    sqlite3_stmt *stmt = NULL;
    struct buf sql LOCAL_BUF(SQL_BYTES);
    int rc = SQLITE_ROW;

    buf_lit(&sql, "SELECT ");
    if (is_records(table))
        buf_lit(&sql, "id >> 30, id & 1073741823, batch, stored");
    else
        put_columns(&sql, table, false);
    buf_lit(&sql, " FROM ");
    buf_str(&sql, str_of(table->name));
    if (table->in_order)
        buf_lit(&sql, " ORDER BY rowid");
    int code = prepare(s, &sql, &stmt, err);
    while (code == 0 && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        if (cb(arg, cells, read_cells(stmt, table->columns, cells)) != 0)
            break;
    if (code == 0 && rc != SQLITE_ROW && rc != SQLITE_DONE)
        code = fault(store, rc, err); /* before finalize */
    (void)sqlite3_finalize(stmt);     /* repeats the error */
    return code;
}

/* Prepares the insert into @table, and keeps it for the next row. */
static int prepare_load(struct sqlite_store *s,
                        const struct store_table *table,
                        struct error *err)
{
    struct buf sql LOCAL_BUF(SQL_BYTES);

    if (s->loading.table == table)
        return 0;
    copy_release(s);
    if (is_records(table)) {
        buf_lit(&sql, "INSERT INTO records(id, batch, stored) VALUES(?1 << 30 | ?2, ?3, ?4)");
    } else {
        buf_lit(&sql, "INSERT INTO ");
        buf_str(&sql, str_of(table->name));
        buf_char(&sql, '(');
        put_columns(&sql, table, false);
        buf_lit(&sql, ") VALUES(");
        put_columns(&sql, table, true);
        buf_char(&sql, ')');
    }
    int code = prepare(s, &sql, &s->loading.insert, err);
    if (code == 0)
        s->loading.table = table;
    return code;
}

void copy_release(struct sqlite_store *s)
{
    (void)sqlite3_finalize(s->loading.insert); /* repeats an error that was reported */
    s->loading.insert = NULL;
    s->loading.table = NULL;
}

static int bind_cells(sqlite3_stmt *stmt, const char *columns, const struct store_cell *cells)
{
    struct str name;
    enum cell_type type;
    int rc = SQLITE_OK;

    for (int i = 0; rc == SQLITE_OK && store_column_next(&columns, &name, &type); i++) {
        const struct store_cell *c = &cells[i];

        if (c->is_null)
            rc = sqlite3_bind_null(stmt, i + 1);
        else if (type == CELL_INT)
            rc = sqlite3_bind_int64(stmt, i + 1, c->number);
        else if (type == CELL_BLOB)
            rc = sqlite3_bind_blob64(stmt, i + 1, c->bytes.n > 0 ? c->bytes.p : "", c->bytes.n,
                                     SQLITE_STATIC);
        else
            rc = sqlite3_bind_text64(stmt, i + 1, c->bytes.n > 0 ? c->bytes.p : "", c->bytes.n,
                                     SQLITE_STATIC, SQLITE_UTF8);
    }
    return rc;
}

int sqlite_load(struct store *store,
                const struct store_table *table,
                const struct store_cell *cells,
                size_t n,
                struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    int code = prepare_load(s, table, err);

    (void)n; /* unused: the table has the number */
    if (code != 0)
        return code;
    int rc = bind_cells(s->loading.insert, table->columns, cells);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s->loading.insert);
    code = rc == SQLITE_DONE ? 0 : fault(store, rc, err);
    (void)sqlite3_reset(s->loading.insert); /* repeats the error */
    return code;
}

/* --- keys ------------------------------------------------------------------------- */

static const char *const
    counters[STORE_KEYS_MAX] = { [STORE_JOB_KEYS] = "jobs", [STORE_THREAD_KEYS] = "threads" };

int sqlite_last_key(struct store *store, enum store_keys kind, int64_t *ret, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    sqlite3_stmt *stmt = NULL;
    struct buf sql LOCAL_BUF(SQL_BYTES);

    buf_lit(&sql, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '");
    buf_str(&sql, str_of(counters[kind]));
    buf_char(&sql, '\'');
    int code = prepare(s, &sql, &stmt, err);
    int rc = code == 0 ? sqlite3_step(stmt) : SQLITE_ROW;
    if (code == 0 && rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    else if (code == 0)
        code = fault(store, rc, err);
    (void)sqlite3_finalize(stmt); /* repeats the error */
    return code;
}

int sqlite_skip_keys(struct store *store, enum store_keys kind, int64_t last, struct error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    struct buf sql LOCAL_BUF(SQL_BYTES);
    int64_t now = 0;
    int code = sqlite_last_key(store, kind, &now, err);

    if (code != 0 || last <= now)
        return code;
    buf_lit(&sql, "DELETE FROM sqlite_sequence WHERE name = '");
    buf_str(&sql, str_of(counters[kind]));
    buf_lit(&sql, "'; INSERT INTO sqlite_sequence(name, seq) VALUES('");
    buf_str(&sql, str_of(counters[kind]));
    buf_lit(&sql, "', ");
    buf_i64(&sql, last);
    buf_char(&sql, ')');
    buf_char(&sql, '\0');
    int rc = sql.error != 0 ? SQLITE_NOMEM : sqlite3_exec(s->db, sql.p, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : fault(store, rc, err);
}
