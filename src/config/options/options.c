/* The two tables of options.  What a line means: config/options/options.h. */
#include "config/options/options.h"

#include "base/error.h"
#include "config/server.h"
#include "config/options/suggest.h"
#include "dialect/list.h"

#define AT(name)     offsetof(struct server_config, name)
#define OF(name)     offsetof(struct config_agent, name)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define KIB    ((int64_t)1024)
#define MIB    (1024 * KIB)
#define GIB    (1024 * MIB)
#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

enum {
    MAX_PATH = 4096,
    MAX_LISTEN = 170,
    MAX_LIST = 256,
    MAX_DESCRIPTION = 1024,
    MAX_ASSISTANT = 64 * 1024,
    MAX_TOKEN = 200,
    MAX_CHANNEL = 256,
    MAX_QUEUE = 200,
    MAX_FUNCTION = 200
};

/* clang-format off: tables */
static const struct option server_table[] = {
    { "config", OPTION_TEXT, OPTION_NO_FILE, AT(config_file), NULL, 1, MAX_PATH, "FILE",
      "The YAML file; itself a flag or variable only." },
    { "listen", OPTION_LISTEN, 0, AT(listen), "127.0.0.1:8400", 1, MAX_LISTEN, "ADDRESS",
      "Where to listen; port 0 is any free one.  Both kinds: ADDRESS:PORT,unix:PATH." },
    { "socket_mode", OPTION_TEXT, 0, AT(socket_mode), "0660", 3, 4, "MODE",
      "Who may use the Unix socket: the octal permissions of its file." },
    { "insecure_listen", OPTION_BOOL, 0, AT(insecure_listen), "false", 0, 0, "",
      "Listen on addresses that other machines can reach, without authentication." },
    { "auth", OPTION_CHOICE, 0, AT(auth), "auto", 0, 0, "auto|required|off",
      "Whether callers need a token; `auto`: as soon as there is one." },
    { "token_admin", OPTION_TEXT, OPTION_SECRET, AT(token_admin), NULL, 1, MAX_TOKEN, "TOKEN",
      "A token with the scope `admin`, besides those in the database." },
    { "auth_tokens", OPTION_NAMES, OPTION_SECRET, AT(auth_tokens), NULL, 0, MAX_LIST, "LIST",
      "More tokens, each as `[OWNER@]SCOPE:TOKEN`." },
    { "max_calls", OPTION_COUNT, 0, AT(max_calls), "100", 0, 10000, "N",
      "Calls that wait for workers at a time." },
    { "max_jobs_per_token", OPTION_NUMBER, 0, AT(max_jobs_per_token), "1000", 0, 1000000000,
      "N", "Jobs of a token that have not ended; 0: no limit." },
    { "max_queued_per_token", OPTION_NUMBER, 0, AT(max_queued_per_token), "0", 0, 1000000000,
      "N", "Jobs of a token that wait for a worker; 0: no limit." },
    { "max_running_per_token", OPTION_NUMBER, 0, AT(max_running_per_token), "0", 0, 1000000000,
      "N",
      "Jobs of a token that workers have at a time, while more of them wait; 0: no limit." },
    { "max_streams_per_token", OPTION_NUMBER, 0, AT(max_streams_per_token), "1000", 0,
      1000000000, "N", "Streams that a token may have open; 0: no limit." },
    { "max_events_per_token", OPTION_NUMBER, 0, AT(max_events_per_token), "0", 0, 1000000000,
      "N", "Events that the workers of a token may send a second; 0: no limit." },
    { "ticket_life", OPTION_MS, 0, AT(ticket_life_ms), "1h", 1 * SECOND, 7 * DAY, "TIME",
      "How long a stream ticket is valid, at most." },
    { "session_life", OPTION_MS, 0, AT(session_life_ms), "12h", 1 * MINUTE, 90 * DAY, "TIME",
      "How long a page's cookie is valid." },
    { "tls_cert", OPTION_TEXT, 0, AT(tls_cert), NULL, 1, MAX_PATH, "FILE",
      "Certificate with its chain (PEM): speak TLS.  A file that changes is read again." },
    { "tls_key", OPTION_TEXT, 0, AT(tls_key), NULL, 1, MAX_PATH, "FILE",
      "The key of the certificate (PEM, without a passphrase)." },
    { "data", OPTION_TEXT, 0, AT(data), "spoolwire.db", 1, MAX_PATH, "FILE",
      "The database with jobs and events, if it is a file: its path, also as `sqlite:FILE`." },
    { "store", OPTION_TEXT, 0, AT(store), NULL, 1, MAX_PATH, "URL",
      "The database, instead of `data`: `postgres://USER@HOST/DATABASE` without a password, "
      "`sqlite:FILE` or a path." },
    { "store_read_url", OPTION_TEXT, 0, AT(store_read_url), NULL, 1, MAX_PATH, "URL",
      "The same PostgreSQL database through a pooler (pgbouncer), which is used to read pages of old "
      "events only; by default they are read through `store`." },
    { "advertise", OPTION_TEXT, 0, AT(advertise), NULL, 1, 200, "URL",
      "Where other gateways on the same PostgreSQL database reach this one, as "
      "`http://HOST:PORT` or `https://HOST:PORT`; by default where it listens." },
    { "durability", OPTION_CHOICE, 0, AT(durability), "full", 0, 0, "full|relaxed",
      "`relaxed`: a power failure may lose the last moments; a crash of the server loses "
      "nothing either way." },
    { "loops", OPTION_COUNT, 0, AT(loops), "0", 0, 64, "N",
      "Threads that serve connections; 0: one per core." },
    { "readers", OPTION_COUNT, 0, AT(readers), "2", 1, 64, "N",
      "Threads that read old events from the database." },
    { "page_cache", OPTION_SIZE, 0, AT(page_cache), "32M", 0, 64 * GIB, "SIZE",
      "Memory for old events as they were sent, for readers that want the same." },
    { "store_cache", OPTION_SIZE, 0, AT(store_cache), "32M", 1 * MIB, 64 * GIB, "SIZE",
      "Memory for those pages of the database that are being written." },
    { "hosts", OPTION_NAMES, OPTION_RELOADS, AT(hosts), NULL, 0, MAX_LIST, "LIST",
      "Values of the `Host` header to accept besides our own address; `*`: any." },
    { "origins", OPTION_NAMES, OPTION_RELOADS, AT(origins), NULL, 0, MAX_LIST, "LIST",
      "Origins whose pages may call us (CORS), such as `https://app.example.com`; `*`: any." },
    { "max_head", OPTION_SIZE, 0, AT(max_head), "16K", 1 * KIB, 64 * KIB, "SIZE",
      "Largest request line and headers." },
    { "max_body", OPTION_SIZE, OPTION_RELOADS, AT(max_body), "1M", 1 * KIB, 1 * GIB, "SIZE",
      "Largest request body; submitted jobs and events have limits of their own (the next two)." },
    { "max_input", OPTION_SIZE, OPTION_RELOADS, AT(max_input), "4M", 1 * KIB, 1 * GIB, "SIZE",
      "Largest body with which a job is submitted." },
    { "max_batch", OPTION_SIZE, OPTION_RELOADS, AT(max_batch), "32M", 1 * KIB, 1 * GIB, "SIZE",
      "Largest body of a worker's events, and of the request that ends a job." },
    { "body_min_rate", OPTION_SIZE, OPTION_RELOADS, AT(body_min_rate), "1K", 1, 1 * GIB, "SIZE",
      "Bytes a second of a request's body, over 5 seconds; a slower request is closed." },
    { "max_connections", OPTION_COUNT, 0, AT(max_connections), "20000", 1, 1000000, "N",
      "Connections at a time." },
    { "max_connections_per_address", OPTION_COUNT, 0, AT(max_connections_per_address), "0", 0,
      1000000, "N", "Connections at a time from one address; 0: no limit." },
    { "head_timeout", OPTION_MS, OPTION_RELOADS, AT(head_timeout_ms), "10s", 100, 10 * MINUTE,
      "TIME", "How long the headers of a request may take to arrive." },
    { "idle_timeout", OPTION_MS, OPTION_RELOADS, AT(idle_timeout_ms), "75s", 1 * SECOND,
      1 * HOUR, "TIME", "How long a connection may be idle between two requests." },
    { "write_timeout", OPTION_MS, OPTION_RELOADS, AT(write_timeout_ms), "60s", 1 * SECOND,
      1 * HOUR, "TIME", "How long a reader may read nothing before it is disconnected." },
    { "keep_alive", OPTION_MS, OPTION_RELOADS, AT(keep_alive_ms), "15s", 100, 1 * HOUR, "TIME",
      "How long a stream may be without events before a comment or a ping is sent." },
    { "pong_timeout", OPTION_MS, OPTION_RELOADS, AT(pong_timeout_ms), "20s", 100, 1 * HOUR,
      "TIME", "How long a WebSocket may take to answer a ping before it is disconnected." },
    { "max_message", OPTION_SIZE, OPTION_RELOADS, AT(max_message), "64K", 256, 16 * MIB, "SIZE",
      "Longest message of a WebSocket's client." },
    { "max_frame", OPTION_SIZE, OPTION_RELOADS, AT(max_frame), "64K", 128, 16 * MIB, "SIZE",
      "Longest frame of such a message." },
    { "max_subscriptions", OPTION_COUNT, OPTION_RELOADS, AT(max_subscriptions), "100", 1, 10000,
      "N", "Jobs at a time on one connection to `/v1/stream`." },
    { "heartbeat", OPTION_MS, OPTION_RELOADS, AT(heartbeat_ms), "30s", 100, 1 * HOUR, "TIME",
      "Interval of heartbeats to readers of `aiq` and `raw`." },
    { "max_age", OPTION_MS, OPTION_RELOADS, AT(max_age_ms), "0", 0, 7 * DAY, "TIME",
      "Longest life of a stream, after which its reader has to reconnect; 0: no limit." },
    { "shutdown_window", OPTION_MS, OPTION_RELOADS, AT(shutdown_window_ms), "10s", 0,
      10 * MINUTE, "TIME", "How long a graceful stop may take." },
    { "expiry", OPTION_SECONDS, OPTION_RELOADS, AT(expiry_seconds), "24h", 1 * SECOND,
      3650 * DAY, "TIME",
      "How long the events of a finished job are kept, unless it was submitted with an `expiry_seconds`." },
    { "history", OPTION_MS, OPTION_RELOADS, AT(history_ms), "7d", 0, 3650 * DAY, "TIME",
      "How long after that the job's final state is kept." },
    { "max_line", OPTION_SIZE, 0, AT(max_line), "16M", 1 * KIB, 1 * GIB, "SIZE",
      "Longest line of a worker." },
    { "max_depth", OPTION_COUNT, 0, AT(max_depth), "64", 1, 256, "N",
      "Deepest nesting of a worker's JSON." },
    { "max_field", OPTION_SIZE, 0, AT(max_field), "64K", 1, 1 * GIB, "SIZE",
      "Largest field of an event; a larger one becomes a marker." },
    { "aiq_compat", OPTION_BOOL, 0, AT(aiq_compat), "false", 0, 0, "",
      "As AI-Q 2.x: statuses in lower case, and 200 for a submitted job." },
    { "access_log", OPTION_CHOICE, OPTION_RELOADS, AT(access_log), "auto", 0, 0,
      "auto|json|text|off",
      "Form of the access log; `auto`: text on a terminal, else JSON lines." },
    { "redis_url", OPTION_TEXT, OPTION_SECRET, AT(redis_url), NULL, 1, MAX_PATH, "URL",
      "A Redis server: redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], or unix:PATH." },
    { "redis_publish", OPTION_CHOICE, 0, AT(redis_publish), "off", 0, 0,
      "off" DIALECT_PUBLISHED, "Publish the records of jobs to Redis, in this dialect." },
    { "redis_publish_channel", OPTION_TEXT, 0, AT(redis_publish_channel),
      "jobs:{job_id}:events", 1, MAX_CHANNEL, "NAME",
      "The channel of a job; has `{job_id}` in it." },
    { "redis_publish_backlog", OPTION_NUMBER, 0, AT(redis_publish_backlog), "100000", 0,
      1000000000, "N",
      "Records of a job that are published late, after Redis was down; older ones are skipped; 0: all are." },
    { "redis_subscribe", OPTION_BOOL, 0, AT(redis_subscribe), "false", 0, 0, "",
      "Subscribe to the channels of jobs whose agents have `channel`." },
    { "redis_subscribe_channel", OPTION_TEXT, 0, AT(redis_subscribe_channel),
      "jobs:{job_id}:events", 1, MAX_CHANNEL, "NAME",
      "The channel of a job, as for publishing." },
    { "redis_subscribe_agent", OPTION_TEXT, 0, AT(redis_subscribe_agent), NULL, 1, 64, "AGENT",
      "An agent with `channel`: messages for unknown jobs create jobs of this agent; without it they are refused." },
    { "redis_subscribe_buffer", OPTION_SIZE, 0, AT(redis_subscribe_buffer), "64M", 64 * KIB,
      16 * GIB, "SIZE",
      "Messages that may wait to be stored before reading from Redis pauses." },
    { "arq_queue", OPTION_TEXT, 0, AT(arq_queue), NULL, 1, MAX_QUEUE, "NAME",
      "A queue of ARQ to serve: calls in it are jobs of agents with `serves`; ARQ's own is `arq:queue`." },
    { "arq_serializer", OPTION_CHOICE, 0, AT(arq_serializer), "pickle", 0, 0, "pickle|json",
      "How jobs and results are written there; as `job_serializer` of the program that enqueues." },
    { "arq_max_jobs", OPTION_COUNT, 0, AT(arq_max_jobs), "10", 1, 10000, "N",
      "Jobs of that queue at a time." },
    { "arq_allow_abort", OPTION_BOOL, 0, AT(arq_allow_abort), "true", 0, 0, "",
      "`Job.abort()` cancels the job." },
    { "arq_max_tries", OPTION_NUMBER, 0, AT(arq_max_tries), "5", 1, 1000, "N",
      "How often a call is taken from that queue, when servers get lost." },
    { "arq_poll", OPTION_MS, 0, AT(arq_poll_ms), "500ms", 10, 1 * MINUTE, "TIME",
      "How often that queue is polled." },
    { "arq_lease", OPTION_MS, 0, AT(arq_lease_ms), "60s", 1 * SECOND, 1 * DAY, "TIME",
      "How long a job there stays in progress without a sign of this server." },
    { "arq_keep_result", OPTION_MS, 0, AT(arq_keep_result_ms), "1h", 0, 365 * DAY, "TIME",
      "How long a result is kept there; 0: none is written." },
    { "arq_health", OPTION_MS, 0, AT(arq_health_ms), "30s", 1 * SECOND, 1 * DAY, "TIME",
      "Between two signs of life there, for `arq --check`." },
    { "arq_expire_function", OPTION_TEXT, 0, AT(arq_expire_function), "expire_human_input", 1,
      MAX_FUNCTION, "NAME",
      "The function there that ends the wait of a job, its argument, for an answer." },
    { "item_ttl", OPTION_MS, 0, AT(item_ttl_ms), "0", 0, 36500 * DAY, "TIME",
      "How long items of LangGraph's store are kept that are put without a `ttl`; 0: until they are deleted." },
    { "item_ttl_refresh", OPTION_BOOL, 0, AT(item_ttl_refresh), "true", 0, 0, "",
      "With `item_ttl`: reading an item restarts its time, unless the request has `refresh_ttl`." },
    { "item_index", OPTION_TEXT, 0, AT(item_index), NULL, 1, MAX_FUNCTION, "AGENT",
      "The agent whose workers have the embedding model (`LANGGRAPH_STORE` in their environment): items are searched by meaning." },
    { "item_store", OPTION_TEXT, 0, AT(item_store), NULL, 1, MAX_FUNCTION, "AGENT",
      "The agent whose workers have a store of their own (`path` in `LANGGRAPH_STORE`): items are there, and not in this server's database." },
    { "thread_ttl", OPTION_MS, 0, AT(thread_ttl_ms), "0", 0, 36500 * DAY, "TIME",
      "How long LangGraph's threads are kept after their last change that are made without a `ttl`; 0: until they are deleted." },
    { "ui", OPTION_TEXT, 0, AT(ui), NULL, 1, MAX_PATH, "FOLDER",
      "Where the bundles of components for LangGraph's clients are, in a folder for each name (`langgraphjs-ui build` writes them); `spoolwire dev` makes it." },
    { "companion", OPTION_NAMES, 0, AT(companion), NULL, 0, MAX_LIST, "LIST",
      "The command of a process that runs a project's own authentication handlers and HTTP app; `spoolwire dev` sets it." },
    { "companion_cwd", OPTION_TEXT, 0, AT(companion_cwd), NULL, 1, MAX_PATH, "FOLDER",
      "The folder that it starts in; the server's unless given." },
    { "companion_watch", OPTION_NAMES, 0, AT(companion_watch), NULL, 0, MAX_LIST, "LIST",
      "Folders whose changes replace it." },
    { "companion_guards", OPTION_BOOL, 0, AT(companion_guards), "false", 0, 0, "",
      "It decides who may use LangGraph's routes: while it is down, nobody without a token of ours may." },
    { "companion_timeout", OPTION_MS, 0, AT(companion_timeout_ms), "10s", 100, 10 * MINUTE,
      "TIME", "How long its handlers may take for a request." },
    { "disabled_routes", OPTION_NAMES, 0, AT(disabled_routes), NULL, 0, MAX_LIST, "LIST",
      "Parts of LangGraph's API that are not offered: `assistants`, `threads`, `runs`, `event_streaming` (the thread-scoped protocol), `store`, `mcp`, `a2a`, `ui`, `meta`." },
    { "mount_prefix", OPTION_TEXT, 0, AT(mount_prefix), NULL, 1, MAX_PATH, "PATH",
      "A path, such as `/api`, below which all routes are offered too." },
    { "configurable_headers", OPTION_NAMES, 0, AT(configurable_headers), NULL, 0, MAX_LIST,
      "LIST",
      "Request headers that graphs find in their config, with `*` for any text; `x-*` and `user-agent` without secrets unless given." },
    { "configurable_headers_excluded", OPTION_NAMES, 0, AT(configurable_headers_excluded), NULL,
      0, MAX_LIST, "LIST", "Request headers that they do not find there, in any case." },
    { "webhooks", OPTION_BOOL, 0, AT(webhooks), "true", 0, 0, "",
      "Tell the URL that a run names as its `webhook` how the run ended; `false`: such URLs are ignored." },
    { "webhook_allow", OPTION_NAMES, 0, AT(webhook_allow), NULL, 0, MAX_LIST, "LIST",
      "Where webhooks may be sent: hosts (`example.com`, `*.example.com`, `*` for all), URLs (`https://example.com/hooks`), or paths of the project's own HTTP app (`/hooks`); none unless given." },
    { "webhook_private", OPTION_NAMES, 0, AT(webhook_private), NULL, 0, MAX_LIST, "LIST",
      "Hosts among these that may have private addresses, such as `localhost` or `10.0.0.7`." },
    { "webhook_secrets", OPTION_NAMES, OPTION_SECRET, AT(webhook_secrets), NULL, 0, 8, "LIST",
      "Secrets that sign webhooks: `whsec_` and 16 to 64 bytes in base64. Without one they are not signed; with several they have several signatures." },
    { "webhook_headers", OPTION_NAMES, OPTION_SECRET, AT(webhook_headers), NULL, 0, 64, "LIST",
      "Headers of every webhook, such as `Authorization: Bearer x`." },
    { "webhook_fields", OPTION_NAMES, 0, AT(webhook_fields), NULL, 0, 64, "LIST",
      "The members of a webhook's body that are sent; all unless given." },
    { "webhook_per_host", OPTION_COUNT, 0, AT(webhook_per_host), "4", 1, 32, "N",
      "How many webhooks are sent to one host at a time; of 32 in all." },
    { "webhook_timeout", OPTION_MS, 0, AT(webhook_timeout_ms), "10s", 100, 5 * MINUTE, "TIME",
      "How long an attempt to send a webhook may take." },
    { "webhook_retry", OPTION_MS, 0, AT(webhook_retry_ms), "5s", 10, 1 * HOUR, "TIME",
      "When a webhook that failed is tried again; four times as long after each further attempt, up to an hour." },
    { "webhook_max_age", OPTION_MS, 0, AT(webhook_max_age_ms), "24h", 100, 30 * DAY, "TIME",
      "After this time a webhook that could not be sent is dead: `spoolwire webhooks` shows it and sends it again." },
    { "webhook_keep", OPTION_MS, 0, AT(webhook_keep_ms), "7d", 1 * SECOND, 365 * DAY, "TIME",
      "How long webhooks that were sent, or are dead, are kept." },
    { "webhook_ca", OPTION_TEXT, 0, AT(webhook_ca), NULL, 1, MAX_PATH, "FILE",
      "Certificates that receivers of webhooks are checked with; the system's unless given." },
    { "demo", OPTION_BOOL, 0, AT(demo), "true", 0, 0, "", "Offer the built-in agent `demo`." },
};

static const struct option agent_table[] = {
    { "description", OPTION_STR, OPTION_PERSONAL | OPTION_RELOADS, OF(description), "", 0,
      MAX_DESCRIPTION, "", "What it does, for the list of agents." },
    { "assistant.config", OPTION_STR, OPTION_PERSONAL | OPTION_RELOADS, OF(assistant.config),
      "{}", 0, MAX_ASSISTANT, "",
      "JSON: the config of the LangGraph assistant that the agent has by itself; its runs begin with it." },
    { "assistant.context", OPTION_STR, OPTION_PERSONAL | OPTION_RELOADS, OF(assistant.context),
      "{}", 0, MAX_ASSISTANT, "", "The same for the context." },
    { "command", OPTION_WORDS, OPTION_PERSONAL, OF(argv), NULL, 1, MAX_LIST, "",
      "The program and its arguments: a process for each job, or with a `pool` a few." },
    { "pull", OPTION_BOOL, OPTION_PERSONAL, OF(pull), "false", 0, 0, "",
      "Workers fetch its jobs over HTTP." },
    { "channel", OPTION_BOOL, OPTION_PERSONAL, OF(channel), "false", 0, 0, "",
      "The events of its jobs come over Redis channels; workers do not lease them." },
    { "env", OPTION_PAIRS, 0, OF(env), NULL, 0, MAX_LIST, "",
      "Variables to add to the environment of its processes." },
    { "cwd", OPTION_TEXT, 0, OF(cwd), NULL, 1, MAX_PATH, "",
      "The folder that its processes start in; the server's unless given." },
    { "concurrency", OPTION_COUNT, 0, OF(concurrency), "10", 1, 10000, "",
      "Its processes or requests at a time, without a `pool`." },
    { "pool.size", OPTION_COUNT, 0, OF(pool.size), "0", 0, 1000, "",
      "Long-lived processes that share its jobs; 0: none, a process for each job." },
    { "pool.concurrency", OPTION_COUNT, 0, OF(pool.concurrency), "1", 1, 10000, "",
      "Jobs at a time in each process of the pool." },
    { "pool.warm", OPTION_COUNT, 0, OF(pool.warm), "1", 0, 1000, "",
      "Processes of the pool that are started without waiting for a job." },
    { "pool.recycle_jobs", OPTION_NUMBER, 0, OF(pool.recycle_jobs), "0", 0, 1000000000, "",
      "Jobs after which a process of the pool is replaced; 0: never." },
    { "pool.recycle_memory", OPTION_SIZE, 0, OF(pool.recycle_memory), "0", 0, 1024 * GIB, "",
      "Resident memory with which a process of the pool is replaced; 0: never." },
    { "pool.watch", OPTION_WORDS, 0, OF(pool.watch), NULL, 1, MAX_LIST, "",
      "Folders; when a program in them changes, the processes of the pool are replaced." },
    { "pool.start", OPTION_MS, 0, OF(pool.start_ms), "60s", 10, 1 * HOUR, "",
      "How long a process of the pool may take to be ready." },
    { "pool.drain", OPTION_MS, 0, OF(pool.drain_ms), "30s", 0, 1 * DAY, "",
      "How long the other jobs of a process that does not stop a cancelled one may run on." },
    { "pool.backoff", OPTION_MS, 0, OF(pool.backoff_ms), "30s", 250, 1 * HOUR, "",
      "Longest pause before a process is started in the place of one that crashed." },
    { "http.url", OPTION_TEXT, OPTION_PERSONAL | OPTION_URL, OF(http.url), NULL, 8, MAX_PATH,
      "",
      "A remote endpoint that gets each job by a POST and streams its events; `{job}` in it is the job's id." },
    { "http.headers", OPTION_PAIRS, 0, OF(http.headers), NULL, 0, MAX_LIST, "",
      "Headers of the request, such as `Authorization: ${LANGSERVE_AUTH}`." },
    { "http.body", OPTION_CHOICE, 0, OF(http.body), "input", 0, 0,
      "input|order|langserve|langgraph",
      "Shape of the request: the job's `input` as it is, the `order` that processes get, or what LangServe and LangGraph Server take." },
    { "http.assistant", OPTION_TEXT, 0, OF(http.assistant), "agent", 1, 200, "",
      "With `body: langgraph`: the assistant to run." },
    { "http.modes", OPTION_NAMES, 0, OF(http.modes), "events,updates", 1, 20, "",
      "With `body: langgraph`: the stream modes to ask for." },
    { "http.ca", OPTION_TEXT, 0, OF(http.ca), NULL, 1, MAX_PATH, "",
      "File with the CA certificates (PEM) for the endpoint; the system's unless given." },
    { "http.connect", OPTION_MS, 0, OF(http.connect_ms), "10s", 10, 10 * MINUTE, "",
      "How long connecting to the endpoint may take." },
    { "http.first", OPTION_MS, 0, OF(http.first_ms), "60s", 10, 1 * DAY, "",
      "How long the endpoint's answer may take to begin." },
    { "http.idle", OPTION_MS, 0, OF(http.idle_ms), "5m", 10, 1 * DAY, "",
      "How long its answer may pause; comments count as output." },
    { "graph", OPTION_TEXT, OPTION_PERSONAL, OF(graph), NULL, 3, MAX_PATH, "",
      "With `dask`: what the cluster's workers import, `module:graph`." },
    { "dask.scheduler", OPTION_TEXT, OPTION_PERSONAL, OF(dask.scheduler), NULL, 1, MAX_PATH, "",
      "The scheduler of a Dask cluster, `tcp://HOST:8786`, whose workers run its jobs." },
    { "dask.args", OPTION_WORDS, 0, OF(dask.args), NULL, 0, MAX_LIST, "",
      "Further arguments of the bridge, such as `--resources`, `GPU=1` (`spoolwire dask -h`)." },
    { "arq.function", OPTION_TEXT, OPTION_PERSONAL, OF(arq.function), NULL, 1, MAX_FUNCTION, "",
      "The function of an ARQ worker that runs its jobs (needs `redis_url`)." },
    { "arq.queue", OPTION_TEXT, 0, OF(arq.queue), "arq:queue", 1, MAX_QUEUE, "",
      "The queue that the worker serves." },
    { "arq.args", OPTION_NAMES, 0, OF(arq.args), "job_id,input", 0, 20, "",
      "What the function is called with: `job_id`, `input`, `input.KEY`, `agent`, `attempt`, `resume` or `answer`; `name=word` by its name." },
    { "arq.resume_function", OPTION_TEXT, 0, OF(arq.resume_function), NULL, 1, MAX_FUNCTION, "",
      "The function that continues a job after an answer; the same unless given." },
    { "arq.resume_args", OPTION_NAMES, 0, OF(arq.resume_args), "job_id,resume", 0, 20, "",
      "What that one is called with." },
    { "arq.serializer", OPTION_CHOICE, 0, OF(arq.serializer), "pickle", 0, 0, "pickle|json",
      "How jobs and results are written; as `job_serializer` of the worker." },
    { "arq.defer", OPTION_MS, 0, OF(arq.defer_ms), "0", 0, 365 * DAY, "",
      "How long a job is deferred (`_defer_by`)." },
    { "arq.expires", OPTION_MS, 0, OF(arq.expires_ms), "0", 0, 365 * DAY, "",
      "How long a job waits for a worker (`_expires`); 0: a day, as in ARQ." },
    { "arq.keeps_result", OPTION_BOOL, 0, OF(arq.keeps_result), "true", 0, 0, "",
      "The worker keeps results: a job that goes without one is lost." },
    { "arq.health_key", OPTION_TEXT, 0, OF(arq.health_key), NULL, 1, MAX_QUEUE, "",
      "The worker's `health_check_key`; the queue's unless given." },
    { "arq.poll", OPTION_MS, 0, OF(arq.poll_ms), "500ms", 10, 1 * MINUTE, "",
      "How often a job in the queue is polled." },
    { "arq.settle", OPTION_MS, 0, OF(arq.settle_ms), "10s", 0, 1 * MINUTE, "",
      "How long to wait after a job's result for events that are still on their way." },
    { "serves.function", OPTION_TEXT, OPTION_PERSONAL, OF(serves.function), NULL, 1,
      MAX_FUNCTION, "", "The function whose calls in `arq_queue` are jobs of this agent." },
    { "serves.args", OPTION_NAMES, 0, OF(serves.args), "job_id,input", 0, 20, "",
      "What that function is called with; without `job_id`, ARQ's id is the job's." },
    { "serves.resume_function", OPTION_TEXT, OPTION_PERSONAL, OF(serves.resume_function), NULL,
      1, MAX_FUNCTION, "", "The function there whose calls answer a job's open question." },
    { "serves.resume_args", OPTION_NAMES, 0, OF(serves.resume_args), "job_id,answer", 0, 20, "",
      "What that one is called with." },
    { "lease", OPTION_MS, OPTION_RELOADS, OF(lease_ms), "60s", 100, 1 * DAY, "",
      "How long a worker may give no sign of life before it loses its job." },
    { "attempts", OPTION_NUMBER, OPTION_RELOADS, OF(attempts), "1", 1, 1000, "",
      "How often a job is started when its workers get lost; 2 for the built-in `demo`." },
    { "queue_deadline", OPTION_MS, OPTION_RELOADS, OF(queue_ms), "0", 0, 365 * DAY, "",
      "How long a job may wait for a worker; 0: for ever." },
    { "run_deadline", OPTION_MS, OPTION_RELOADS, OF(run_ms), "0", 0, 365 * DAY, "",
      "How long a job may run; 0: for ever." },
    { "answer_deadline", OPTION_MS, OPTION_RELOADS, OF(answer_ms), "30m", 0, 365 * DAY, "",
      "How long a question waits for its answer, unless it says so itself; 0: for ever." },
    { "grace", OPTION_MS, 0, OF(grace_ms), "5s", 1, 10 * MINUTE, "",
      "From SIGTERM to SIGKILL; in a pool, for a process to stop a cancelled job." },
    { "pausable", OPTION_BOOL, 0, OF(is_pausable), "false", 0, 0, "",
      "Without a `pool`: SIGUSR1 asks its processes to pause at their next step." },
    { "cancel_grace", OPTION_MS, OPTION_RELOADS, OF(cancel_grace_ms), "10s", 1, 1 * HOUR, "",
      "How long a worker may take to stop after a cancel request before the job is cancelled without it." },
    { "max_memory", OPTION_SIZE, 0, OF(max_memory), "0", 0, 1024 * GIB, "",
      "Address space of a process; 0: no limit." },
    { "max_cpu", OPTION_SECONDS, 0, OF(max_cpu_seconds), "0", 0, 30 * DAY, "",
      "Processor time of a process; 0: no limit." },
    { "public", OPTION_BOOL, OPTION_RELOADS, OF(is_public), "true", 0, 0, "",
      "Show it in the list of agents." },
};
/* clang-format on */

_Static_assert(COUNT(server_table) == SERVER_OPTIONS_MAX, "as many as there are");
_Static_assert(COUNT(agent_table) == AGENT_OPTIONS_MAX, "as many as there are");

const struct option_table server_options = { server_table, SERVER_OPTIONS_MAX };
const struct option_table agent_options = { agent_table, AGENT_OPTIONS_MAX };

struct str option_group(const struct option *o)
{
    struct str name = str_of(o->name);
    size_t dot = str_find(name, '.');

    return dot < name.n ? str_head(name, dot) : STR("");
}

/* Its key in the file: the name without its group. */
static const char *name_in_file(const struct option *o)
{
    struct str group = option_group(o);

    return o->name + (group.n > 0 ? group.n + 1 : 0);
}

static bool may_be_in_file(const struct option *o, struct str group)
{
    return (o->flags & OPTION_NO_FILE) == 0 && str_eq(option_group(o), group);
}

const struct option *options_first_of(const struct option_table *table, struct str group)
{
    for (size_t i = 0; i < table->n && group.n > 0; i++)
        if (may_be_in_file(&table->options[i], group))
            return &table->options[i];
    return NULL;
}

const struct option *options_find(const struct option_table *table,
                                  struct str group,
                                  struct str name)
{
    for (size_t i = 0; i < table->n; i++)
        if (may_be_in_file(&table->options[i], group) &&
            str_eq(name, str_of(name_in_file(&table->options[i]))))
            return &table->options[i];
    return NULL;
}

void options_suggest(const struct option_table *table,
                     struct str group,
                     struct suggestion *suggestion)
{
    for (size_t i = 0; i < table->n; i++)
        if (may_be_in_file(&table->options[i], group))
            suggest_try(suggestion, name_in_file(&table->options[i]));
}

int options_reset(const struct option_table *table, void *object)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct option *o = &table->options[i];
        option_clear(o, object);
        /* Only memory can run out: a test checks that all defaults are valid. */
        if (o->initial != NULL && option_set(o, object, str_of(o->initial), "", NULL) != 0)
            return ERR_NOMEM;
    }
    return 0;
}

void options_clear(const struct option_table *table, void *object)
{
    for (size_t i = 0; i < table->n; i++)
        option_clear(&table->options[i], object);
}
