/* Rows of records: a row is a chunk of one job's records, one per line; its key has the seq of
 * the last one.
 *
 * All chunks of a turn are sent in one statement, as arrays of their columns: a statement for
 * each chunk would cost PostgreSQL several times as much.
 *
 * Records are read in pages: a job may have a million records, and libpq returns a result only
 * when it is complete. */
#include "store/chunk.h"
#include "store/postgres/postgres.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { PAGE_ROWS = 256, MIN_PAGE_ROWS = 16, MANY_BYTES = 16 * 1024 * 1024 };

/* --- appending ------------------------------------------------------------------- */

void chunks_init(struct postgres_chunks *c)
{
    array_init(&c->job, ARRAY_INT8);
    array_init(&c->last, ARRAY_INT8);
    array_init(&c->batch, ARRAY_INT8);
    array_init(&c->stored, ARRAY_BYTEA);
}

void chunks_done(struct postgres_chunks *c)
{
    array_done(&c->job);
    array_done(&c->last);
    array_done(&c->batch);
    array_done(&c->stored);
}

static void chunks_clear(struct postgres_chunks *c)
{
    array_clear(&c->job);
    array_clear(&c->last);
    array_clear(&c->batch);
    array_clear(&c->stored);
}

int chunks_send(struct postgres_store *s, struct error *err)
{
    struct postgres_chunks *c = &s->chunks;
    struct postgres_params p;

    if (c->job.n == 0)
        return 0;
    params_init(&p, &s->base, SQL_APPEND_MANY);
    bool ok = params_array(&p, &c->job) && params_array(&p, &c->last) &&
              params_array(&p, &c->batch) && params_array(&p, &c->stored);
    int code =
        ok ? write_rows(&p, NULL, err) : error_set(err, ERR_NOMEM, "no memory for the records");
    chunks_clear(c);
    return code;
}

/* If a chunk exists already, PostgreSQL fails the whole transaction. */
static int gather_chunk(struct postgres_store *s,
                        int64_t key,
                        uint64_t last,
                        struct str stored,
                        int64_t batch,
                        struct error *err)
{
    struct postgres_chunks *c = &s->chunks;
    int code = c->stored.bytes.n + stored.n > MANY_BYTES ? chunks_send(s, err) : 0;

    array_int(&c->job, key);
    array_int(&c->last, (int64_t)last);
    if (batch >= 0)
        array_int(&c->batch, batch);
    else
        array_null(&c->batch);
    array_text(&c->stored, stored);
    return code;
}

int postgres_append(struct store *s,
                    int64_t key,
                    uint64_t last,
                    struct str stored,
                    int64_t batch,
                    struct error *err)
{
    struct postgres_params p;

    assert(stored.p != NULL);
    if (last > POSTGRES_MAX_SEQ)
        return error_set(err, ERR_TOO_LARGE,
                         "job %" PRId64 " has all the records that a job can have (%" PRIu64
                         ")",
                         key, POSTGRES_MAX_SEQ);
    if (last == 0 || key <= 0)
        return error_set(err, ERR_REFUSED, "record %" PRIu64 " of job %" PRId64 " cannot be",
                         last, key);
    if (postgres_of(s)->gathering)
        return gather_chunk(postgres_of(s), key, last, stored, batch, err);
    params_init(&p, s, SQL_APPEND);
    params_int(&p, key);
    params_int(&p, (int64_t)last);
    if (batch >= 0)
        params_int(&p, batch);
    else
        params_text(&p, STR_NONE);
    params_text(&p, stored);
    int code = write_row(&p, err);
    return code == ERR_NOT_FOUND
               ? error_set(err, ERR_REFUSED,
                           "record %" PRIu64 " of job %" PRId64 " is there already", last, key)
               : code;
}

/* --- reading --------------------------------------------------------------------- */

static int get_page(struct store *s,
                    int64_t key,
                    uint64_t after,
                    int64_t n,
                    PGresult **ret,
                    struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_RECORDS);
    params_int(&p, key);
    params_int(&p, (int64_t)after);
    params_int(&p, n);
    return rows_get(&p, ret, err);
}

/* How many rows to ask for, when the caller has taken @n of them and at most @limit records are
 * wanted.  Callers take as many rows as fill a page of theirs: the last one's number is a good
 * guess for the next, and rows that nobody takes are read and sent in vain. */
static int64_t page_rows(const struct postgres_store *s, int64_t n, size_t limit)
{
    int64_t guess = s->rows_taken + s->rows_taken / 8;
    int64_t page = s->rows_taken == 0 || n > 2 * guess ? PAGE_ROWS
                   : n < guess                         ? guess - n
                                                       : guess / 4;

    page = page < MIN_PAGE_ROWS ? MIN_PAGE_ROWS : page > PAGE_ROWS ? PAGE_ROWS : page;
    return (size_t)page > limit ? (int64_t)limit : page;
}

int postgres_records(struct store *s,
                     int64_t key,
                     uint64_t after,
                     size_t limit,
                     size_t max_bytes,
                     store_record_cb cb,
                     void *arg,
                     struct error *err)
{
    struct chunk_page g = { .after = after,
                            .given = after,
                            .limit = limit,
                            .max_bytes = max_bytes,
                            .cb = cb,
                            .arg = arg };
    bool more = limit > 0 && after < POSTGRES_MAX_SEQ;
    int64_t n_taken = 0;
    int code = 0;

    while (code == 0 && more) {
        int64_t n = page_rows(postgres_of(s), n_taken, limit);
        PGresult *r = NULL;

        code = get_page(s, key, g.given, n, &r, err);
        more = PQntuples(r) == n;
        for (int i = 0; i < PQntuples(r); i++, n_taken++)
            if (!chunk_give(&g, (uint64_t)cell_int(r, i, 0), cell_text(r, i, 1))) {
                postgres_of(s)->rows_taken = n_taken + 1;
                more = false;
                break;
            }
        PQclear(r);
    }
    return code;
}

bool chunk_cut(struct str *chunk, uint64_t last, uint64_t seq)
{
    uint64_t n = chunk_count(*chunk);
    uint64_t wanted = last - seq + 1;

    for (; n > wanted; n--)
        (void)chunk_take(chunk);
    return n == wanted;
}

int chunk_from(struct store *s,
               int64_t key,
               uint64_t seq,
               struct str *ret,
               int64_t *ret_last,
               struct error *err)
{
    struct postgres_store *store = postgres_of(s);
    PGresult *r = NULL;
    int code = seq == 0 || seq > POSTGRES_MAX_SEQ ? ERR_NOT_FOUND
                                                  : get_page(s, key, seq - 1, 1, &r, err);

    if (code != 0)
        return code;
    PQclear(store->kept);
    store->kept = r;
    if (PQntuples(r) == 0)
        return ERR_NOT_FOUND;
    struct str chunk = cell_text(r, 0, 1);
    bool has = chunk_cut(&chunk, (uint64_t)cell_int(r, 0, 0), seq);
    *ret = chunk;
    *ret_last = cell_int(r, 0, 0);
    return has ? 0 : ERR_NOT_FOUND;
}

int postgres_record(struct store *s,
                    int64_t key,
                    uint64_t seq,
                    struct str *ret,
                    struct error *err)
{
    struct str chunk;
    int64_t last;
    int code = chunk_from(s, key, seq, &chunk, &last, err);

    if (code == ERR_NOT_FOUND)
        return error_set(err, code, "job %" PRId64 " has no record %" PRIu64, key, seq);
    if (code == 0)
        *ret = chunk_take(&chunk);
    return code;
}
