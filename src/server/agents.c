/* Sets up the agents whose jobs this server runs: processes, pools, remote endpoints and
 * queues. */
#define _GNU_SOURCE /* explicit_bzero, realpath */
#include "server/server.h"

#include "agents/process/child_guard.h"
#include "config/values/redis_url.h"
#include "base/utf8.h"
#include "server/log.h"

#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMPANION_LOOKS = 1500, COMPANION_LOOK_MS = 20 };

/* --- as the settings have them ----------------------------------------------------------- */

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
    char *const *demo = a->kind == AGENT_POOL ? s->demo_pool_argv : s->demo_argv;

    return (struct exec_agent){ .name = a->name,
                                .kind = a->kind,
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
                                .bridge = { .program = s->self,
                                            .scheduler = a->dask.scheduler,
                                            .graph = a->graph,
                                            .args = a->dask.args },
                                .pool = { .size = p->size,
                                          .concurrency = p->concurrency,
                                          .warm = p->warm,
                                          .recycle_jobs = (uint64_t)p->recycle_jobs,
                                          .recycle_bytes = p->recycle_memory,
                                          .watch = p->watch,
                                          .start_ms = p->start_ms,
                                          .drain_ms = p->drain_ms,
                                          .backoff_ms = p->backoff_ms } };
}

int server_make_agents(struct server *s, struct error *err)
{
    const struct server_config *c = s->now->config;

    s->exec_agents = calloc(c->n_agents + 1, sizeof(*s->exec_agents));
    s->exec_names = calloc(c->n_agents + 1, sizeof(*s->exec_names));
    if (s->exec_agents == NULL || s->exec_names == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < c->n_agents; i++) {
        const struct agent_kind_traits *kind = &agent_kinds[c->agents[i].kind];

        if (!kind->runs_here && !kind->has_bridge)
            continue;
        if (kind->runs_here && !kind->outlives_server)
            s->exec_names[s->n_names++] = c->agents[i].name;
        s->exec_agents[s->n_exec++] = exec_agent_of(s, &c->agents[i]);
    }
    return 0;
}

void server_find_self(struct server *s)
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

/* --- queues of ARQ ----------------------------------------------------------------------- */

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

/* Logs a job of a queue that we serve. */
static void on_arq(void *arg, struct str job, struct str line)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "arq");
    if (!str_absent(job))
        json_add_str(&out, "job", job);
    json_add_str(&out, "line", utf8_head_bytes(line, 400));
    log_end(&out);
}

static int make_arq_server(struct server *s, const struct redis_url *redis, struct error *err)
{
    const struct server_config *c = s->now->config;
    struct arq_server_options options = { .redis = redis,
                                          .journal = s->journal,
                                          .store = { .url = server_config_database(c),
                                                     .busy_ms = 5000 },
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

/* --- starting ---------------------------------------------------------------------------- */

/* A line of a worker's stderr. */
static void on_stderr(void *arg, struct str job, struct str agent, struct str line)
{
    const struct server *s = arg;
    struct buf out;

    if (atomic_load(&s->log_is_text)) {
        log_plain(agent, line);
        return;
    }
    log_begin(&out, "worker");
    json_add_str(&out, "agent", str_head(agent, 100));
    json_add_text(&out, "job", job);
    json_key(&out, "line");
    json_put_str(&out, utf8_head_bytes(line, 400)); /* escaped: it may hold anything */
    log_end(&out);
}

/* Kills processes that an earlier server has left behind.  All our processes carry a mark: the
 * id of the database, which only one server of the machine uses at a time. */
static void sweep(struct server *s)
{
    char identity[STORE_IDENTITY_BYTES];
    struct store_options options = { .url = server_config_database(s->now->config),
                                     .busy_ms = 5000 };
    struct store *reader = NULL;

    if (s->store == NULL && store_open_reader(&options, &reader, NULL) != 0)
        return; /* nothing is marked */
    int code = store_identity(s->store != NULL ? s->store : reader, identity, NULL);
    store_close(reader);
    if (code != 0)
        return;
    if (s->cluster != NULL)
        server_mark_processes(s, identity);
    else
        memcpy(s->mark, identity, sizeof(s->mark));
    if (child_guard_sweep(str_of(s->mark)))
        (void)fprintf(stderr, "spoolwire: killed processes that the last server left behind\n");
}

int server_start_agents(struct server *s, struct error *err)
{
    const char *url = s->now->config->redis_url;
    struct redis_url redis = { .port = 0 };

    if (url != NULL && redis_url_parse(str_of(url), &redis, err) != 0)
        return ERR_SYNTAX; /* not reached: it was checked when it was read */
    if (s->n_exec > 0)
        sweep(s);
    struct cluster_state cluster = { .id = "" };
    if (s->cluster != NULL)
        cluster_look(s->cluster, &cluster);
    struct exec_options options = { .agents = s->exec_agents,
                                    .n = s->n_exec,
                                    .journal = s->journal,
                                    .lease_key = token_service_lease_key(s->tokens),
                                    .process_key = token_service_process_key(s->tokens),
                                    .log = on_stderr,
                                    .arg = s,
                                    .heartbeat_ms = 0,
                                    .mark = s->mark[0] != '\0' ? s->mark : NULL,
                                    .redis = &redis,
                                    .gateway = cluster.id[0] != '\0' ? cluster.id : NULL,
                                    .n_shards =
                                        s->cluster != NULL ? cluster_shards(s->cluster) : 1 };
    int code = server_make_redis_service(s, err);

    if (code == 0 && s->redis != NULL)
        options.barriers = redis_service_barriers(s->redis);
    if (code == 0 && s->n_exec > 0)
        code = exec_new(&options, &s->exec, err);
    if (code == 0)
        code = make_arq_server(s, &redis, err);
    if (s->cluster != NULL && s->exec != NULL)
        exec_set_shards(s->exec, 0); /* server_join_cluster() finds out, like the next */
    if (s->cluster != NULL && s->arq != NULL)
        arq_server_set_writer(s->arq, false);
    if (code == 0 && s->cluster == NULL)
        code = journal_start(s->journal, err);
    if (code == 0 && s->redis != NULL)
        code = redis_service_start(s->redis, err);
    return code == 0 && s->arq != NULL ? arq_server_start(s->arq, err) : code;
}

void server_log_line(struct server *s, struct str name, struct str line)
{
    on_stderr(s, STR_NONE, name, line);
}

/* The address under which our processes reach us.  With TLS it is the Unix socket, if there is
 * one: the certificate is for other names. */
static void put_address(const struct server *s, char *ret, size_t n)
{
    const struct server_config *c = s->now->config;
    const char *host = c->address.host;

    if (host[0] == '\0' || (c->tls_cert != NULL && c->address.unix_path[0] != '\0')) {
        char *path = realpath(c->address.unix_path, NULL); /* a process may have another cwd */

        (void)snprintf(ret, n, "unix:%s", path != NULL ? path : c->address.unix_path);
        free(path);
        return;
    }
    if (strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "::") == 0)
        host = "::1";
    server_put_url(s, host, ret, n);
}

/* After HTTP: a process may send requests as soon as it runs. */
int server_start_processes(struct server *s, struct error *err)
{
    char url[PATH_MAX + 32] = "SPOOLWIRE_URL=";
    char *const more[] = { url, NULL };

    put_address(s, url + strlen(url), sizeof(url) - strlen(url));
    int code = s->exec != NULL ? exec_start(s->exec, more, err) : 0;
    if (code == 0 && s->companion != NULL)
        code = companion_start(s->companion, url + sizeof("SPOOLWIRE_URL=") - 1, err);
    for (int i = 0; code == 0 && s->companion != NULL && i < COMPANION_LOOKS &&
                    companion_news(s->companion) == NULL;
         i++)
        clock_sleep_ms(COMPANION_LOOK_MS); /* requests before it is ready are refused */
    return code;
}
