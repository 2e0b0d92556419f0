/* Gateways: a row each, whose `beat` rises once a second.
 *
 * Who writes is not in a table: it is who holds the shard's advisory lock, and the sessions
 * that may hold it have their gateway's id in their application name.  So a gateway that is
 * given the lock is seen as the writer at once, also one that is frozen and does not know it
 * yet.
 *
 * Hints go over one channel, in transactions of their own. */
#define _GNU_SOURCE /* eventfd, poll */
#include "store/gateways.h"

#include "base/clock.h"
#include "store/postgres/postgres.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct gateways {
    struct postgres_store s; /* for its connection */
    char id[GATEWAY_ID_BYTES];
    char *url, *version; /* owned */
    int64_t started;
    int wake;         /* eventfd */
    char channel[80]; /* empty: it was never connected */
    bool was_deaf;    /* it is connected again, and has not said so yet */
    long schema;      /* of the database, with the last beat */
};

/* Gateways that have said nothing for so long, while PostgreSQL was there, are no longer
 * listed. */
#define FORGOTTEN "now() - interval '1 minute'"

/* --- statements --------------------------------------------------------------------------- */

static int run(struct gateways *g,
               const char *sql,
               int n,
               const char *const *values,
               PGresult **ret,
               struct error *err)
{
    PGresult *r = PQexecParams(g->s.conn, sql, n, NULL, values, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(r);
    int code = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
                   ? 0
                   : postgres_fault(&g->s, r, err);

    if (code == 0 && ret != NULL)
        *ret = r;
    else
        PQclear(r);
    return code;
}

/* Also after a connection was lost: the row may have been forgotten.  Whether we know the
 * schema is looked at here again: a migration may have been run since we have connected, and
 * waits only for the gateways that are listed. */
static int enter(struct gateways *g, struct error *err)
{
    char started[24], newest[24];
    const char *const values[] = { g->id, g->url, g->version, started, newest };
    PGresult *r = NULL;

    char name[80];
    (void)snprintf(name, sizeof(name), "SET application_name = '" MEMBER_SESSION "%s'", g->id);
    int code = run(g, name, 0, NULL, NULL, err);
    if (code != 0)
        return code;
    (void)snprintf(started, sizeof(started), "%lld", (long long)g->started);
    (void)snprintf(newest, sizeof(newest), "%ld", schema_newest());
    code =
        run(g,
            "WITH entered AS (INSERT INTO gateways(id, url, version, started, beat, seen, "
            "newest_schema) SELECT $1, $2, $3, $4::bigint, 0, now(), $5::bigint FROM spoolwire "
            "WHERE spoolwire.version <= $5::bigint ON CONFLICT (id) DO NOTHING) "
            "SELECT version FROM spoolwire",
            5, values, &r, err);
    if (code != 0)
        return code;
    g->schema = strtol(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return g->schema > schema_newest() ? schema_refuse_newer(&g->s, g->schema, err) : 0;
}

static int listen_to(struct gateways *g, struct error *err)
{
    char sql[120];
    PGresult *r = NULL;
    int code = run(g, "SELECT 'spoolwire_' || replace(identity::text, '-', '') FROM spoolwire",
                   0, NULL, &r, err);

    if (code != 0)
        return code;
    (void)snprintf(g->channel, sizeof(g->channel), "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    (void)snprintf(sql, sizeof(sql), "LISTEN %s", g->channel);
    return run(g, sql, 0, NULL, NULL, err);
}

static int ready(struct gateways *g, struct error *err)
{
    if (!connection_lost(&g->s))
        return 0;
    connection_close(&g->s);
    g->was_deaf = g->channel[0] != '\0';
    int code = connection_plain(&g->s, err);
    if (code == 0)
        code = enter(g, err);
    if (code == 0)
        code = listen_to(g, err);
    if (code != 0)
        connection_close(&g->s);
    return code;
}

/* --- life --------------------------------------------------------------------------------- */

static void free_all(struct gateways *g)
{
    connection_close(&g->s);
    if (g->wake >= 0)
        (void)close(g->wake); /* nothing is lost */
    free(g->s.url);
    free(g->url);
    free(g->version);
    free(g);
}

static char *copy(struct str text)
{
    return strndup(text.p, text.n);
}

int gateways_open(const struct store_options *options,
                  const struct gateway_row *self,
                  struct gateways **ret,
                  struct error *err)
{
    struct gateways *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    g->s.role = STORE_BESIDE;
    g->s.busy_ms = options->busy_ms;
    g->s.url = strdup(options->url);
    g->url = copy(self->url);
    g->version = copy(self->version);
    g->started = self->started;
    g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)snprintf(g->id, sizeof(g->id), "%.*s", STR_ARG(self->id));
    int code = 0;
    if (g->s.url == NULL || g->url == NULL || g->version == NULL || g->wake < 0)
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        code = connection_name(&g->s, options->url, err);
    if (code == 0)
        code = ready(g, err);
    if (code != 0) {
        free_all(g);
        return code;
    }
    *ret = g;
    return 0;
}

void gateways_close(struct gateways *g)
{
    if (g == NULL)
        return;
    if (!connection_lost(&g->s)) {
        const char *const values[] = { g->id };

        /* Best effort: it is forgotten later. */
        (void)run(g, "DELETE FROM gateways WHERE id = $1", 1, values, NULL, NULL);
    }
    free_all(g);
}

/* --- being there -------------------------------------------------------------------------- */

static void give_rows(struct gateways *g, const PGresult *r, gateway_cb cb, void *arg)
{
    for (int i = 0; i < PQntuples(r); i++) {
        struct gateway_row row = {
            .id = str_of(PQgetvalue(r, i, 0)),
            .url = str_of(PQgetvalue(r, i, 1)),
            .version = str_of(PQgetvalue(r, i, 2)),
            .started = strtoll(PQgetvalue(r, i, 3), NULL, 10),
            .beat = strtoll(PQgetvalue(r, i, 4), NULL, 10),
            .shards = (uint64_t)strtoll(PQgetvalue(r, i, 5), NULL, 10),
            .is_connected = PQgetvalue(r, i, 6)[0] == 't',
            .newest_schema = strtoll(PQgetvalue(r, i, 7), NULL, 10),
        };

        row.is_self = str_eq(row.id, str_of(g->id));
        cb(arg, &row);
        g->schema = strtol(PQgetvalue(r, i, 8), NULL, 10);
    }
}

/* Our row is gone if others took us for dead. */
static int say_here(struct gateways *g, struct error *err)
{
    const char *const values[] = { g->id };
    PGresult *r = NULL;
    int code = run(g,
                   "WITH old AS (DELETE FROM gateways WHERE seen < " FORGOTTEN
                   " AND pg_postmaster_start_time() < " FORGOTTEN
                   " AND id <> $1), answered AS (DELETE FROM operations WHERE at < now() - "
                   "interval '10 minutes') "
                   "UPDATE gateways SET beat = beat + 1, seen = now() WHERE id = $1",
                   1, values, &r, err);

    if (code != 0)
        return code;
    bool is_listed = PQcmdTuples(r)[0] != '0';
    PQclear(r);
    return is_listed ? 0 : enter(g, err);
}

int gateways_beat(struct gateways *g, gateway_cb cb, void *arg, struct error *err)
{
    PGresult *r = NULL;
    int code = ready(g, err);

    if (code == 0)
        code = say_here(g, err);
    if (code == 0)
        code = run(g,
                   "SELECT id, url, version, started, beat, (SELECT coalesce(bit_or("
                   "1::int8 << l.objid::int8::int), 0) FROM pg_locks l "
                   "JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND "
                   "l.granted AND l.database = a.datid AND a.datname = current_database() AND "
                   "l.classid = (hashtext('spoolwire:' || current_schema())::bigint & "
                   "4294967295)::oid AND l.objsubid = 2 AND "
                   "a.application_name = '" POSTGRES_SESSION "' || g.id), " GATEWAY_IS_CONNECTED
                   ", newest_schema, "
                   "(SELECT s.version FROM spoolwire s) FROM gateways g ORDER BY started, id",
                   0, NULL, &r, err);
    if (code != 0) {
        connection_close(&g->s);
        return code;
    }
    give_rows(g, r, cb, arg);
    PQclear(r);
    return 0;
}

int gateways_end(struct gateways *g, struct str id, struct error *err)
{
    char name[GATEWAY_ID_BYTES];
    const char *const values[] = { name };

    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(id));
    return run(g,
               "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
               "current_database() AND application_name = '" POSTGRES_SESSION "' || $1",
               1, values, NULL, err);
}

int gateways_forget(struct gateways *g, const struct gateway_row *row, struct error *err)
{
    char id[GATEWAY_ID_BYTES], beat[24];
    const char *const values[] = { id, beat };

    (void)snprintf(id, sizeof(id), "%.*s", STR_ARG(row->id));
    (void)snprintf(beat, sizeof(beat), "%lld", (long long)row->beat);
    return run(g, "DELETE FROM gateways WHERE id = $1 AND beat = $2::bigint", 2, values, NULL,
               err);
}

void gateways_schema(const struct gateways *g, struct gateways_schema *ret)
{
    ret->version = g->schema;
    ret->newest = schema_newest();
}

/* --- hints -------------------------------------------------------------------------------- */

int gateways_tell(struct gateways *g, struct str text, struct error *err)
{
    char payload[GATEWAY_MAX_HINT + 1];
    const char *const values[] = { g->channel, payload };

    (void)snprintf(payload, sizeof(payload), "%.*s", STR_ARG(text));
    if (connection_lost(&g->s))
        return error_set(err, ERR_IO, "PostgreSQL (%s) is away", g->s.name);
    return run(g, "SELECT pg_notify($1, $2)", 2, values, NULL, err);
}

static size_t give_hints(struct gateways *g, gateway_hint_cb cb, void *arg)
{
    size_t n = 0;
    int own = PQbackendPID(g->s.conn);

    for (PGnotify *hint; (hint = PQnotifies(g->s.conn)) != NULL; n++) {
        if (hint->be_pid != own)
            cb(arg, str_of(hint->extra));
        PQfreemem(hint);
    }
    return n;
}

void gateways_wait(struct gateways *g, int64_t ms, gateway_hint_cb cb, void *arg)
{
    bool is_lost = connection_lost(&g->s);
    struct pollfd fds[] = { { .fd = g->wake, .events = POLLIN },
                            { .fd = is_lost ? -1 : PQsocket(g->s.conn), .events = POLLIN } };
    uint64_t n;

    if (!is_lost && g->was_deaf) {
        g->was_deaf = false;
        cb(arg, STR_NONE);
    }
    if (!is_lost && give_hints(g, cb, arg) > 0) /* they came with an answer */
        return;
    (void)poll(fds, 2, ms > 0 ? (int)ms : 0); /* interrupted: it is called again */
    (void)!read(g->wake, &n, sizeof(n));      /* there may be nothing */
    if (is_lost || (fds[1].revents & (POLLIN | POLLERR | POLLHUP)) == 0)
        return;
    if (PQconsumeInput(g->s.conn) == 1)
        (void)give_hints(g, cb, arg);
    else
        connection_close(&g->s);
}

void gateways_wake(struct gateways *g)
{
    uint64_t one = 1;

    (void)!write(g->wake, &one, sizeof(one)); /* a full counter wakes as well */
}
