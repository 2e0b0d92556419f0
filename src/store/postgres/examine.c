/* Examines a database before a gateway uses it: `spoolwire doctor --store`, `spoolwire db
 * status`.
 *
 * Each step reports its result in one sentence; a failed step ends the examination, since the
 * next ones depend on it.  Nothing is changed, and no lock is taken. */
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>

struct examination {
    struct postgres_store *s;
    store_examine_cb cb;
    void *arg;
};

static void good(struct examination *e, const char *check, const char *what)
{
    e->cb(e->arg, STORE_GOOD, check, what, NULL);
}

static int bad(struct examination *e, const char *check, const struct error *why)
{
    e->cb(e->arg, STORE_BAD, check, why->text, NULL);
    return why->code;
}

static int look_at_server(struct examination *e)
{
    struct error why = { 0 };
    char text[200];

    if (connection_open(e->s, &why) != 0)
        return bad(e, "server", &why);
    (void)snprintf(text, sizeof(text), "PostgreSQL %.30s answers (%.112s)",
                   PQparameterStatus(e->s->conn, "server_version"), e->s->name);
    good(e, "server", text);
    if (pooler_check(e->s, &why) != 0)
        return bad(e, "pooler", &why);
    good(e, "pooler", "sessions are not shared with others");
    return 0;
}

/* The first right that the role lacks, as a text; empty: none. */
#define MISSING_RIGHT                                                                    \
    "SELECT coalesce((SELECT 'to change the table ' || c.relname FROM pg_class c "       \
    "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') " \
    "AND NOT has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE') LIMIT 1), "    \
    "CASE WHEN NOT has_schema_privilege(current_schema(), 'CREATE') THEN "               \
    "'to make tables in the schema ' || current_schema() END, '')"

static int look_at_rights(struct examination *e)
{
    struct error why = { 0 };
    PGresult *r = NULL;

    if (connection_exec(e->s, MISSING_RIGHT, &r, &why) != 0)
        return bad(e, "rights", &why);
    const char *missing = PQgetvalue(r, 0, 0);
    int code =
        missing[0] == '\0'
            ? 0
            : error_set(&why, ERR_REFUSED,
                        "the role \"%.60s\" lacks the right %.100s in PostgreSQL (%s): make it "
                        "the owner of a schema (CREATE SCHEMA NAME AUTHORIZATION ROLE)",
                        PQuser(e->s->conn), missing, e->s->name);
    PQclear(r);
    if (code != 0)
        return bad(e, "rights", &why);
    good(e, "rights", "the role may do what a gateway needs");
    return 0;
}

/* What a migration waits for. */
static void look_at_migration(struct examination *e, long version, char *ret, size_t n)
{
    char gateway[SCHEMA_GATEWAY_BYTES] = "";

    (void)schema_older_gateway(e->s, version, gateway, NULL); /* none: what is said is true */
    if (gateway[0] != '\0')
        (void)snprintf(ret, n,
                       "schema %ld: gateways of this version bring it to %ld when the gateway "
                       "%s is gone, which does not know that",
                       version, schema_newest(), gateway);
    else
        (void)snprintf(ret, n,
                       "schema %ld: the next gateway of this version that writes brings it to "
                       "%ld",
                       version, schema_newest());
}

static int look_at_schema(struct examination *e)
{
    struct error why = { 0 };
    char text[400];
    long version = 0;

    if (schema_look(e->s, &version, &why) != 0)
        return bad(e, "schema", &why);
    if (version == 0)
        (void)snprintf(text, sizeof(text), "empty: the first gateway makes the tables");
    else if (version < schema_newest())
        look_at_migration(e, version, text, sizeof(text));
    else
        (void)snprintf(text, sizeof(text), "schema %ld, as this spoolwire has", version);
    good(e, "schema", text);
    return (int)(version > 0);
}

static void look_at_writer(struct examination *e)
{
    PGresult *r = NULL;
    char text[200];

    if (connection_exec(
            e->s,
            "SELECT (SELECT max(epoch) FROM shards), (SELECT count(*) FROM pg_locks "
            "WHERE locktype = 'advisory' AND granted AND classid::int8 = "
            "hashtext('spoolwire:' || current_schema())::int8 & 4294967295), "
            "(SELECT count(*) FROM shards)",
            &r, NULL) != 0)
        return; /* the gateway will find out */
    long n = strtol(PQgetvalue(r, 0, 2), NULL, 10);
    if (n > 1)
        (void)snprintf(text, sizeof(text), "%.6s of %ld shards have a gateway that writes",
                       PQgetvalue(r, 0, 1), n);
    else
        (void)snprintf(text, sizeof(text), "%s, epoch %.20s",
                       PQgetvalue(r, 0, 1)[0] != '0' ? "a gateway writes" : "no gateway writes",
                       PQgetvalue(r, 0, 0));
    PQclear(r);
    good(e, "writer", text);
}

static void look_at_durability(struct examination *e)
{
    PGresult *r = NULL;

    if (connection_exec(e->s,
                        "SELECT current_setting('fsync'), "
                        "current_setting('synchronous_standby_names')",
                        &r, NULL) != 0)
        return; /* only a warning */
    if (PQgetvalue(r, 0, 0)[0] != 'o' || PQgetvalue(r, 0, 0)[1] != 'n')
        e->cb(e->arg, STORE_DOUBTFUL, "fsync", "fsync is off: a power failure damages the data",
              "Set fsync = on in postgresql.conf.");
    if (PQgetvalue(r, 0, 1)[0] != '\0')
        good(e, "standby", "commits wait for a synchronous standby");
    else
        e->cb(e->arg, STORE_DOUBTFUL, "standby",
              "there is no synchronous standby: when this machine is lost, so are the last "
              "commits",
              "Name one in synchronous_standby_names, or accept it.");
    PQclear(r);
}

void postgres_examine(const struct store_options *options, store_examine_cb cb, void *arg)
{
    struct postgres_store s = { .role = STORE_READER, .url = (char *)(uintptr_t)options->url };
    struct examination e = { .s = &s, .cb = cb, .arg = arg };
    struct error why = { 0 };

    if (connection_name(&s, s.url, &why) != 0) {
        (void)bad(&e, "url", &why);
        return;
    }
    if (look_at_server(&e) == 0) {
        int found = look_at_schema(&e);

        if (found >= 0 && look_at_rights(&e) == 0 && found > 0)
            look_at_writer(&e);
        if (found >= 0)
            look_at_durability(&e);
    }
    connection_close(&s);
}
