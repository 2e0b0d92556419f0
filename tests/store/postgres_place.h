/* A place for a store in the PostgreSQL server that tests/store/postgres/run has started: a
 * schema of its own.  Included by the fixtures of the tests that run on every backend. */
#ifndef STORE_POSTGRES_PLACE_H
#define STORE_POSTGRES_PLACE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PLACE_BYTES = 128 };

/* The database that was given to the test program; NULL: it tests other backends. */
static inline const char *postgres_database(void)
{
    return getenv("STORE_TEST_URL");
}

static inline bool postgres_do(const char *sql)
{
    const char *const words[] = { "dbname", NULL };
    const char *const values[] = { postgres_database(), NULL };
    PGconn *conn = PQconnectdbParams(words, values, 1);
    PGresult *r = PQexec(conn, sql);
    bool ok = PQresultStatus(r) == PGRES_COMMAND_OK;

    if (!ok)
        (void)fprintf(stderr, "%s: %s", sql, PQerrorMessage(conn));
    PQclear(r);
    PQfinish(conn);
    return ok;
}

/* The URL of an empty schema, which is this process's. */
static inline bool postgres_make_place(char ret[PLACE_BYTES])
{
    char sql[160];
    int id = (int)getpid();

    (void)snprintf(sql, sizeof(sql),
                   "SET client_min_messages = error; DROP SCHEMA IF EXISTS p%d CASCADE; "
                   "CREATE SCHEMA p%d",
                   id, id);
    (void)snprintf(ret, PLACE_BYTES, "%s?options=-csearch_path%%3Dp%d", postgres_database(),
                   id);
    return postgres_do(sql);
}

static inline void postgres_drop_place(void)
{
    char sql[100];

    (void)snprintf(sql, sizeof(sql), "SET client_min_messages = error; DROP SCHEMA p%d CASCADE",
                   (int)getpid());
    (void)postgres_do(sql);
}

#endif
