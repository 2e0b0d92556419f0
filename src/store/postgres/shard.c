/* The right to write.
 *
 * A database has shards, usually one, number 0.  A shard's writer holds its advisory lock for
 * as long as its session lives, and has raised its epoch.  The lock keeps other
 * gateways out.  In addition each transaction checks the epoch (the function fence() in
 * schema.c), because a session, and with it the lock, can be lost without its gateway noticing.
 *
 *     session lost ─▶ our last session still has the lock: PostgreSQL ends it
 *                  ─▶ lock ─▶ the holder is still us: raise the epoch, go on
 *                             it is another: what we know of the jobs is old; refuse
 *
 *                             PostgreSQL is another server, or an earlier state of it, as after
 *                             a failover: the same
 *
 * When we have the lock again, the transaction of the last session is committed or rolled back:
 * then `turns` shows the outcome of a commit whose answer was lost (postgres.c). */
#include "store/postgres/postgres.h"

#include "base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PATIENCE_MS: our last session may be about to commit, so it gets some time to end by
 * itself. */
enum { KEPT_EPOCHS = 100, PAUSE_MS = 10, PATIENCE_MS = 300, LOOK_MS = 50 };

/* Two numbers: a hash of the schema's name (each database has its own locks), and the shard. */
#define LOCK_CLASS "hashtext('spoolwire:' || current_schema())"

static int try_lock(struct postgres_store *s, bool *ret, struct error *err)
{
    char sql[120];
    PGresult *r = NULL;

    (void)snprintf(sql, sizeof(sql), "SELECT pg_try_advisory_lock(" LOCK_CLASS ", %d)",
                   (int)s->shard);
    int code = connection_exec(s, sql, &r, err);

    if (code == 0)
        *ret = PQgetvalue(r, 0, 0)[0] == 't';
    PQclear(r);
    return code;
}

/* Does our last session still exist?  With @must, ends it. */
static int find_last_session(struct postgres_store *s, bool must, bool *ret, struct error *err)
{
    char sql[200];
    PGresult *r = NULL;

    (void)snprintf(sql, sizeof(sql),
                   "SELECT %s FROM pg_stat_activity WHERE pid = %d AND backend_start = '%s'",
                   must ? "pg_terminate_backend(pid)" : "pid", s->backend, s->backend_start);
    int code = connection_exec(s, sql, &r, err);
    *ret = code == 0 && PQntuples(r) > 0;
    PQclear(r);
    return code;
}

static int remember_session(struct postgres_store *s, struct error *err)
{
    PGresult *r = NULL;
    int code = connection_exec(
        s, "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()", &r,
        err);

    if (code == 0 && PQntuples(r) == 1) {
        s->backend = (int)strtol(PQgetvalue(r, 0, 0), NULL, 10);
        (void)snprintf(s->backend_start, sizeof(s->backend_start), "%s", PQgetvalue(r, 0, 1));
    }
    PQclear(r);
    return code;
}

/* The lock is taken: waits for the end of our own last session, if that holds it. */
static int lock_again(struct postgres_store *s, bool *ret, struct error *err)
{
    bool is_there = true;
    int code = 0;

    for (unsigned ms = 0; code == 0 && is_there && !*ret && ms < s->busy_ms; ms += PAUSE_MS) {
        code = find_last_session(s, ms >= PATIENCE_MS, &is_there, err);
        clock_sleep_ms(PAUSE_MS);
        if (code == 0)
            code = try_lock(s, ret, err);
    }
    s->is_fenced = code == 0 && !is_there && !*ret;
    return code;
}

/* Gives the query up.  Its end is not waited for: PostgreSQL ignores a cancel that comes before
 * the query, and the connection is closed anyway. */
static void cancel_query(struct postgres_store *s)
{
    PGcancel *cancel = PQgetCancel(s->conn);
    char why[100];

    if (cancel != NULL)
        (void)PQcancel(cancel, why, sizeof(why)); /* or the connection is lost */
    PQfreeCancel(cancel);
}

/* Until the other gateway's session ends, however it does: PostgreSQL hands the lock over
 * within milliseconds. */
static int wait_for_lock(struct postgres_store *s, bool *ret, struct error *err)
{
    struct pollfd fd = { .fd = PQsocket(s->conn), .events = POLLIN };
    char sql[120];

    (void)snprintf(sql, sizeof(sql), "SELECT pg_advisory_lock(" LOCK_CLASS ", %d)",
                   (int)s->shard);
    if (PQsendQuery(s->conn, sql) != 1)
        return postgres_fault(s, NULL, err);
    while (PQisBusy(s->conn) && atomic_load(s->waits)) {
        (void)poll(&fd, 1, LOOK_MS); /* interrupted: it is asked again */
        if (PQconsumeInput(s->conn) != 1)
            return postgres_fault(s, NULL, err);
    }
    if (PQisBusy(s->conn)) {
        cancel_query(s);
        return 0;
    }
    PGresult *r = PQgetResult(s->conn);
    *ret = PQresultStatus(r) == PGRES_TUPLES_OK;
    int code = *ret ? 0 : postgres_fault(s, r, err);
    PQclear(r);
    PQclear(PQgetResult(s->conn)); /* its end */
    return code;
}

static int refuse_busy(struct postgres_store *s, struct error *err)
{
    int code = s->gateway[0] == '\0' ? schema_refuse_older(s, err) : 0;

    if (code != 0)
        return code;
    return error_set(
        err, ERR_BUSY,
        "another gateway writes to the database %s: stop it first, or give another "
        "database",
        s->name);
}

int shard_lock(struct postgres_store *s, struct error *err)
{
    bool is_ours = false;
    int code = try_lock(s, &is_ours, err);

    if (code == 0 && !is_ours && s->backend != 0)
        code = lock_again(s, &is_ours, err);
    else if (code == 0 && !is_ours && s->waits != NULL)
        code = wait_for_lock(s, &is_ours, err);
    if (code != 0)
        return code;
    return is_ours ? remember_session(s, err) : refuse_busy(s, err);
}

int shard_lock_rest(struct postgres_store *s, struct error *err)
{
    PGresult *r = NULL;
    int code =
        connection_exec(s,
                        "SELECT count(*) FILTER (WHERE NOT pg_try_advisory_lock(" LOCK_CLASS
                        ", shard::int)) FROM shards WHERE shard > 0",
                        &r, err);

    if (code == 0 && PQgetvalue(r, 0, 0)[0] != '0')
        code = refuse_busy(s, err);
    PQclear(r);
    return code;
}

static int raise_epoch(struct postgres_store *s, int64_t *ret, struct error *err)
{
    char sql[320];
    PGresult *r = NULL;

    /* Compares the holder and not the epoch: our last attempt may have raised the epoch without
     * our getting the answer. */
    if (s->holder[0] == '\0')
        (void)snprintf(sql, sizeof(sql),
                       "UPDATE shards SET epoch = epoch + 1, holder = gen_random_uuid()::text "
                       "WHERE shard = %" PRId64 " RETURNING epoch, holder",
                       s->shard);
    else
        (void)snprintf(sql, sizeof(sql),
                       "UPDATE shards SET epoch = epoch + 1 WHERE shard = %" PRId64
                       " AND holder = '%s' "
                       "RETURNING epoch, holder",
                       s->shard, s->holder);
    int code = connection_exec(s, sql, &r, err);
    if (code == 0 && PQntuples(r) == 1) {
        *ret = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
        (void)snprintf(s->holder, sizeof(s->holder), "%s", PQgetvalue(r, 0, 1));
    } else if (code == 0) {
        s->is_fenced = true;
        code = error_set(err, ERR_IO,
                         "another gateway has written to %s while this one was cut off: "
                         "nothing is stored any more; restart this one",
                         s->name);
    }
    PQclear(r);
    return code;
}

#define TIMELINE                                         \
    "CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE " \
    "left(pg_walfile_name(pg_current_wal_lsn()), 8) END"
/* The server, and the branch of its history: a promoted standby begins a new one.  If commits
 * do not wait for the disk, a restart may also have lost some. */
#define ORIGIN                                              \
    "SELECT system_identifier || '/' || " TIMELINE " FROM " \
    "pg_control_system()"
#define ORIGIN_RELAXED                                    \
    "SELECT system_identifier || '/' || " TIMELINE " || " \
    "'/' || extract(epoch FROM pg_postmaster_start_time()) FROM pg_control_system()"

static uint64_t hash(const char *text)
{
    uint64_t n = 14695981039346656037u;

    for (; *text != '\0'; text++) /* FNV-1a */
        n = (n ^ (unsigned char)*text) * 1099511628211u;
    return n;
}

int shard_check_origin(struct postgres_store *s, struct error *err)
{
    PGresult *r = NULL;
    int code = connection_exec(s, s->relaxed ? ORIGIN_RELAXED : ORIGIN, &r, err);

    if (code != 0)
        return code;
    const char *origin = PQgetvalue(r, 0, 0);
    s->base.era = hash(origin);
    if (s->origin[0] == '\0') {
        (void)snprintf(s->origin, sizeof(s->origin), "%s", origin);
    } else if (s->role == STORE_WRITER && strcmp(s->origin, origin) != 0) {
        s->is_fenced = true;
        code = error_set(err, ERR_IO,
                         "PostgreSQL (%s) has failed over and may have lost something: the "
                         "jobs are read anew",
                         s->name);
    }
    PQclear(r);
    return code;
}

/* What the writer before has left in the row of the shard: a holder, unless it was left in good
 * order. */
static int look_behind(struct postgres_store *s, struct error *err)
{
    char sql[120];
    PGresult *r = NULL;

    (void)snprintf(sql, sizeof(sql),
                   "SELECT epoch, holder IS NOT NULL, %s FROM shards WHERE shard = %" PRId64,
                   s->version >= SCHEMA_WITH_SUSPECT ? "suspect" : "0", s->shard);
    int code = connection_exec(s, sql, &r, err);
    if (code == 0 && PQntuples(r) == 1) {
        s->left_epoch = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
        s->left.has_crashed = PQgetvalue(r, 0, 1)[0] == 't';
        s->left.suspect = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
    }
    PQclear(r);
    return code;
}

int shard_take(struct postgres_store *s, struct error *err)
{
    int64_t epoch = 0;
    char sql[320];
    int code = shard_check_origin(s, err);

    if (code == 0 && s->epoch == 0)
        code = look_behind(s, err);
    if (code == 0)
        code = raise_epoch(s, &epoch, err);
    if (code != 0)
        return code;
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO turns(shard, epoch, turn) VALUES(%" PRId64 ", %" PRId64 ", 0); "
                   "DELETE FROM turns WHERE shard = %" PRId64 " AND epoch < %" PRId64,
                   s->shard, epoch, s->shard, epoch - KEPT_EPOCHS);
    code = connection_exec(s, sql, NULL, err);
    if (code == 0) {
        s->epoch = epoch;
        s->turn = 0;
        breadcrumb_sign(s);
        s->keys[STORE_JOB_KEYS] = (struct postgres_keys){ 0 };
        (void)snprintf(sql, sizeof(sql), "SELECT tend_records(%" PRId64 ")", s->shard);
        code = connection_exec(s, sql, NULL, err);
    }
    return code;
}

void shard_leave(struct postgres_store *s)
{
    char sql[160];

    if (s->role != STORE_WRITER || s->epoch == 0 || s->is_fenced || connection_lost(s))
        return;
    (void)snprintf(
        sql, sizeof(sql),
        "UPDATE shards SET holder = NULL%s WHERE shard = %" PRId64 " AND epoch = %" PRId64,
        s->version >= SCHEMA_WITH_SUSPECT ? ", suspect = 0" : "", s->shard, s->epoch);
    (void)run_text(s, sql, NULL, NULL); /* or the next one is cautious without need */
}

/* --- names of suspects -------------------------------------------------------------------- */

void postgres_left_behind(struct store *store, struct store_left *ret)
{
    struct postgres_store *s = postgres_of(store);

    *ret = s->left;
    ret->has_crashed &= s->version >= SCHEMA_WITH_SUSPECT;
}

int postgres_name_suspect(struct store *store, int64_t job, struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    char sql[120];

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE shards SET suspect = %" PRId64 " WHERE shard = %" PRId64, job,
                   s->shard);
    return run_text(s, sql, NULL, err);
}

/* --- how many there are --------------------------------------------------------------- */

int postgres_shards(struct store *s, int64_t *ret, struct error *err)
{
    return number_get(s, SQL_SHARDS, ret, err);
}

/* The first index finds the open jobs of an owner in other shards, whose number is limited; the
 * second is the order of lists. */
int postgres_make_shards(struct store *store, int64_t n, struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    char sql[400];
    int64_t now = 0;
    int code = postgres_shards(store, &now, err);

    if (code != 0 || now == n)
        return code;
    if (now > 1)
        return error_set(
            err, ERR_REFUSED,
            "the database %s has %lld shards, and their number never changes: give "
            "another database",
            s->name, (long long)now);
    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO shards(shard, epoch) SELECT n, 0 FROM generate_series(1, %lld) n "
        "WHERE NOT EXISTS (SELECT 1 FROM jobs) AND NOT EXISTS (SELECT 1 FROM threads)",
        (long long)n - 1);
    code = postgres_begin(store, err);
    if (code != 0)
        return code;
    code = run_text(s, sql, NULL, err);
    if (code == 0)
        code = run_text(s,
                        "CREATE INDEX jobs_open_owner ON jobs(owner) WHERE owner IS NOT NULL "
                        "AND " SQL_IS_OPEN,
                        NULL, err);
    if (code == 0)
        code = run_text(s, "CREATE INDEX jobs_created ON jobs(created, key)", NULL, err);
    if (code == 0)
        code = postgres_shards(store, &now, err);
    if (code == 0 && now != n)
        code = error_set(err, ERR_REFUSED,
                         "the database %s has jobs or threads, and shards are made before the "
                         "first one: give another database",
                         s->name);
    if (code == 0)
        return postgres_commit(store, err);
    postgres_rollback(store);
    return code;
}
