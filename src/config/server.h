/* The server's configuration: a YAML file, the environment and flags, through one table of
 * options (config/options/options.h; docs/configuration.md has the reference).
 *
 * Flags win over the environment, that over the file, and that over the defaults.
 * Functions are synchronous and keep no state between calls. */
#ifndef CONFIG_SERVER_H
#define CONFIG_SERVER_H

#include "base/str.h"
#include "config/agent_kind.h"
#include "config/options/listen.h"
#include "config/options/options.h"

#include <stdint.h>

struct agent;
struct buf;
struct error;

/* In the order of their words in the table of options. */
enum durability { DURABILITY_FULL, DURABILITY_RELAXED };
enum auth_mode { AUTH_AUTO, AUTH_REQUIRED, AUTH_OFF };
enum access_log_form {
    ACCESS_LOG_AUTO, /* text on a terminal, else JSON */
    ACCESS_LOG_JSON,
    ACCESS_LOG_TEXT,
    ACCESS_LOG_OFF
};

/* Long-lived processes that share an agent's jobs. */
struct config_pool {
    unsigned size; /* 0: none */
    unsigned concurrency;
    unsigned warm;
    int64_t recycle_jobs;  /* 0: never */
    size_t recycle_memory; /* bytes; 0: never */
    char **watch;          /* folders, or NULL */
    int64_t start_ms;
    int64_t drain_ms;
    int64_t backoff_ms;
};

/* In the order of their words in the table of options. */
enum request_body {
    REQUEST_BODY_INPUT,
    REQUEST_BODY_ORDER,
    REQUEST_BODY_LANGSERVE,
    REQUEST_BODY_LANGGRAPH
};

/* A remote endpoint that gets an agent's jobs. */
struct config_http {
    char *url;      /* NULL: none */
    char **headers; /* NAME=value, or NULL: none to add */
    enum request_body body;
    char *assistant;
    char **modes;
    char *ca; /* NULL: the system's */
    int64_t connect_ms;
    int64_t first_ms;
    int64_t idle_ms;
};

enum arq_serializer { ARQ_SERIALIZER_PICKLE, ARQ_SERIALIZER_JSON };

/* A queue of ARQ that gets an agent's jobs. */
struct config_arq {
    char *function; /* NULL: none */
    char *queue;
    char **args;           /* words (config/values/arq_argument.h) */
    char *resume_function; /* NULL: the same, with the same words */
    char **resume_args;
    enum arq_serializer serializer;
    int64_t defer_ms;
    int64_t expires_ms; /* 0: a day after it was due */
    bool keeps_result;
    char *health_key; /* NULL: the queue's */
    int64_t poll_ms;
    int64_t settle_ms;
};

/* A Dask cluster whose workers fetch an agent's jobs. */
struct config_dask {
    char *scheduler; /* NULL: none */
    char **args;     /* further arguments of the bridge, or NULL */
};

/* Of the LangGraph assistant that an agent has by itself; JSON objects. */
struct config_assistant {
    struct str config, context;
};

/* The functions of the queue that we serve whose calls are jobs of an agent. */
struct config_serves {
    char *function; /* NULL: none */
    char **args;
    char *resume_function; /* NULL: none */
    char **resume_args;
};

/* The members that belong to other kinds than `kind` are ignored. */
struct config_agent {
    enum agent_kind kind;
    struct str name;        /* owned, like everything here; a NUL is behind it */
    struct str description; /* may be empty */
    struct config_assistant assistant;
    char **argv;          /* NULL: not a kind with processes, or built in */
    char **env;           /* NAME=value, or NULL: nothing to add */
    char *cwd;            /* NULL: the server's */
    bool pull;            /* workers come for its jobs over HTTP */
    bool channel;         /* its jobs are fed from Redis */
    bool is_builtin;      /* the demo agent in this program */
    bool is_public;       /* offered in the list of agents */
    bool is_pausable;     /* its processes pause on a signal */
    unsigned concurrency; /* without a pool */
    struct config_pool pool;
    struct config_http http;
    struct config_arq arq;
    struct config_serves serves;
    struct config_dask dask;
    char *graph; /* what its workers import, with `dask` */
    int64_t lease_ms;
    int64_t attempts;
    int64_t queue_ms;  /* 0: no deadline */
    int64_t run_ms;    /* 0: no deadline */
    int64_t answer_ms; /* the same, for a question */
    int64_t grace_ms;  /* from SIGTERM to SIGKILL */
    int64_t cancel_grace_ms;
    size_t max_memory;       /* bytes; 0: no limit */
    int64_t max_cpu_seconds; /* 0: no limit */
    struct agent *settings;
};

/* The source of an option's value. */
enum config_source { SOURCE_DEFAULT, SOURCE_FILE, SOURCE_ENVIRONMENT, SOURCE_FLAG };

/* Owns everything it points to. */
struct server_config {
    bool help;         /* --help was given: nothing else here is valid */
    char *config_file; /* NULL: none */
    enum config_source sources[SERVER_OPTIONS_MAX]; /* as in the table of options */
    size_t lines[SERVER_OPTIONS_MAX];               /* in the file; 0: not there */

    char *listen;
    struct listen_address address; /* the same, taken apart */
    char *socket_mode;             /* as it was written, */
    unsigned unix_mode;            /* and what it means */
    bool insecure_listen;
    enum auth_mode auth;
    char *token_admin;          /* NULL: none */
    char **auth_tokens;         /* NULL-terminated, or NULL: none */
    unsigned max_calls;         /* that wait for workers */
    int64_t max_jobs_per_token; /* 0: no limit, as for the next four */
    int64_t max_queued_per_token;
    int64_t max_running_per_token;
    int64_t max_streams_per_token;
    int64_t max_events_per_token;
    int64_t ticket_life_ms;
    int64_t session_life_ms;
    char *tls_cert;       /* NULL: no TLS */
    char *tls_key;        /* there exactly when tls_cert is */
    char *data;           /* NULL: `store` is given */
    char *store;          /* NULL: `data` counts */
    char *store_read_url; /* NULL: `store` */
    char *advertise;      /* NULL: where it listens */
    enum durability durability;
    unsigned loops; /* 0: one per core */
    unsigned readers;
    size_t page_cache;
    size_t store_cache;
    char **hosts;   /* NULL-terminated, or NULL: none */
    char **origins; /* the same */

    size_t max_head;
    size_t max_body;
    size_t max_input;
    size_t max_batch;
    size_t body_min_rate; /* bytes a second */
    unsigned max_connections;
    unsigned max_connections_per_address; /* 0: no limit */
    int64_t head_timeout_ms;
    int64_t idle_timeout_ms;
    int64_t write_timeout_ms;
    int64_t keep_alive_ms;
    int64_t pong_timeout_ms;
    size_t max_message;
    size_t max_frame;
    unsigned max_subscriptions;
    int64_t heartbeat_ms;
    int64_t max_age_ms; /* 0: never */
    int64_t shutdown_window_ms;

    int64_t expiry_seconds;
    int64_t history_ms; /* after that */
    size_t max_line;
    unsigned max_depth;
    size_t max_field;
    bool aiq_compat;
    enum access_log_form access_log;
    bool demo;

    char *redis_url;        /* NULL: none */
    unsigned redis_publish; /* 0: off; else one of the dialects that can be published, from 1 */
    char *redis_publish_channel;
    int64_t redis_publish_backlog; /* 0: no limit */
    bool redis_subscribe;
    char *redis_subscribe_channel;
    char *redis_subscribe_agent; /* NULL: none */
    size_t redis_subscribe_buffer;
    char *arq_queue; /* NULL: none is served */
    enum arq_serializer arq_serializer;
    unsigned arq_max_jobs;
    bool arq_allow_abort;
    int64_t arq_max_tries;
    int64_t arq_poll_ms;
    int64_t arq_lease_ms;
    int64_t arq_keep_result_ms;
    int64_t arq_health_ms;
    char *arq_expire_function; /* NULL: none */
    char *ui;                  /* a folder; NULL: none */
    char *item_index;          /* an agent; NULL: none */
    char *item_store;          /* an agent; NULL: none */
    int64_t item_ttl_ms;       /* 0: items do not expire */
    bool item_ttl_refresh;
    int64_t thread_ttl_ms; /* 0: threads do not expire */

    char **companion;    /* NULL: none */
    char *companion_cwd; /* NULL: the server's */
    char **companion_watch;
    bool companion_guards;
    int64_t companion_timeout_ms;
    char **disabled_routes;                                       /* NULL: all are offered */
    char *mount_prefix;                                           /* NULL: none */
    char **configurable_headers, **configurable_headers_excluded; /* NULL: the usual ones */

    bool webhooks;
    char **webhook_allow, **webhook_private; /* NULL: none */
    char **webhook_secrets;                  /* NULL: they are not signed */
    char **webhook_headers;                  /* NULL: none; each "Name: value" */
    char **webhook_fields;                   /* NULL: all */
    unsigned webhook_per_host;
    int64_t webhook_timeout_ms, webhook_retry_ms, webhook_max_age_ms, webhook_keep_ms;
    char *webhook_ca; /* NULL: the system's */

    struct config_agent *agents;
    size_t n_agents;
};

/* argv[0] is the command's name; @envp may be NULL.  After --help the rest is not looked at.
 *
 * ERR_REFUSED (an unknown or repeated key, out of bounds), ERR_TYPE, ERR_SYNTAX (not YAML),
 * ERR_NOT_FOUND (a variable or file that a value names), ERR_TOO_LARGE, ERR_IO, ERR_NOMEM. @err
 * has a sentence for a person. */
int server_config_load(int argc,
                       char **argv,
                       char **envp,
                       struct server_config **ret,
                       struct error *err);
void server_config_free(struct server_config *config);

/* What names the database: `store`, or else `data`. */
const char *server_config_database(const struct server_config *config);

/* A server without tokens allows everything: ERR_REFUSED when it has none (not @is_locked) and
 * other machines can reach it. */
int server_config_check_listen(const struct server_config *config,
                               bool is_locked,
                               struct error *err);

/* The text of --help. */
void server_config_help(struct buf *out);
/* The options for the manual page. */
void server_config_manual(struct buf *out);
/* The options as a Markdown table, and the keys of an agent as another. */
void server_config_reference(struct buf *out);
void server_config_agent_reference(struct buf *out);
/* Both as JSON: one object for each. */
void server_config_reference_json(struct buf *out);

/* All of it, with the source of each value, as a file or as JSON; secrets are masked. */
void server_config_show(const struct server_config *config, struct buf *out);
void server_config_show_json(const struct server_config *config, struct buf *out);

#endif
