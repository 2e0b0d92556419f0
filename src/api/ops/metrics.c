/* GET /metrics.
 *
 * Each counter is kept by the module that counts and written by one thread; here they are added
 * up.  Figures of the system (files, the process) are read on a thread of the pool, because
 * reading them blocks.  Every series exists from the start, at zero, and labels have a fixed
 * list of values. */
#include "api/admit.h"
#include "api/api.h"
#include "api/ops/expose.h"
#include "api/ops/process.h"

#include "agents/arq/server.h"
#include "agents/exec.h"
#include "base/clock.h"
#include "cluster/cluster.h"
#include "redis/service.h"
#include "store/webhooks.h"
#include "dialect/dialect.h"
#include "journal/counts.h"
#include "record/record.h"

#include <stdio.h>

enum { LABELS = 160 };

static uint64_t get(const struct counter *c)
{
    return counter_get(c);
}

static void put_histogram(struct expose *e,
                          const char *name,
                          const struct histogram *h,
                          const char *help)
{
    expose_family(e, name, "histogram", help);
    expose_histogram(e, "", h);
}

static uint64_t since(uint64_t us)
{
    return us != 0 ? clock_monotonic_us() - us : 0;
}

/* --- requests ------------------------------------------------------------------------ */

/* Calls @each for every route, and for requests that match no route. */
static void each_route(struct expose *e,
                       const struct http_server *http,
                       void (*each)(struct expose *e,
                                    const char *labels,
                                    const struct http_route_counts *counts))
{
    struct http_route_counts counts;
    char labels[LABELS];
    const struct http_route *r = api_routes;

    for (; r->method != NULL; r++) {
        (void)snprintf(labels, sizeof(labels), "route=\"%s\",method=\"%s\"", r->pattern,
                       r->method); /* fits */
        http_server_route_counts(http, r, &counts);
        each(e, labels, &counts);
    }
    http_server_route_counts(http, NULL, &counts);
    each(e, "route=\"other\",method=\"other\"", &counts);
}

static void put_requests(struct expose *e,
                         const char *labels,
                         const struct http_route_counts *counts)
{
    char all[LABELS + 16];

    for (int i = 1; i < HTTP_CLASSES; i++) { /* interim answers are not counted */
        (void)snprintf(all, sizeof(all), "%s,code=\"%dxx\"", labels, i + 1); /* fits */
        expose_value(e, all, get(&counts->classes[i]));
    }
}

static void put_duration(struct expose *e,
                         const char *labels,
                         const struct http_route_counts *counts)
{
    expose_histogram(e, labels, &counts->duration);
}

static void put_http(struct expose *e, struct http_server *http)
{
    struct http_counts counts;

    expose_family(e, "spoolwire_http_requests_total", "counter",
                  "Requests that were answered; a stream counts when it begins.");
    each_route(e, http, put_requests);
    expose_family(e, "spoolwire_http_request_duration_seconds", "histogram",
                  "From a request's first byte to its answer; streams are not counted.");
    each_route(e, http, put_duration);
    http_server_counts(http, &counts);
    expose_gauge(e, "spoolwire_http_inflight", counts.inflight,
                 "Requests that are being worked on; streams are not counted.");
    expose_gauge(e, "spoolwire_http_connections_open", counts.connections, "Open connections.");
    expose_counter(e, "spoolwire_http_connections_total", counts.accepted,
                   "Connections that came.");
    expose_counter(e, "spoolwire_http_connections_refused_total", counts.refused,
                   "Connections that were turned away, over a limit.");
    expose_family(e, "spoolwire_tls_handshakes_total", "counter", "TLS handshakes.");
    expose_value(e, "result=\"ok\"", counts.handshakes);
    expose_value(e, "result=\"failed\"", counts.handshakes_failed);
    if (counts.tls_expiry != 0)
        expose_gauge(e, "spoolwire_tls_certificate_expiry_time_seconds",
                     (uint64_t)counts.tls_expiry,
                     "When the certificate runs out, since 1970; only with TLS.");
}

/* --- access -------------------------------------------------------------------------- */

static void put_refusals(struct expose *e,
                         struct app *app,
                         const char *label,
                         unsigned from,
                         unsigned to)
{
    char labels[LABELS];

    for (unsigned i = from; i < to; i++) {
        uint64_t n = 0;

        for (unsigned k = 0; k < HUB_MAX_LOOPS; k++) {
            const struct app_loop *l = atomic_load(&app->loops[k]);

            n += l != NULL ? get(&l->refusals[i]) : 0;
        }
        (void)snprintf(labels, sizeof(labels), "%s=\"%s\"", label,
                       refusal_name((enum refusal)i)); /* fits */
        expose_value(e, labels, n);
    }
}

static void put_auth(struct expose *e, struct app *app)
{
    expose_gauge(e, "spoolwire_auth_required", token_service_is_locked(app->tokens),
                 "1: callers need a token.");
    expose_family(e, "spoolwire_auth_failures_total", "counter",
                  "Requests that were refused, by why.");
    put_refusals(e, app, "reason", 0, REFUSAL_FIRST_LIMIT);
    expose_family(e, "spoolwire_rate_limited_total", "counter",
                  "Requests that were refused because their token had as much as it may.");
    put_refusals(e, app, "limit", REFUSAL_FIRST_LIMIT, REFUSAL_MAX);
}

static void put_crons(struct expose *e, struct app *app)
{
    static const char *const results[CRON_TICK_MAX] = {
        [CRON_TICK_RUN] = "run", [CRON_TICK_REFUSED] = "refused"
    };
    const struct app_loop *l = atomic_load(&app->loops[0]); /* the only one with crons */
    char labels[LABELS];

    expose_family(e, "spoolwire_cron_ticks_total", "counter",
                  "Ticks of crons: a run was created, or refused.");
    for (unsigned i = 0; i < CRON_TICK_MAX; i++) {
        (void)snprintf(labels, sizeof(labels), "result=\"%s\"", results[i]); /* fits */
        expose_value(e, labels, l != NULL ? get(&l->cron_ticks[i]) : 0);
    }
}

/* A schema that is older than webhooks has none. */
static void put_webhooks(struct expose *e, struct app *app, struct store *store)
{
    static const char *const results[WEBHOOK_COUNT_MAX] = {
        [WEBHOOK_COUNT_SENT] = "sent",
        [WEBHOOK_COUNT_FAILED] = "failed",
        [WEBHOOK_COUNT_DEAD] = "dead",
    };
    const struct app_loop *l = atomic_load(&app->loops[0]); /* the only one that sends */
    struct webhook_counts n = { 0 };
    char labels[LABELS];

    if (store_webhooks_count(store, &n, NULL) == 0) {
        expose_family(e, "spoolwire_webhooks", "gauge",
                      "Deliveries of webhooks that are kept, by their state.");
        expose_value(e, "state=\"waiting\"", (uint64_t)n.waiting);
        expose_value(e, "state=\"pending\"", (uint64_t)n.pending);
        expose_value(e, "state=\"sent\"", (uint64_t)n.sent);
        expose_value(e, "state=\"dead\"", (uint64_t)n.dead);
    }
    expose_family(
        e, "spoolwire_webhook_attempts_total", "counter",
        "Attempts to send a webhook: it was sent, failed and is tried again, or is dead.");
    for (unsigned i = 0; i < WEBHOOK_COUNT_MAX; i++) {
        (void)snprintf(labels, sizeof(labels), "result=\"%s\"", results[i]); /* fits */
        expose_value(e, labels, l != NULL ? get(&l->webhooks[i]) : 0);
    }
}

/* --- streams ------------------------------------------------------------------------- */

static void put_by_dialect(struct expose *e,
                           const struct counter counts[TRANSPORT_MAX][DIALECT_COUNT])
{
    const struct dialect *d;
    char labels[LABELS];

    for (unsigned t = 0; t < TRANSPORT_MAX; t++) {
        for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
            (void)snprintf(labels, sizeof(labels), "transport=\"%s\",wire=\"%s\"",
                           transport_name((enum transport_kind)t), d->name); /* fits */
            expose_value(e, labels, get(&counts[t][i]));
        }
    }
}

static void put_ends(struct expose *e, const struct traffic *t)
{
    char labels[LABELS];

    expose_family(e, "spoolwire_streams_closed_total", "counter",
                  "Streams that have ended, by why.");
    for (unsigned i = 0; i < STREAM_END_MAX; i++) {
        const struct stream_end_info *info = stream_end_info((enum stream_end)i);

        if (info->name == NULL)
            continue;
        (void)snprintf(labels, sizeof(labels), "reason=\"%s\"", info->name); /* fits */
        expose_value(e, labels, get(&t->closed[i]));
    }
    expose_family(e, "spoolwire_stream_resumes_total", "counter",
                  "Streams that were asked for with a cursor, by what was there.");
    for (unsigned i = 0; i < RESUME_MAX; i++) {
        (void)snprintf(labels, sizeof(labels), "result=\"%s\"",
                       stream_resume_name((enum stream_resume)i)); /* fits */
        expose_value(e, labels, get(&t->resumed[i]));
    }
}

static void put_streams(struct expose *e, struct app *app)
{
    struct traffic t;
    struct histogram delivery;

    traffic_init(&t);
    histogram_init(&delivery, &scale_latency);
    for (unsigned i = 0; i < HUB_MAX_LOOPS; i++) {
        const struct app_loop *l = atomic_load(&app->loops[i]);

        if (l == NULL)
            continue;
        traffic_merge(&t, &l->traffic);
        histogram_merge(&delivery, hub_delivery(l->hub));
    }
    expose_family(e, "spoolwire_streams_open", "gauge", "Readers of events.");
    put_by_dialect(e, t.open);
    expose_family(e, "spoolwire_streams_opened_total", "counter", "Streams that began.");
    put_by_dialect(e, t.opened);
    put_ends(e, &t);
    expose_counter(e, "spoolwire_stream_replayed_events_total", get(&t.replayed),
                   "Events that were read from the store for a reader.");
    expose_counter(e, "spoolwire_stream_bytes_total", get(&t.bytes), "Bytes sent to readers.");
    put_histogram(e, "spoolwire_stream_first_event_seconds", &t.first_event,
                  "From the beginning of a stream to its first event.");
    put_histogram(e, "spoolwire_stream_lag_events", &t.lag,
                  "How many events behind a reader was, when it had to read the store.");
    put_histogram(e, "spoolwire_events_delivery_latency_seconds", &delivery,
                  "From the arrival of an append to its events being on the sockets of the "
                  "readers that were waiting; one per commit and job.");
}

/* --- the journal ---------------------------------------------------------------------- */

/* A kind is "llm.delta": its class is the part before the dot.  Kinds of one class are
 * adjacent. */
static void put_records(struct expose *e, const struct journal_counts *c)
{
    char labels[LABELS];

    expose_family(e, "spoolwire_events_appended_total", "counter", "Records stored.");
    for (unsigned i = 0; i < REC_KIND_MAX;) {
        struct str name = str_of(record_kind_name((enum record_kind)i));
        struct str class = str_head(name, str_find(name, '.'));
        uint64_t n = 0;

        do
            n += get(&c->records[i++]);
        while (i < REC_KIND_MAX &&
               str_starts(str_of(record_kind_name((enum record_kind)i)), class));
        (void)snprintf(labels, sizeof(labels), "type_class=\"%.*s\"", STR_ARG(class)); /* fits
                                                                                        */
        expose_value(e, labels, n);
    }
}

static void put_appends(struct expose *e, const struct journal_counts *c)
{
    put_records(e, c);
    expose_family(e, "spoolwire_events_rejected_total", "counter",
                  "Lines that are no events, and batches that could not be stored.");
    expose_value(e, "reason=\"bad_line\"", get(&c->bad_lines));
    expose_value(e, "reason=\"not_stored\"", get(&c->not_stored));
    expose_counter(e, "spoolwire_events_duplicate_total", get(&c->repeated),
                   "Batches that had been stored before.");
    expose_counter(e, "spoolwire_events_fenced_total", get(&c->fenced),
                   "Requests of workers that no longer hold the job.");
    put_histogram(e, "spoolwire_events_batch_size", &c->batch, "Events of a batch.");
    put_histogram(e, "spoolwire_events_append_duration_seconds", &c->append,
                  "From the arrival of a batch to its acknowledgement.");
}

static void put_jobs(struct expose *e, const struct journal_counts *c)
{
    uint64_t jobs = get(&c->jobs), queued = get(&c->queued), running = get(&c->running);
    uint64_t set_aside = get(&c->set_aside), known = queued + running + set_aside;

    expose_family(e, "spoolwire_jobs", "gauge", "Jobs that are not final.");
    expose_value(e, "state=\"queued\"", queued);
    expose_value(e, "state=\"running\"", running);
    /* The two numbers may be from different moments. */
    expose_value(e, "state=\"waiting\"", jobs > known ? jobs - known : 0);
    expose_value(e, "state=\"set_aside\"", set_aside);
    expose_counter(e, "spoolwire_jobs_submitted_total", get(&c->submitted), "New jobs.");
    expose_family(e, "spoolwire_jobs_finished_total", "counter", "Jobs that have ended.");
    expose_value(e, "outcome=\"succeeded\",reason=\"worker\"", get(&c->succeeded));
    expose_value(e, "outcome=\"cancelled\",reason=\"cancelled\"", get(&c->cancelled));
    for (unsigned i = 0; i < FAILURE_MAX; i++) {
        char labels[LABELS];

        (void)snprintf(labels, sizeof(labels), "outcome=\"failed\",reason=\"%s\"",
                       failure_name((enum failure)i)); /* fits */
        expose_value(e, labels, get(&c->failed[i]));
    }
    put_histogram(e, "spoolwire_job_queue_wait_seconds", &c->queue_wait,
                  "From a job's submission to its first lease.");
    put_histogram(e, "spoolwire_job_duration_seconds", &c->run,
                  "From a job's first lease to its end.");
    put_histogram(e, "spoolwire_cancel_latency_seconds", &c->cancel,
                  "From a cancel request to the job's end.");
    expose_family(e, "spoolwire_job_oldest_queued_seconds", "gauge",
                  "How long the oldest job that waits for a worker has waited; 0: none does.");
    expose_seconds(e, "", since(get(&c->oldest_queued_us)));
}

static struct agent_count count_of(const struct app *app, struct str agent)
{
    struct agent_count count = { 0 };

    if (app->cluster != NULL)
        cluster_agent_count(app->cluster, agent, &count);
    else
        journal_agent_count(app->journal, agent, &count);
    return count;
}

/* The name is from the settings, and may have any characters; a very long one is cut. */
static const char *label_of(const struct app_agent *agent, char labels[LABELS])
{
    size_t n = (size_t)snprintf(labels, LABELS, "agent=\"");

    for (size_t i = 0; i < agent->name.n && n < LABELS - 4; i++) {
        char c = agent->name.p[i];

        if (c == '"' || c == '\\' || c == '\n')
            labels[n++] = '\\';
        labels[n++] = c == '\n' ? 'n' : c;
    }
    labels[n++] = '"';
    labels[n] = '\0';
    return labels;
}

/* What somebody who starts workers looks at. */
static void put_agents(struct expose *e, struct app *app)
{
    const struct app_settings *now = app_settings(app);
    char labels[LABELS];

    expose_family(e, "spoolwire_agent_jobs_queued", "gauge",
                  "Jobs of an agent that wait for a worker.");
    for (size_t i = 0; i < now->n_agents; i++)
        expose_value(e, label_of(&now->agents[i], labels),
                     count_of(app, now->agents[i].name).queued);
    expose_family(e, "spoolwire_agent_jobs_leased", "gauge",
                  "Jobs of an agent that a worker has.");
    for (size_t i = 0; i < now->n_agents; i++)
        expose_value(e, label_of(&now->agents[i], labels),
                     count_of(app, now->agents[i].name).leased);
    expose_family(e, "spoolwire_agent_oldest_queued_seconds", "gauge",
                  "How long an agent's oldest waiting job has waited; 0: none waits.");
    for (size_t i = 0; i < now->n_agents; i++)
        expose_seconds(e, label_of(&now->agents[i], labels),
                       since(count_of(app, now->agents[i].name).oldest_us));
}

static void put_leases(struct expose *e, const struct journal_counts *c)
{
    expose_gauge(e, "spoolwire_leases_active", get(&c->running), "Jobs that a worker has.");
    expose_gauge(e, "spoolwire_leases_waiting", get(&c->waiting_leases),
                 "Workers that wait for a job.");
    expose_counter(e, "spoolwire_lease_expired_total", get(&c->retried) + get(&c->given_up),
                   "Jobs whose worker was lost.");
    expose_family(e, "spoolwire_reaper_recovered_total", "counter",
                  "What became of jobs whose worker was lost.");
    expose_value(e, "outcome=\"retried\"", get(&c->retried));
    expose_value(e, "outcome=\"failed\"", get(&c->given_up));
}

static void put_processes(struct expose *e, const struct exec *exec)
{
    static const struct exec_counts none;
    const struct exec_counts *c = exec != NULL ? exec_counts(exec) : &none;

    expose_family(e, "spoolwire_worker_processes", "gauge", "Processes of agents.");
    expose_value(e, "kind=\"job\"", get(&c->works));
    expose_value(e, "kind=\"pool\"", get(&c->pooled));
    expose_family(e, "spoolwire_worker_processes_started_total", "counter",
                  "Processes that were started.");
    expose_value(e, "kind=\"job\"", get(&c->works_started));
    expose_value(e, "kind=\"pool\"", get(&c->pooled_started));
    expose_counter(e, "spoolwire_pool_crashes_total", get(&c->pooled_crashed),
                   "Processes of pools that could not be started, or ended unasked.");
}

/* --- Redis ------------------------------------------------------------------------------ */

static void put_published(struct expose *e, const struct publisher_counts *c)
{
    expose_counter(e, "spoolwire_redis_published_records_total", get(&c->records),
                   "Records that Redis was told of.");
    expose_counter(e, "spoolwire_redis_published_messages_total", get(&c->messages),
                   "Messages that they gave.");
    expose_counter(e, "spoolwire_redis_skipped_records_total", get(&c->skipped),
                   "Records that were too far behind to be published, or gone.");
    expose_counter(e, "spoolwire_redis_publish_errors_total", get(&c->refused),
                   "Messages that Redis refused; they are tried again.");
    expose_gauge(e, "spoolwire_redis_lag_records", get(&c->lag),
                 "Records that are still to be published.");
}

static void put_heard(struct expose *e, const struct subscriber_counts *c)
{
    expose_counter(e, "spoolwire_redis_received_messages_total", get(&c->messages),
                   "Messages that came over the channels of jobs.");
    expose_family(e, "spoolwire_redis_ignored_messages_total", "counter",
                  "Messages that were not taken.");
    expose_value(e, "reason=\"own\"", get(&c->own));
    expose_value(e, "reason=\"refused\"", get(&c->refused));
    expose_value(e, "reason=\"late\"", get(&c->late));
    expose_value(e, "reason=\"repeated\"", get(&c->repeated));
    expose_value(e, "reason=\"bad\"", get(&c->bad));
    expose_value(e, "reason=\"elsewhere\"", get(&c->elsewhere));
    expose_counter(e, "spoolwire_redis_events_total", get(&c->events),
                   "Events that were taken from messages.");
    expose_counter(e, "spoolwire_redis_missing_messages_total", get(&c->missing),
                   "Messages that never came, by the numbers of those that did.");
    expose_counter(e, "spoolwire_redis_jobs_made_total", get(&c->made),
                   "Jobs that were made because something spoke on their channel.");
    expose_counter(e, "spoolwire_redis_retried_total", get(&c->retried),
                   "Batches that could not be stored at the first try.");
    expose_gauge(e, "spoolwire_redis_waiting_bytes", get(&c->waiting),
                 "Messages that wait to be stored.");
    expose_counter(e, "spoolwire_redis_holds_total", get(&c->holds),
                   "How often reading was put off, because too much waited.");
}

static void put_links(struct expose *e,
                      const struct redis_counts *publish,
                      const struct redis_counts *subscribe)
{
    static const char *const names[] = { "part=\"publish\"", "part=\"subscribe\"" };
    const struct redis_counts *const links[] = { publish, subscribe };

    expose_family(e, "spoolwire_redis_connected", "gauge", "1: Redis is there.");
    for (unsigned i = 0; i < 2; i++)
        if (links[i] != NULL)
            expose_value(e, names[i], get(&links[i]->connected));
    expose_family(e, "spoolwire_redis_connection_losses_total", "counter",
                  "Connections that were lost.");
    for (unsigned i = 0; i < 2; i++)
        if (links[i] != NULL)
            expose_value(e, names[i], get(&links[i]->losses));
}

/* --- other gateways ------------------------------------------------------------------ */

static void put_cluster(struct expose *e, struct cluster *cluster)
{
    struct cluster_state s = { .n_gateways = 0 }; /* it has its database to itself */

    if (cluster != NULL)
        cluster_look(cluster, &s);
    expose_gauge(e, "spoolwire_cluster_writer", s.is_writer,
                 "1: this gateway owns the jobs of PostgreSQL.");
    expose_gauge(e, "spoolwire_cluster_gateways", s.n_gateways,
                 "Gateways that share the database; 0 with SQLite.");
    expose_gauge(e, "spoolwire_cluster_writer_reachable", s.is_reachable,
                 "1: this gateway owns the jobs, or is connected to the one that does.");
    expose_family(e, "spoolwire_cluster_beat_age_seconds", "gauge",
                  "Since PostgreSQL has last heard of this gateway.");
    expose_seconds(e, "", (uint64_t)s.beat_ms * 1000);
    expose_counter(e, "spoolwire_cluster_pushed_records_total", s.pushed,
                   "Records that other gateways have sent for readers of this one.");
    expose_counter(e, "spoolwire_cluster_hints_total", s.hints,
                   "Hints of other gateways that were heard.");
    expose_family(e, "spoolwire_cluster_hint_lag_seconds", "gauge",
                  "From the commit to this gateway, of the last hint, by the clocks of both.");
    expose_seconds(e, "", (uint64_t)s.hint_ms * 1000);
    expose_counter(e, "spoolwire_cluster_links_total", s.connected,
                   "Connections that were made to the gateway that owns the jobs.");
    expose_counter(e, "spoolwire_cluster_forwarded_total", s.forwarded,
                   "Requests that were sent to it, repeats too.");
    expose_gauge(e, "spoolwire_cluster_waiting", s.waiting,
                 "Requests that have no answer of it yet.");
    expose_counter(e, "spoolwire_cluster_refused_total", s.refused,
                   "Requests that found no gateway in time.");
}

static void put_redis(struct expose *e, const struct redis_service *redis)
{
    const struct publisher_counts *published =
        redis != NULL ? redis_service_published_counts(redis) : NULL;
    const struct subscriber_counts *heard =
        redis != NULL ? redis_service_heard_counts(redis) : NULL;

    if (redis == NULL)
        return;
    put_links(e, published != NULL ? &published->redis : NULL,
              heard != NULL ? &heard->redis : NULL);
    if (published != NULL)
        put_published(e, published);
    if (heard != NULL)
        put_heard(e, heard);
}

static void put_arq(struct expose *e, const struct arq_server *arq)
{
    const struct arq_server_counts *c = arq != NULL ? arq_server_counts(arq) : NULL;

    if (c == NULL)
        return;
    expose_counter(e, "spoolwire_arq_calls_taken_total", get(&c->taken),
                   "Calls that were taken from the queue of ARQ that is served.");
    expose_family(e, "spoolwire_arq_results_total", "counter",
                  "Results that were written there.");
    expose_value(e, "outcome=\"succeeded\"", get(&c->done));
    expose_value(e, "outcome=\"failed\"", get(&c->failed));
    expose_gauge(e, "spoolwire_arq_calls", get(&c->ongoing), "Calls that are at work.");
}

/* --- the store ------------------------------------------------------------------------- */

static void put_store(struct expose *e, const struct journal_counts *c, struct store *store)
{
    struct store_disk disk;
    char name[80];

    put_histogram(e, "spoolwire_store_commit_duration_seconds", &c->commit,
                  "Of one commit, which all that is waiting shares.");
    expose_counter(e, "spoolwire_store_commits_failed_total", get(&c->failed_commits),
                   "Commits that failed: nothing of them is stored.");
    expose_counter(e, "spoolwire_retention_deleted_total", get(&c->expired),
                   "Rows that were removed because their time was over.");
    expose_counter(e, "spoolwire_clock_steps_total", get(&c->clock_steps),
                   "Times that the system's clock was set; timers went on.");
    if (store_disk(store, &disk, NULL) != 0)
        return;
    for (size_t i = 0; i < disk.n; i++) {
        const struct store_figure *figure = &disk.figures[i];

        (void)snprintf(name, sizeof(name), "spoolwire_store_%s%sbytes",
                       i > 0 ? figure->name : "", i > 0 ? "_" : ""); /* fits */
        expose_gauge(e, name, figure->bytes, figure->help);
    }
    expose_gauge(e, "spoolwire_disk_free_bytes", disk.free, "Room left on its disk.");
}

/* --- the route -------------------------------------------------------------------------- */

static void run(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct app *app = query->loop->app;
    struct journal_counts sum;
    const struct journal_counts *counts = api_counts(app, &sum);
    struct expose e = { .out = &query->out };
    char labels[LABELS];

    expose_family(&e, "spoolwire_build_info", "gauge", "Which program this is.");
    (void)snprintf(labels, sizeof(labels), "version=\"%s\"", app->version); /* fits */
    expose_value(&e, labels, 1);
    expose_gauge(&e, "spoolwire_draining", atomic_load(&app->draining), "1: it is going down.");
    process_expose(&e);
    put_http(&e, app->http);
    put_auth(&e, app);
    put_crons(&e, app);
    put_webhooks(&e, app, store);
    put_streams(&e, app);
    put_appends(&e, counts);
    put_jobs(&e, counts);
    put_agents(&e, app);
    put_leases(&e, counts);
    put_processes(&e, app->exec);
    put_cluster(&e, app->cluster);
    put_redis(&e, app->redis);
    put_arq(&e, app->arq);
    put_store(&e, counts, store);
}

void api_metrics(struct http_request *req)
{
    struct store_query *query = store_query_new(req, STR(""), run);

    if (query == NULL)
        return;
    query->type = EXPOSE_TYPE;
    store_query_post(query);
}
