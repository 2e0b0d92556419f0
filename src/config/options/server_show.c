/* The effective configuration, and the source of each value.
 *
 * The text for people is a valid file with the same meaning, except that secrets are masked. */
#include "base/buf.h"
#include "base/text_format.h"
#include "base/json.h"
#include "config/file/loader.h"

static const char *source_name(enum config_source source)
{
    static const char *const names[] = { [SOURCE_DEFAULT] = "default",
                                         [SOURCE_FILE] = "file",
                                         [SOURCE_ENVIRONMENT] = "environment",
                                         [SOURCE_FLAG] = "flag" };

    return names[source];
}

/* --- as a file --------------------------------------------------------------- */

/* "max_body: 4M", or nothing when it has no value; a secret is masked. */
static bool put_option(const struct option *o,
                       const void *object,
                       const char *indent,
                       const char *name,
                       struct buf *out)
{
    if (option_is_empty(o, object))
        return false;
    buf_str(out, str_of(indent));
    if ((o->flags & OPTION_SECRET) != 0)
        buf_lit(out, "# ");
    text_format(out, "%s: ", name);
    if ((o->flags & OPTION_SECRET) != 0)
        buf_lit(out, "***");
    else
        option_print(o, object, true, out);
    return true;
}

static void put_source(const struct server_config *config, size_t i, struct buf *out)
{
    if (config->sources[i] != SOURCE_DEFAULT) {
        text_format(out, "  # %s", source_name(config->sources[i]));
        if (config->sources[i] == SOURCE_FILE) {
            text_format(out, ", line %d", config->lines[i]);
        }
    }
    buf_char(out, '\n');
}

/* Options that a file may not have beside the agent's kind. */
static bool is_of_another_kind(const struct option *o, enum agent_kind own)
{
    if (own == AGENT_POOL ? strcmp(o->name, "concurrency") == 0
                          : str_is(option_group(o), "pool"))
        return true;
    if (own != AGENT_DASK && str_is(option_group(o), "dask"))
        return true; /* a group without a value is no valid file */
    for (enum agent_kind kind = 0; kind < AGENT_KIND_MAX; kind++)
        if (o->type == OPTION_BOOL && kind != own && agent_kinds[kind].option != NULL &&
            strcmp(o->name, agent_kinds[kind].option) == 0)
            return true;
    return false;
}

static void put_agent_option(const struct config_agent *a, size_t i, struct buf *out)
{
    const struct option *o = &agent_options.options[i];
    struct str group = option_group(o);
    bool first = group.n > 0 && (i == 0 || !str_eq(option_group(o - 1), group));

    if (is_of_another_kind(o, a->kind))
        return;
    if (first) {
        text_format(out, "    %s:\n", group);
    }
    if (put_option(o, a, group.n > 0 ? "      " : "    ",
                   o->name + (group.n > 0 ? group.n + 1 : 0), out))
        buf_char(out, '\n');
}

static void put_agent(const struct config_agent *a, struct buf *out)
{
    buf_lit(out, "  ");
    json_put_str(out, a->name);
    buf_str(out, a->is_builtin ? STR(":  # built in\n") : STR(":\n"));
    for (size_t i = 0; i < agent_options.n; i++)
        put_agent_option(a, i, out);
    for (size_t i = 0; i < SETTINGS_MAX; i++) {
        text_format(out, "    %s: ", settings_name(i));
        settings_print(i, a->settings, out);
        buf_char(out, '\n');
    }
}

void server_config_show(const struct server_config *config, struct buf *out)
{
    if (config->config_file != NULL) {
        buf_lit(out, "# of the file ");
        json_put_escaped(out, str_of(config->config_file));
        buf_char(out, '\n');
    }
    for (size_t i = 0; i < server_options.n; i++)
        if ((server_options.options[i].flags & OPTION_NO_FILE) == 0 &&
            put_option(&server_options.options[i], config, "", server_options.options[i].name,
                       out))
            put_source(config, i, out);
    buf_lit(out, "agents:\n");
    for (size_t i = 0; i < config->n_agents; i++)
        put_agent(&config->agents[i], out);
}

/* --- as JSON ----------------------------------------------------------------- */

static void json_value(const struct option *o, const void *object, struct buf *out)
{
    const char *quotes = option_is_quoted(o) ? "\"" : "";

    if (option_is_empty(o, object)) {
        buf_lit(out, "null");
    } else if ((o->flags & OPTION_SECRET) != 0) {
        buf_lit(out, "\"***\"");
    } else {
        buf_str(out, str_of(quotes));
        option_print(o, object, false, out);
        buf_str(out, str_of(quotes));
    }
}

static void json_agent(const struct config_agent *a, struct buf *out)
{
    json_begin(out);
    for (size_t i = 0; i < agent_options.n; i++) {
        json_put_key(out, str_of(agent_options.options[i].name));
        json_value(&agent_options.options[i], a, out);
    }
    for (size_t i = 0; i < SETTINGS_MAX; i++) {
        json_put_key(out, str_of(settings_name(i)));
        settings_print(i, a->settings, out);
    }
    json_add_bool(out, "built_in", a->is_builtin);
    json_end(out);
}

void server_config_show_json(const struct server_config *config, struct buf *out)
{
    json_begin(out);
    json_add_object(out, "options");
    for (size_t i = 0; i < server_options.n; i++) {
        json_put_key(out, str_of(server_options.options[i].name));
        json_begin(out);
        json_key(out, "value");
        json_value(&server_options.options[i], config, out);
        json_add_str(out, "source", str_of(source_name(config->sources[i])));
        if (config->sources[i] == SOURCE_FILE)
            json_add_uint(out, "line", config->lines[i]);
        json_end(out);
    }
    json_end(out);
    json_add_object(out, "agents");
    for (size_t i = 0; i < config->n_agents; i++) {
        json_put_key(out, config->agents[i].name);
        json_agent(&config->agents[i], out);
    }
    buf_lit(out, "}}\n");
}
