/* A store is one connection to a PostgreSQL database.
 *
 * The store that writes is the writer of the shard (shard.c).  Its transaction is a pipeline:
 * begin and the fence are sent at once, writes as they are flushed, and the commit after the
 * last one; PostgreSQL executes the first ones while the caller prepares the others.
 *
 * Errors: after an error inside a transaction, nothing more is sent, and the commit returns the
 * error again.  When the connection breaks, nothing of the transaction is stored, and the next
 * one reconnects.  If the commit itself was already sent, its outcome is unknown, and the
 * caller must wait: settle_commit() reconnects until it can check.  The fence has put the
 * turn's number into `turns` in the same transaction; if it is there, everything is stored.
 * This also holds on a standby that was promoted meanwhile, where transaction ids are used
 * again.
 *
 * The wait has a limit.  After it the outcome stays unknown (ERR_UNKNOWN), and so does what the
 * jobs are: the store is given up, and everything is read anew by the next one. */
#include "store/postgres/postgres.h"

#include "base/clock.h"
#include "store/list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 200, SETTLE_MS = 10000, HURRIED_MS = 2000 };
enum { EARLY_BYTES = 16 * 1024 }; /* of records: executing them takes longer than sending */

#define ENTRY(name) STORE_ENTRY(postgres, name)
static const struct store_ops ops = { .max_seq = POSTGRES_MAX_SEQ,
                                      .is_remote = true,

                                      STORE_OPS(ENTRY) };
#undef ENTRY
/* PostgreSQL's own tools do the rest: pg_dump, amcheck, autovacuum. */
static const struct store_admin admin = { .check = postgres_check,
                                          .dump = postgres_dump,
                                          .load = postgres_load,
                                          .last_key = postgres_last_key,
                                          .skip_keys = postgres_skip_keys,
                                          .identity = postgres_identity,
                                          .is_lost = postgres_is_lost,
                                          .operation_put = postgres_operation_put,
                                          .operation = postgres_operation,
                                          .shards = postgres_shards,
                                          .make_shards = postgres_make_shards,
                                          .breadcrumb = postgres_breadcrumb,
                                          .hurry = postgres_hurry,
                                          .unmigrated = postgres_unmigrated,
                                          .left_behind = postgres_left_behind,
                                          .name_suspect = postgres_name_suspect };

static int open_store(const char *place,
                      const struct store_options *options,
                      enum store_role role,
                      struct store **ret,
                      struct error *err)
{
    struct postgres_store *s = calloc(1, sizeof(*s));
    bool is_pooled = role == STORE_READER && options->read_url != NULL;

    (void)place; /* unused: libpq parses the whole URL */
    if (s == NULL || (s->url = strdup(is_pooled ? options->read_url : options->url)) == NULL) {
        free(s);
        return error_set(err, ERR_NOMEM, "out of memory");
    }
    s->base = (struct store){ .ops = &ops, .admin = &admin };
    s->role = role;
    s->is_pooled = is_pooled;
    s->relaxed = options->relaxed;
    s->busy_ms = options->busy_ms;
    chunks_init(&s->chunks);
    operations_init(&s->operations);
    buf_init(&s->last_record.text, SIZE_MAX / 4);
    s->waits = options->waits;
    s->shard = options->shard;
    if (options->gateway != NULL)
        (void)snprintf(s->gateway, sizeof(s->gateway), "%s", options->gateway);
    int code = connection_name(s, s->url, err);
    if (code == 0)
        code = connection_ready(s, err);
    s->waits = NULL;
    if (code != 0) {
        postgres_close(&s->base);
        return code;
    }
    *ret = &s->base;
    return 0;
}

#define FORM "postgres://USER@HOST/DATABASE"
#define BACKEND(name)                                                          \
    {                                                                          \
        .scheme = (name), .form = FORM, .is_shared = true, .open = open_store, \
        .examine = postgres_examine                                            \
    }
const struct store_backend store_backend_postgres = BACKEND("postgres");
const struct store_backend store_backend_postgresql = BACKEND("postgresql");

void postgres_close(struct store *store)
{
    struct postgres_store *s = postgres_of(store);

    if (s->in_transaction)
        postgres_rollback(store);
    shard_leave(s);
    breadcrumb_release(s);
    /* Waits until the lock is free: PostgreSQL ends the session some time after we have closed
     * it, and the next command would find the lock taken. */
    if (s->role == STORE_WRITER && !connection_lost(s))
        (void)run_text(s, "SELECT pg_advisory_unlock_all()", NULL, NULL);
    connection_close(s);
    PQclear(s->kept);
    chunks_done(&s->chunks);
    operations_done(&s->operations);
    buf_done(&s->last_record.text);
    free(s->url);
    free(s);
}

/* --- transactions ---------------------------------------------------------------- */

static int send_fence(struct postgres_store *s, struct error *err)
{
    struct postgres_params p;

    params_init(&p, &s->base, SQL_FENCE);
    params_int(&p, s->shard);
    params_int(&p, s->epoch);
    params_int(&p, s->turn + 1);
    params_int(&p, s->version);
    return send_params(&p, false, err);
}

int postgres_begin(struct store *store, struct error *err)
{
    struct postgres_store *s = postgres_of(store);

    assert(s->role != STORE_READER && !s->in_transaction);
    if (s->is_fenced)
        return error_set(err, ERR_IO,
                         "what is known of the jobs in %s is old: they are read anew", s->name);
    int code = connection_ready(s, err);
    if (code == 0)
        code = send_plain(s, SQL_BEGIN, err);
    if (code == 0 && s->role == STORE_WRITER)
        code = send_fence(s, err);
    if (code != 0) {
        connection_close(s);
        return code;
    }
    /* PostgreSQL executes these while the caller prepares the rest.  What cannot be sent now is
     * sent with it. */
    (void)PQflush(s->conn);
    s->in_transaction = true;
    s->failure = (struct error){ 0 };
    return 0;
}

void postgres_rollback(struct store *store)
{
    struct postgres_store *s = postgres_of(store);

    s->in_transaction = s->gathering = false;
    operations_clear(&s->operations);
    s->keys[STORE_JOB_KEYS] = (struct postgres_keys){ 0 }; /* the note of a new block is lost */
    if (connection_lost(s))
        return;
    if (send_plain(s, SQL_ROLLBACK, NULL) != 0)
        connection_close(s);
    else if (settle(s, NULL, NULL) != 0 && !connection_lost(s) &&
             (send_plain(s, SQL_ROLLBACK, NULL) != 0 || settle(s, NULL, NULL) != 0))
        connection_close(s); /* sent twice, because the first one is skipped after a failed
                                statement */
}

/* Is turn @turn of @epoch stored?  ERR_BUSY and others: unknown for now. */
static int find_turn(struct postgres_store *s,
                     int64_t epoch,
                     int64_t turn,
                     bool *ret,
                     struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, &s->base, SQL_TURN);
    params_int(&p, s->shard);
    params_int(&p, epoch);
    int code = rows_get(&p, &r, err);
    if (code == 0)
        *ret = PQntuples(r) == 1 && cell_int(r, 0, 0) == turn;
    PQclear(r);
    return code;
}

void postgres_hurry(struct store *s)
{
    atomic_store(&postgres_of(s)->is_hurried, true);
}

static int give_up(struct postgres_store *s, struct error *err)
{
    s->is_fenced = true;
    connection_close(s);
    return error_set(err, ERR_UNKNOWN,
                     "PostgreSQL (%.60s) went away during a commit: it is not known whether "
                     "this was stored; look, or repeat it under the same id",
                     s->name);
}

/* The connection broke after the commit was sent.  Waits until PostgreSQL is back. */
static int settle_commit(struct postgres_store *s, struct error *err)
{
    int64_t epoch = s->epoch, turn = s->turn + 1, since = clock_monotonic_ms();
    bool is_stored = false;

    s->keys[STORE_JOB_KEYS] = (struct postgres_keys){ 0 };
    while (find_turn(s, epoch, turn, &is_stored, err) != 0) {
        int64_t waited = clock_monotonic_ms() - since;

        if (waited >= (atomic_load(&s->is_hurried) ? HURRIED_MS : SETTLE_MS)) {
            s->role = STORE_WRITER;
            return give_up(s, err);
        }
        clock_sleep_ms(RETRY_MS);
        if (s->is_fenced) /* our last session has ended then, so the check needs no lock */
            s->role = STORE_BESIDE;
    }
    if (s->role == STORE_BESIDE) {
        s->role = STORE_WRITER;
        connection_close(s);
    }
    return is_stored
               ? 0
               : error_set(err, ERR_IO,
                           "PostgreSQL (%s) went away before it had stored anything", s->name);
}

static bool is_commit(const PGresult *r)
{
    return r != NULL && strcmp(PQcmdStatus((PGresult *)(uintptr_t)r), "COMMIT") == 0;
}

int postgres_commit(struct store *store, struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    PGresult *r = NULL;

    assert(s->in_transaction);
    int code = operations_send(s, err);
    if (code != 0 || s->failure.code != 0) {
        postgres_rollback(store);
        return s->failure.code != 0 ? error_set(err, s->failure.code, "%s", s->failure.text)
                                    : code;
    }
    code = send_plain(s, SQL_COMMIT, err);
    if (code == 0)
        code = settle(s, &r, err);
    if (code == 0 && !is_commit(r))
        code = postgres_fault(s, r, err);
    PQclear(r);
    s->in_transaction = s->gathering = false;
    if (code != 0 && connection_lost(s) && s->role == STORE_WRITER)
        return settle_commit(s, err);
    if (code != 0)
        postgres_rollback(store);
    else
        s->turn++;
    return code;
}

/* Sends the batch without waiting: the next call that waits reports an error, at the latest the
 * commit.  A small one leaves with the commit, which follows soon. */
int postgres_flush(struct store *s, struct store_batch *b, struct error *err)
{
    bool is_large = b->records.n >= EARLY_BYTES;

    postgres_of(s)->gathering = true;
    int code = store_flush_each(s, b, err);
    int sent = chunks_send(postgres_of(s), code == 0 ? err : NULL);
    postgres_of(s)->gathering = false;
    if (is_large)
        (void)PQflush(postgres_of(s)->conn); /* as in postgres_begin() */
    return code == 0 ? sent : code;
}

void postgres_compact(struct store *s)
{
    (void)s; /* autovacuum does it */
}
