/* The routes.  Handlers are thin: parse, call, answer.
 *
 * A call to the journal or the store leaves the loop and returns to it; its struct is freed
 * when it has returned, whether or not the client was answered. */
#ifndef API_API_H
#define API_API_H

#include "auth/authenticator.h"
#include "api/journal_batch.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/container_of.h"
#include "base/json.h"
#include "config/agent_kind.h"
#include "http/http.h"
#include "hub/hub.h"
#include "hub/thread_pool.h"
#include "jobs/lease_cache.h"
#include "journal/journal.h"
#include "loop/mailbox.h"
#include "transport/job_stream.h"
#include "transport/poll.h"
#include "store/assistants.h"
#include "transport/traffic.h"

#include <stdatomic.h>

struct app_agent {
    struct str name;
    struct str description;
    bool is_public;
    enum agent_kind kind;
    struct str config, context; /* of its own assistant; JSON objects */
};

/* Settings that can be replaced while the loops run; old ones are kept as long as the app. */
struct app_settings {
    const struct app_agent *agents;
    size_t n_agents;
    size_t max_input; /* bytes of a job's input */
    struct stream_options streams;
};

/* Shared by all loops; passed to every handler. */
struct app {
    const char *version;
    int64_t started;               /* milliseconds since 1970 */
    struct journal *journal;       /* borrowed */
    struct cluster *cluster;       /* borrowed; NULL: no other gateway shares the database */
    struct hub_shared *hub_shared; /* borrowed */
    struct thread_pool *pool;      /* borrowed */
    struct token_service *tokens;  /* borrowed */
    const struct exec *exec;       /* borrowed; its counts only; NULL: no such agents */
    const struct arq_server *arq;  /* the same; NULL: no queue is served */
    const struct redis_service *redis; /* the same; NULL: no Redis */
    const char *item_store; /* borrowed; the agent that has the store of items; NULL: ours */
    const char *item_index; /* borrowed; the agent that has the embedding model; NULL: none */
    bool item_refresh;      /* reading an item restarts its time, unless told otherwise */
    const char *ui; /* borrowed; the folder with the bundles of components; NULL: none */
    const struct companion *companion;       /* borrowed; NULL: there is none */
    const struct webhook_settings *webhooks; /* borrowed; NULL: none are sent */
    int64_t ticket_life_ms, session_life_ms;
    struct http_server *http;                      /* borrowed; its counts only */
    _Atomic(const struct app_settings *) settings; /* borrowed */
    bool aiq_compat;
    const char *mount_prefix;                 /* borrowed, like the next three; NULL: none */
    char *const *disabled;                    /* parts of LangGraph's API */
    char *const *headers, *const *no_headers; /* patterns of those that graphs find */
    int64_t shutdown_ms;                      /* readers are disconnected within this time */
    atomic_bool draining;
    _Atomic(struct app_loop *) loops[HUB_MAX_LOOPS]; /* owned; by the loop's index */
    atomic_uint n_loops;
};

/* Why a request was refused. */
enum refusal {
    REFUSAL_MISSING, /* no token */
    REFUSAL_UNKNOWN, /* not a token of this server */
    REFUSAL_EXPIRED, /* or revoked */
    REFUSAL_SCOPE,
    REFUSAL_ORIGIN, /* a cookie with a request from another origin */
    REFUSAL_JOBS,   /* a limit is reached; the same for the next two */
    REFUSAL_STREAMS,
    REFUSAL_EVENTS,
    REFUSAL_MAX,
    REFUSAL_FIRST_LIMIT = REFUSAL_JOBS
};

enum cron_tick_result { CRON_TICK_RUN, CRON_TICK_REFUSED, CRON_TICK_MAX };
/* Attempts to send a webhook, by their results. */
enum webhook_result_count {
    WEBHOOK_COUNT_SENT,
    WEBHOOK_COUNT_FAILED,
    WEBHOOK_COUNT_DEAD,
    WEBHOOK_COUNT_MAX
};

/* The state of one loop; its http_loop_data. */
struct app_loop {
    struct app *app;
    struct mailbox *box;
    struct journal_batch batch;
    struct hub *hub;
    struct streams *streams;
    struct traffic traffic;
    struct authenticator authenticator;
    struct lease_cache leases;
    struct asker *asker; /* owned, like the next; NULL: there is no companion */
    struct token *guest; /* of callers whom the companion authenticates */
    struct counter refusals[REFUSAL_MAX];
    struct cron_ticks *crons; /* owned; of the first loop; else NULL */
    struct counter cron_ticks[CRON_TICK_MAX];
    struct webhook_sender *sender; /* owned; of the first loop, if webhooks are sent; else NULL
                                    */
    struct counter webhooks[WEBHOOK_COUNT_MAX];
    struct loop_message drain;   /* posted once, when the server shuts down */
    struct loop_message recheck; /* posted when tokens have changed, */
    atomic_bool rechecks;        /* `recheck` is posted and not handled yet */
    struct loop_message reload;  /* posted when the settings have changed, */
    atomic_bool reloads;         /* `reload` is posted and not handled yet */
};

/* The index of a route's body limit in http_options.max_body. */
enum { BODY_PLAIN, BODY_INPUT, BODY_BATCH };

extern const struct http_route api_routes[];

/* From any thread: uses @settings from now on; borrowed as long as the app. */
void api_reload(struct app *app, const struct app_settings *settings);
/* From any thread: tokens were added, expired or revoked. */
void api_tokens_changed(struct app *app);
/* From any thread: disconnects the readers. */
void api_drain(struct app *app);
/* From any thread: how many readers there are. */
size_t api_readers(struct app *app);
/* After all loops have ended. */
void api_done(struct app *app);

/* Does this gateway write the first shard? */
bool app_is_writer(const struct app *app);

/* For http_options. */
void api_loop_start(struct http_loop *loop, void *app);
void api_loop_stop(struct http_loop *loop, void *app);

/* --- a request on its way to the journal and back --------------------------------- */

struct journal_call {
    struct journal_request journal;
    struct app_loop *loop;
    struct http_request *req;                  /* NULL: the connection is gone */
    void (*answer)(struct journal_call *call); /* on the loop, only while req is there */
    /* Called instead of `answer` when the client has disconnected; returns true when it posted
     * the call again.  NULL: nothing to do. */
    bool (*left)(struct journal_call *call);
    struct token *token; /* ref; the caller's */
    struct buf out;
    struct buf body;     /* copy of the request's body */
    struct str executor; /* LEASE: whom the lease is bound to; absent: nobody */
    bool aiq;            /* answer in the format of the asynchronous job API */
    int64_t wait_ms;
    bool cancels;                          /* cancel the run when its reader disconnects */
    const struct assistant_row *assistant; /* of a run, while its body is read */
    struct permit *permit;     /* owned; for the stream of the new run; NULL: not needed */
    struct journal_call *then; /* owned; the call to post after this one; NULL: none */
    int status;                /* of the answer in `out`, when known before the call */
    struct store_query *found; /* owned; the query that read the rows for a list; NULL: none */
    size_t item, n_done;       /* in a list: the index of this item, and how many are done */
    void *data;                /* for `answer` */
};

/* Copies the body, and limits the request to jobs that the caller may access.  NULL when it has
 * answered: out of memory, or the caller must wait. */
struct journal_call *journal_call_new(struct http_request *req,
                                      enum journal_op op,
                                      void (*answer)(struct journal_call *));
void journal_call_post(struct journal_call *call);
/* Parses the body, as JSON of at most @depth levels, and posts the call if @read accepts it;
 * else frees the call, and @read has answered. */
void journal_call_read(struct journal_call *call,
                       size_t depth,
                       bool (*read)(struct journal_call *call, struct json_reader *reader));
/* For a call that was not posted; does not answer. */
void journal_call_free(struct journal_call *call);
/* For a call that was posted, when its client has disconnected.  journal_call_post() sees to
 * that itself, unless several calls are under way for one request. */
void journal_call_abandon(struct journal_call *call);
/* If the journal refused the request, answers with the reason and returns true. */
bool journal_call_refused(struct journal_call *call);
/* For `answer`: answers 204, done without a body. */
void journal_call_answer_empty(struct journal_call *call);

/* --- a request on its way to the store and back ------------------------------------ */

struct store_query {
    struct thread_task task;
    struct app_loop *loop;
    struct http_request *req;
    struct token *token; /* ref; the caller's; NULL on public routes */
    char job[80];
    size_t job_n;
    struct job_filter filter; /* its texts are in `mem` */
    int64_t after_seq; /* in a list of questions: the position in the job filter.before */
    int status;        /* of the answer; out is the body, or the text of an error */
    const char *type;  /* of the body, whatever the status; NULL: JSON, or an error's text */
    struct buf out;
    struct arena mem;
    bool aiq;
    void *data;         /* for `run` */
    struct str filters; /* of the project's authorization handlers, JSON; absent: none */
    /* On the loop, only while req is there and the status is 200; returns true when it keeps
     * the query.  NULL: `out` is the answer. */
    bool (*answer)(struct store_query *query);
    void (*forget)(struct store_query *query); /* called before it is freed; NULL: nothing */
};

void store_query_free(struct store_query *query);
/* The jobs that the caller may see. */
const struct job_scope *store_query_job_scope(const struct store_query *query);
struct store_query *store_query_new(struct http_request *req,
                                    struct str job,
                                    void (*run)(struct thread_task *, struct store *));
/* The same, with @size zeroed bytes as `data`. */
struct store_query *store_query_new_with(struct http_request *req,
                                         struct str job,
                                         void (*run)(struct thread_task *, struct store *),
                                         size_t size);
/* The same without an HTTP request; NULL: out of memory, or no id. */
struct store_query *store_query_new_for(struct app_loop *loop,
                                        struct token *token,
                                        struct str job,
                                        void (*run)(struct thread_task *, struct store *));
void store_query_post(struct store_query *query);
/* For a query that another thread answers by loop_call_answer(): only watches whether its
 * client disconnects. */
void store_query_await(struct store_query *query);
/* Parses the body, as JSON of at most @depth levels, and posts the query if @read accepts it;
 * else frees the query, and @read has answered. */
void store_query_read(struct store_query *query,
                      size_t depth,
                      bool (*read)(struct store_query *query, const yyjson_val *body));
/* On the pool: the store failed.  Sets 500, or 503 for a temporary failure, and the reason. */
void store_query_broke(struct store_query *query, const struct error *why);
/* On the loop: answers with its status and `out`. */
void store_query_respond(struct store_query *query);
/* The same for a query that was not posted; frees it. */
void store_query_finish(struct store_query *query);
static inline struct store_query *store_query_of(struct thread_task *task)
{
    return container_of(task, struct store_query, task);
}

/* --- JSON of answers ------------------------------------------------------------- */

struct app_loop *app_loop_of(struct http_request *req);
static inline const struct app_settings *app_settings(const struct app *app)
{
    return atomic_load_explicit(&app->settings, memory_order_acquire);
}
void api_json(struct http_request *req, int status, struct buf *out);
/* Answers 503.  Returns false, so that a function can return its result. */
bool api_no_memory(struct http_request *req);
/* Copies @value as JSON text (NULL: null) to @mem.  False: out of memory. */
bool api_keep_json(struct arena *mem, const yyjson_val *value, struct str *ret);
void api_put_job(struct buf *b, const struct job_row *row);
void api_put_aiq_job(struct buf *b, const struct job_row *row, bool compat);
/* A number of minutes above 0, fractions allowed; false for anything else. */
bool api_read_minutes(const yyjson_val *value, int64_t *ret_ms);
/* Reads the body as a JSON object; answers 422 itself. */
bool api_read_body(struct http_request *req,
                   struct json_reader *reader,
                   struct str body,
                   struct json *ret);

/* The counts of the journal; of several shards their sum, in *@sum. */
const struct journal_counts *api_counts(const struct app *app, struct journal_counts *sum);

/* --- handlers -------------------------------------------------------------------- */

/* The asynchronous job API */
http_handler api_aiq_agents, api_aiq_submit, api_aiq_job, api_aiq_stream, api_aiq_cancel,
    api_aiq_state, api_aiq_report;
/* Jobs */
http_handler api_submit, api_list, api_job, api_delete, api_cancel, api_release, api_events,
    api_answer, api_pause, api_resume, api_interrupts, api_stream;
/* Workers */
http_handler api_worker_lease, api_worker_events, api_worker_heartbeat, api_worker_finish,
    api_worker_return, api_worker_lose, api_worker_answer, api_call, api_queue, api_agents,
    api_worker_state;
/* LangGraph's assistants */
http_handler api_assistant, api_assistant_create, api_assistant_patch, api_assistant_delete,
    api_assistant_versions, api_assistant_latest, api_assistants_search, api_assistants_count,
    api_assistant_graph, api_assistant_schemas, api_assistant_subgraphs, api_ok, api_info;
/* Components of a project */
http_handler api_ui, api_ui_file;
/* Deliveries of webhooks */
http_handler api_webhooks, api_webhook, api_webhook_resend;
/* LangGraph's crons */
http_handler api_cron_create, api_cron, api_cron_patch, api_cron_delete, api_crons_search,
    api_crons_count;
/* States of threads */
http_handler api_thread_state, api_thread_state_at, api_thread_update, api_thread_history;
http_handler api_mcp, api_a2a_card, api_a2a;
http_handler api_thread_command, api_thread_events, api_thread_socket, api_thread_stream;
/* Items */
http_handler api_item_put, api_item, api_item_delete, api_items_search, api_namespaces;
/* Checkpoints */
http_handler api_checkpoint_put, api_checkpoint_writes, api_checkpoint_state,
    api_checkpoint_get, api_checkpoints_list, api_checkpoints_delete;
/* Threads and runs */
http_handler api_thread_create, api_thread, api_thread_patch, api_thread_delete,
    api_thread_copy, api_threads_search, api_threads_count, api_threads_prune, api_run_create,
    api_run_stream, api_run_wait, api_run_batch, api_runs, api_run, api_run_delete,
    api_run_cancel, api_runs_cancel, api_run_join, api_run_join_stream;
/* Tokens and sessions */
http_handler api_tokens, api_token_create, api_token_revoke, api_ticket, api_session, api_login,
    api_logout;
/* Operations */
http_handler api_livez, api_readyz, api_healthz, api_openapi, api_docs, api_page_file,
    api_metrics, api_dialects, api_workers, api_gateways, api_cluster_journal, api_index;

#endif
