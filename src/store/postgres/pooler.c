/* Detects a connection pooler that shares one PostgreSQL session among several clients.
 *
 * Such a pooler (pgbouncer in transaction mode) breaks features that a gateway depends on:
 * locks and prepared statements of a session.  A pooler makes up the backend process id that
 * libpq gets when it connects, so it differs from the real one.  A second connection shows
 * whether the pooler also shares sessions: it does if that connection gets our backend. */
#include "store/postgres/postgres.h"

#include <poll.h>
#include <stdlib.h>

enum { TRIES = 3, WAIT_MS = 3000 };

/* 0: the query failed, or timed out. */
static long backend_of(PGconn *conn)
{
    struct pollfd fd = { .fd = PQsocket(conn), .events = POLLIN };
    long pid = 0;

    if (PQsendQuery(conn, "SELECT pg_backend_pid()") != 1)
        return 0;
    for (PGresult *r; poll(&fd, 1, WAIT_MS) > 0 && (r = PQgetResult(conn)) != NULL; PQclear(r))
        if (PQntuples(r) == 1)
            pid = strtol(PQgetvalue(r, 0, 0), NULL, 10);
        else if (PQresultStatus(r) == PGRES_FATAL_ERROR)
            break;
    return pid;
}

static bool is_shared(struct postgres_store *s, PGconn *other)
{
    bool shared = false;

    for (int i = 0; i < TRIES && !shared; i++) {
        PGresult *r = NULL;

        if (connection_exec(s, "SELECT pg_backend_pid()", &r, NULL) != 0)
            return false;
        shared = backend_of(other) == strtol(PQgetvalue(r, 0, 0), NULL, 10);
        PQclear(r);
    }
    return shared;
}

int pooler_check(struct postgres_store *s, struct error *err)
{
    PGresult *r = NULL;
    int code = connection_exec(s, "SELECT pg_backend_pid()", &r, err);

    if (code != 0)
        return code;
    bool is_direct = strtol(PQgetvalue(r, 0, 0), NULL, 10) == PQbackendPID(s->conn);
    PQclear(r);
    if (is_direct)
        return 0;
    PGconn *other = connection_dial(s);
    bool shared = PQstatus(other) == CONNECTION_OK && is_shared(s, other);
    PQfinish(other);
    return shared
               ? error_set(err, ERR_REFUSED,
                           "a pooler before PostgreSQL (%s) shares sessions, as pgbouncer does "
                           "with pool_mode = transaction, and breaks the gateway's session "
                           "lock: give the URL of PostgreSQL itself, or set pool_mode = "
                           "session for this database",
                           s->name)
               : 0;
}
