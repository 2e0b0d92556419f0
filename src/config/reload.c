#include "config/reload.h"

#include "base/error.h"
#include "base/json.h"
#include "config/file/loader.h"

#include <stdlib.h>

void reload_init(struct reload *r)
{
    buf_init(&r->taken, 1024 * 1024);
    buf_init(&r->left, 1024 * 1024);
}

void reload_done(struct reload *r)
{
    buf_done(&r->taken);
    buf_done(&r->left);
}

/* "agents.NAME.option", or without what is absent. */
static void note(struct buf *out, struct str agent, const char *option)
{
    json_begin_parts(json_next(out));
    if (!str_absent(agent)) {
        buf_lit(out, "agents.");
        json_put_escaped(out, agent);
        if (option != NULL)
            buf_char(out, '.');
    }
    buf_str(out, str_of(option));
    json_end_parts(out);
}

/* One option of an object that both have. */
static int carry_option(struct reload *r,
                        const struct option *o,
                        struct str agent,
                        const void *running,
                        void *next)
{
    if (option_same(o, running, next))
        return 0;
    if ((o->flags & OPTION_RELOADS) != 0) {
        note(&r->taken, agent, o->name);
        return 0;
    }
    note(&r->left, agent, o->name);
    return option_copy(o, running, next);
}

static int carry_server(struct reload *r,
                        const struct server_config *running,
                        struct server_config *next)
{
    for (size_t i = 0; i < server_options.n; i++) {
        const struct option *o = &server_options.options[i];
        int err = carry_option(r, o, STR_NONE, running, next);

        if (err != 0)
            return err;
    }
    next->address = running->address;
    return 0;
}

/* --- agents ------------------------------------------------------------------ */

static struct config_agent *find(const struct server_config *config, struct str name)
{
    for (size_t i = 0; i < config->n_agents; i++)
        if (str_eq(config->agents[i].name, name))
            return &config->agents[i];
    return NULL;
}

static bool same_setting(size_t i, const struct config_agent *a, const struct config_agent *b)
{
    struct buf one LOCAL_BUF(1024 * 1024);
    struct buf two LOCAL_BUF(1024 * 1024);

    settings_print(i, a->settings, &one);
    settings_print(i, b->settings, &two);
    return one.error == 0 && two.error == 0 && str_eq(buf_text(&one), buf_text(&two));
}

static int carry_agent(struct reload *r,
                       const struct config_agent *running,
                       struct config_agent *next)
{
    for (size_t i = 0; i < agent_options.n; i++) {
        int err = carry_option(r, &agent_options.options[i], next->name, running, next);

        if (err != 0)
            return err;
    }
    next->kind = running->kind;
    next->is_builtin = running->is_builtin;
    for (size_t i = 0; i < SETTINGS_MAX; i++)
        if (!same_setting(i, running, next))
            note(&r->taken, next->name, settings_name(i));
    return 0;
}

/* A removed agent keeps running until its jobs have ended. */
static int keep_agent(struct reload *r, struct config_agent *gone, struct server_config *next)
{
    struct config_agent *agents =
        realloc(next->agents, (next->n_agents + 1) * sizeof(*next->agents));

    if (agents == NULL)
        return ERR_NOMEM;
    note(&r->left, gone->name, NULL);
    next->agents = agents;
    agents[next->n_agents++] = *gone;
    *gone = (struct config_agent){ 0 };
    return 0;
}

/* A new agent is taken over if nothing of it runs here; others need a restart. */
static void admit_new(struct reload *r,
                      const struct server_config *running,
                      struct server_config *next)
{
    size_t n = 0;

    for (size_t i = 0; i < next->n_agents; i++) {
        struct config_agent a = next->agents[i];
        bool is_new = find(running, a.name) == NULL;
        bool may_come = !agent_kinds[a.kind].runs_here && !agent_kinds[a.kind].has_bridge;

        if (is_new)
            note(may_come ? &r->taken : &r->left, a.name, NULL);
        next->agents[i] = (struct config_agent){ 0 };
        next->agents[n] = a;
        if (!is_new || may_come) {
            n++;
        } else {
            config_agent_clear(&next->agents[n]);
        }
    }
    next->n_agents = n;
}

int reload_carry(struct reload *r, struct server_config *running, struct server_config *next)
{
    int err = carry_server(r, running, next);

    admit_new(r, running, next);
    for (size_t i = 0; err == 0 && i < running->n_agents; i++) {
        struct config_agent *a = &running->agents[i], *same = find(next, a->name);

        err = same != NULL ? carry_agent(r, a, same) : keep_agent(r, a, next);
    }
    if (err == 0 && (r->taken.error != 0 || r->left.error != 0))
        err = ERR_NOMEM;
    return err;
}
