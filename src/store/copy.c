#include "store/copy.h"

#include "base/error.h"
#include "store/backend.h"
#include "store/rows.h"

#include <string.h>

/* clang-format off */
#define TEXT_NAME(column) " " #column
#define INT_NAME(column)  " " #column "#"
static const struct store_table tables[] = {
    { "jobs", "key# seq# first_seq# producer_seq#" JOB_FIXED(TEXT_NAME, INT_NAME)
      JOB_INDEXED(TEXT_NAME, INT_NAME) JOB_PLAIN(TEXT_NAME, INT_NAME), false },
    { "inputs", "job# input", false },
    { "records", "job# last# batch# stored", false },
    { "leavings", "job# upto#", false },
    { "suspects", "job# crashed# set_aside#", false },
    { "questions", "job# seq# id attempt# asked# expires# on_expiry fallback schema question context "
      "value answer answered_by answered# resumed#", false },
    { "threads", "key# id owner status metadata config interrupts error created# updated# "
      "state_updated# n_runs# is_temporary# state ttl_ms#", false },
    { "runs", "job# assistant metadata kwargs strategy modes# subgraphs#", false },
    { "checkpoints", "thread ns id parent type data* metadata versions", false },
    { "large_values", "id# data*", false },
    { "channels", "thread ns channel version type data* large#", false },
    { "run_writes", "thread ns checkpoint task idx# path channel type data* run", true },
    { "run_states", "thread ns id state run large#", true },
    { "items", "owner namespace key value created# updated# ttl_ms# expires#", false },
    { "item_vectors", "owner namespace key vectors*", false },
    { "assistants", "id version# owner graph name description config context metadata created# "
      "updated# counts#", false },
    { "crons", "id owner assistant thread schedule timezone on_completed payload metadata end_time# "
      "next# enabled# max_jobs# max_queued# max_running# created# updated# moved#", false },
    { "webhooks", "id job# thread owner url run status error output state reason created# started# "
      "ended# since# due# tried# attempts# code# version# expires# n#", false },
    { "tokens", "id parent hash* name scopes owner jobs agents max_jobs# max_queued# max_running# "
      "max_streams# max_events# created# expires# revoked#", false },
    { "token_changes", "id# n#", false },
    { "secrets", "name value*", false },
    { "clock", "id# at#", false },
};
/* clang-format on */

enum { N_TABLES = sizeof(tables) / sizeof(tables[0]) };

bool store_column_next(const char **rest, struct str *ret_name, enum cell_type *ret_type)
{
    const char *p = *rest + strspn(*rest, " ");
    size_t n = strcspn(p, " ");

    if (n == 0)
        return false;
    *ret_type = p[n - 1] == '#' ? CELL_INT : p[n - 1] == '*' ? CELL_BLOB : CELL_TEXT;
    *ret_name = str_make(p, *ret_type == CELL_TEXT ? n : n - 1);
    *rest = p + n;
    return true;
}

/* --- comparing -------------------------------------------------------------------- */

/* The number of rows, and the sum of their hashes: independent of the order. */
struct table_sum {
    size_t n;
    uint64_t hash;
};

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++) /* FNV-1a */
        hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

static void sum_row(struct table_sum *sum, const struct store_cell *cells, size_t n)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < n; i++) {
        hash = hash_bytes(hash, &cells[i].is_null, sizeof(cells[i].is_null));
        hash = hash_bytes(hash, &cells[i].number, sizeof(cells[i].number));
        hash = hash_bytes(hash, &cells[i].bytes.n, sizeof(cells[i].bytes.n));
        hash = hash_bytes(hash, cells[i].bytes.p, cells[i].bytes.n);
    }
    sum->n++;
    sum->hash += hash;
}

static int on_summed(void *arg, const struct store_cell *cells, size_t n)
{
    sum_row(arg, cells, n);
    return 0;
}

static int compare(struct store *to, const struct table_sum *sums, struct error *err)
{
    int code = 0;

    for (size_t i = 0; i < N_TABLES && code == 0; i++) {
        struct table_sum sum = { 0 };

        code = store_dump(to, &tables[i], on_summed, &sum, err);
        if (code == 0 && (sum.n != sums[i].n || sum.hash != sums[i].hash))
            code = error_set(err, ERR_IO,
                             "the table %s of the copy differs from the original (%zu rows and "
                             "%zu): nothing was stored; is there a trigger or a rule in the "
                             "target?",
                             tables[i].name, sum.n, sums[i].n);
    }
    return code;
}

static int check_empty(struct store *to, struct error *err)
{
    int code = 0;

    for (size_t i = 0; i < N_TABLES && code == 0; i++) {
        struct table_sum sum = { 0 };

        code = store_dump(to, &tables[i], on_summed, &sum, err);
        if (code == 0 && sum.n > 0)
            code = error_set(err, ERR_REFUSED,
                             "the target is not empty (table %s): give a new database",
                             tables[i].name);
    }
    return code;
}

/* --- copying ---------------------------------------------------------------------- */

struct copying {
    struct store *to;
    const struct store_table *table;
    struct table_sum *sum;
    int code; /* of the target */
    struct error *err;
};

static int on_row(void *arg, const struct store_cell *cells, size_t n)
{
    struct copying *c = arg;

    sum_row(c->sum, cells, n);
    c->code = store_load(c->to, c->table, cells, n, c->err);
    return c->code;
}

static int copy_keys(struct store *from, struct store *to, struct error *err)
{
    int code = 0;

    for (int kind = 0; kind < STORE_KEYS_MAX && code == 0; kind++) {
        int64_t last = 0;

        code = store_last_key(from, (enum store_keys)kind, &last, err);
        if (code == 0)
            code = store_skip_keys(to, (enum store_keys)kind, last, err);
    }
    return code;
}

static int copy_tables(struct store *from,
                       struct store *to,
                       struct table_sum *sums,
                       store_copied_cb cb,
                       void *arg,
                       struct error *err)
{
    for (size_t i = 0; i < N_TABLES; i++) {
        struct copying c = { .to = to, .table = &tables[i], .sum = &sums[i], .err = err };
        int code = store_dump(from, &tables[i], on_row, &c, err);

        code = c.code != 0 ? c.code : code;
        if (code != 0)
            return code;
        cb(arg, tables[i].name, sums[i].n);
    }
    return copy_keys(from, to, err);
}

int store_copy(struct store *from,
               struct store *to,
               store_copied_cb cb,
               void *arg,
               struct error *err)
{
    struct table_sum sums[N_TABLES] = { 0 };
    int code = check_empty(to, err);

    if (code == 0)
        code = store_begin(to, err);
    if (code != 0)
        return code;
    code = copy_tables(from, to, sums, cb, arg, err);
    if (code == 0)
        code = compare(to, sums, err);
    if (code == 0)
        return store_commit(to, err);
    store_rollback(to);
    return code;
}
