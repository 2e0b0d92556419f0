/* `spoolwire serve`: puts the parts together, runs them, and takes them apart again.
 *
 *     store ── journal ── hub_shared ── pool ── keeper ── exec agents, Redis ── HTTP loops
 *
 * Made in this order, stopped in the opposite one.  The main thread only waits for
 * signals: SIGHUP reloads the settings; of SIGTERM and SIGINT the first begins a graceful end,
 * the second ends at once. */
#define _GNU_SOURCE /* environ, sigtimedwait */
#include "agents/arq_server.h"
#include "agents/exec.h"
#include "agents/leash.h"
#include "api/admit.h"
#include "api/api.h"
#include "base/redis_url.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "bus/bus.h"
#include "cli/commands.h"
#include "cli/generation.h"
#include "cli/notify.h"
#include "cli/serve.h"
#include "cli/watch.h"
#include "config/reload.h"
#include "config/server.h"
#include "dialect/render.h"
#include "journal/counts.h"

#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 1000 }; /* between two looks at the certificate's files and the watchdog */

struct server {
    int argc; /* for a reload */
    char **argv;
    struct generation *now; /* owned; the settings */
    struct store *store;
    struct journal *journal;
    struct hub_shared *hub_shared;
    struct pool *pool;
    struct keeper *keeper;
    struct exec *exec;
    struct bus *bus;                /* NULL: there is no Redis */
    struct exec_agent *exec_agents; /* owned */
    size_t n_exec;
    struct str *exec_names; /* owned; of those whose jobs die with the server */
    size_t n_names;
    struct arq_server *arq;             /* NULL: no queue is served */
    struct arq_function *arq_functions; /* owned */
    size_t n_functions;
    struct app app;
    struct http_server *http;
    struct watch certificate; /* with TLS */
    serve_hello hello;        /* or NULL */
    const void *hello_arg;
    bool has_terminal;
    atomic_bool log_is_text; /* what workers say, as the access log is */
    char mark[40];           /* of our processes; or empty */
    char self[4096];         /* this program, for the demo agent */
    char *demo_argv[3], *demo_pool_argv[4];
};

/* --- what the parts tell each other ------------------------------------------------------ */

/* A log line of at most PIPE_BUF bytes, and only where there is room, so that a log that
 * nobody reads holds up nothing; what does not fit is lost. */
static void write_log(const struct buf *line)
{
    struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (line->error == 0 && poll(&room, 1, 0) == 1)
        (void)!write(STDERR_FILENO, line->p, line->n); /* it is not worth more */
}

static int64_t on_clock(void *arg)
{
    struct timespec now;

    (void)arg;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A line of the log, for whoever looks after the machine. */
static void log_begin(struct buf *out, const char *event)
{
    buf_init(out, PIPE_BUF);
    buf_lit(out, "{\"time\":\"");
    render_time(out, on_clock(NULL));
    buf_lit(out, "\",\"event\":\"");
    buf_str(out, str_of(event));
    buf_char(out, '"');
}

static void log_end(struct buf *out)
{
    buf_lit(out, "}\n");
    write_log(out);
    buf_done(out);
}

static bool on_wanted(void *arg, struct str job)
{
    struct server *s = arg;

    return hub_wanted(s->hub_shared, job);
}

static void on_published(void *arg, const struct publication *pubs, size_t n)
{
    struct server *s = arg;

    hub_published(s->hub_shared, pubs, n);
    if (s->bus != NULL)
        bus_published(s->bus, pubs, n);
    for (size_t i = 0; i < n; i++)
        if ((pubs[i].cancel_requested || pubs[i].gone) && s->exec != NULL)
            exec_cancel(s->exec, pubs[i].key, pubs[i].attempt);
}

static void on_queued(void *arg, struct str agent)
{
    struct server *s = arg;

    if (s->exec != NULL)
        exec_queued(s->exec, agent);
}

static void on_stuck(void *arg, struct str why)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "store");
    buf_lit(&out, ",\"stuck\":");
    buf_str(&out, str_absent(why) ? STR("false") : STR("true"));
    if (!str_absent(why)) {
        buf_lit(&out, ",\"why\":");
        json_put_str(&out, why);
    }
    log_end(&out);
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
    buf_lit(&out, ",\"stuck\":true,\"why\":");
    json_put_str(&out, str_of(why->text));
    log_end(&out);
}

static void on_bus(void *arg, const struct bus_notice *n)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "redis");
    buf_lit(&out, ",\"part\":\"");
    buf_str(&out, str_of(n->part));
    buf_lit(&out, "\",\"connected\":");
    buf_str(&out, n->connected ? STR("true") : STR("false"));
    if (!str_absent(n->job)) {
        buf_lit(&out, ",\"job\":");
        json_put_str(&out, n->job);
        buf_lit(&out, ",\"refused\":");
        buf_u64(&out, n->refused);
    }
    if (!str_absent(n->why)) {
        buf_lit(&out, ",\"why\":");
        json_put_str(&out, utf8_head_bytes(n->why, 200));
    }
    log_end(&out);
}

/* For whoever sits before the terminal. */
static void say_line(struct str agent, struct str line)
{
    struct buf out;

    buf_init(&out, PIPE_BUF);
    visible_put(&out, str_head(agent, 100));
    buf_lit(&out, ": ");
    visible_put(&out, utf8_head_bytes(line, 400));
    buf_lit(&out, "\n");
    write_log(&out);
    buf_done(&out);
}

/* A line of a worker's stderr. */
static void on_stderr(void *arg, struct str job, struct str agent, struct str line)
{
    const struct server *s = arg;
    struct buf out;

    if (atomic_load(&s->log_is_text)) {
        say_line(agent, line);
        return;
    }
    log_begin(&out, "worker");
    buf_lit(&out, ",\"agent\":");
    json_put_str(&out, str_head(agent, 100));
    buf_lit(&out, ",\"job\":");
    json_put_str_or_null(&out, job);
    buf_lit(&out, ",\"line\":");
    json_put_str(&out, utf8_head_bytes(line, 400)); /* escaped: it may hold anything */
    log_end(&out);
}

/* --- agents --------------------------------------------------------------------------------
 */

static struct exec_arq exec_arq_of(const struct config_arq *a)
{
    return (struct exec_arq){ .function = a->function,
                              .queue = a->queue,
                              .args = a->args,
                              .resume_function = a->resume_function,
                              .resume_args = a->resume_args,
                              .form = (enum arq_form)a->serializer,
                              .defer_ms = a->defer_ms,
                              .expires_ms = a->expires_ms,
                              .keeps_result = a->keeps_result,
                              .health_key = a->health_key,
                              .poll_ms = a->poll_ms,
                              .settle_ms = a->settle_ms };
}

static struct exec_agent exec_agent_of(const struct server *s, const struct config_agent *a)
{
    const struct config_pool *p = &a->pool;
    char *const *demo = p->size > 0 ? s->demo_pool_argv : s->demo_argv;
    bool has_processes = a->argv != NULL || a->is_builtin;

    return (struct exec_agent){ .name = a->name,
                                .argv = a->is_builtin ? demo : a->argv,
                                .env = a->env,
                                .cwd = a->cwd,
                                .concurrency = a->concurrency,
                                .grace_ms = a->grace_ms,
                                .max_rss = a->max_memory,
                                .max_cpu_seconds = (unsigned)a->max_cpu_seconds,
                                .is_pausable = a->is_pausable,
                                .http = { .url = a->http.url,
                                          .headers = a->http.headers,
                                          .body = (enum exec_body)a->http.body,
                                          .assistant = a->http.assistant,
                                          .modes = a->http.modes,
                                          .ca = a->http.ca,
                                          .connect_ms = a->http.connect_ms,
                                          .first_ms = a->http.first_ms,
                                          .idle_ms = a->http.idle_ms },
                                .arq = exec_arq_of(&a->arq),
                                .pool = { .size = has_processes ? p->size : 0,
                                          .concurrency = p->concurrency,
                                          .warm = p->warm,
                                          .recycle_jobs = (uint64_t)p->recycle_jobs,
                                          .recycle_bytes = p->recycle_memory,
                                          .watch = p->watch,
                                          .start_ms = p->start_ms,
                                          .drain_ms = p->drain_ms,
                                          .backoff_ms = p->backoff_ms } };
}

static int make_agents(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;

    s->exec_agents = calloc(c->n_agents + 1, sizeof(*s->exec_agents));
    s->exec_names = calloc(c->n_agents + 1, sizeof(*s->exec_names));
    if (s->exec_agents == NULL || s->exec_names == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < c->n_agents; i++) {
        if (c->agents[i].pull || c->agents[i].channel)
            continue;
        if (c->agents[i].arq.function == NULL)
            s->exec_names[s->n_names++] = c->agents[i].name;
        s->exec_agents[s->n_exec++] = exec_agent_of(s, &c->agents[i]);
    }
    return 0;
}

static void find_self(struct server *s)
{
    ssize_t n = readlink("/proc/self/exe", s->self, sizeof(s->self) - 1);

    if (n <= 0)
        (void)snprintf(s->self, sizeof(s->self), "spoolwire");
    else
        s->self[n] = '\0';
    s->demo_argv[0] = s->demo_pool_argv[0] = s->self;
    s->demo_argv[1] = s->demo_pool_argv[1] = (char *)(uintptr_t) "demo-agent";
    s->demo_pool_argv[2] = (char *)(uintptr_t) "--pool";
}

/* --- starting
 * ---------------------------------------------------------------------------------- */

static int start_journal(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct store_options store = { .path = c->data,
                                   .relaxed = c->durability == DURABILITY_RELAXED,
                                   .busy_ms = 5000 };
    struct journal_options journal = {
        .agents = s->now->journal.agents,
        .n_agents = s->now->journal.n_agents,
        .default_expiry_seconds = s->now->journal.default_expiry_seconds,
        .history_ms = c->history_ms,
        .max_line = c->max_line,
        .max_depth = c->max_depth,
        .max_field = c->max_field,
        .max_calls = c->max_calls,
        .clock = on_clock,
        .events = { on_wanted, on_published, on_queued, on_stuck, s },
    };
    int code = store_open(&store, &s->store, err);

    journal.store = s->store;
    if (code == 0)
        code = journal_new(&journal, &s->journal, err);
    if (code == 0 && hub_shared_new(&s->hub_shared) != 0)
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        code = journal_recover(s->journal, s->exec_names, s->n_names, err);
    if (code == 0)
        code = pool_new(&store, c->readers, c->page_cache, &s->pool, err);
    return code;
}

static const struct dialect *published_dialect(const struct server_config *c)
{
    static const struct dialect *const dialects[] = { [REDIS_PUBLISH_OFF] = NULL,
                                                      [REDIS_PUBLISH_AGENT] = &dialect_agent,
                                                      [REDIS_PUBLISH_ENVELOPE] =
                                                          &dialect_envelope,
                                                      [REDIS_PUBLISH_NODES] = &dialect_nodes,
                                                      [REDIS_PUBLISH_AIQ] = &dialect_aiq,
                                                      [REDIS_PUBLISH_RAW] = &dialect_raw };

    return dialects[c->redis_publish];
}

static int make_bus(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct bus_options options = {
        .url = c->redis_url,
        .store = { .path = c->data, .busy_ms = 5000 },
        .journal = s->journal,
        .dialect = published_dialect(c),
        .publish_channel = c->redis_publish_channel,
        .max_backlog = (uint64_t)c->redis_publish_backlog,
        .subscribe_channel = c->redis_subscribe ? c->redis_subscribe_channel : NULL,
        .agent = str_of(c->redis_subscribe_agent),
        .max_bytes = c->redis_subscribe_buffer,
        .max_depth = c->max_depth,
        .notice = on_bus,
        .arg = s,
    };

    if (options.dialect == NULL && options.subscribe_channel == NULL)
        return 0;
    return bus_new(&options, &s->bus, err);
}

static int start_keeper(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct keeper_options options = {
        .store = { .path = c->data,
                   .relaxed = c->durability == DURABILITY_RELAXED,
                   .busy_ms = 5000 },
        .is_required = c->auth == AUTH_REQUIRED,
        .is_off = c->auth == AUTH_OFF,
        .admin = c->token_admin,
        .specs = c->auth_tokens,
        .has_processes = s->n_exec > 0,
        .limits = { .jobs = c->max_jobs_per_token,
                    .queued = c->max_queued_per_token,
                    .running = c->max_running_per_token,
                    .streams = c->max_streams_per_token,
                    .events = c->max_events_per_token },
        .clock = on_clock,
        .changed = on_tokens_changed,
        .trouble = on_token_trouble,
        .arg = s,
    };
    int code = keeper_new(&options, &s->keeper, err);

    return code == 0 ? keeper_start(s->keeper, err) : code;
}

/* The mark of our processes: the data file's, which only one server uses at a time.  What a
 * server before us has left of its processes goes before they are started anew. */
static void sweep(struct server *s)
{
    struct stat about = { 0 };

    if (stat(s->now->config->data, &about) != 0)
        return; /* it is open, and somebody has moved it away: then nothing is marked */
    (void)snprintf(s->mark, sizeof(s->mark), "%llx-%llx", (unsigned long long)about.st_dev,
                   (unsigned long long)about.st_ino); /* fits */
    if (leash_sweep(str_of(s->mark)))
        (void)fprintf(stderr, "spoolwire: killed processes that the last server left behind\n");
}

static void add_function(struct server *s,
                         struct str agent,
                         const char *name,
                         char *const *args,
                         bool is_answer)
{
    if (name != NULL)
        s->arq_functions[s->n_functions++] =
            (struct arq_function){ str_of(name), agent, args, is_answer };
}

/* A job of a queue that we serve, for whoever looks after the machine. */
static void on_arq(void *arg, struct str job, struct str line)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "arq");
    if (!str_absent(job)) {
        buf_lit(&out, ",\"job\":");
        json_put_str(&out, job);
    }
    buf_lit(&out, ",\"line\":");
    json_put_str(&out, utf8_head_bytes(line, 400));
    log_end(&out);
}

static int make_arq_server(struct server *s, const struct redis_url *redis, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct arq_server_options options = { .redis = redis,
                                          .journal = s->journal,
                                          .store = { .path = c->data, .busy_ms = 5000 },
                                          .queue = c->arq_queue,
                                          .expire_function = c->arq_expire_function,
                                          .form = (enum arq_form)c->arq_serializer,
                                          .max_jobs = c->arq_max_jobs,
                                          .allow_abort = c->arq_allow_abort,
                                          .max_tries = c->arq_max_tries,
                                          .poll_ms = c->arq_poll_ms,
                                          .lease_ms = c->arq_lease_ms,
                                          .keep_result_ms = c->arq_keep_result_ms,
                                          .health_ms = c->arq_health_ms,
                                          .log = on_arq,
                                          .arg = s };

    if (c->arq_queue == NULL)
        return 0;
    s->arq_functions = calloc(2 * c->n_agents + 1, sizeof(*s->arq_functions));
    if (s->arq_functions == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < c->n_agents; i++) {
        const struct config_serves *v = &c->agents[i].serves;

        add_function(s, c->agents[i].name, v->function, v->args, false);
        add_function(s, c->agents[i].name, v->resume_function, v->resume_args, true);
    }
    options.functions = s->arq_functions;
    options.n = s->n_functions;
    return arq_server_new(&options, &s->arq, err);
}

static int start_agents(struct server *s, struct error *err)
{
    const char *url = s->now->config->redis_url;
    struct redis_url redis = { .port = 0 };

    if (url != NULL && redis_url_parse(str_of(url), &redis, err) != 0)
        return ERR_SYNTAX; /* it was good when it was read */
    if (s->n_exec > 0)
        sweep(s);
    struct exec_options options = { .agents = s->exec_agents,
                                    .n = s->n_exec,
                                    .journal = s->journal,
                                    .log = on_stderr,
                                    .arg = s,
                                    .heartbeat_ms = 0,
                                    .mark = s->mark[0] != '\0' ? s->mark : NULL,
                                    .redis = &redis };
    int code = s->n_exec > 0 ? exec_new(&options, &s->exec, err) : 0;

    if (code == 0)
        code = make_bus(s, err);
    if (code == 0)
        code = make_arq_server(s, &redis, err);
    if (code == 0)
        code = journal_start(s->journal, err);
    if (code == 0 && s->bus != NULL)
        code = bus_start(s->bus, err);
    return code == 0 && s->arq != NULL ? arq_server_start(s->arq, err) : code;
}

static struct http_options http_options_of(struct server *s, const struct server_config *c)
{
    bool log_is_text = c->access_log == ACCESS_LOG_TEXT ||
                       (c->access_log == ACCESS_LOG_AUTO && s->has_terminal);

    atomic_store(&s->log_is_text, log_is_text);
    return (struct http_options){
        .host = c->address.host[0] != '\0' ? c->address.host : NULL,
        .port = c->address.port,
        .unix_path = c->address.unix_path[0] != '\0' ? c->address.unix_path : NULL,
        .tls_cert = c->tls_cert,
        .tls_key = c->tls_key,
        .n_loops = c->loops,
        .routes = api_routes,
        .arg = &s->app,
        .loop_start = api_loop_start,
        .loop_stop = api_loop_stop,
        .admit = api_admit,
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

static int start_http(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct http_options options = http_options_of(s, c);

    s->app.version = SPOOLWIRE_VERSION;
    s->app.started = on_clock(NULL);
    s->app.journal = s->journal;
    s->app.hub_shared = s->hub_shared;
    s->app.pool = s->pool;
    s->app.keeper = s->keeper;
    s->app.exec = s->exec;
    s->app.bus = s->bus;
    s->app.arq = s->arq;
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

static void put_url(const struct server *s, const char *host, char *ret, size_t n)
{
    bool six = strchr(host, ':') != NULL;

    (void)snprintf(ret, n, "%s://%s%s%s:%u",
                   s->now->config->tls_cert != NULL ? "https" : "http", six ? "[" : "", host,
                   six ? "]" : "", (unsigned)http_server_port(s->http)); /* fits */
}

/* Where our processes find us: the socket of this machine alone where the other one has TLS,
 * whose certificate is for other names. */
static void put_address(const struct server *s, char *ret, size_t n)
{
    const struct server_config *c = s->now->config;
    const char *host = c->address.host;

    if (host[0] == '\0' || (c->tls_cert != NULL && c->address.unix_path[0] != '\0')) {
        char *path = realpath(c->address.unix_path, NULL); /* a process may be elsewhere */

        (void)snprintf(ret, n, "unix:%s", path != NULL ? path : c->address.unix_path);
        free(path);
        return;
    }
    if (strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "::") == 0)
        host = "::1";
    put_url(s, host, ret, n);
}

/* After HTTP: a process may want to talk to us as soon as it is there. */
static int start_processes(struct server *s, struct error *err)
{
    char url[PATH_MAX + 32] = "SPOOLWIRE_URL=", token[128] = "SPOOLWIRE_TOKEN=";
    char *const more[] = { url, token, NULL };

    if (s->exec == NULL)
        return 0;
    put_address(s, url + strlen(url), sizeof(url) - strlen(url));
    (void)strcat(token, keeper_own_token(s->keeper)); /* fits */
    int code = exec_start(s->exec, more, err);
    explicit_bzero(token, sizeof(token));
    return code;
}

/* This program as somebody in this folder would type it. */
static const char *own_name(const struct server *s)
{
    char here[4096];
    size_t n = getcwd(here, sizeof(here)) != NULL ? strlen(here) : 0;

    return n > 0 && strncmp(s->self, here, n) == 0 && s->self[n] == '/' ? s->self + n + 1
                                                                        : s->self;
}

/* For whoever has to show a token. */
static void say_locked(const struct server *s, const char *url)
{
    printf("spoolwire %s listens on %s (data in %s); callers need a token\n\n"
           "Type in another terminal:\n\n"
           "    export SPOOLWIRE_URL=%s\n"
           "    export SPOOLWIRE_TOKEN=$(%s token create --data %s --scope client)\n"
           "    %s submit demo --follow    # a job, and its events as they come\n"
           "    curl -H \"Authorization: Bearer $SPOOLWIRE_TOKEN\" %s/v1/jobs    # its jobs\n\n"
           "Ctrl-C ends it; what was acknowledged is kept.\n",
           SPOOLWIRE_VERSION, url, s->now->config->data, url, own_name(s), s->now->config->data,
           own_name(s), url);
    (void)fflush(stdout); /* also into a pipe */
}

static void say_open(const struct server *s, const char *url)
{
    printf(
        "spoolwire %s listens on %s (data in %s)\n\n"
        "Open %s, or type in another terminal:\n\n"
        "    export SPOOLWIRE_URL=%s\n"
        "    %s submit demo --follow    # a job, and its events as they come\n"
        "    JOB=$(%s submit demo)      # another, as a LangGraph client sees it:\n"
        "    curl -N \"%s/v1/jobs/$JOB/events?dialect=messages\"\n"
        "    curl %s/v1/jobs    # all jobs\n\n"
        "Ctrl-C ends it, kill -9 %d too: start it again, and every reader goes on where it was.\n",
        SPOOLWIRE_VERSION, url, s->now->config->data, url, url, own_name(s), own_name(s), url,
        url, (int)getpid());
    (void)fflush(stdout); /* also into a pipe */
}

static void say_socket(const struct server *s, const char *path)
{
    printf("spoolwire %s listens on %s (data in %s)\n\n"
           "    curl --unix-socket %s http://localhost/v1/jobs    # all jobs\n",
           SPOOLWIRE_VERSION, path, s->now->config->data, path);
    (void)fflush(stdout); /* also into a pipe */
}

static void say_hello(const struct server *s)
{
    const struct server_config *c = s->now->config;
    bool is_socket = c->address.host[0] == '\0';
    char url[128];

    put_url(s, c->address.host, url, sizeof(url));
    const char *place = is_socket ? c->address.unix_path : url;
    if (s->hello != NULL)
        s->hello(s->hello_arg, c, place);
    else if (is_socket)
        say_socket(s, place);
    else if (keeper_is_locked(s->keeper))
        say_locked(s, place);
    else
        say_open(s, place);
}

/* --- while it runs
 * -------------------------------------------------------------------------------------- */

/* New connections get the certificate that is in the files now; the others go on. */
static void renew_certificate(struct server *s)
{
    struct error err = { 0 };
    struct buf out;
    bool ok = http_server_renew(s->http, &err) == 0;

    log_begin(&out, "certificate");
    buf_lit(&out, ",\"renewed\":");
    buf_str(&out, ok ? STR("true") : STR("false"));
    if (!ok) {
        buf_lit(&out, ",\"why\":");
        json_put_str(&out, str_of(err.text));
    }
    log_end(&out);
}

/* --- reloading
 * ---------------------------------------------------------------------------------- */

struct waiting {
    struct journal_request req;
    uv_sem_t done;
};

static void on_settings_done(struct journal_request *req)
{
    struct waiting *w = req->data;

    uv_sem_post(&w->done);
}

/* Hands the journal its new settings, and waits until it has them. */
static int reload_journal(struct server *s, const struct generation *g)
{
    struct waiting w = {
        .req = { .op = JOURNAL_SETTINGS, .settings = &g->journal, .done = on_settings_done }
    };

    if (uv_sem_init(&w.done, 0) != 0)
        return ERR_NOMEM;
    w.req.data = &w;
    arena_init(&w.req.mem);
    journal_post(s->journal, &w.req);
    uv_sem_wait(&w.done);
    uv_sem_destroy(&w.done);
    arena_done(&w.req.mem);
    return w.req.code == ERR_NOMEM ? ERR_NOMEM : 0; /* not stored: there was nothing to store */
}

/* Takes @g, which stays even on failure: parts may point into it. */
static int take_over(struct server *s, struct generation *g, struct reload *r)
{
    int err = reload_carry(r, s->now->config, g->config);

    if (err == 0 && r->taken.n == 0 && r->left.n == 0) { /* nothing has changed */
        generation_free(g);
        return 0;
    }
    if (err != 0) {
        g->older = s->now->older;
        s->now->older = g;
        return err;
    }
    generation_fill(g);
    g->older = s->now;
    s->now = g;
    struct http_options http = http_options_of(s, g->config);
    s->app.shutdown_ms = g->config->shutdown_window_ms / 2;
    api_reload(&s->app, &g->app);
    err = reload_journal(s, g);
    return err == 0 ? http_server_reload(s->http, &http) : err;
}

static void log_reload(const struct reload *r, const char *error)
{
    struct buf out;

    log_begin(&out, "reload");
    if (error != NULL) {
        buf_lit(&out, ",\"error\":");
        json_put_str(&out, str_of(error));
    } else {
        buf_lit(&out, ",\"taken\":[");
        buf_str(&out, buf_text(&r->taken));
        buf_lit(&out, "],\"needs_restart\":[");
        buf_str(&out, buf_text(&r->left));
        buf_char(&out, ']');
    }
    log_end(&out);
}

/* The same command line and environment, and the file as it is now. */
static void reload(struct server *s)
{
    struct server_config *next = NULL;
    struct generation *g = NULL;
    struct error err = { 0 };
    struct reload r;

    reload_init(&r);
    int code = server_config_load(s->argc, s->argv, environ, &next, &err);
    if (code == 0)
        code = generation_new(next, s->now->config->n_agents, &g);
    if (code != 0)
        server_config_free(g == NULL ? next : NULL);
    else
        code = take_over(s, g, &r);
    log_reload(&r, code == 0 ? NULL : err.text[0] != '\0' ? err.text : error_name(code));
    reload_done(&r);
}

/* A terminal that hangs up sends the same signal: whoever had one, and has it no longer, was
 * left. */
static bool is_left(const struct server *s)
{
    return s->has_terminal && tcgetpgrp(STDERR_FILENO) < 0;
}

/* --- stopping
 * -------------------------------------------------------------------------------------- */

/* Waits for a signal, at most @ms (negative: for ever); 0 when none came. */
static int wait_signal(const sigset_t *set, int64_t ms)
{
    struct timespec limit = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    int signal;

    if (ms < 0)
        return sigwait(set, &signal) == 0 ? signal : 0;
    signal = sigtimedwait(set, NULL, &limit);
    return signal > 0 ? signal : 0;
}

/* Only while the journal moves: a server that stores nothing is better started again. */
static void feed_watchdog(struct server *s, int64_t every_ms)
{
    int64_t last = (int64_t)counter_get(&journal_counts(s->journal)->last_turn);

    if (on_clock(NULL) - last < every_ms)
        notify("WATCHDOG=1");
}

static void wait_for_end(struct server *s, const sigset_t *set)
{
    bool is_secure = s->now->config->tls_cert != NULL;
    int64_t watchdog_ms = notify_watchdog_ms();
    int64_t rest_ms = watchdog_ms > 0 && watchdog_ms / 3 < LOOK_MS ? watchdog_ms / 3 : LOOK_MS;

    for (;;) {
        int signal = wait_signal(set, is_secure || watchdog_ms > 0 ? rest_ms : -1);

        if (signal == SIGTERM || signal == SIGINT || (signal == SIGHUP && is_left(s)))
            return;
        if (signal == SIGHUP)
            reload(s);
        if (is_secure && (signal == SIGHUP || watch_changed(&s->certificate)))
            renew_certificate(s);
        if (watchdog_ms > 0)
            feed_watchdog(s, watchdog_ms);
    }
}

/* Readers are sent away and leases handed back, within the window. */
static void end_gracefully(struct server *s, const sigset_t *set)
{
    (void)fprintf(stderr, "spoolwire: going down within %lld s (again to end at once)\n",
                  (long long)s->now->config->shutdown_window_ms / 1000);
    if (s->arq != NULL)
        arq_server_stop(s->arq);
    api_drain(&s->app);
    if (s->exec != NULL)
        exec_drain(s->exec);
    for (int64_t waited = 0; waited < s->now->config->shutdown_window_ms; waited += 50) {
        int signal = wait_signal(set, 50);

        if (signal == SIGTERM || signal == SIGINT)
            _exit(EXIT_TROUBLE);
        if (api_readers(&s->app) == 0 && (s->exec == NULL || exec_running(s->exec) == 0))
            break;
    }
    http_server_drain(s->http);
}

static void stop(struct server *s)
{
    if (s->http != NULL)
        http_server_stop(s->http);
    if (s->arq != NULL)
        arq_server_stop(s->arq);
    if (s->exec != NULL)
        exec_stop(s->exec);
    bus_stop(s->bus);
    if (s->journal != NULL)
        journal_stop(s->journal);
    if (s->keeper != NULL)
        keeper_stop(s->keeper);
    pool_free(s->pool);
    http_server_free(s->http);
    exec_free(s->exec);
    arq_server_free(s->arq);
    bus_free(s->bus);
    journal_free(s->journal); /* answers leases that wait, into mailboxes that are closed */
    api_done(&s->app);
    keeper_free(s->keeper);
    hub_shared_free(s->hub_shared);
    store_close(s->store);
    free(s->exec_agents);
    free(s->exec_names);
    free(s->arq_functions);
    generation_free(s->now);
    free(s);
}

/* --- the command
 * --------------------------------------------------------------------------------------- */

static int help(void)
{
    struct buf out;

    buf_init(&out, 1024 * 1024);
    server_config_help(&out);
    (void)fwrite(out.p, 1, out.n, stdout);
    buf_done(&out);
    return EXIT_OK;
}

static int run(struct server *s, const sigset_t *set)
{
    struct error err = { 0 };

    find_self(s);
    int code = make_agents(s, &err);
    if (code == 0)
        code = start_journal(s, &err);
    if (code == 0)
        code = start_keeper(s, &err);
    if (code == 0 &&
        server_config_check_listen(s->now->config, keeper_is_locked(s->keeper), &err) != 0) {
        (void)fprintf(stderr, "spoolwire serve: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (code == 0)
        code = start_agents(s, &err);
    if (code == 0)
        code = start_http(s, &err);
    if (code == 0)
        code = start_processes(s, &err);
    if (code != 0) {
        (void)fprintf(stderr, "spoolwire serve: %s\n", err.text);
        return EXIT_TROUBLE;
    }
    say_hello(s);
    notify("READY=1");
    wait_for_end(s, set);
    notify("STOPPING=1");
    end_gracefully(s, set);
    return EXIT_OK;
}

static int load(struct server *s, struct error *err)
{
    struct server_config *config = NULL;

    int code = server_config_load(s->argc, s->argv, environ, &config, err);
    if (code != 0)
        return code;
    code = generation_new(config, 0, &s->now);
    if (code == 0)
        generation_fill(s->now);
    else
        server_config_free(config);
    return code != 0 ? error_set(err, code, "out of memory") : 0;
}

int serve_run(int argc, char **argv, serve_hello hello, const void *arg)
{
    struct server *s = calloc(1, sizeof(*s));
    struct error err = { 0 };
    sigset_t set;

    if (s == NULL)
        return EXIT_TROUBLE;
    s->argc = argc;
    s->argv = argv;
    s->hello = hello;
    s->hello_arg = arg;
    s->has_terminal = isatty(STDERR_FILENO);
    if (load(s, &err) != 0) {
        (void)fprintf(stderr, "spoolwire serve: %s\n", err.text);
        free(s);
        return EXIT_USAGE;
    }
    if (s->now->config->help) {
        generation_free(s->now);
        free(s);
        return help();
    }
    /* Each commit frees what it has used: giving it back to the system and asking for it again
     * would cost a system call each time. */
    (void)mallopt(M_TOP_PAD, 1024 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its limit: the error is enough */
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    /* Blocked before any thread is made, so that only this one gets them. */
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    int code = run(s, &set);
    stop(s);
    return code;
}

static int start(int argc, char **argv)
{
    return serve_run(argc, argv, NULL, NULL);
}

const struct command command_serve = {
    .name = "serve",
    .about = "run the gateway: jobs in, durable streams out",
    .story =
        "Runs the gateway: it queues jobs, hands them to agents, stores what they say, and "
        "streams it to any number of readers.  SIGTERM and SIGINT end it within its shutdown "
        "window; a second one ends it at once.  SIGHUP reads the settings again, takes over what "
        "can change while it runs, and says in the log what needs a restart.",
    .takes = COMMAND_SETTINGS,
    .start = start,
};
