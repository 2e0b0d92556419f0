/* Agents, made of what the file said: the defaults, then "*", then the agent's own. */
#include "base/error.h"
#include "base/json.h"
#include "config/file/loader.h"
#include "config/text/quote.h"
#include "config/text/strings.h"

#include <stdlib.h>

#define DEMO_NAME        "demo"
#define DEMO_DESCRIPTION "A scripted triage run, built in: no model and no network needed"

enum { DEMO_ATTEMPTS = 2, MAX_ASSISTANT_DEPTH = 32 };

struct agent_entry *loader_add_entry(struct loader *l, struct str name)
{
    struct agent_entry *grown = realloc(l->entries, (l->n_entries + 1) * sizeof(*l->entries));

    if (grown == NULL)
        return NULL;
    l->entries = grown;
    char *copy = string_copy(name);
    if (copy == NULL)
        return NULL;
    grown[l->n_entries] = (struct agent_entry){ .name = copy };
    return &grown[l->n_entries++];
}

void loader_clear_entries(struct loader *l)
{
    for (size_t i = 0; i < l->n_entries; i++) {
        free(l->entries[i].name);
        options_clear(&agent_options, &l->entries[i].values);
        settings_clear(&l->entries[i].settings);
    }
    free(l->entries);
    l->entries = NULL;
    l->n_entries = 0;
}

void config_agent_clear(struct config_agent *agent)
{
    free((char *)(uintptr_t)agent->name.p);
    options_clear(&agent_options, agent);
    agent_free(agent->settings);
    *agent = (struct config_agent){ 0 };
}

void config_agents_free(struct config_agent *agents, size_t n)
{
    for (size_t i = 0; agents != NULL && i < n; i++)
        config_agent_clear(&agents[i]);
    free(agents);
}

static const struct agent_entry *find_entry(const struct loader *l, const char *name)
{
    for (size_t i = 0; i < l->n_entries; i++)
        if (strcmp(l->entries[i].name, name) == 0)
            return &l->entries[i];
    return NULL;
}

/* @every may be NULL. */
static int set_options(struct config_agent *agent,
                       const struct agent_entry *entry,
                       const struct agent_entry *every)
{
    int err = options_reset(&agent_options, agent);

    for (size_t i = 0; err == 0 && i < agent_options.n; i++) {
        const struct option *option = &agent_options.options[i];
        if (entry->lines[i] != 0)
            err = option_copy(option, &entry->values, agent);
        else if (every != NULL && every->lines[i] != 0)
            err = option_copy(option, &every->values, agent);
    }
    return err;
}

static int set_settings(struct config_agent *agent,
                        const struct agent_entry *entry,
                        const struct agent_entry *every)
{
    int err = agent_new(agent->name, &agent->settings);

    if (err == 0 && every != NULL)
        err = settings_copy(&every->settings, agent->settings);
    if (err == 0)
        err = settings_copy(&entry->settings, agent->settings);
    return err;
}

static bool is_said(const char *name,
                    const struct agent_entry *entry,
                    const struct agent_entry *every)
{
    const struct option *o = options_find(&agent_options, STR(""), str_of(name));
    size_t i = (size_t)(o - agent_options.options);

    return entry->lines[i] != 0 || (every != NULL && every->lines[i] != 0);
}

/* The kinds that its options choose; returns how many there are. */
static size_t chosen_kinds(const struct config_agent *a, enum agent_kind ret[AGENT_KIND_MAX])
{
    size_t n = 0;

    for (enum agent_kind kind = 0; kind < AGENT_KIND_MAX; kind++)
        for (size_t i = 0; i < agent_options.n && agent_kinds[kind].option != NULL; i++)
            if (strcmp(agent_options.options[i].name, agent_kinds[kind].option) == 0 &&
                option_is_on(&agent_options.options[i], a))
                ret[n++] = kind;
    return n;
}

static bool is_chosen(const struct config_agent *a)
{
    enum agent_kind kinds[AGENT_KIND_MAX];

    return chosen_kinds(a, kinds) > 0;
}

/* An agent for which no option chooses a kind is the built-in one. */
static enum agent_kind kind_of(const struct config_agent *a)
{
    enum agent_kind kinds[AGENT_KIND_MAX] = { AGENT_PROCESS };

    (void)chosen_kinds(a, kinds);
    return kinds[0] == AGENT_PROCESS && a->pool.size > 0 ? AGENT_POOL : kinds[0];
}

/* Makes it the demo agent in this program, with its own defaults where the file gives none. */
static int set_builtin(struct config_agent *agent,
                       const struct agent_entry *entry,
                       const struct agent_entry *every)
{
    agent->is_builtin = true;
    if (!is_said("attempts", entry, every))
        agent->attempts = DEMO_ATTEMPTS;
    if (!is_said("pausable", entry, every))
        agent->is_pausable = true;
    if (agent->description.n > 0)
        return 0;
    return option_set(options_find(&agent_options, STR(""), STR("description")), agent,
                      STR(DEMO_DESCRIPTION), "", NULL);
}

static int make_agent(struct config_agent *agent,
                      const struct agent_entry *entry,
                      const struct agent_entry *every)
{
    char *name = string_copy(str_of(entry->name));

    if (name == NULL)
        return ERR_NOMEM;
    agent->name = str_of(name);
    int err = set_options(agent, entry, every);
    if (err == 0)
        err = set_settings(agent, entry, every);
    agent->kind = kind_of(agent);
    if (err == 0 && !is_chosen(agent))
        err = set_builtin(agent, entry, every);
    return err;
}

/* Is it one of the server's agents?  "*" is not, nor the demo's settings without the demo. */
static bool is_offered(const struct loader *l, const struct agent_entry *entry)
{
    if (strcmp(entry->name, DEMO_NAME) == 0)
        return is_chosen(&entry->values) || l->config->demo;
    return strcmp(entry->name, "*") != 0;
}

/* Absolute, and without a password, which errors would show. */
static bool is_url(struct str url)
{
    bool is_secure = str_starts(url, STR("https://"));
    struct str rest = str_skip(url, is_secure ? 8 : 7);
    struct str host = str_head(rest, str_find(rest, '/'));

    for (size_t i = 0; i < url.n; i++)
        if (url.p[i] <= ' ' || url.p[i] > '~')
            return false;
    return (is_secure || str_starts(url, STR("http://"))) && host.n > 0 &&
           str_find(host, '@') == host.n;
}

/* Names are tokens (RFC 9110, 5.6.2), and no value begins another header. */
static bool is_header(const char *pair)
{
    struct str text = str_of(pair), name = str_head(text, str_find(text, '='));

    for (size_t i = 0; i < text.n; i++)
        if (((unsigned char)text.p[i] < ' ' && text.p[i] != '\t') || text.p[i] == 127)
            return false;
    for (size_t i = 0; i < name.n; i++)
        if (strchr("\"(),/:;<=>?@[\\]{} ", name.p[i]) != NULL || name.p[i] > '~')
            return false;
    return true;
}

static int check_http(const struct loader *l, const struct agent_entry *entry)
{
    const struct config_http *http = &entry->values.http;
    struct quoted name = quote(str_of(entry->name));

    if (http->url != NULL && !is_url(str_of(http->url)))
        return error_set(l->err, ERR_TYPE,
                         "%s: the url of the agent '%s' at line %zu must begin with http:// or "
                         "https://, and have no user or password (put these into 'headers')",
                         l->file_name, name.z, entry->line);
    for (char *const *pair = http->headers; pair != NULL && *pair != NULL; pair++)
        if (!is_header(*pair))
            return error_set(l->err, ERR_TYPE,
                             "%s: a header of the agent '%s' at line %zu has a name or a value "
                             "that HTTP does not allow",
                             l->file_name, name.z, entry->line);
    return 0;
}

/* @text: empty means the default. */
static int check_object(const struct loader *l,
                        const struct agent_entry *entry,
                        const char *option,
                        struct str text)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_ASSISTANT_DEPTH);
    struct json json;
    int err = str_empty(text) ? 0 : json_read(&reader, text, &json, NULL);

    if (err == ERR_NOMEM)
        return error_set(l->err, ERR_NOMEM, "out of memory");
    if (str_empty(text) || (err == 0 && yyjson_is_obj(json.root)))
        return 0;
    return error_set(
        l->err, ERR_TYPE,
        "%s: '%s' of the agent '%s' at line %zu must be the text of a JSON object, "
        "such as '{\"model\": \"small\"}'",
        l->file_name, option, quote(str_of(entry->name)).z, entry->line);
}

static int check_assistant(const struct loader *l, const struct agent_entry *entry)
{
    const struct config_assistant *a = &entry->values.assistant;
    int err = check_object(l, entry, "assistant.config", a->config);

    return err != 0 ? err : check_object(l, entry, "assistant.context", a->context);
}

/* "a 'command', an 'http' url, … or 'channel: true'" */
static void put_choices(struct buf *out)
{
    const char *last = NULL;

    for (enum agent_kind kind = 0; kind < AGENT_KIND_MAX; kind++) {
        if (agent_kinds[kind].option == NULL)
            continue;
        if (out->n > 0)
            buf_lit(out, ", ");
        buf_str(out, str_of(last));
        last = agent_kinds[kind].phrase;
    }
    buf_lit(out, " or ");
    buf_str(out, str_of(last));
}

static int refuse_without_kind(const struct loader *l, const struct agent_entry *entry)
{
    struct buf choices LOCAL_BUF(1024);

    put_choices(&choices);
    int err = choices.error != 0
                  ? error_set(l->err, ERR_NOMEM, "out of memory")
                  : error_set(l->err, ERR_REFUSED, "%s: the agent '%s' at line %zu needs %.*s",
                              l->file_name, quote(str_of(entry->name)).z, entry->line,
                              STR_ARG(buf_text(&choices)));
    return err;
}

/* Checks that it is of exactly one kind. */
static int check_worker(const struct loader *l, const struct agent_entry *entry)
{
    struct quoted name = quote(str_of(entry->name));
    enum agent_kind kinds[AGENT_KIND_MAX];

    if (chosen_kinds(&entry->values, kinds) > 1)
        return error_set(l->err, ERR_REFUSED, "%s: the agent '%s' at line %zu has %s and %s",
                         l->file_name, name.z, entry->line, agent_kinds[kinds[0]].phrase,
                         agent_kinds[kinds[1]].phrase);
    return check_http(l, entry);
}

/* Has it settings of a pool, but no size?  Without a size there is no pool. */
static bool has_pool_of_no_size(const struct loader *l, const struct agent_entry *entry)
{
    const struct option *size = options_find(&agent_options, STR("pool"), STR("size"));
    const struct agent_entry *every = find_entry(l, "*");
    size_t at = (size_t)(size - agent_options.options);
    bool has_pool = false;

    for (size_t i = 0; i < agent_options.n; i++)
        if (entry->lines[i] != 0 &&
            str_starts(str_of(agent_options.options[i].name), STR("pool.")))
            has_pool = true;
    return has_pool && entry->lines[at] == 0 && (every == NULL || every->lines[at] == 0);
}

static int check_entry(const struct loader *l, const struct agent_entry *entry)
{
    struct quoted name = quote(str_of(entry->name));

    if (!is_offered(l, entry))
        return check_http(l, entry);
    int err = check_worker(l, entry);
    if (err == 0)
        err = check_assistant(l, entry);
    if (err != 0)
        return err;
    if (entry->values.argv != NULL && entry->values.argv[0][0] == '\0')
        return error_set(l->err, ERR_REFUSED,
                         "%s: the command of the agent '%s' at line %zu has no program",
                         l->file_name, name.z, entry->line);
    const struct agent_kind_traits *kind = &agent_kinds[kind_of(&entry->values)];
    if (!kind->has_processes && entry->values.pool.size > 0)
        return error_set(l->err, ERR_REFUSED,
                         "%s: the agent '%s' at line %zu has a 'pool' and %s", l->file_name,
                         name.z, entry->line, kind->phrase);
    if (entry->values.concurrency > 0 && entry->values.pool.size > 0)
        return error_set(l->err, ERR_REFUSED,
                         "%s: the agent '%s' at line %zu has a 'pool', whose processes have a "
                         "'concurrency' of their own: 'pool: {size: 4, concurrency: 8}'",
                         l->file_name, name.z, entry->line);
    if (entry->values.dask.scheduler != NULL && entry->values.graph == NULL)
        return error_set(l->err, ERR_REFUSED,
                         "%s: the agent '%s' at line %zu has a 'dask' scheduler and no 'graph' "
                         "for its workers to import: 'graph: module:graph'",
                         l->file_name, name.z, entry->line);
    if (has_pool_of_no_size(l, entry))
        return error_set(l->err, ERR_REFUSED,
                         "%s: the agent '%s' at line %zu has a 'pool' and no 'size' for it: "
                         "'pool: {size: 4, …}'",
                         l->file_name, name.z, entry->line);
    if (!is_chosen(&entry->values) && strcmp(entry->name, DEMO_NAME) != 0)
        return refuse_without_kind(l, entry);
    return 0;
}

int loader_make_agents(struct loader *l)
{
    struct server_config *config = l->config;

    if (config->demo && find_entry(l, DEMO_NAME) == NULL &&
        loader_add_entry(l, STR(DEMO_NAME)) == NULL)
        return error_set(l->err, ERR_NOMEM, "out of memory");
    if (l->n_entries == 0)
        return 0;
    config->agents = calloc(l->n_entries, sizeof(*config->agents));
    if (config->agents == NULL)
        return error_set(l->err, ERR_NOMEM, "out of memory");
    const struct agent_entry *every = find_entry(l, "*");
    for (size_t i = 0; i < l->n_entries; i++) {
        int err = check_entry(l, &l->entries[i]);
        if (err != 0)
            return err;
        if (is_offered(l, &l->entries[i]) &&
            make_agent(&config->agents[config->n_agents++], &l->entries[i], every) != 0)
            return error_set(l->err, ERR_NOMEM, "out of memory");
    }
    return 0;
}
