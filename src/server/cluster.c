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

static void on_moved(void *arg, bool is_writer, struct str why)
{
    struct buf out;

    (void)arg;
    log_begin(&out, "cluster");
    json_add_bool(&out, "writes", is_writer);
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
                                       .events = { on_queued, on_stopped, on_moved, s } };

    int code = cluster_new(&options, &s->cluster, err);
    if (code != 0 || cluster_is_first(s->cluster) || s->now->config->redis_url == NULL)
        return code;
    /* Each of them would feed the jobs of a channel, or do those of a queue. */
    return error_set(err, ERR_REFUSED,
                     "another gateway uses the database, and `redis_url` is for one of them: "
                     "leave it out here, or stop the other one");
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
    return cluster_start(s->cluster, s->hub_shared, &s->notifier, url, err);
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
