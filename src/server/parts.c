/* The parts of a server that are made once: journal, tokens, Redis, HTTP; and how they are
 * connected. */
#include "server/server.h"

#include "api/admit.h"
#include "api/divert.h"
#include "api/langgraph/authorize.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "server/log.h"
#include "webhooks/headers.h"
#include "webhooks/signature.h"

#include <string.h>

/* --- what the parts tell each other ------------------------------------------------------ */

static bool on_wanted(void *arg, struct str job)
{
    struct server *s = arg;

    return hub_wanted(s->hub_shared, job) ||
           (s->cluster != NULL && cluster_wanted(s->cluster, job));
}

static void on_published(void *arg, const struct publication *pubs, size_t n)
{
    struct server *s = arg;

    hub_published(s->hub_shared, pubs, n);
    if (s->redis != NULL)
        redis_service_published(s->redis, pubs, n);
    if (s->cluster != NULL)
        cluster_published(s->cluster, pubs, n);
    for (size_t i = 0; s->exec != NULL && i < n; i++)
        if (pubs[i].cancel_requested || pubs[i].gone)
            exec_cancel(s->exec, pubs[i].key, pubs[i].attempt);
        else if (pubs[i].pause_requested)
            exec_ask(s->exec, pubs[i].key, pubs[i].attempt);
}

static void on_queued(void *arg, struct str agent)
{
    struct server *s = arg;

    if (s->exec != NULL)
        exec_queued(s->exec, agent);
    if (s->cluster != NULL)
        cluster_queued(s->cluster, agent);
}

static void on_stuck(void *arg, struct str why)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "store");
    json_add_bool(&out, "stuck", !str_absent(why));
    if (!str_absent(why))
        json_add_str(&out, "why", why);
    log_end(&out);
}

static void on_suspected(void *arg, struct str job, bool set_aside, struct str why)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "suspect");
    json_add_str(&out, "job", job);
    json_add_bool(&out, "set_aside", set_aside);
    json_add_str(&out, "why", why);
    log_end(&out);
}

/* Best effort: without it, a job that crashes the server is not identified. */
static void open_breadcrumb(struct server *s)
{
    struct error err;
    struct buf out;

    if (store_breadcrumb(s->store, &s->breadcrumb, &err) == 0)
        return;
    log_begin(&out, "suspect");
    json_add_str(&out, "why", str_of(err.text));
    log_end(&out);
}

static void on_stepped(void *arg, int64_t ms, bool was_down)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "clock");
    json_add_int(&out, "stepped_ms", ms);
    json_add_str(&out, "while", was_down ? STR("down") : STR("running"));
    log_end(&out);
}

static int64_t steady_now(void *arg)
{
    (void)arg;
    return clock_steady_ms();
}

static void on_tokens_changed(void *arg)
{
    struct server *s = arg;

    api_tokens_changed(&s->app);
}

static void on_token_trouble(void *arg, const struct error *why)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "tokens");
    json_add_const(&out, "stuck", "true");
    json_add_str(&out, "why", str_of(why->text));
    log_end(&out);
}

static void on_redis_notice(void *arg, const struct redis_service_notice *n)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "redis");
    json_add_str(&out, "part", str_of(n->part));
    json_add_bool(&out, "connected", n->connected);
    if (!str_absent(n->job)) {
        json_add_str(&out, "job", n->job);
        json_add_uint(&out, "refused", n->refused);
    }
    if (!str_absent(n->why))
        json_add_str(&out, "why", utf8_head_bytes(n->why, 200));
    log_end(&out);
}

/* --- starting ---------------------------------------------------------------------------- */

int server_start_journal(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct store_options store = { .url = server_config_database(c),
                                   .relaxed = c->durability == DURABILITY_RELAXED,
                                   .busy_ms = 5000,
                                   .read_url = c->store_read_url,
                                   .cache_bytes = c->store_cache };
    struct journal_options journal = {
        .agents = s->now->journal.agents,
        .n_agents = s->now->journal.n_agents,
        .default_expiry_seconds = s->now->journal.default_expiry_seconds,
        .history_ms = c->history_ms,
        .item_ttl_ms = c->item_ttl_ms,
        .thread_ttl_ms = c->thread_ttl_ms,
        .max_line = c->max_line,
        .max_depth = c->max_depth,
        .max_field = c->max_field,
        .max_calls = c->max_calls,
        .clock = log_now,
        .steady = steady_now,
        .events = { on_wanted, on_published, on_queued, on_stuck, on_suspected, on_stepped, s },
    };
    bool is_shared = store_is_shared(store.url);
    int code =
        is_shared ? server_make_cluster(s, &store, err) : store_open(&store, &s->store, err);

    journal.store = s->store;
    if (code == 0 && !is_shared)
        open_breadcrumb(s);
    journal.breadcrumb = s->breadcrumb;
    if (code == 0)
        code = is_shared ? cluster_make_journals(s->cluster, &journal, &s->journal, err)
                         : journal_new(&journal, &s->journal, err);
    s->notifier.ops = is_shared ? &notifier_shared : &notifier_in_process;
    if (code == 0 && hub_shared_new(&s->notifier, &s->hub_shared) != 0)
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0 && is_shared)
        hub_shared_set_watch(s->hub_shared, cluster_watch, s->cluster);
    if (code == 0 && !is_shared)
        code = journal_recover(s->journal, s->exec_names, s->n_names, err);
    if (code == 0)
        code = thread_pool_new(&store, c->readers, c->page_cache, &s->pool, err);
    return code;
}

int server_make_redis_service(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct redis_service_options options = {
        .url = c->redis_url,
        .store = { .url = server_config_database(c), .busy_ms = 5000 },
        .journal = s->journal,
        .dialect = c->redis_publish > 0 ? dialect_published_at(c->redis_publish - 1) : NULL,
        .publish_channel = c->redis_publish_channel,
        .max_backlog = (uint64_t)c->redis_publish_backlog,
        .subscribe_channel = c->redis_subscribe ? c->redis_subscribe_channel : NULL,
        .agent = str_of(c->redis_subscribe_agent),
        .max_bytes = c->redis_subscribe_buffer,
        .max_depth = c->max_depth,
        .is_shared = s->cluster != NULL,
        .n_shards = s->cluster != NULL ? cluster_shards(s->cluster) : 1,
        .notice = on_redis_notice,
        .arg = s,
    };

    if (options.dialect == NULL && options.subscribe_channel == NULL)
        return 0;
    return redis_service_new(&options, &s->redis, err);
}

int server_start_tokens(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct token_service_options options = {
        .store = { .url = server_config_database(c),
                   .relaxed = c->durability == DURABILITY_RELAXED,
                   .busy_ms = 5000 },
        .is_required = c->auth == AUTH_REQUIRED,
        .is_off = c->auth == AUTH_OFF,
        .admin = c->token_admin,
        .specs = c->auth_tokens,
        .limits = { .jobs = c->max_jobs_per_token,
                    .queued = c->max_queued_per_token,
                    .running = c->max_running_per_token,
                    .streams = c->max_streams_per_token,
                    .events = c->max_events_per_token },
        .ticket_life_ms = c->ticket_life_ms,
        .clock = log_now,
        .steady = steady_now,
        .changed = on_tokens_changed,
        .trouble = on_token_trouble,
        .arg = s,
    };
    int code = token_service_new(&options, &s->tokens, err);

    return code == 0 ? token_service_start(s->tokens, err) : code;
}

struct http_options server_http_options(struct server *s, const struct server_config *c)
{
    bool log_is_text = c->access_log == ACCESS_LOG_TEXT ||
                       (c->access_log == ACCESS_LOG_AUTO && s->has_terminal);

    atomic_store(&s->log_is_text, log_is_text);
    return (struct http_options){
        .host = c->address.host[0] != '\0' ? c->address.host : NULL,
        .port = c->address.port,
        .unix_path = c->address.unix_path[0] != '\0' ? c->address.unix_path : NULL,
        .unix_mode = c->unix_mode,
        .tls_cert = c->tls_cert,
        .tls_key = c->tls_key,
        .n_loops = c->loops,
        .routes = api_routes,
        .arg = &s->app,
        .loop_start = api_loop_start,
        .loop_stop = api_loop_stop,
        .admit = api_admit,
        .divert = s->companion != NULL ? api_divert : NULL,
        .unrouted = s->companion != NULL ? authorize_unrouted : NULL,
        .hold = s->companion != NULL ? authorize_hold : NULL,
        .prefix = c->mount_prefix,
        .visitor_free = api_visitor_free,
        .hosts = (const char *const *)c->hosts,
        .origins = (const char *const *)c->origins,
        .max_head = c->max_head,
        .max_body = { [BODY_PLAIN] = c->max_body,
                      [BODY_INPUT] = c->max_input,
                      [BODY_BATCH] = c->max_batch },
        .body_min_rate = (unsigned)c->body_min_rate,
        .head_ms = (unsigned)c->head_timeout_ms,
        .idle_ms = (unsigned)c->idle_timeout_ms,
        .write_stall_ms = (unsigned)c->write_timeout_ms,
        .max_connections = c->max_connections,
        .max_connections_per_address = c->max_connections_per_address,
        .log_text = log_is_text,
        .log_off = c->access_log == ACCESS_LOG_OFF,
    };
}

static void on_companion_line(void *arg, struct str line)
{
    server_log_line(arg, STR("companion"), line);
}

int server_make_companion(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct companion_options options = { .argv = c->companion,
                                         .cwd = c->companion_cwd,
                                         .watch = c->companion_watch,
                                         .mark = s->mark[0] != '\0' ? s->mark : NULL,
                                         .is_guarding = c->companion_guards,
                                         .ask_ms = c->companion_timeout_ms,
                                         .log = on_companion_line,
                                         .arg = s };

    return c->companion != NULL ? companion_new(&options, &s->companion, err) : 0;
}

int server_make_webhooks(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    const struct webhook_policy_options options = { .allow = c->webhook_allow,
                                                    .private_ones = c->webhook_private,
                                                    .has_app = c->companion != NULL };

    s->webhooks = (struct webhook_settings){ .secrets = c->webhook_secrets,
                                             .headers = c->webhook_headers,
                                             .fields = c->webhook_fields,
                                             .per_host = c->webhook_per_host,
                                             .ca = c->webhook_ca,
                                             .timeout_ms = c->webhook_timeout_ms,
                                             .retry_ms = c->webhook_retry_ms,
                                             .max_age_ms = c->webhook_max_age_ms,
                                             .keep_ms = c->webhook_keep_ms };
    int code = signature_check_secrets(c->webhook_secrets, err);
    if (code == 0)
        code = webhook_headers_check(c->webhook_headers, err);
    return code == 0 ? webhook_policy_new(&options, &s->webhooks.policy, err) : code;
}

int server_start_http(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct http_options options = server_http_options(s, c);

    s->app.version = SPOOLWIRE_VERSION;
    s->app.started = log_now(NULL);
    s->app.journal = s->journal;
    s->app.cluster = s->cluster;
    s->app.hub_shared = s->hub_shared;
    s->app.pool = s->pool;
    s->app.tokens = s->tokens;
    s->app.exec = s->exec;
    s->app.redis = s->redis;
    s->app.arq = s->arq;
    s->app.ui = c->ui;
    s->app.companion = s->companion;
    s->app.webhooks = c->webhooks ? &s->webhooks : NULL;
    s->app.mount_prefix = c->mount_prefix;
    s->app.disabled = c->disabled_routes;
    s->app.headers = c->configurable_headers;
    s->app.no_headers = c->configurable_headers_excluded;
    s->app.item_index = c->item_index;
    s->app.item_store = c->item_store;
    s->app.item_refresh = c->item_ttl_ms > 0 && c->item_ttl_refresh;
    s->app.ticket_life_ms = c->ticket_life_ms;
    s->app.session_life_ms = c->session_life_ms;
    atomic_init(&s->app.settings, &s->now->app);
    s->app.aiq_compat = c->aiq_compat;
    s->app.shutdown_ms = c->shutdown_window_ms / 2;
    if (c->tls_cert != NULL)
        watch_init(&s->certificate, c->tls_cert, c->tls_key);
    int code = http_server_new(&options, &s->http, err);
    s->app.http = s->http;
    return code == 0 ? http_server_start(s->http, err) : code;
}
