/* The table of routes, the start and end of a loop's state, and the routes for operators. */
#include "api/api.h"
#include "api/langgraph/cron_ticks.h"
#include "api/langgraph/webhook_sender.h"

#include "auth/access.h"
#include "base/container_of.h"
#include "cluster/cluster.h"
#include "base/json_format.h"
#include "companion/asker.h"
#include "companion/companion.h"
#include "dialect/render.h"

#include <stdlib.h>

#define ASYNC  "/v1/jobs/async"
#define THREAD "/v1/worker/threads/{thread}"

const struct http_route api_routes[] = {
    /* The asynchronous job API */
    { "GET", ASYNC "/agents", api_aiq_agents, 0, HTTP_ROUTE_DETAIL, ACCESS_READ },
    { "POST", ASYNC "/submit", api_aiq_submit, BODY_INPUT, HTTP_ROUTE_DETAIL, ACCESS_CLIENT },
    { "GET", ASYNC "/job/{id}", api_aiq_job, 0, HTTP_ROUTE_DETAIL, ACCESS_READ },
    { "GET", ASYNC "/job/{id}/stream", api_aiq_stream, 0, HTTP_ROUTE_DETAIL | HTTP_ROUTE_STREAM,
      ACCESS_READ },
    { "GET", ASYNC "/job/{id}/stream/{last}", api_aiq_stream, 0,
      HTTP_ROUTE_DETAIL | HTTP_ROUTE_STREAM, ACCESS_READ },
    { "POST", ASYNC "/job/{id}/cancel", api_aiq_cancel, 0, HTTP_ROUTE_DETAIL, ACCESS_CLIENT },
    { "GET", ASYNC "/job/{id}/state", api_aiq_state, 0, HTTP_ROUTE_DETAIL, ACCESS_READ },
    { "GET", ASYNC "/job/{id}/report", api_aiq_report, 0, HTTP_ROUTE_DETAIL, ACCESS_READ },
    /* Jobs, in our own format */
    { "POST", "/v1/jobs", api_submit, BODY_INPUT, HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE,
      ACCESS_CLIENT },
    { "GET", "/v1/jobs", api_list, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "GET", "/v1/jobs/{id}", api_job, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "DELETE", "/v1/jobs/{id}", api_delete, 0, HTTP_ROUTE_PROBLEM, ACCESS_CLIENT },
    { "POST", "/v1/jobs/{id}/cancel", api_cancel, 0, HTTP_ROUTE_PROBLEM, ACCESS_CLIENT },
    { "POST", "/v1/jobs/{id}/release", api_release, 0, HTTP_ROUTE_PROBLEM, ACCESS_ADMIN },
    { "POST", "/v1/jobs/{id}/answer", api_answer, BODY_INPUT, HTTP_ROUTE_PROBLEM,
      ACCESS_CLIENT },
    { "POST", "/v1/jobs/{id}/pause", api_pause, BODY_PLAIN, HTTP_ROUTE_PROBLEM, ACCESS_CLIENT },
    { "POST", "/v1/jobs/{id}/resume", api_resume, BODY_PLAIN, HTTP_ROUTE_PROBLEM,
      ACCESS_CLIENT },
    { "GET", "/v1/interrupts", api_interrupts, BODY_PLAIN, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "GET", "/v1/jobs/{id}/events", api_events, 0, HTTP_ROUTE_PROBLEM | HTTP_ROUTE_STREAM,
      ACCESS_READ },
    { "GET", "/v1/stream", api_stream, 0, HTTP_ROUTE_PROBLEM | HTTP_ROUTE_STREAM, ACCESS_READ },
    /* For pages */
    { "POST", "/v1/tickets", api_ticket, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "GET", "/v1/session", api_session, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "POST", "/v1/session", api_login, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "DELETE", "/v1/session", api_logout, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    /* Workers */
    { "POST", "/v1/worker/lease", api_worker_lease, 0, HTTP_ROUTE_PROBLEM, ACCESS_WORKER },
    { "POST", "/v1/worker/jobs/{id}/events", api_worker_events, BODY_BATCH,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", "/v1/worker/jobs/{id}/heartbeat", api_worker_heartbeat, 0,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", "/v1/worker/jobs/{id}/finish", api_worker_finish, BODY_BATCH,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", "/v1/worker/jobs/{id}/return", api_worker_return, 0,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", "/v1/worker/jobs/{id}/lose", api_worker_lose, 0,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", "/v1/worker/calls/{call}", api_worker_answer, 0, HTTP_ROUTE_PROBLEM,
      ACCESS_WORKER },
    { "POST", THREAD "/checkpoints", api_checkpoint_put, BODY_BATCH,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", THREAD "/writes", api_checkpoint_writes, BODY_BATCH,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", THREAD "/state", api_checkpoint_state, BODY_BATCH,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", THREAD "/checkpoints/get", api_checkpoint_get, 0,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "POST", THREAD "/checkpoints/list", api_checkpoints_list, 0,
      HTTP_ROUTE_PROBLEM | HTTP_ROUTE_PIPELINE, ACCESS_WORKER },
    { "DELETE", THREAD "/checkpoints", api_checkpoints_delete, 0, HTTP_ROUTE_PROBLEM,
      ACCESS_WORKER },
    { "POST", "/v1/worker/agents/{agent}/state", api_worker_state, BODY_PLAIN,
      HTTP_ROUTE_PROBLEM, ACCESS_WORKER },
    { "GET", "/v1/agents", api_agents, 0, HTTP_ROUTE_PROBLEM, ACCESS_QUEUES },
    { "GET", "/v1/workers", api_workers, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "POST", "/v1/agents/{agent}/call", api_call, 0, HTTP_ROUTE_PROBLEM, ACCESS_CLIENT },
    { "GET", "/v1/agents/{agent}/queue", api_queue, 0, HTTP_ROUTE_PROBLEM, ACCESS_QUEUES },
    /* LangGraph's threads and runs */
    { "POST", "/threads", api_thread_create, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/threads/search", api_threads_search, 0, 0, ACCESS_READ },
    { "POST", "/threads/count", api_threads_count, 0, 0, ACCESS_READ },
    { "POST", "/threads/prune", api_threads_prune, 0, 0, ACCESS_CLIENT },
    { "GET", "/threads/{thread}", api_thread, 0, 0, ACCESS_READ },
    { "PATCH", "/threads/{thread}", api_thread_patch, BODY_INPUT, 0, ACCESS_CLIENT },
    { "DELETE", "/threads/{thread}", api_thread_delete, 0, 0, ACCESS_CLIENT },
    { "POST", "/threads/{thread}/copy", api_thread_copy, 0, 0, ACCESS_CLIENT },
    { "GET", "/threads/{thread}/state", api_thread_state, 0, 0, ACCESS_READ },
    { "POST", "/threads/{thread}/state", api_thread_update, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/threads/{thread}/state/checkpoint", api_thread_state_at, 0, 0, ACCESS_READ },
    { "GET", "/threads/{thread}/state/{checkpoint}", api_thread_state, 0, 0, ACCESS_READ },
    { "POST", "/threads/{thread}/commands", api_thread_command, BODY_INPUT, 0, ACCESS_CLIENT },
    { "GET", "/threads/{thread}/stream", api_thread_stream, 0, HTTP_ROUTE_STREAM, ACCESS_READ },
    { "GET", "/threads/{thread}/stream/events", api_thread_socket, 0, HTTP_ROUTE_STREAM,
      ACCESS_READ },
    { "POST", "/threads/{thread}/stream/events", api_thread_events, 0, HTTP_ROUTE_STREAM,
      ACCESS_READ },
    { "POST", "/threads/{thread}/history", api_thread_history, 0, 0, ACCESS_READ },
    { "POST", "/threads/{thread}/runs", api_run_create, BODY_INPUT, 0, ACCESS_CLIENT },
    { "GET", "/threads/{thread}/runs", api_runs, 0, 0, ACCESS_READ },
    { "POST", "/threads/{thread}/runs/stream", api_run_stream, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/threads/{thread}/runs/wait", api_run_wait, BODY_INPUT, 0, ACCESS_CLIENT },
    { "GET", "/threads/{thread}/runs/{run}", api_run, 0, 0, ACCESS_READ },
    { "DELETE", "/threads/{thread}/runs/{run}", api_run_delete, 0, 0, ACCESS_CLIENT },
    { "POST", "/threads/{thread}/runs/{run}/cancel", api_run_cancel, 0, 0, ACCESS_CLIENT },
    { "GET", "/threads/{thread}/runs/{run}/join", api_run_join, 0, 0, ACCESS_READ },
    { "GET", "/threads/{thread}/runs/{run}/stream", api_run_join_stream, 0, HTTP_ROUTE_STREAM,
      ACCESS_READ },
    { "POST", "/runs", api_run_create, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/runs/stream", api_run_stream, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/runs/wait", api_run_wait, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/runs/batch", api_run_batch, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/runs/cancel", api_runs_cancel, 0, 0, ACCESS_CLIENT },
    { "GET", "/runs/{run}/stream", api_run_join_stream, 0, HTTP_ROUTE_STREAM, ACCESS_READ },
    /* LangGraph's crons */
    { "POST", "/runs/crons", api_cron_create, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/threads/{thread}/runs/crons", api_cron_create, BODY_INPUT, 0, ACCESS_CLIENT },
    { "POST", "/runs/crons/search", api_crons_search, 0, 0, ACCESS_READ },
    { "POST", "/runs/crons/count", api_crons_count, 0, 0, ACCESS_READ },
    { "GET", "/runs/crons/{cron}", api_cron, 0, 0, ACCESS_READ },
    { "PATCH", "/runs/crons/{cron}", api_cron_patch, BODY_INPUT, 0, ACCESS_CLIENT },
    { "DELETE", "/runs/crons/{cron}", api_cron_delete, 0, 0, ACCESS_CLIENT },
    /* LangGraph's assistants */
    { "POST", "/assistants/search", api_assistants_search, 0, 0, ACCESS_READ },
    { "POST", "/assistants/count", api_assistants_count, 0, 0, ACCESS_READ },
    { "POST", "/assistants", api_assistant_create, BODY_INPUT, 0, ACCESS_CLIENT },
    { "GET", "/assistants/{assistant}", api_assistant, 0, 0, ACCESS_READ },
    { "PATCH", "/assistants/{assistant}", api_assistant_patch, BODY_INPUT, 0, ACCESS_CLIENT },
    { "DELETE", "/assistants/{assistant}", api_assistant_delete, 0, 0, ACCESS_CLIENT },
    { "POST", "/assistants/{assistant}/versions", api_assistant_versions, 0, 0, ACCESS_READ },
    { "POST", "/assistants/{assistant}/latest", api_assistant_latest, 0, 0, ACCESS_CLIENT },
    { "GET", "/assistants/{assistant}/graph", api_assistant_graph, 0, 0, ACCESS_READ },
    { "GET", "/assistants/{assistant}/schemas", api_assistant_schemas, 0, 0, ACCESS_READ },
    { "GET", "/assistants/{assistant}/subgraphs", api_assistant_subgraphs, 0, 0, ACCESS_READ },
    { "GET", "/assistants/{assistant}/subgraphs/{namespace}", api_assistant_subgraphs, 0, 0,
      ACCESS_READ },
    { "POST", "/mcp", api_mcp, BODY_INPUT, 0, ACCESS_CLIENT },
    { "GET", "/.well-known/agent-card.json", api_a2a_card, 0, 0, ACCESS_READ },
    { "GET", "/.well-known/agent.json", api_a2a_card, 0, 0, ACCESS_READ },
    { "GET", "/a2a/{assistant}", api_a2a_card, 0, 0, ACCESS_READ },
    { "POST", "/a2a/{assistant}", api_a2a, BODY_INPUT, 0, ACCESS_CLIENT },
    { "GET", "/a2a/{assistant}/.well-known/agent-card.json", api_a2a_card, 0, 0, ACCESS_READ },
    { "GET", "/a2a/{assistant}/.well-known/agent.json", api_a2a_card, 0, 0, ACCESS_READ },
    { "GET", "/info", api_info, 0, 0, ACCESS_PUBLIC },
    { "GET", "/ok", api_ok, 0, 0, ACCESS_PUBLIC },
    { "POST", "/ui/{graph}", api_ui, 0, 0, ACCESS_READ },
    { "GET", "/ui/{graph}/{file}", api_ui_file, 0, 0, ACCESS_PUBLIC },
    /* LangGraph's store */
    { "PUT", "/store/items", api_item_put, BODY_INPUT, 0, ACCESS_ITEMS },
    { "GET", "/store/items", api_item, 0, 0, ACCESS_ITEMS },
    { "DELETE", "/store/items", api_item_delete, 0, 0, ACCESS_ITEMS },
    { "POST", "/store/items/search", api_items_search, 0, 0, ACCESS_ITEMS },
    { "POST", "/store/namespaces", api_namespaces, 0, 0, ACCESS_ITEMS },
    /* Operations */
    { "GET", "/livez", api_livez, 0, HTTP_ROUTE_HEALTH | HTTP_ROUTE_PROBLEM, ACCESS_PUBLIC },
    { "GET", "/readyz", api_readyz, 0, HTTP_ROUTE_HEALTH | HTTP_ROUTE_PROBLEM, ACCESS_PUBLIC },
    { "GET", "/healthz", api_healthz, 0, HTTP_ROUTE_HEALTH | HTTP_ROUTE_PROBLEM,
      ACCESS_PUBLIC },
    { "GET", "/v1/gateways", api_gateways, 0, HTTP_ROUTE_PROBLEM, ACCESS_METRICS },
    { "GET", "/cluster/journal", api_cluster_journal, 0,
      HTTP_ROUTE_HEALTH | HTTP_ROUTE_PROBLEM | HTTP_ROUTE_ANY_HOST, ACCESS_PUBLIC },
    { "GET", "/metrics", api_metrics, 0, HTTP_ROUTE_PROBLEM, ACCESS_METRICS },
    { "GET", "/openapi.json", api_openapi, 0, HTTP_ROUTE_PROBLEM, ACCESS_PUBLIC },
    { "GET", "/docs", api_docs, 0, HTTP_ROUTE_PROBLEM, ACCESS_PUBLIC },
    { "GET", "/docs/{file}", api_page_file, 0, HTTP_ROUTE_PROBLEM, ACCESS_PUBLIC },
    { "GET", "/console/{file}", api_page_file, 0, HTTP_ROUTE_PROBLEM, ACCESS_PUBLIC },
    { "GET", "/v1/tokens", api_tokens, 0, HTTP_ROUTE_PROBLEM, ACCESS_ADMIN },
    { "POST", "/v1/tokens", api_token_create, 0, HTTP_ROUTE_PROBLEM, ACCESS_ADMIN },
    { "DELETE", "/v1/tokens/{token}", api_token_revoke, 0, HTTP_ROUTE_PROBLEM, ACCESS_ADMIN },
    { "GET", "/v1/webhooks", api_webhooks, 0, HTTP_ROUTE_PROBLEM, ACCESS_ADMIN },
    { "GET", "/v1/webhooks/{webhook}", api_webhook, 0, HTTP_ROUTE_PROBLEM, ACCESS_ADMIN },
    { "POST", "/v1/webhooks/{webhook}/resend", api_webhook_resend, 0, HTTP_ROUTE_PROBLEM,
      ACCESS_ADMIN },
    { "GET", "/v1/dialects", api_dialects, 0, HTTP_ROUTE_PROBLEM, ACCESS_READ },
    { "GET", "/", api_index, 0, HTTP_ROUTE_PROBLEM, ACCESS_PUBLIC },
    { 0 },
};

/* --- loops ---------------------------------------------------------------------------- */

static void on_drain(struct loop_message *message)
{
    struct app_loop *l = container_of(message, struct app_loop, drain);

    streams_drain(l->streams, l->app->shutdown_ms);
}

static void on_recheck(struct loop_message *message)
{
    struct app_loop *l = container_of(message, struct app_loop, recheck);

    atomic_store(&l->rechecks, false); /* first: changes from here on post it again */
    streams_check_permits(l->streams);
}

static void on_reload(struct loop_message *message)
{
    struct app_loop *l = container_of(message, struct app_loop, reload);

    atomic_store(&l->reloads, false);
    streams_set_options(l->streams, &app_settings(l->app)->streams);
}

void api_reload(struct app *app, const struct app_settings *settings)
{
    atomic_store_explicit(&app->settings, settings, memory_order_release);
    for (unsigned i = 0; i < HUB_MAX_LOOPS; i++) {
        struct app_loop *l = atomic_load(&app->loops[i]);

        if (l != NULL && !atomic_exchange(&l->reloads, true))
            (void)mailbox_post(l->box, &l->reload); /* fails only if the loop has ended */
    }
}

void api_tokens_changed(struct app *app)
{
    for (unsigned i = 0; i < HUB_MAX_LOOPS; i++) {
        struct app_loop *l = atomic_load(&app->loops[i]);

        if (l != NULL && !atomic_exchange(&l->rechecks, true))
            (void)mailbox_post(l->box, &l->recheck); /* fails only if the loop has ended */
    }
}

void api_drain(struct app *app)
{
    atomic_store(&app->draining, true);
    for (unsigned i = 0; i < HUB_MAX_LOOPS; i++) {
        struct app_loop *l = atomic_load(&app->loops[i]);

        if (l != NULL)
            (void)mailbox_post(l->box, &l->drain); /* fails only if the loop has ended */
    }
}

size_t api_readers(struct app *app)
{
    size_t n = 0;

    for (unsigned i = 0; i < HUB_MAX_LOOPS; i++) {
        const struct app_loop *l = atomic_load(&app->loops[i]);

        n += l != NULL ? hub_readers(l->hub) : 0;
    }
    return n;
}

void api_done(struct app *app)
{
    for (unsigned i = 0; i < HUB_MAX_LOOPS; i++) {
        struct app_loop *l = atomic_load(&app->loops[i]);

        if (l == NULL)
            continue;
        authenticator_done(&l->authenticator);
        cron_ticks_free(l->crons);
        webhook_sender_free(l->sender);
        token_unref(l->guest);
        streams_free(l->streams);
        hub_free(l->hub);
        mailbox_free(l->box);
        free(l);
        atomic_store(&app->loops[i], NULL);
    }
}

bool app_is_writer(const struct app *app)
{
    struct cluster_state state;

    if (app->cluster == NULL)
        return true;
    cluster_look(app->cluster, &state);
    return state.is_writer;
}

void api_loop_start(struct http_loop *loop, void *arg)
{
    struct app *app = arg;
    struct app_loop *l = calloc(1, sizeof(*l));

    if (l != NULL)
        traffic_init(&l->traffic);
    if (l == NULL || mailbox_new(http_loop_uv(loop), &l->box) != 0 ||
        hub_new(app->hub_shared, l->box, &l->hub) != 0 ||
        streams_new(loop, l->hub, app->pool, l->box, &l->traffic, &app_settings(app)->streams,
                    &l->streams) != 0)
        abort(); /* out of memory at start-up */
    journal_batch_init(&l->batch, http_loop_uv(loop), app->journal);
    l->app = app;
    l->drain.deliver = on_drain;
    l->recheck.deliver = on_recheck;
    l->reload.deliver = on_reload;
    authenticator_init(&l->authenticator, app->tokens);
    lease_cache_init(&l->leases, token_service_lease_key(app->tokens));
    if (http_loop_index(loop) == 0 && cron_ticks_new(loop, l, &l->crons) != 0)
        abort(); /* out of memory at start-up */
    if (http_loop_index(loop) == 0 && app->webhooks != NULL &&
        webhook_sender_new(loop, l, &l->sender) != 0)
        abort(); /* the same */
    if (app->companion != NULL &&
        (asker_new(http_loop_uv(loop), companion_ask_path(app->companion), &l->asker) != 0 ||
         token_new_guest(&l->guest) != 0))
        abort(); /* out of memory at start-up */
    atomic_store(&app->loops[http_loop_index(loop)], l);
    atomic_fetch_add(&app->n_loops, 1);
    http_loop_set_data(loop, l);
}

void api_loop_stop(struct http_loop *loop, void *arg)
{
    struct app_loop *l = http_loop_data(loop);

    (void)arg;
    if (l->crons != NULL)
        cron_ticks_stop(l->crons);
    if (l->sender != NULL)
        webhook_sender_stop(l->sender);
    streams_close(l->streams);
    asker_close(l->asker);
    l->asker = NULL;
    mailbox_close(l->box);
    journal_batch_close(&l->batch); /* the last messages may have put something in it */
}

/* --- operations ------------------------------------------------------------------------- */

void api_dialects(struct http_request *req)
{
    const struct dialect *d;
    struct buf out LOCAL_BUF(64 * 1024);

    json_begin_list(&out, "dialects");
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++)
        json_format(json_next(&out), "{'name':%s,'about':%s}", d->name, d->about);
    json_end_list(&out);
    api_json(req, 200, &out);
}
