/* Rows of threads, and the additional columns of runs. */
#include "store/postgres/postgres.h"

#include <assert.h>

/* --- writing --------------------------------------------------------------------- */

int postgres_thread_insert(struct store *s, struct thread_row *row, struct error *err)
{
    assert(row->id.p != NULL && row->status.p != NULL);
    struct postgres_params p;
    int64_t key = row->key;
    int code = key != 0 ? 0 : postgres_take_keys(s, STORE_THREAD_KEYS, 1, &key, err);

    if (code != 0)
        return code;
    params_init(&p, s, SQL_THREAD_INSERT);
    params_int(&p, key);
    params_text(&p, row->id);
    params_text(&p, row->owner);
    params_text(&p, row->status);
    params_text(&p, row->metadata);
    params_text(&p, row->config);
    params_text(&p, row->interrupts);
    params_text(&p, row->error);
    params_int(&p, row->created);
    params_int(&p, row->updated);
    params_int(&p, row->state_updated);
    params_int(&p, row->n_runs);
    params_int(&p, row->is_temporary);
    params_text(&p, row->values);
    params_int(&p, row->ttl_ms);
    params_int(&p, postgres_of(s)->shard);
    code = write_row(&p, err);
    if (code == ERR_NOT_FOUND)
        return error_set(err, ERR_REFUSED, "another thread has the id \"%.*s\"",
                         STR_ARG(str_head(row->id, 100)));
    if (code == 0)
        row->key = key;
    return code;
}

/* While gathering, a deleted thread is not an error. */
static int write_thread(struct postgres_params *p, struct error *err)
{
    size_t n = 0;
    int code = write_rows(p, &n, err);

    return code == 0 && n == 0 ? not_found(ERR_NOT_FOUND, "thread", err) : code;
}

int postgres_thread_update(struct store *s, const struct thread_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_THREAD_UPDATE);
    params_text(&p, row->status);
    params_text(&p, row->metadata);
    params_text(&p, row->config);
    params_text(&p, row->interrupts);
    params_text(&p, row->error);
    params_int(&p, row->updated);
    params_int(&p, row->state_updated);
    params_int(&p, row->n_runs);
    params_int(&p, row->ttl_ms);
    params_int(&p, row->key);
    return write_thread(&p, err);
}

int postgres_thread_values(struct store *s,
                           int64_t key,
                           struct str values,
                           int64_t now,
                           struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_THREAD_VALUES);
    params_int(&p, key);
    params_text(&p, values);
    params_int(&p, now);
    return write_thread(&p, err);
}

int postgres_thread_delete(struct store *s, int64_t key, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_THREAD_DELETE);
    params_int(&p, key);
    return write_thread(&p, err);
}

int postgres_run_insert(struct store *s, const struct run_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_RUN_INSERT);
    params_int(&p, row->job);
    params_text(&p, row->assistant);
    params_text(&p, row->metadata);
    params_text(&p, row->kwargs);
    params_text(&p, row->strategy);
    params_int(&p, row->modes);
    params_int(&p, row->subgraphs);
    int code = write_row(&p, err);
    return code == ERR_NOT_FOUND
               ? error_set(err, ERR_REFUSED, "job %lld is a run already", (long long)row->job)
               : code;
}

int postgres_run_read(struct store *s, int64_t job, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_RUN_READ);
    params_int(&p, RUN_IS_READ);
    params_int(&p, job);
    return write_thread(&p, err);
}

/* --- reading --------------------------------------------------------------------- */

/* In the order of SQL_THREAD_COLUMNS. */
struct thread_row thread_row_at(const PGresult *r, int i)
{
    return (struct thread_row){
        .key = cell_int(r, i, 0),
        .id = cell_text(r, i, 1),
        .owner = cell_text(r, i, 2),
        .status = cell_text(r, i, 3),
        .metadata = cell_text(r, i, 4),
        .config = cell_text(r, i, 5),
        .interrupts = cell_text(r, i, 6),
        .error = cell_text(r, i, 7),
        .created = cell_int(r, i, 8),
        .updated = cell_int(r, i, 9),
        .state_updated = cell_int(r, i, 10),
        .n_runs = cell_int(r, i, 11),
        .is_temporary = cell_int(r, i, 12),
        .values = cell_text(r, i, 13),
        .ttl_ms = cell_int(r, i, 14),
        .shard = cell_int(r, i, 15),
    };
}

static int get_thread(struct postgres_params *p, struct thread_row *ret, struct error *err)
{
    PGresult *r = NULL;
    int code = row_get(p, &r, err);

    if (code == 0)
        *ret = thread_row_at(r, 0);
    return not_found(code, "thread", err);
}

int postgres_thread_get(struct store *s,
                        struct str id,
                        struct thread_row *ret,
                        struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_THREAD_BY_ID);
    params_text(&p, id);
    return get_thread(&p, ret, err);
}

int postgres_thread_by_key(struct store *s,
                           int64_t key,
                           struct thread_row *ret,
                           struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_THREAD_BY_KEY);
    params_int(&p, key);
    return get_thread(&p, ret, err);
}

/* In the order of SQL_RUN. */
struct run_row run_row_at(const PGresult *r, int i)
{
    return (struct run_row){
        .job = cell_int(r, i, 0),
        .assistant = cell_text(r, i, 1),
        .metadata = cell_text(r, i, 2),
        .kwargs = cell_text(r, i, 3),
        .strategy = cell_text(r, i, 4),
        .modes = cell_int(r, i, 5),
        .subgraphs = cell_int(r, i, 6),
        .thread = cell_text(r, i, 7),
    };
}

int postgres_run_get(struct store *s, int64_t job, struct run_row *ret, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_RUN);
    params_int(&p, job);
    int code = row_get(&p, &r, err);
    if (code == 0)
        *ret = run_row_at(r, 0);
    return not_found(code, "run", err);
}

int postgres_thread_jobs(struct store *s,
                         int64_t thread,
                         store_job_cb cb,
                         void *arg,
                         struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_THREAD_JOBS);
    params_int(&p, thread);
    return jobs_give(&p, cb, arg, err);
}

static int give(struct postgres_params *p, store_thread_cb cb, void *arg, struct error *err)
{
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    for (int i = 0; i < PQntuples(r); i++) {
        struct thread_row row = thread_row_at(r, i);

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_threads_expired(struct store *s,
                             int64_t now,
                             size_t limit,
                             store_thread_cb cb,
                             void *arg,
                             struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_THREADS_EXPIRED);
    params_int(&p, now);
    params_int(&p, (int64_t)limit);
    params_int(&p, postgres_of(s)->shard);
    return give(&p, cb, arg, err);
}

int postgres_threads(struct store *s,
                     enum thread_order order,
                     bool ascending,
                     struct str owner,
                     store_thread_cb cb,
                     void *arg,
                     struct error *err)
{
    struct postgres_params p;
    bool by_time;
    int code = postgres_is_by_time(s, &by_time, err);

    if (code != 0)
        return code;
    int first = by_time && order == THREADS_BY_CREATED
                    ? (int)SQL_THREADS_BY_TIME_DOWN
                    : (int)SQL_THREADS_BY_UPDATED_DOWN + 2 * (int)order;
    params_init(&p, s, (enum postgres_statement)(first + (int)ascending));
    params_text(&p, owner);
    return give(&p, cb, arg, err);
}
