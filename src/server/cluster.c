/* A server that shares its database with others: how it joins them and leaves. */
#include "server/server.h"

#include "server/log.h"

#include <stdio.h>

static void on_queued(void *arg, struct str agent)
{
    struct server *s = arg;

    for (size_t i = 0; s->exec != NULL && i < s->n_exec; i++)
        if (str_absent(agent) || str_eq(agent, s->exec_agents[i].name))
            exec_queued(s->exec, s->exec_agents[i].name);
}

static void on_stopped(void *arg, int64_t key, int64_t attempt, bool is_pause)
{
    struct server *s = arg;

    if (s->exec != NULL && is_pause)
        exec_ask(s->exec, key, attempt);
    else if (s->exec != NULL)
        exec_cancel(s->exec, key, attempt);
}

/* What only a gateway that writes does: Redis's channels and the queues of ARQ.  The queue that
 * is served belongs to the first shard. */
static void set_parts(struct server *s)
{
    struct cluster_state state;

    (void)pthread_mutex_lock(&s->moving); /* the last to come has the last word */
    cluster_look(s->cluster, &state);
    if (s->redis != NULL)
        redis_service_set_shards(s->redis, state.written);
    if (s->arq != NULL)
        arq_server_set_writer(s->arq, state.is_writer);
    if (s->exec != NULL)
        exec_set_shards(s->exec, state.written);
    (void)pthread_mutex_unlock(&s->moving);
}

static void on_moved(void *arg, int64_t shard, bool is_writer, struct str why)
{
    struct buf out;

    set_parts(arg);
    log_begin(&out, "cluster");
    json_add_bool(&out, "writes", is_writer);
    if (shard >= 0)
        json_add_int(&out, "shard", shard);
    if (!str_absent(why))
        json_add_str(&out, "why", why);
    log_end(&out);
}

/* A database whose schema is older than this program's, or was until now. */
static void on_schema(void *arg, const struct cluster_schema *now)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "schema");
    json_add_int(&out, "schema", now->version);
    json_add_int(&out, "newest", now->newest);
    if (now->waits_for[0] != '\0')
        json_add_str(&out, "waits_for", str_of(now->waits_for));
    if (!str_absent(now->why))
        json_add_str(&out, "why", now->why);
    log_end(&out);
}

/* The connection to the gateway that writes. */
static void on_linked(void *arg, int64_t shard, struct str url, struct str why)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "link");
    json_add_bool(&out, "connected", str_absent(why));
    json_add_str(&out, "to", url);
    if (shard >= 0)
        json_add_int(&out, "shard", shard);
    if (!str_absent(why))
        json_add_str(&out, "why", why);
    log_end(&out);
}

int server_make_cluster(struct server *s, const struct store_options *store, struct error *err)
{
    struct cluster_options options = { .store = *store,
                                       .version = SPOOLWIRE_VERSION,
                                       .started = log_now(NULL),
                                       .dead = s->exec_names,
                                       .n_dead = s->n_names,
                                       .events = { on_queued, on_stopped, on_moved, on_schema,
                                                   on_linked, s } };

    (void)pthread_mutex_init(&s->moving, NULL); /* cannot fail on Linux */
    return cluster_new(&options, &s->cluster, err);
}

/* Where other gateways reach this one. */
static void put_address(const struct server *s, char *ret, size_t n)
{
    const struct server_config *c = s->now->config;
    const char *host = c->address.host[0] != '\0' ? c->address.host : "127.0.0.1";

    if (c->advertise != NULL)
        (void)snprintf(ret, n, "%s", c->advertise);
    else
        server_put_url(s, host, ret, n);
}

int server_join_cluster(struct server *s, struct error *err)
{
    char url[256];

    if (s->cluster == NULL)
        return 0;
    put_address(s, url, sizeof(url));
    int code = cluster_start(s->cluster, s->hub_shared, &s->notifier, url, err);
    if (code == 0)
        set_parts(s);
    return code;
}

/* Gateways on one machine must not take each other's processes for left behind.  The address is
 * one's own, unless the system chooses it. */
void server_mark_processes(struct server *s, const char *identity)
{
    const struct server_config *c = s->now->config;
    struct cluster_state state;

    if (c->address.host[0] != '\0' && c->address.port != 0) {
        (void)snprintf(s->mark, sizeof(s->mark), "%.30s-%u", identity,
                       (unsigned)c->address.port);
        return;
    }
    cluster_look(s->cluster, &state);
    (void)snprintf(s->mark, sizeof(s->mark), "%s", state.id);
}
