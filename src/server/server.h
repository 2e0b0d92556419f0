/* A server: the parts that `spoolwire serve` puts together.  Internal to server/.
 *
 * parts.c makes them, agents.c what runs jobs; reload.c changes settings while they run,
 * hello.c prints where the server listens. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "agents/arq/server.h"
#include "agents/exec.h"
#include "api/api.h"
#include "cluster/cluster.h"
#include "companion/companion.h"
#include "redis/service.h"
#include "server/generation.h"
#include "server/serve.h"
#include "server/watch.h"
#include "webhooks/post.h"
#include "config/server.h"

struct server {
    int argc; /* for a reload */
    char **argv;
    struct generation *now;       /* owned; the settings */
    struct store *store;          /* NULL: the cluster has it */
    struct cluster *cluster;      /* NULL: no other gateway can use the database */
    pthread_mutex_t moving;       /* with a cluster: its parts are told whether it writes */
    struct breadcrumb breadcrumb; /* of the job being folded; or not open */
    struct journal *journal;
    struct notifier notifier;
    struct hub_shared *hub_shared;
    struct thread_pool *pool;
    struct token_service *tokens;
    struct exec *exec;
    struct redis_service *redis;    /* NULL: there is no Redis */
    struct exec_agent *exec_agents; /* owned */
    size_t n_exec;
    struct str *exec_names; /* owned; of those whose jobs die with the server */
    size_t n_names;
    struct arq_server *arq;             /* NULL: no queue is served */
    struct arq_function *arq_functions; /* owned */
    size_t n_functions;
    struct companion *companion;      /* NULL: there is none */
    struct webhook_settings webhooks; /* its policy is owned */
    struct app app;
    struct http_server *http;
    struct tail_watch certificate; /* with TLS */
    serve_hello hello;             /* or NULL */
    const void *hello_arg;
    bool has_terminal;
    atomic_bool log_is_text;         /* workers' output as text, like the access log */
    char mark[STORE_IDENTITY_BYTES]; /* of our processes; or empty */
    char self[4096];                 /* this program, for the demo agent */
    char *demo_argv[3], *demo_pool_argv[4];
};

/* --- agents.c ---------------------------------------------------------------- */

/* Where this program is, for the demo agent. */
void server_find_self(struct server *s);
int server_make_agents(struct server *s, struct error *err);
int server_start_agents(struct server *s, struct error *err);
/* Writes a line that a process of @name has printed to the server's log. */
void server_log_line(struct server *s, struct str name, struct str line);
/* After HTTP: a process may send requests as soon as it runs. */
int server_start_processes(struct server *s, struct error *err);

/* --- parts.c ----------------------------------------------------------------- */

int server_start_journal(struct server *s, struct error *err);
int server_start_tokens(struct server *s, struct error *err);
/* Only if something is published or subscribed to. */
int server_make_redis_service(struct server *s, struct error *err);
int server_start_http(struct server *s, struct error *err);
/* Only if the settings have one; before HTTP, which knows its sockets. */
int server_make_companion(struct server *s, struct error *err);
/* Which webhooks may be sent; before HTTP. */
int server_make_webhooks(struct server *s, struct error *err);
struct http_options server_http_options(struct server *s, const struct server_config *c);

/* --- cluster.c ----------------------------------------------------------------- */

/* For a database that several gateways may use: opens it, or finds that another writes. */
int server_make_cluster(struct server *s, const struct store_options *store, struct error *err);
/* After HTTP is started: other gateways may connect as soon as they know of this one. */
int server_join_cluster(struct server *s, struct error *err);
/* Sets the mark of our processes. */
void server_mark_processes(struct server *s, const char *identity);

/* --- reload.c ---------------------------------------------------------------- */

/* Reads the settings again: the file as it is now, the same command line and environment. */
void server_reload(struct server *s);
/* New connections get the certificate that is in the files now; the others go on. */
void server_renew_certificate(struct server *s);

/* --- hello.c ----------------------------------------------------------------- */

void server_put_url(const struct server *s, const char *host, char *ret, size_t n);
void server_say_hello(const struct server *s);

#endif
