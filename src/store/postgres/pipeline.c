/* Sends statements and reads their results.
 *
 * The connection is always in pipeline mode.  A statement is first written to libpq's buffer;
 * settle() sends a sync and reads one result for each statement.  A turn waits once: begin,
 * fence, write, write, …, commit, sync are sent, and then all results are read.
 * A read in the middle of a turn settles the statements before it, which costs another round
 * trip.
 *
 * After a statement fails, PostgreSQL skips all others up to the sync. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>

static const int binary[POSTGRES_MAX_PARAMS] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

/* --- results --------------------------------------------------------------------- */

static bool has_failed(const PGresult *r)
{
    ExecStatusType status = PQresultStatus(r);

    return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK &&
           status != PGRES_PIPELINE_SYNC;
}

/* One statement's result; NULL when the connection is lost. */
static PGresult *read_one(struct postgres_store *s)
{
    PGresult *r = PQgetResult(s->conn);
    PGresult *end = r != NULL ? PQgetResult(s->conn) : NULL;

    PQclear(end); /* normally NULL; a result only if the connection breaks here */
    return r;
}

/* Reads all results.  The last @n are in @ret, also after an error; each may be NULL. */
static int settle_all(struct postgres_store *s, PGresult **ret, size_t n, struct error *err)
{
    int code = PQpipelineSync(s->conn) == 1 ? 0 : postgres_fault(s, NULL, err);

    for (; s->n_unread > 0 && !connection_lost(s); s->n_unread--) {
        PGresult *r = read_one(s);

        if (code == 0 && (r == NULL || has_failed(r)))
            code = postgres_fault(s, r, err);
        if (s->n_unread <= n)
            ret[n - s->n_unread] = r;
        else
            PQclear(r);
    }
    s->n_unread = 0;
    PGresult *sync = connection_lost(s) ? NULL : PQgetResult(s->conn);
    if (code == 0 && PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
        code = postgres_fault(s, sync, err);
    /* Without the sync it is unknown what was executed: close the connection, also when
     * PostgreSQL has announced the end of the session and libpq has not noticed it yet. */
    if (PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
        connection_close(s);
    PQclear(sync);
    return code;
}

int settle(struct postgres_store *s, PGresult **ret_last, struct error *err)
{
    PGresult *last = NULL;
    int code = settle_all(s, &last, 1, err);

    if (code == 0 && ret_last != NULL)
        *ret_last = last;
    else
        PQclear(last);
    return code;
}

/* --- sending --------------------------------------------------------------------- */

int send_named(struct postgres_params *p, const char *name, struct error *err)
{
    struct postgres_store *s = p->s;

    assert(p->n <= POSTGRES_MAX_PARAMS);
    if (PQsendQueryPrepared(s->conn, name, p->n, p->values, p->lengths, binary, 1) != 1)
        return postgres_fault(s, NULL, err);
    s->n_unread++;
    return 0;
}

/* A pooler before PostgreSQL may have the next statement run in another session. */
static int send_unnamed(struct postgres_params *p, struct error *err)
{
    if (statement_send_unnamed(p, binary) != 1)
        return postgres_fault(p->s, NULL, err);
    p->s->n_unread++;
    return 0;
}

int send_params(struct postgres_params *p, bool must, struct error *err)
{
    char name[16];

    if (p->s->is_pooled || statement_is_newer(p->s, p->id))
        return send_unnamed(p, err);
    return send_named(p, statement_name(p->id, must, name), err);
}

int prepare_text(struct postgres_store *s, const char *name, const char *sql, struct error *err)
{
    if (PQsendPrepare(s->conn, name, sql, 0, NULL) != 1)
        return postgres_fault(s, NULL, err);
    s->n_unread++;
    return 0;
}

int run_text(struct postgres_store *s, const char *sql, PGresult **ret, struct error *err)
{
    if (PQsendQueryParams(s->conn, sql, 0, NULL, NULL, NULL, NULL, 1) != 1)
        return postgres_fault(s, NULL, err);
    s->n_unread++;
    return settle(s, ret, err);
}

/* The transaction, if there is one, can no longer be committed. */
static int failed(struct postgres_store *s,
                  int code,
                  const struct error *why,
                  struct error *err)
{
    if (s->in_transaction)
        s->failure = *why;
    return error_set(err, code, "%s", why->text);
}

/* Are the parameters valid?  A refusal here does not affect the transaction. */
static int check(const struct postgres_params *p, struct error *err)
{
    const struct postgres_store *s = p->s;

    if (s->in_transaction && s->failure.code != 0)
        return error_set(err, s->failure.code, "%s", s->failure.text);
    if (p->is_too_large)
        return error_set(err, ERR_TOO_LARGE,
                         "a text is too large for PostgreSQL (the limit is 1 GB)");
    return 0;
}

int send_plain(struct postgres_store *s, enum postgres_statement id, struct error *err)
{
    struct postgres_params p;

    params_init(&p, &s->base, id);
    return send_params(&p, false, err);
}

/* Sends the statement and reads its result. */
static int exchange(struct postgres_params *p, PGresult **ret, struct error *err)
{
    struct error why = { 0 };
    int code = send_params(p, false, &why);

    if (code == 0)
        code = settle(p->s, ret, &why);
    return code == 0 ? 0 : failed(p->s, code, &why, err);
}

/* --- reading --------------------------------------------------------------------- */

int rows_get(struct postgres_params *p, PGresult **ret, struct error *err)
{
    struct postgres_store *s = p->s;
    int code = check(p, err);

    row_stream_keep(s);
    if (code != 0 || s->in_transaction)
        return code != 0 ? code : exchange(p, ret, err);
    code = connection_ready(s, err);
    if (code == 0)
        code = exchange(p, ret, err);
    if (code == 0 || !connection_lost(s))
        return code;
    /* The idle connection was broken: connect again, and repeat the read, which is safe. */
    code = connection_ready(s, err);
    return code == 0 ? exchange(p, ret, err) : code;
}

int reading_begin(struct postgres_store *s, struct error *err)
{
    row_stream_keep(s);
    if (!s->in_transaction)
        return connection_ready(s, err);
    return s->failure.code == 0 ? 0 : error_set(err, s->failure.code, "%s", s->failure.text);
}

int reading_send(struct postgres_params *p, struct error *err)
{
    struct error why = { 0 };
    int code = check(p, err);

    if (code != 0)
        return code;
    code = send_params(p, false, &why);
    return code == 0 ? 0 : failed(p->s, code, &why, err);
}

int reading_end(struct postgres_store *s, PGresult **ret, size_t n, struct error *err)
{
    struct error why = { 0 };
    int code = settle_all(s, ret, n, &why);

    return code == 0 ? 0 : failed(s, code, &why, err);
}

int row_get(struct postgres_params *p, PGresult **ret, struct error *err)
{
    struct postgres_store *s = p->s;
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    if (code != 0)
        return code;
    PQclear(s->kept);
    s->kept = r;
    *ret = r;
    return PQntuples(r) > 0 ? 0 : ERR_NOT_FOUND;
}

int number_get(struct store *s, enum postgres_statement id, int64_t *ret, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, id);
    int code = row_get(&p, &r, err);
    if (code == 0)
        *ret = cell_int(r, 0, 0);
    return not_found(code, "number", err);
}

/* --- writing --------------------------------------------------------------------- */

static int gather(struct postgres_params *p, bool must, struct error *err)
{
    struct error why = { 0 };
    int code = send_params(p, must, &why);

    return code == 0 ? 0 : failed(p->s, code, &why, err);
}

int write_rows(struct postgres_params *p, size_t *ret_n, struct error *err)
{
    struct postgres_store *s = p->s;
    PGresult *r = NULL;
    int code = check(p, err);

    assert(s->in_transaction);
    if (code == 0 && s->gathering) {
        if (ret_n != NULL)
            *ret_n = 1;
        return gather(p, false, err);
    }
    if (code == 0)
        code = exchange(p, &r, err);
    if (code == 0 && ret_n != NULL)
        *ret_n = (size_t)strtoull(PQcmdTuples(r), NULL, 10);
    PQclear(r);
    return code;
}

int write_row(struct postgres_params *p, struct error *err)
{
    size_t n = 0;
    int code = check(p, err);

    if (code == 0 && p->s->gathering)
        return gather(p, true, err);
    if (code == 0)
        code = write_rows(p, &n, err);
    return code == 0 && n == 0 ? ERR_NOT_FOUND : code;
}
