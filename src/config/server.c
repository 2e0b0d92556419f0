#include "config/server.h"

#include "config/values/arq_argument.h"
#include "config/values/channel.h"
#include "config/values/database_url.h"
#include "base/error.h"
#include "config/values/redis_url.h"
#include "config/file/loader.h"
#include "config/text/quote.h"
#include "config/file/resolve.h"
#include "config/file/walk.h"

#include <stdlib.h>

static int no_memory(struct loader *l)
{
    return error_set(l->err, ERR_NOMEM, "out of memory");
}

void loader_note(struct loader *l, const struct option *option, enum config_source source)
{
    l->config->sources[option - server_options.options] = source;
}

static int load_file(struct loader *l, const char *path)
{
    struct buf text LOCAL_BUF(WALK_MAX_BYTES);

    int err =
        option_set(&server_options.options[0], l->config, str_of(path), "--config", l->err);
    if (err != 0)
        return err;
    err = resolve_read_file(path, NULL, &text, l->err);
    if (err == 0)
        err = loader_read_file(l, buf_text(&text), path);
    return err;
}

static int take_listen(struct loader *l)
{
    struct server_config *config = l->config;

    if (!listen_parse(str_of(config->listen), &config->address))
        return error_set(l->err, ERR_TYPE, "listen: not an address"); /* not reached: it was
                                                                         checked */
    return 0;
}

int server_config_check_listen(const struct server_config *config,
                               bool is_locked,
                               struct error *err)
{
    if (config->address.is_loopback || config->insecure_listen || is_locked)
        return 0;
    return error_set(err, ERR_REFUSED,
                     "other machines could reach %s, and there is no token to keep strangers "
                     "out: make one with `spoolwire token create`, listen on 127.0.0.1, or say "
                     "--insecure-listen if something else keeps them out",
                     quote(str_of(config->listen)).z);
}

static int take_socket_mode(struct loader *l)
{
    unsigned mode = 0;

    for (const char *p = l->config->socket_mode; *p >= '0' && *p <= '7'; p++)
        mode = mode * 8 + (unsigned)(*p - '0');
    l->config->unix_mode = mode;
    if (strspn(l->config->socket_mode, "01234567") == strlen(l->config->socket_mode) &&
        mode >= 0200 && mode <= 0777)
        return 0;
    return error_set(l->err, ERR_REFUSED,
                     "socket_mode: '%s' is not an octal mode such as 0660, with which at least "
                     "the server's own user may connect",
                     quote(str_of(l->config->socket_mode)).z);
}

static int check_read_url(struct loader *l)
{
    const struct server_config *c = l->config;
    struct error why;

    if (c->store_read_url == NULL)
        return 0;
    if (c->store == NULL || strncmp(c->store, "postgres", 8) != 0 ||
        strncmp(c->store_read_url, "postgres", 8) != 0)
        return error_set(l->err, ERR_REFUSED,
                         "store_read_url is another way to the PostgreSQL database of `store`: "
                         "both are postgres://USER@HOST/DATABASE");
    if (database_url_check(str_of(c->store_read_url), &why) != 0)
        return error_set(l->err, ERR_REFUSED, "store_read_url: %s", why.text);
    return 0;
}

/* Keeps one of `data` and `store`.  A flag wins over the other option in a file or variable, as
 * it does over its own; two of the same precedence are an error. */
static int take_database(struct loader *l)
{
    const struct option *data = options_find(&server_options, STR(""), STR("data"));
    const struct option *store = options_find(&server_options, STR(""), STR("store"));
    struct server_config *c = l->config;
    enum config_source of_data = c->sources[data - server_options.options];
    enum config_source of_store = c->sources[store - server_options.options];

    if (c->store != NULL && of_data != SOURCE_DEFAULT &&
        (of_data == SOURCE_FLAG) == (of_store == SOURCE_FLAG))
        return error_set(l->err, ERR_REFUSED,
                         "data and store are both given, and each names the database: leave "
                         "one of them out");
    bool is_data = c->store == NULL || of_data == SOURCE_FLAG;
    option_clear(is_data ? store : data, c);
    loader_note(l, is_data ? store : data, SOURCE_DEFAULT);
    struct error why;
    if (c->store != NULL && database_url_is_pairs(str_of(c->store)))
        return error_set(l->err, ERR_REFUSED,
                         "store: this is neither a URL nor a path: write "
                         "postgres://USER@HOST/DATABASE, or postgres://?service=NAME");
    if (database_url_check(str_of(server_config_database(c)), &why) != 0)
        return error_set(l->err, ERR_REFUSED, "%s: %s", is_data ? "data" : "store", why.text);
    return check_read_url(l);
}

const char *server_config_database(const struct server_config *config)
{
    return config->store != NULL ? config->store : config->data;
}

static int check_tls(struct loader *l)
{
    const struct server_config *config = l->config;

    if (config->tls_cert != NULL && config->address.host[0] == '\0')
        return error_set(l->err, ERR_REFUSED,
                         "TLS is not spoken on a Unix socket: listen on an address too "
                         "(ADDRESS:PORT,unix:PATH), or leave tls_cert away");
    if ((config->tls_cert == NULL) == (config->tls_key == NULL))
        return 0;
    return error_set(l->err, ERR_REFUSED, "%s is given without %s: TLS needs both",
                     config->tls_cert != NULL ? "tls_cert" : "tls_key",
                     config->tls_cert != NULL ? "tls_key" : "tls_cert");
}

/* scheme://host[:port] and nothing behind it, in lower case, as browsers send it. */
static bool is_origin(struct str s)
{
    struct str host = str_skip(s, str_find(s, ':') + 3);
    struct str scheme = str_head(s, str_find(s, ':'));

    if (str_empty(scheme) || !str_starts(str_skip(s, scheme.n), STR("://")) || str_empty(host))
        return false;
    for (size_t i = 0; i < scheme.n; i++)
        if (strchr("abcdefghijklmnopqrstuvwxyz0123456789+-.", scheme.p[i]) == NULL)
            return false;
    for (size_t i = 0; i < host.n; i++)
        if (strchr("/?#@\\", host.p[i]) != NULL || (host.p[i] >= 'A' && host.p[i] <= 'Z'))
            return false;
    return true;
}

static int check_origins(struct loader *l)
{
    for (char **o = l->config->origins; o != NULL && *o != NULL; o++)
        if (strcmp(*o, "*") != 0 && !is_origin(str_of(*o)))
            return error_set(l->err, ERR_REFUSED,
                             "origins: '%s' is not an origin such as https://app.example.com "
                             "(lower case, no path, no / at the end)",
                             quote(str_of(*o)).z);
    return 0;
}

static int check_channel(struct loader *l, const char *option, const char *name)
{
    struct channel channel;
    struct error why;

    if (channel_parse(str_of(name), &channel, &why) == 0)
        return 0;
    return error_set(l->err, ERR_REFUSED, "%s: %s", option, why.text);
}

static int check_redis(struct loader *l)
{
    const struct server_config *c = l->config;
    struct redis_url url;
    struct error why;

    if (c->redis_url != NULL && redis_url_parse(str_of(c->redis_url), &url, &why) != 0)
        return error_set(l->err, ERR_REFUSED, "redis_url: %s", why.text);
    if (c->redis_url == NULL && (c->redis_publish != 0 || c->redis_subscribe))
        return error_set(l->err, ERR_REFUSED, "%s is given without redis_url",
                         c->redis_subscribe ? "redis_subscribe" : "redis_publish");
    int err = check_channel(l, "redis_publish_channel", c->redis_publish_channel);
    return err == 0 ? check_channel(l, "redis_subscribe_channel", c->redis_subscribe_channel)
                    : err;
}

/* Jobs that appear on a channel can only be created for an agent that is fed from channels. */
static int check_redis_agent(struct loader *l)
{
    const struct server_config *c = l->config;
    struct str name = str_of(c->redis_subscribe_agent);

    if (!c->redis_subscribe || c->redis_subscribe_agent == NULL)
        return 0;
    for (size_t i = 0; i < c->n_agents; i++)
        if (str_eq(c->agents[i].name, name) && c->agents[i].kind == AGENT_CHANNEL)
            return 0;
    return error_set(l->err, ERR_REFUSED,
                     "redis_subscribe_agent: there is no agent '%s' with 'channel: true'",
                     quote(name).z);
}

static int check_words(struct loader *l, const struct config_agent *a, char *const *words)
{
    for (; words != NULL && *words != NULL; words++)
        if (!arq_argument_is_valid(str_of(*words)))
            return error_set(l->err, ERR_REFUSED,
                             "the agent '%s': '%s' is no argument: these are job_id, input, "
                             "input.KEY, agent, attempt, resume and answer, each also as "
                             "name=word",
                             quote(a->name).z, quote(str_of(*words)).z);
    return 0;
}

static int check_arq_agent(struct loader *l, const struct config_agent *a)
{
    const struct server_config *c = l->config;
    bool serves = a->serves.function != NULL || a->serves.resume_function != NULL;

    if (a->kind == AGENT_ARQ && c->redis_url == NULL)
        return error_set(l->err, ERR_REFUSED,
                         "the agent '%s' has an 'arq' function, but there "
                         "is no redis_url",
                         quote(a->name).z);
    /* We would receive our own messages. */
    if (a->kind == AGENT_ARQ && c->arq_queue != NULL && strcmp(a->arq.queue, c->arq_queue) == 0)
        return error_set(l->err, ERR_REFUSED,
                         "the agent '%s' has the queue that arq_queue says "
                         "is served here: give it another 'queue'",
                         quote(a->name).z);
    if (serves && c->arq_queue == NULL)
        return error_set(l->err, ERR_REFUSED,
                         "the agent '%s' has 'serves', but there is no "
                         "arq_queue",
                         quote(a->name).z);
    int err = check_words(l, a, a->arq.args);
    if (err == 0)
        err = check_words(l, a, a->arq.resume_args);
    if (err == 0)
        err = check_words(l, a, a->serves.args);
    return err == 0 ? check_words(l, a, a->serves.resume_args) : err;
}

static int check_arq(struct loader *l)
{
    const struct server_config *c = l->config;
    int err = 0;

    if (c->arq_queue != NULL && c->redis_url == NULL)
        return error_set(l->err, ERR_REFUSED, "arq_queue is given without redis_url");
    for (size_t i = 0; err == 0 && i < c->n_agents; i++)
        err = check_arq_agent(l, &c->agents[i]);
    return err;
}

static int check_routes(struct loader *l)
{
    static const char *const parts[] = { "assistants", "threads", "runs", "event_streaming",
                                         "store",      "mcp",     "a2a",  "ui",
                                         "meta" };
    const char *prefix = l->config->mount_prefix;

    for (char **d = l->config->disabled_routes; d != NULL && *d != NULL; d++) {
        size_t i = 0;

        while (i < sizeof(parts) / sizeof(parts[0]) && strcmp(parts[i], *d) != 0)
            i++;
        if (i == sizeof(parts) / sizeof(parts[0]))
            return error_set(l->err, ERR_REFUSED,
                             "disabled_routes: '%s' is none of assistants, threads, runs, "
                             "event_streaming, store, mcp, a2a, ui and meta",
                             quote(str_of(*d)).z);
    }
    if (prefix != NULL && (prefix[0] != '/' || prefix[strlen(prefix) - 1] == '/'))
        return error_set(l->err, ERR_REFUSED,
                         "mount_prefix: '%s' must begin with '/' and not end with it",
                         quote(str_of(prefix)).z);
    return 0;
}

static int load(struct loader *l, int argc, char **argv)
{
    const char *file = NULL;

    int err = options_reset(&server_options, l->config) == 0 ? 0 : no_memory(l);
    if (err == 0)
        err = loader_find_file(l, argc, argv, &file);
    if (err != 0 || l->config->help)
        return err;
    if (file != NULL)
        err = load_file(l, file);
    if (err == 0)
        err = loader_read_environment(l);
    if (err == 0)
        err = loader_read_flags(l, argc, argv);
    if (err == 0)
        err = take_listen(l);
    if (err == 0)
        err = take_socket_mode(l);
    if (err == 0)
        err = take_database(l);
    if (err == 0)
        err = check_origins(l);
    if (err == 0)
        err = check_tls(l);
    if (err == 0)
        err = check_routes(l);
    if (err == 0)
        err = check_redis(l);
    if (err == 0)
        err = loader_make_agents(l);
    if (err == 0)
        err = check_redis_agent(l);
    return err == 0 ? check_arq(l) : err;
}

int server_config_load(int argc,
                       char **argv,
                       char **envp,
                       struct server_config **ret,
                       struct error *err)
{
    struct loader l = { .envp = envp, .err = err };

    l.config = calloc(1, sizeof(*l.config));
    if (l.config == NULL)
        return no_memory(&l);
    buf_init(&l.value, RESOLVE_MAX);
    int code = load(&l, argc, argv);
    buf_done(&l.value);
    loader_clear_entries(&l);
    if (code == 0)
        *ret = l.config;
    else
        server_config_free(l.config);
    return code;
}

void server_config_free(struct server_config *config)
{
    if (config == NULL)
        return;
    options_clear(&server_options, config);
    config_agents_free(config->agents, config->n_agents);
    free(config);
}
