/* Which schema the database has, and bringing it to the newest one.
 *
 *     schema of the database    what a gateway does that knows OLDEST … NEWEST (schema.c)
 *     0                         makes the tables
 *     below OLDEST              migrates it, or is refused while an older gateway lives,
 * because it could not even read it OLDEST … NEWEST - 1       migrates it, or works on it while
 * an older gateway lives NEWEST                    works on it above NEWEST              is
 * refused
 *
 * The writer of shard 0 migrates, when it opens its store and has that shard's lock.  It never
 * does while a gateway lives that does not know the newest schema.  All missing steps run in
 * one transaction, together with the new version:
 *
 *   - `gateways` is locked, so that nobody enters who was not looked at.  A gateway that comes
 *     later sees the new version in the statement that enters it (gateways.c).
 *   - The epoch of every shard rises, which ends what their writers are doing: a transaction
 *     that began before is waited for, the next one is refused, and the shard is opened again,
 *     with the new version.
 *
 * A migration that fails leaves everything as it was.  If the gateway can work on the older
 * schema, it does, and says why it has to. */
#include "store/postgres/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The first schemas with these tables. */
enum { SCHEMA_WITH_SHARDS = 1, SCHEMA_WITH_GATEWAYS = 2 };

/* The version of the schema (0: it is empty; -1: it belongs to another program). */
static int read_version(struct postgres_store *s, long *ret, struct error *err)
{
    PGresult *r = NULL;
    int code = connection_exec(
        s,
        "SELECT to_regclass(quote_ident(current_schema()) || '.spoolwire') IS NOT NULL, "
        "count(c.oid) FILTER (WHERE NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid "
        "AND d.deptype = 'e')), current_schema() FROM pg_class c "
        "WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))",
        &r, err);
    if (code != 0)
        return code;
    bool is_ours = PQgetvalue(r, 0, 0)[0] == 't';
    *ret = strtol(PQgetvalue(r, 0, 1), NULL, 10) > 0 ? -1 : 0;
    if (PQgetisnull(r, 0, 2))
        code = error_set(err, ERR_REFUSED,
                         "the search path of the role in %s names no schema that is there: "
                         "CREATE SCHEMA, or ALTER ROLE … SET search_path",
                         s->name);
    PQclear(r);
    if (code != 0 || !is_ours)
        return code;
    code = connection_exec(s, "SELECT version FROM spoolwire", &r, err);
    if (code == 0) {
        *ret = PQntuples(r) == 1 ? strtol(PQgetvalue(r, 0, 0), NULL, 10) : -1;
        PQclear(r);
    }
    return code;
}

/* --- older gateways ----------------------------------------------------------------------- */

/* A gateway lives while it has a session, or had one a minute ago: that of a gateway that
 * connects again, for example after a restart of PostgreSQL. */
#define OLDER                                                                          \
    "SELECT url, version FROM gateways g WHERE "                                       \
    "coalesce((to_jsonb(g)->>'newest_schema')::bigint, 0) < %ld AND "                  \
    "(" GATEWAY_IS_CONNECTED " OR greatest(seen, pg_postmaster_start_time()) > now() " \
    "- interval '1 minute') ORDER BY started, id LIMIT 1"

int schema_older_gateway(struct postgres_store *s,
                         long version,
                         char ret[SCHEMA_GATEWAY_BYTES],
                         struct error *err)
{
    char sql[sizeof(OLDER) + 20];
    PGresult *r = NULL;
    int code = 0;

    ret[0] = '\0';
    if (version < SCHEMA_WITH_GATEWAYS)
        return 0;
    (void)snprintf(sql, sizeof(sql), OLDER, schema_newest());
    code = connection_exec(s, sql, &r, err);
    if (code == 0 && PQntuples(r) > 0)
        (void)snprintf(ret, SCHEMA_GATEWAY_BYTES, "%.150s (spoolwire %.20s)",
                       PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 1));
    PQclear(r);
    return code;
}

static int refuse_older(const struct postgres_store *s, const char *gateway, struct error *err)
{
    return error_set(err, ERR_REFUSED,
                     "the gateway %s does not know schema %ld, to which %s must be brought: "
                     "stop that gateway first (one that was killed counts for a minute)",
                     gateway, schema_newest(), s->name);
}

int schema_refuse_older(struct postgres_store *s, struct error *err)
{
    char gateway[SCHEMA_GATEWAY_BYTES] = "";
    long version = 0;

    if (read_version(s, &version, NULL) != 0 || version < 0 || version >= schema_newest() ||
        schema_older_gateway(s, version, gateway, NULL) != 0 || gateway[0] == '\0')
        return 0;
    return refuse_older(s, gateway, err);
}

/* --- migrating ---------------------------------------------------------------------------- */

/* The writer of the first shard does it, when it opens its store: a session that was lost and
 * is made again goes on with the schema that is there. */
static bool migrates(const struct postgres_store *s)
{
    return s->role == STORE_WRITER && s->shard == 0 && s->epoch == 0;
}

/* What waits for a lock holds up all others that want the table. */
#define BEGIN_MIGRATION "BEGIN; SET LOCAL lock_timeout = '10s'"

/* Inside the transaction: keeps other gateways out.  *@gateway: an older one that lives. */
static int lock_others(struct postgres_store *s,
                       long version,
                       char gateway[SCHEMA_GATEWAY_BYTES],
                       struct error *err)
{
    int code = 0;

    if (version >= SCHEMA_WITH_GATEWAYS)
        code = connection_exec(s, "LOCK TABLE gateways IN SHARE ROW EXCLUSIVE MODE", NULL, err);
    if (code == 0)
        code = schema_older_gateway(s, version, gateway, err);
    if (code == 0 && gateway[0] == '\0' && version >= SCHEMA_WITH_SHARDS)
        code = connection_exec(s, "UPDATE shards SET epoch = epoch + 1", NULL, err);
    return code;
}

static int run_steps(struct postgres_store *s, long version, struct error *err)
{
    char stamp[80];
    int code = 0;

    for (long i = version; code == 0 && i < schema_newest(); i++)
        code = connection_exec(s, schema_step(i), NULL, err);
    (void)snprintf(stamp, sizeof(stamp), "UPDATE spoolwire SET version = %ld; COMMIT",
                   schema_newest());
    return code == 0 ? connection_exec(s, stamp, NULL, err) : code;
}

static int migrate(struct postgres_store *s,
                   long version,
                   char gateway[SCHEMA_GATEWAY_BYTES],
                   struct error *err)
{
    int code = connection_exec(s, BEGIN_MIGRATION, NULL, err);

    if (code == 0)
        code = lock_others(s, version, gateway, err);
    if (code == 0 && gateway[0] != '\0')
        code = refuse_older(s, gateway, err);
    if (code == 0)
        code = run_steps(s, version, err);
    if (code != 0 && !connection_lost(s))
        (void)connection_exec(s, "ROLLBACK", NULL, NULL); /* or the session is closed */
    return code;
}

/* Can a gateway go on without the migration?  Other programs need not. */
static bool works_on(const struct postgres_store *s, long version)
{
    return s->gateway[0] != '\0' && version >= schema_oldest() && !connection_lost(s);
}

static int bring_up(struct postgres_store *s, long *version, struct error *err)
{
    char gateway[SCHEMA_GATEWAY_BYTES] = "";
    struct error why = { 0 };
    int code = migrate(s, *version, gateway, &why);

    if (code == 0)
        *version = schema_newest();
    else if (!works_on(s, *version))
        return error_set(err, code, "%s", why.text);
    else if (gateway[0] == '\0') /* else its end is waited for */
        (void)snprintf(s->unmigrated, sizeof(s->unmigrated), "%s", why.text);
    return 0;
}

/* --- checking ----------------------------------------------------------------------------- */

/* The schema is too old, and we are not the one that migrates it.  ERR_IO: another one does, or
 * may do, so that it can be looked at again. */
static int refuse_oldest(struct postgres_store *s, long version, struct error *err)
{
    char gateway[SCHEMA_GATEWAY_BYTES] = "";
    int code = schema_older_gateway(s, version, gateway, err);

    if (code != 0)
        return code;
    if (gateway[0] != '\0')
        return error_set(
            err, ERR_REFUSED,
            "the gateway %s works on schema %ld of %s, which this spoolwire no longer knows (it "
            "needs %ld): upgrade to a version in between first, or stop all older gateways and "
            "start this one again",
            gateway, version, s->name, schema_oldest());
    return error_set(err, ERR_IO,
                     "%s has no tables of this spoolwire yet (schema %ld, this one needs %ld): "
                     "start the server with it once",
                     s->name, version, schema_oldest());
}

static int check_version(struct postgres_store *s, long version, struct error *err)
{
    if (version < 0)
        return error_set(
            err, ERR_REFUSED,
            "the database %s holds the tables of another program: give one that is "
            "empty (createdb NAME), or an empty schema (options=-csearch_path=NAME "
            "in the URL)",
            s->name);
    if (version > schema_newest())
        return schema_refuse_newer(s, version, err);
    if (version < schema_oldest() && !migrates(s))
        return refuse_oldest(s, version, err);
    return 0;
}

int schema_refuse_newer(const struct postgres_store *s, long version, struct error *err)
{
    return error_set(err, ERR_REFUSED,
                     "%s was written by a newer spoolwire (schema %ld, this one knows %ld): "
                     "use that version, or give another database",
                     s->name, version, schema_newest());
}

int schema_look(struct postgres_store *s, long *ret, struct error *err)
{
    enum store_role role = s->role;
    int code = read_version(s, ret, err);

    s->role = STORE_WRITER; /* the message is for the role that can migrate it */
    if (code == 0)
        code = check_version(s, *ret, err);
    s->role = role;
    return code;
}

int schema_ready(struct postgres_store *s, struct error *err)
{
    long version = 0;
    int code = read_version(s, &version, err);

    if (code == 0)
        code = check_version(s, version, err);
    if (code == 0 && version < schema_newest() && migrates(s))
        code = bring_up(s, &version, err);
    s->version = version;
    return code;
}

struct str postgres_unmigrated(struct store *s)
{
    const char *why = postgres_of(s)->unmigrated;

    return why[0] != '\0' ? str_of(why) : STR_NONE;
}
