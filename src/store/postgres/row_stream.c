/* Reads the rows of a statement while PostgreSQL still sends them.
 *
 *     PostgreSQL:  read rows ─▶ send ─▶ send ─▶ send ─▶ …
 *     we:                      row ─▶ use it ─▶ row ─▶ use it …
 *
 * Without it both work in turns: libpq gives a result only when it has all rows. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>

/* A lost connection is noticed here, after it was idle, or by the first row. */
int row_stream_begin(struct row_stream *st, struct postgres_params *p, struct error *err)
{
    struct postgres_store *s = p->s;

    assert(!s->in_transaction && s->stream == NULL && s->n_unread == 0);
    *st = (struct row_stream){ .s = s, .has_ended = true };
    int code = connection_ready(s, err);
    if (code == 0)
        code = send_params(p, false, err);
    if (code != 0)
        return code;
    s->n_unread = 0; /* its results are read here, not by settle() */
    if (PQsetSingleRowMode(s->conn) != 1 || PQpipelineSync(s->conn) != 1) {
        code = postgres_fault(s, NULL, err);
        connection_close(s);
        return code;
    }
    st->has_ended = false;
    s->stream = st;
    return 0;
}

/* Behind the last row: the end of the statement, and the sync. */
static void end(struct row_stream *st, PGresult *last)
{
    struct postgres_store *s = st->s;

    st->has_ended = true;
    if (PQresultStatus(last) != PGRES_TUPLES_OK)
        st->code = postgres_fault(s, last, &st->why);
    PQclear(last);
    PGresult *none = connection_lost(s) ? NULL : PQgetResult(s->conn);
    PGresult *sync = none != NULL || connection_lost(s) ? NULL : PQgetResult(s->conn);
    if (st->code == 0 && PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
        st->code = postgres_fault(s, sync, &st->why);
    if (PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
        connection_close(s);
    PQclear(none);
    PQclear(sync);
}

/* A row that PostgreSQL sends; NULL: there is none any more. */
static PGresult *receive(struct row_stream *st)
{
    if (st->has_ended)
        return NULL;
    PGresult *r = PQgetResult(st->s->conn);
    if (PQresultStatus(r) == PGRES_SINGLE_TUPLE)
        return r;
    end(st, r);
    return NULL;
}

const PGresult *row_stream_next(struct row_stream *st)
{
    PQclear(st->row);
    st->row = st->next < st->n_kept ? st->kept[st->next++] : receive(st);
    return st->row;
}

static bool keep(struct row_stream *st, PGresult *row)
{
    size_t room = (st->n_kept + 1) * sizeof(*st->kept);
    PGresult **grown = realloc(st->kept, room);

    if (grown == NULL) {
        st->code = error_set(&st->why, ERR_NOMEM, "no memory for the records");
        PQclear(row);
        return false;
    }
    st->kept = grown;
    st->kept[st->n_kept++] = row;
    return true;
}

void row_stream_keep(struct postgres_store *s)
{
    struct row_stream *st = s->stream;
    bool has_room = true;

    if (st == NULL)
        return;
    s->stream = NULL;
    for (PGresult *row; (row = receive(st)) != NULL;)
        if (has_room)
            has_room = keep(st, row);
        else
            PQclear(row);
}

int row_stream_end(struct row_stream *st, struct error *err)
{
    if (st->s->stream == st)
        st->s->stream = NULL;
    PQclear(st->row);
    for (PGresult *row; (row = receive(st)) != NULL;)
        PQclear(row);
    while (st->next < st->n_kept)
        PQclear(st->kept[st->next++]);
    free(st->kept);
    return st->code == 0 ? 0 : error_set(err, st->code, "%s", st->why.text);
}
