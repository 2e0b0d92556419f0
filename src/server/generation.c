#include "server/generation.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Jobs that are fed from a channel are on it already: they are not published again. */
static bool is_published(const struct server_config *c, const struct config_agent *a)
{
    bool echoes = agent_kinds[a->kind].has_channel && c->redis_subscribe &&
                  strcmp(c->redis_publish_channel, c->redis_subscribe_channel) == 0;

    return c->redis_publish != 0 && !echoes;
}

static enum journal_fed fed(enum agent_kind kind)
{
    if (!agent_kinds[kind].has_channel)
        return FED_NOT;
    return agent_kinds[kind].runs_here ? FED_BESIDE : FED_ALONE;
}

static struct str places(enum agent_kind kind)
{
    return agent_kinds[kind].outlives_server ? str_of(agent_kinds[kind].name) : STR_NONE;
}

static void fill_agents(struct generation *g)
{
    for (size_t i = 0; i < g->config->n_agents; i++) {
        const struct config_agent *a = &g->config->agents[i];

        g->journal_agents[i] =
            (struct journal_agent){ .name = a->name,
                                    .settings = a->settings,
                                    .lease_ms = a->lease_ms,
                                    .attempts = a->attempts,
                                    .queue_ms = a->queue_ms,
                                    .run_ms = a->run_ms,
                                    .answer_ms = a->answer_ms,
                                    .is_deaf =
                                        !agent_kinds[a->kind].hears_pause && !a->is_pausable,
                                    .cancel_grace_ms = a->cancel_grace_ms,
                                    .fed = fed(a->kind),
                                    .places = places(a->kind),
                                    .is_published = is_published(g->config, a) };
        g->app_agents[i] =
            (struct app_agent){ a->name, a->description,      a->is_public,
                                a->kind, a->assistant.config, a->assistant.context };
    }
}

int generation_new(struct server_config *config, size_t n_more, struct generation **ret)
{
    struct generation *g = calloc(1, sizeof(*g));
    size_t n = config->n_agents + n_more + 1;

    if (g == NULL)
        return ERR_NOMEM;
    g->journal_agents = calloc(n, sizeof(*g->journal_agents));
    g->app_agents = calloc(n, sizeof(*g->app_agents));
    if (g->journal_agents == NULL || g->app_agents == NULL) {
        generation_free(g);
        return ERR_NOMEM;
    }
    g->config = config;
    *ret = g;
    return 0;
}

void generation_fill(struct generation *g)
{
    const struct server_config *c = g->config;

    fill_agents(g);
    g->journal = (struct journal_settings){ g->journal_agents, c->n_agents, c->expiry_seconds };
    g->app = (struct app_settings){
        .agents = g->app_agents,
        .n_agents = c->n_agents,
        .max_input = c->max_input,
        .streams = { .keep_alive_ms = c->keep_alive_ms,
                     .heartbeat_ms = c->heartbeat_ms,
                     .max_age_ms = c->max_age_ms,
                     .pong_ms = c->pong_timeout_ms,
                     .websocket = { c->max_frame, c->max_message },
                     .max_subscriptions = c->max_subscriptions },
    };
}

void generation_free(struct generation *g)
{
    while (g != NULL) {
        struct generation *older = g->older;

        server_config_free(g->config);
        free(g->journal_agents);
        free(g->app_agents);
        free(g);
        g = older;
    }
}
