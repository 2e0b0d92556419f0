/* A connection: made when the store is opened, and again when it is lost.
 *
 *     connect ─▶ settings ─▶ lock (writer) ─▶ schema ─▶ epoch (writer) ─▶ statements
 *
 * A reader that goes through a pooler (`read_url`) has no settings, no lock and no prepared
 * statements, because its session is shared.
 *
 * Nothing depends on the defaults of the role or the database: settings for durability and
 * isolation are set in each session. */
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_SERVER = 130000 };

bool connection_lost(const struct postgres_store *s)
{
    return s->conn == NULL || PQstatus(s->conn) != CONNECTION_OK;
}

void connection_close(struct postgres_store *s)
{
    PQfinish(s->conn);
    s->conn = NULL;
    s->n_unread = 0;
    s->last_record.seq = 0;
}

/* The value of a keyword, from the URL, the environment or the service file; "": none. */
static const char *option(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val != NULL ? options->val : "";
    return "";
}

int connection_name(struct postgres_store *s, const char *url, struct error *err)
{
    int code = libpq_load(err);

    if (code != 0)
        return code;
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    if (options == NULL) /* no details: libpq's message may quote the password */
        return error_set(
            err, ERR_SYNTAX,
            "this is no URL of a PostgreSQL database: write "
            "postgres://USER@HOST:PORT/DATABASE, with %%40 for an @ inside a part");
    if (option(options, "password")[0] != '\0' || option(options, "sslpassword")[0] != '\0') {
        PQconninfoFree(options);
        return error_set(err, ERR_REFUSED,
                         "the URL of the database has a password, which `ps` and logs would "
                         "show: put it into ~/.pgpass, a file (passfile=FILE in the URL) or "
                         "PGPASSWORD");
    }
    const char *host = option(options, "host");
    const char *database = option(options, "dbname");
    (void)snprintf(s->name, sizeof(s->name), "%.50s%s%.50s",
                   database[0] != '\0' ? database : "default database",
                   host[0] != '\0' ? " at " : "", host);
    PQconninfoFree(options);
    return 0;
}

int connection_exec(struct postgres_store *s,
                    const char *sql,
                    PGresult **ret,
                    struct error *err)
{
    PGresult *r = PQexec(s->conn, sql);
    ExecStatusType status = PQresultStatus(r);
    int code =
        status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0 : postgres_fault(s, r, err);

    if (code == 0 && ret != NULL)
        *ret = r;
    else
        PQclear(r);
    return code;
}

static void on_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result; /* ignored: libpq would print them on stderr */
}

PGconn *connection_dial(const struct postgres_store *s)
{
    /* Later values win, so the URL can override these.  A dead peer is noticed after some 15
     * s. */
    const char *const words[] = { "connect_timeout",
                                  "keepalives_idle",
                                  "keepalives_interval",
                                  "keepalives_count",
                                  "tcp_user_timeout",
                                  "fallback_application_name",
                                  "dbname",
                                  NULL };
    const char *const values[] = { "10", "5", "3", "3", "15000", "spoolwire", s->url, NULL };

    return PQconnectdbParams(words, values, 1);
}

int connection_open(struct postgres_store *s, struct error *err)
{
    s->conn = connection_dial(s);
    if (connection_lost(s))
        return postgres_cannot_connect(s, s->conn, err);
    (void)PQsetNoticeReceiver(s->conn, on_notice, NULL); /* returns the old receiver */
    if (PQserverVersion(s->conn) < OLDEST_SERVER)
        return error_set(err, ERR_REFUSED,
                         "PostgreSQL (%s) is version %d: spoolwire needs 13 or newer", s->name,
                         PQserverVersion(s->conn) / 10000);
    const char *encoding = PQparameterStatus(s->conn, "server_encoding");
    if (encoding != NULL && strcmp(encoding, "UTF8") != 0)
        return error_set(err, ERR_REFUSED,
                         "the database %s has the encoding %.20s: make one with UTF8 (createdb "
                         "-E UTF8 -T template0 NAME)",
                         s->name, encoding);
    return 0;
}

/* PostgreSQL ends a session that is idle in a transaction, because it would block others. */
#define SETTINGS                                                                        \
    "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; "              \
    "SET default_transaction_isolation = 'read committed'; SET statement_timeout = 0; " \
    "SET lock_timeout = 0; SET plan_cache_mode = 'force_generic_plan'; "                \
    "SET idle_in_transaction_session_timeout = '60s'; "

static int set_up(struct postgres_store *s, struct error *err)
{
    const char *settings = s->role == STORE_READER ? SETTINGS
                               "SET default_transaction_read_only = on"
                           : s->relaxed ? SETTINGS "SET synchronous_commit = off"
                                        : SETTINGS "SET synchronous_commit = on";

    int code = connection_exec(s, settings, NULL, err);
    if (code == 0 && s->role == STORE_WRITER && s->gateway[0] != '\0') {
        char name[80];

        (void)snprintf(name, sizeof(name), "SET application_name = '" POSTGRES_SESSION "%s'",
                       s->gateway);
        code = connection_exec(s, name, NULL, err);
    }
    return code;
}

int connection_plain(struct postgres_store *s, struct error *err)
{
    int code = connection_open(s, err);

    if (code == 0)
        code = set_up(s, err);
    return code == 0 ? schema_ready(s, err) : code;
}

static int connect_anew(struct postgres_store *s, struct error *err)
{
    int code = connection_open(s, err);

    if (code == 0 && !s->is_pooled)
        code = pooler_check(s, err);
    if (code == 0 && !s->is_pooled)
        code = set_up(s, err);
    if (code == 0 && s->role == STORE_WRITER)
        code = shard_lock(s, err);
    if (code == 0)
        code = schema_ready(s, err);
    if (code == 0 && s->role == STORE_WRITER && s->gateway[0] == '\0')
        code = shard_lock_rest(s, err);
    if (code == 0)
        code = s->role == STORE_WRITER ? shard_take(s, err) : shard_check_origin(s, err);
    if (code == 0 && (PQenterPipelineMode(s->conn) != 1 || statements_send(s) != 0))
        code = postgres_fault(s, NULL, err);
    return code == 0 ? settle(s, NULL, err) : code;
}

int connection_ready(struct postgres_store *s, struct error *err)
{
    /* Notices whether PostgreSQL has closed the idle connection. */
    if (!connection_lost(s) && PQconsumeInput(s->conn) == 1 && !connection_lost(s))
        return 0;
    connection_close(s);
    int code = connect_anew(s, err);
    if (code != 0)
        connection_close(s);
    return code;
}
