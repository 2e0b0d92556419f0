/* Rows of jobs, and of jobs that the server was folding when it crashed. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <inttypes.h>

/* --- rows ------------------------------------------------------------------------ */

/* In the order of SQL_SELECT_JOBS. */
void job_row_at(const PGresult *r, int i, struct job_row *row)
{
    int n = 8;

    row->key = cell_int(r, i, 0);
    row->input = cell_text(r, i, 1);
    row->seq = (uint64_t)cell_int(r, i, 2);
    row->first_seq = (uint64_t)cell_int(r, i, 3);
    row->producer_seq = cell_int(r, i, 4);
    row->crashed = cell_int(r, i, 5);
    row->set_aside = cell_int(r, i, 6);
    row->shard = cell_int(r, i, 7);
#define READ_TEXT(column) row->column = cell_text(r, i, n++);
#define READ_INT(column)  row->column = cell_int(r, i, n++);
    JOB_FIXED(READ_TEXT, READ_INT)
    JOB_INDEXED(READ_TEXT, READ_INT)
    JOB_PLAIN(READ_TEXT, READ_INT)
#undef READ_TEXT
#undef READ_INT
}

#define PUT_TEXT(column) params_text(p, row->column);
#define PUT_INT(column)  params_int(p, row->column);

static void put_fixed(struct postgres_params *p, const struct job_row *row)
{
    JOB_FIXED(PUT_TEXT, PUT_INT)
}

static void put_changing(struct postgres_params *p, const struct job_row *row)
{
    JOB_INDEXED(PUT_TEXT, PUT_INT)
    JOB_PLAIN(PUT_TEXT, PUT_INT)
}

/* --- writing --------------------------------------------------------------------- */

/* The first key of a new block. */
static int take_block(struct store *s, enum store_keys kind, int64_t *ret, struct error *err)
{
    const struct postgres_keys *keys = &postgres_of(s)->keys[kind];
    struct postgres_params p;
    PGresult *r = NULL;

    if (kind == STORE_THREAD_KEYS)
        return number_get(s, SQL_THREAD_KEYS, ret, err);
    params_init(&p, s, SQL_JOB_KEYS);
    params_int(&p, postgres_of(s)->shard);
    params_int(&p, keys->left > 0 ? keys->next : 0);
    int code = row_get(&p, &r, err);
    if (code == 0)
        *ret = cell_int(r, 0, 0);
    return not_found(code, "key", err);
}

/* Consecutive blocks are merged; the rest of a block that is not consecutive is not used. */
int postgres_take_keys(struct store *store,
                       enum store_keys kind,
                       size_t n,
                       int64_t *ret_first,
                       struct error *err)
{
    struct postgres_keys *keys = &postgres_of(store)->keys[kind];

    while (keys->left < (int64_t)n) {
        int64_t first;
        int code = take_block(store, kind, &first, err);

        if (code != 0)
            return code;
        if (keys->left == 0 || first != keys->next + keys->left)
            *keys = (struct postgres_keys){ .next = first };
        keys->left += POSTGRES_KEY_BLOCK;
    }
    *ret_first = keys->next;
    keys->next += (int64_t)n;
    keys->left -= (int64_t)n;
    return 0;
}

/* Which of the two unique columns is taken? */
static int taken(struct store *s, const struct job_row *row, struct error *err)
{
    struct job_row other;

    if (row->idempotency_key.p != NULL &&
        postgres_job_by_idempotency(s, row->idempotency_key, &other, NULL) == 0)
        return error_set(err, ERR_REFUSED, "another job has the idempotency key \"%.*s\"",
                         STR_ARG(str_head(row->idempotency_key, 100)));
    return error_set(err, ERR_REFUSED, "another job has the id \"%.*s\"",
                     STR_ARG(str_head(row->id, 100)));
}

static int insert_input(struct store *s, int64_t key, struct str input, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_INPUT_INSERT);
    params_int(&p, key);
    params_text(&p, input);
    return write_rows(&p, NULL, err);
}

int postgres_job_insert(struct store *s, struct job_row *row, struct error *err)
{
    assert(row->id.p != NULL && row->agent.p != NULL && row->state.p != NULL);
    struct postgres_params p;
    int64_t key = row->key;
    int code = key != 0 ? 0 : postgres_take_keys(s, STORE_JOB_KEYS, 1, &key, err);

    if (code != 0)
        return code;
    params_init(&p, s, SQL_JOB_INSERT);
    params_int(&p, key);
    params_int(&p, postgres_of(s)->shard);
    params_int(&p, row->published);
    params_int(&p, (int64_t)row->seq);
    params_int(&p, (int64_t)row->first_seq);
    params_int(&p, row->producer_seq);
    put_fixed(&p, row);
    put_changing(&p, row);
    code = write_row(&p, err);
    if (code == ERR_NOT_FOUND)
        return taken(s, row, err);
    if (code == 0 && row->input.p != NULL)
        code = insert_input(s, key, row->input, err);
    if (code == 0)
        row->key = key;
    return code;
}

int postgres_job_update(struct store *s, const struct job_row *row, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_JOB_UPDATE);
    params_int(&p, (int64_t)row->seq);
    params_int(&p, row->producer_seq);
    put_changing(&p, row);
    params_int(&p, row->key);
    return not_found(write_row(&p, err), "job", err);
}

int postgres_job_published(struct store *s, int64_t key, int64_t published, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_JOB_PUBLISHED);
    params_int(&p, key);
    params_int(&p, published);
    return write_rows(&p, NULL, err);
}

int postgres_job_delete(struct store *s, int64_t key, struct error *err)
{
    struct postgres_params p;
    size_t n = 0;
    int code = 0;

    if (postgres_of(s)->gathering) {
        params_init(&p, s, SQL_JOB_IS_THERE);
        params_int(&p, key);
        code = write_rows(&p, NULL, err);
    }
    params_init(&p, s, SQL_JOB_DELETE);
    params_int(&p, key);
    if (code == 0)
        code = write_rows(&p, &n, err);
    return code == 0 && n == 0 ? not_found(ERR_NOT_FOUND, "job", err) : code;
}

int postgres_suspect(struct store *s,
                     int64_t job,
                     int64_t crashed,
                     int64_t set_aside,
                     struct error *err)
{
    bool is_one = crashed != 0 || set_aside != 0;
    struct postgres_params p;

    params_init(&p, s, is_one ? SQL_SUSPECT_PUT : SQL_SUSPECT_DELETE);
    params_int(&p, job);
    if (is_one) {
        params_int(&p, crashed);
        params_int(&p, set_aside);
    }
    return write_rows(&p, NULL, err);
}

/* --- reading --------------------------------------------------------------------- */

static int get(struct store *s,
               enum postgres_statement id,
               struct str value,
               struct job_row *ret,
               struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, id);
    params_text(&p, value);
    int code = row_get(&p, &r, err);
    if (code == ERR_NOT_FOUND)
        return error_set(err, code, "there is no job \"%.*s\"", STR_ARG(str_head(value, 100)));
    if (code == 0)
        job_row_at(r, 0, ret);
    return code;
}

int postgres_job_get(struct store *s, struct str id, struct job_row *ret, struct error *err)
{
    return get(s, SQL_JOB_BY_ID, id, ret, err);
}

int postgres_job_by_idempotency(struct store *s,
                                struct str key,
                                struct job_row *ret,
                                struct error *err)
{
    return get(s, SQL_JOB_BY_IDEMPOTENCY, key, ret, err);
}

int jobs_give(struct postgres_params *p, store_job_cb cb, void *arg, struct error *err)
{
    PGresult *r = NULL;
    struct job_row row = { 0 };
    int code = rows_get(p, &r, err);

    for (int i = 0; i < PQntuples(r); i++) {
        job_row_at(r, i, &row);
        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

/* Keys of several shards are in no order; their number never changes. */
int postgres_is_by_time(struct store *s, bool *ret, struct error *err)
{
    struct postgres_store *store = postgres_of(s);
    int code = store->n_shards > 0 ? 0 : postgres_shards(s, &store->n_shards, err);

    *ret = s->lists_by_time = store->n_shards > 1;
    return code;
}

int postgres_jobs(struct store *s,
                  const struct job_filter *filter,
                  store_job_cb cb,
                  void *arg,
                  struct error *err)
{
    bool of_owner = !str_absent(filter->owner);
    bool of_state = !str_absent(filter->state);
    bool of_agent = !str_absent(filter->agent);
    struct postgres_params p;
    bool by_time;
    int code = postgres_is_by_time(s, &by_time, err);

    if (code != 0)
        return code;
    enum postgres_statement id = of_owner               ? SQL_JOBS_OF_OWNER
                                 : of_state && of_agent ? SQL_JOBS_OF_AGENT_AND_STATE
                                 : of_state             ? SQL_JOBS_OF_STATE
                                 : of_agent             ? SQL_JOBS_OF_AGENT
                                                        : SQL_JOBS;
    params_init(&p, s,
                by_time ? (enum postgres_statement)(id + SQL_JOBS_BY_TIME - SQL_JOBS) : id);
    if (by_time)
        params_int(&p, filter->before != 0 ? filter->created : INT64_MAX);
    params_int(&p, filter->before != 0 ? filter->before : INT64_MAX);
    params_int(&p, filter->limit < INT64_MAX ? (int64_t)filter->limit : INT64_MAX);
    if (of_owner)
        params_text(&p, filter->owner);
    if (of_state || of_owner)
        params_text(&p, filter->state);
    if (of_agent || of_owner)
        params_text(&p, filter->agent);
    return jobs_give(&p, cb, arg, err);
}

static int give_all(struct store *s,
                    enum postgres_statement id,
                    store_job_cb cb,
                    void *arg,
                    struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, id);
    return jobs_give(&p, cb, arg, err);
}

int postgres_open_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_OPEN_JOBS);
    params_int(&p, postgres_of(s)->shard);
    return jobs_give(&p, cb, arg, err);
}

int postgres_unpublished_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    return give_all(s, SQL_UNPUBLISHED_JOBS, cb, arg, err);
}

int postgres_jobs_set_aside(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    return give_all(s, SQL_JOBS_SET_ASIDE, cb, arg, err);
}

int postgres_stats(struct store *s, struct store_stats *ret, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_COUNTS);
    int code = row_get(&p, &r, err);
    if (code == 0)
        *ret = (struct store_stats){ .jobs = cell_int(r, 0, 0),
                                     .records = cell_int(r, 0, 1),
                                     .bytes = cell_int(r, 0, 2) };
    return not_found(code, "count", err);
}
