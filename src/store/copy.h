/* Copies a database to another one, of any backend: every table as rows of cells.
 *
 * Rows keep their keys, ids and secrets, so everything that clients and workers hold (cursors,
 * leases, tokens, idempotency keys) stays valid.  The target is written in one transaction,
 * which also compares it with the original: after a copy that was interrupted or differs it is
 * still empty. */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include "base/must_check.h"
#include "store/store.h"

enum { STORE_MAX_CELLS = 44 };

/* A table that all backends have, with the names of its columns separated by blanks: "key#" is
 * a number, "data*" bytes, others are texts. */
struct store_table {
    const char *name, *columns;
    bool in_order; /* the order of insertion matters */
};

struct store_cell {
    bool is_null;
    int64_t number;
    struct str bytes;
};

/* Reads one column of a table's list; false at the end. */
enum cell_type { CELL_TEXT, CELL_INT, CELL_BLOB };
bool store_column_next(const char **rest, struct str *ret_name, enum cell_type *ret_type);

typedef int (*store_row_cb)(void *arg, const struct store_cell *cells, size_t n);
/* Returns all rows, until the callback returns non-zero; texts are valid until it returns.  The
 * store must be the writer; inside of a transaction its own rows are among them. */
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
/* The greatest key that was given out; the second, inside begin and commit: gives out no key up
 * to @last. */
MUST_CHECK int store_last_key(struct store *s,
                              enum store_keys kind,
                              int64_t *ret,
                              struct error *err);
MUST_CHECK int store_skip_keys(struct store *s,
                               enum store_keys kind,
                               int64_t last,
                               struct error *err);

typedef void (*store_copied_cb)(void *arg, const char *table, size_t n_rows);
/* Copies all of @from, and compares both row by row before it commits.  Both are open as
 * writer, so no server uses them.  ERR_REFUSED when @to is not empty. */
MUST_CHECK int store_copy(struct store *from,
                          struct store *to,
                          store_copied_cb cb,
                          void *arg,
                          struct error *err);

#endif
