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

static void page_params(struct postgres_params *p,
                        struct store *s,
                        int64_t key,
                        uint64_t after,
                        int64_t n)
{
    params_init(p, s, SQL_RECORDS);
    params_int(p, key);
    params_int(p, (int64_t)after);
    params_int(p, n);
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

/* State of a read of records. */
struct records_reading {
    struct store *store;
    int64_t key;
    struct chunk_page page;
    int64_t n_taken; /* rows */
    bool is_full;    /* the caller has enough */
};

static void give(struct records_reading *r, const PGresult *result, int row)
{
    r->n_taken++;
    r->is_full =
        !chunk_give(&r->page, (uint64_t)cell_int(result, row, 0), cell_text(result, row, 1));
    if (r->is_full)
        postgres_of(r->store)->rows_taken = r->n_taken;
}

/* Inside of a transaction, or of another read: all rows at once. */
static int read_at_once(struct records_reading *r, int64_t n, bool *ret_more, struct error *err)
{
    struct postgres_params p;
    PGresult *result = NULL;

    page_params(&p, r->store, r->key, r->page.given, n);
    int code = rows_get(&p, &result, err);
    for (int i = 0; i < PQntuples(result) && !r->is_full; i++)
        give(r, result, i);
    *ret_more = code == 0 && PQntuples(result) == n;
    PQclear(result);
    return code;
}

/* One row after another, while PostgreSQL reads the next. */
static int read_stream(struct records_reading *r, int64_t n, bool *ret_more, struct error *err)
{
    int64_t before = r->n_taken;
    const PGresult *row;
    struct postgres_params p;
    struct row_stream st;

    page_params(&p, r->store, r->key, r->page.given, n);
    int code = row_stream_begin(&st, &p, err);
    if (code != 0)
        return code;
    while (!r->is_full && (row = row_stream_next(&st)) != NULL)
        give(r, row, 0);
    code = row_stream_end(&st, err);
    int64_t got = r->n_taken - before;
    /* The idle connection was broken. */
    if (code != 0 && got == 0 && connection_lost(postgres_of(r->store)))
        return read_at_once(r, n, ret_more, err);
    *ret_more = got == n;
    return code;
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
    struct postgres_store *store = postgres_of(s);
    struct records_reading r = { .store = s,
                                 .key = key,
                                 .page = { .after = after,
                                           .given = after,
                                           .limit = limit,
                                           .max_bytes = max_bytes,
                                           .cb = cb,
                                           .arg = arg } };
    bool more = limit > 0 && after < POSTGRES_MAX_SEQ;
    int code = 0;

    while (code == 0 && more && !r.is_full) {
        int64_t n = page_rows(store, r.n_taken, limit);
        bool streams = store->role == STORE_READER && store->stream == NULL;

        code = streams ? read_stream(&r, n, &more, err) : read_at_once(&r, n, &more, err);
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
    struct postgres_params p;
    PGresult *r = NULL;

    if (seq == 0 || seq > POSTGRES_MAX_SEQ)
        return ERR_NOT_FOUND;
    page_params(&p, s, key, seq - 1, 1);
    int code = rows_get(&p, &r, err);
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

/* Pages of one job begin with records of one model call, so each asks for the same header.
 * Forgotten with the connection: after a failover another record may have its number. */
static bool is_last(const struct postgres_store *s, int64_t key, uint64_t seq)
{
    return !s->is_pooled && s->last_record.seq == seq && s->last_record.key == key && seq != 0;
}

static void remember(struct postgres_store *s, int64_t key, uint64_t seq, struct str text)
{
    s->last_record.key = key;
    buf_clear(&s->last_record.text);
    buf_str(&s->last_record.text, text);
    s->last_record.seq = s->last_record.text.error == 0 ? seq : 0;
}

int postgres_record(struct store *s,
                    int64_t key,
                    uint64_t seq,
                    struct str *ret,
                    struct error *err)
{
    struct postgres_store *store = postgres_of(s);
    struct str chunk;
    int64_t last;

    if (is_last(store, key, seq)) {
        *ret = buf_text(&store->last_record.text);
        return 0;
    }
    int code = chunk_from(s, key, seq, &chunk, &last, err);
    if (code == ERR_NOT_FOUND)
        return error_set(err, code, "job %" PRId64 " has no record %" PRIu64, key, seq);
    if (code == 0)
        *ret = chunk_take(&chunk);
    if (code == 0 && store->role == STORE_READER)
        remember(store, key, seq, *ret);
    return code;
}
