/* Health checks, three of them:
 *
 *     /livez    should it be restarted?          200 whenever it answers
 *     /readyz   should it get requests?          503 while it shuts down
 *     /healthz  what is wrong?                   for people and alarms
 *
 * They are public, so none of them tells secrets. */
#include "api/api.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/json_format.h"
#include "cluster/cluster.h"
#include "dialect/render.h"
#include "journal/counts.h"

enum {
    FAILED_MS = 30000, /* how long a failed commit is reported, unless one succeeds */
    STUCK_MS = 10000,  /* the journal updates its time several times a second */
    MAX_READY_BYTES = 4096,
    LOW_DISK_BYTES = 256 * 1024 * 1024 /* an operator should act below this */
};

#define LOST "the database was deleted, moved or replaced: nothing is stored; the log says more"

/* From best to worst. */
enum health { HEALTH_OK, HEALTH_DEGRADED, HEALTH_FAILING, HEALTH_DRAINING };

static struct str health_name(enum health health)
{
    static const char *const names[] = {
        [HEALTH_OK] = "ok",
        [HEALTH_DEGRADED] = "degraded",
        [HEALTH_FAILING] = "failing",
        [HEALTH_DRAINING] = "draining",
    };

    return str_of(names[health]);
}

void api_livez(struct http_request *req)
{
    http_respond(req, 200, "application/json", STR("{" JSON_LIT("status", "alive") "}"));
}

static int put_id(void *arg, const struct job_row *row)
{
    struct buf *b = arg;

    json_put_str(json_next(b), row->id);
    return b->n > MAX_READY_BYTES;
}

/* Who owns the jobs, as this gateway sees it. */
static void put_writer(struct buf *b, struct cluster *cluster)
{
    struct cluster_state state;

    if (cluster == NULL)
        return;
    cluster_look(cluster, &state);
    json_add_bool(b, "writes", state.is_writer);
    json_add_text(b, "writer", state.writer[0] != '\0' ? str_of(state.writer) : STR_NONE);
    json_add_bool(b, "writer_reachable", state.is_reachable);
    json_add_int(b, "hint_lag_ms", state.hint_ms);
    json_add_int(b, "schema", state.schema.version);
    if (state.schema.waits_for[0] != '\0')
        json_add_str(b, "schema_waits_for", str_of(state.schema.waits_for));
}

static void run_ready(struct thread_task *task, struct store *store)
{
    struct buf *b = &store_query_of(task)->out;

    json_begin(b);
    json_add_str(b, "status", STR("ready"));
    put_writer(b, store_query_of(task)->loop->app->cluster);
    json_add_array(b, "set_aside");
    (void)store_jobs_set_aside(store, put_id, b, NULL); /* lists as many as can be read */
    json_end_array(b);
    json_end(b);
}

/* A gateway that does not reach the one that owns the jobs is ready: it serves readers, and the
 * others may not reach it either.
 *
 * Does not read the store, unless jobs are set aside: their ids are in the store. */
void api_readyz(struct http_request *req)
{
    struct app *app = app_loop_of(req)->app;
    struct journal_counts sum;

    if (atomic_load(&app->draining)) {
        http_respond(req, 503, "application/json", STR("{" JSON_LIT("status", "draining") "}"));
        return;
    }
    const struct journal_counts *counts = api_counts(app, &sum);
    if (counter_get(&counts->lost) != 0) {
        http_respond(req, 503, "application/json",
                     STR("{" JSON_LIT("status", "failing") "," JSON_LIT("reason", LOST) "}"));
        return;
    }
    if (counter_get(&counts->set_aside) == 0) {
        struct buf out LOCAL_BUF(2048);

        json_begin(&out);
        json_add_str(&out, "status", STR("ready"));
        put_writer(&out, app->cluster);
        json_end(&out);
        api_json(req, 200, &out);
        return;
    }
    struct store_query *query = store_query_new(req, STR(""), run_ready);
    if (query != NULL)
        store_query_post(query);
}

/* --- the parts ------------------------------------------------------------------------- */

static void begin_part(struct buf *b, const char *name, enum health health, struct str why)
{
    json_put_key(b, str_of(name));
    json_begin(b);
    json_add_str(b, "status", health_name(health));
    if (!str_absent(why))
        json_add_text(b, "reason", why);
}

static void put_disk(struct buf *b, const struct store_disk *disk)
{
    for (size_t i = 0; i < disk->n; i++) {
        json_format(b, i > 0 ? ",'%j_bytes':%d" : ",'%jbytes':%d",
                    i > 0 ? disk->figures[i].name : "", disk->figures[i].bytes);
    }
    json_add_int(b, "disk_free_bytes", (int64_t)disk->free);
    json_add_int(b, "disk_total_bytes", (int64_t)disk->total);
}

static enum health put_store(struct buf *b, struct store *store)
{
    struct store_disk disk = { 0 };
    struct job_row row;
    bool is_readable = store_job_get(store, STR(""), &row, NULL) == ERR_NOT_FOUND;
    int code = store_disk(store, &disk, NULL);
    bool has_disk = code != ERR_REFUSED; /* else the backend does not report disk space */
    bool is_there = code == 0 || !has_disk;
    bool is_lost = store_is_lost(store);
    bool is_low = code == 0 && disk.free < LOW_DISK_BYTES;
    enum health health = is_lost || !is_readable || !is_there ? HEALTH_FAILING
                         : is_low                             ? HEALTH_DEGRADED
                                                              : HEALTH_OK;

    begin_part(b, "store", health,
               is_lost                     ? STR(LOST)
               : !is_readable || !is_there ? STR("the database cannot be read")
               : is_low                    ? STR("the disk is almost full")
                                           : STR_NONE);
    if (has_disk)
        put_disk(b, &disk);
    json_end(b);
    return health;
}

/* On the monotonic clock: the wall clock may be set in between. */
static bool is_within(uint64_t us, uint64_t ms)
{
    return clock_monotonic_us() - us <= ms * 1000;
}

static enum health put_journal(struct buf *b, const struct journal_counts *c)
{
    uint64_t failure = counter_get(&c->last_failure_us);
    bool is_failing =
        failure > counter_get(&c->last_commit_us) && is_within(failure, FAILED_MS);
    bool is_stuck = !is_within(counter_get(&c->last_turn_us), STUCK_MS);
    enum health health = is_failing || is_stuck ? HEALTH_FAILING : HEALTH_OK;

    begin_part(b, "journal", health,
               is_stuck     ? STR("the last commit does not come to an end")
               : is_failing ? STR("the last commit failed; the log says why")
                            : STR_NONE);
    json_add_time(b, "last_commit_at", (int64_t)counter_get(&c->last_commit));
    json_add_int(b, "commits", (int64_t)counter_get(&c->commits));
    json_add_int(b, "failed_commits", (int64_t)counter_get(&c->failed_commits));
    json_add_int(b, "jobs_queued", (int64_t)counter_get(&c->queued));
    json_add_int(b, "jobs_running", (int64_t)counter_get(&c->running));
    json_end(b);
    return health;
}

/* Its journal is closed here, because another gateway owns the jobs. */
static enum health put_other_journal(struct buf *b, const struct cluster_state *state)
{
    enum health health = state->is_reachable ? HEALTH_OK : HEALTH_DEGRADED;

    begin_part(b, "journal", health,
               state->is_reachable ? STR_NONE
                                   : STR("the gateway that owns the jobs cannot be reached"));
    json_add_text(b, "writer", state->writer[0] != '\0' ? str_of(state->writer) : STR_NONE);
    json_end(b);
    return health;
}

/* --- the whole ------------------------------------------------------------------------- */

static enum health worse(enum health a, enum health b)
{
    return a > b ? a : b;
}

static enum health put_own_or_other(struct buf *b, struct app *app)
{
    struct cluster_state state = { .written = 1 };
    struct journal_counts sum;

    if (app->cluster != NULL)
        cluster_look(app->cluster, &state);
    return state.written != 0 ? put_journal(b, api_counts(app, &sum))
                              : put_other_journal(b, &state);
}

static void run(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct app *app = query->loop->app;
    struct buf *b = &query->out;
    struct buf parts LOCAL_BUF(64 * 1024);

    enum health health = put_store(&parts, store);
    health = worse(health, put_own_or_other(&parts, app));
    if (atomic_load(&app->draining))
        health = HEALTH_DRAINING;
    json_format(b, "{'status':%s,'version':%s,'streams':%d%j}", health_name(health),
                app->version, api_readers(app), buf_text(&parts));
    query->status = health >= HEALTH_FAILING ? 503 : 200;
    query->type = "application/json"; /* also of a 503 */
}

void api_healthz(struct http_request *req)
{
    struct store_query *query = store_query_new(req, STR(""), run);

    if (query != NULL)
        store_query_post(query);
}

/* --- LangGraph's health routes ----------------------------------------------------- */

void api_ok(struct http_request *req)
{
    http_respond(req, 200, "application/json", STR("{" JSON_CONST("ok", "true") "}"));
}

void api_info(struct http_request *req)
{
    struct buf out LOCAL_BUF(4096);

    json_format(&out,
                "{'version':%s,'context':null,"
                "'flags':{'assistants':true,'crons':true,'langsmith':false}}",
                app_loop_of(req)->app->version);
    api_json(req, 200, &out);
}
