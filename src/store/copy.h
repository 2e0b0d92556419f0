/* Copying a database into another, of any backend: every table as rows of cells.
 *
 * Rows keep their keys, ids and secrets, so everything that clients and workers hold (cursors,
 * leases, tokens, idempotency keys) stays good.  The target gets all of it in one transaction:
 * a copy that is interrupted leaves it as empty as it was. */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include "base/must_check.h"
#include "store/store.h"

enum { STORE_MAX_CELLS = 44 };

/* A table that all backends have, by the names of its columns with blanks between: "key#" is a
 * number, "data*" bytes, others are texts. */
struct store_table {
    const char *name, *columns;
    bool in_order; /* rows count in the order in which they came */
};

struct store_cell {
    bool is_null;
    int64_t number;
    struct str bytes;
};

/* One column of a table's list; false when there is none left. */
enum cell_type { CELL_TEXT, CELL_INT, CELL_BLOB };
bool store_column_next(const char **rest, struct str *ret_name, enum cell_type *ret_type);

typedef int (*store_row_cb)(void *arg, const struct store_cell *cells, size_t n);
/* Gives all rows, until the callback returns non-zero; texts live until it returns.  The store
 * is the one that writes, and in no transaction. */
MUST_CHECK int store_dump(struct store *s,
                          const struct store_table *table,
                          store_row_cb cb,
                          void *arg,
                          struct error *err);
/* Adds a row, inside begin and commit. */
MUST_CHECK int store_load(struct store *s,
                          const struct store_table *table,
                          const struct store_cell *cells,
                          size_t n,
                          struct error *err);
/* The greatest key that was given out; and: gives no key up to @last any more, inside begin and
 * commit. */
MUST_CHECK int store_last_key(struct store *s,
                              enum store_keys kind,
                              int64_t *ret,
                              struct error *err);
MUST_CHECK int store_skip_keys(struct store *s,
                               enum store_keys kind,
                               int64_t last,
                               struct error *err);

typedef void (*store_copied_cb)(void *arg, const char *table, size_t n_rows);
/* Copies all of @from, and compares both afterwards, row by row.  Both are open to write, so no
 * server has them.  ERR_REFUSED when @to is not empty. */
MUST_CHECK int store_copy(struct store *from,
                          struct store *to,
                          store_copied_cb cb,
                          void *arg,
                          struct error *err);

#endif
