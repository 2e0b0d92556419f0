/* The server's YAML file.
 *
 *      listen: 127.0.0.1:8400        read_document, read_option
 *      agents:                       read_document
 *        triage:                     read_agents
 *          command: [python, a.py]   read_agent, read_option, read_list
 *          env: {KEY: value}         read_option, read_pairs
 *          pool: {size: 4}           read_group, read_option
 *          worker_nodes: [writer]    read_agent, settings_read
 *
 * The same file is good for config/file/agent_file.c, which reads settings only. */
#include "base/error.h"
#include "config/file/loader.h"
#include "config/file/names.h"
#include "config/text/quote.h"
#include "config/file/resolve.h"
#include "config/file/unknown.h"
#include "config/file/walk.h"

#include <stdio.h>

/* One option as the file has it: where it goes, and what errors call it. */
struct target {
    struct loader *loader;
    const struct option *option;
    void *object;
    char subject[LOADER_SUBJECT];
};

/* The current scalar, resolved, into the loader's value. */
static int take_scalar(struct walk *w, struct target *t)
{
    struct loader *l = t->loader;
    /* A command's words may begin with an @ of their own: curl -d @file. */
    unsigned what =
        t->option->type == OPTION_WORDS ? RESOLVE_VARIABLES : RESOLVE_VARIABLES | RESOLVE_FILE;

    if (!walk_at(w, YAML_SCALAR_EVENT) || walk_is_null(w))
        return option_refuse(t->option, ERR_TYPE, t->subject, l->err);
    return resolve_value(walk_scalar(w), what, l->envp, t->subject, &l->value, l->err);
}

static int read_scalar(struct walk *w, struct target *t)
{
    struct loader *l = t->loader;

    buf_clear(&l->value);
    int err = take_scalar(w, t);
    return err != 0 ? err
                    : option_set(t->option, t->object, buf_text(&l->value), t->subject, l->err);
}

static int read_list(struct walk *w, struct target *t)
{
    struct loader *l = t->loader;

    for (int64_t n = 0;; n++) {
        int err = walk_next(w);
        if (err != 0)
            return err;
        if (walk_at(w, YAML_SEQUENCE_END_EVENT))
            return n < t->option->min
                       ? option_refuse(t->option, ERR_REFUSED, t->subject, l->err)
                       : 0;
        buf_clear(&l->value);
        err = take_scalar(w, t);
        if (err == 0)
            err = option_add(t->option, t->object, buf_text(&l->value), t->subject, l->err);
        if (err != 0)
            return err;
    }
}

/* Checks that @name is valid for a variable, and not in the list yet. */
static int check_pair(struct walk *w, struct target *t, struct str name)
{
    char *const *list = *(char **const *)((const char *)t->object + t->option->member);

    if (str_empty(name) || str_has(name, '=') || str_has(name, '\0'))
        return walk_fail(w, ERR_TYPE, "there must be a variable's name at line %zu",
                         walk_line(w));
    if (resolve_variable(list, name) != NULL)
        return walk_fail(w, ERR_REFUSED, "'%s' at line %zu is there twice", quote(name).z,
                         walk_line(w));
    return 0;
}

static int read_pairs(struct walk *w, struct target *t)
{
    struct loader *l = t->loader;
    struct str name;

    for (;;) {
        int err = walk_next_key(w, &name);
        if (err != 0 || str_absent(name))
            return err;
        err = check_pair(w, t, name);
        if (err != 0)
            return err;
        buf_clear(&l->value);
        buf_str(&l->value, name);
        buf_char(&l->value, '=');
        err = walk_next(w);
        if (err == 0)
            err = take_scalar(w, t);
        if (err == 0)
            err = option_add(t->option, t->object, buf_text(&l->value), t->subject, l->err);
        if (err != 0)
            return err;
    }
}

static int was_set(struct walk *w, const char *name, size_t line)
{
    return walk_fail(w, ERR_REFUSED, "'%s' at line %zu was already set at line %zu", name,
                     walk_line(w), line);
}

/* The current event is the value. */
static int read_value(struct walk *w, struct target *t)
{
    const struct option *option = t->option;

    option_clear(option, t->object);
    if (walk_at(w, YAML_SEQUENCE_START_EVENT) &&
        (option->type == OPTION_NAMES || option->type == OPTION_WORDS))
        return read_list(w, t);
    if (walk_at(w, YAML_MAPPING_START_EVENT) && option->type == OPTION_PAIRS)
        return read_pairs(w, t);
    return read_scalar(w, t);
}

static void name_target(struct target *t, const struct walk *w, const char *name)
{
    (void)snprintf(t->subject, sizeof(t->subject), "%s: '%s' at line %zu", w->file_name, name,
                   walk_line(w)); /* fits: the file's name is short */
}

/* The current event is the key; @line is where it was set before. */
static int read_option(struct walk *w,
                       struct loader *l,
                       const struct option *option,
                       void *object,
                       size_t *line)
{
    struct target t = { .loader = l, .option = option, .object = object };

    if (*line != 0)
        return was_set(w, option->name, *line);
    *line = walk_line(w);
    name_target(&t, w, option->name);
    int err = walk_next(w);
    return err == 0 ? read_value(w, &t) : err;
}

static size_t *line_of(struct agent_entry *entry, const struct option *option)
{
    return &entry->lines[option - agent_options.options];
}

/* Refuses options that only one agent can have under "*". */
static int check_personal(struct walk *w,
                          const struct agent_entry *entry,
                          const struct option *option)
{
    if ((option->flags & OPTION_PERSONAL) == 0 || strcmp(entry->name, "*") != 0)
        return 0;
    return walk_fail(w, ERR_REFUSED, "'%s' at line %zu belongs to one agent, not to \"*\"",
                     option->name, walk_line(w));
}

/* The current event is the option's key. */
static int read_agent_option(struct walk *w,
                             struct loader *l,
                             struct agent_entry *entry,
                             const struct option *option)
{
    int err = check_personal(w, entry, option);

    return err != 0 ? err : read_option(w, l, option, &entry->values, line_of(entry, option));
}

static int read_members(struct walk *w,
                        struct loader *l,
                        struct agent_entry *entry,
                        struct str group)
{
    struct str key;

    for (;;) {
        int err = walk_next_key(w, &key);
        if (err != 0 || str_absent(key))
            return err;
        const struct option *option = options_find(&agent_options, group, key);
        err = option == NULL ? unknown_in_group(w, group)
                             : read_agent_option(w, l, entry, option);
        if (err != 0)
            return err;
    }
}

/* The current event is the group's name; @first is its first option. */
static int read_group(struct walk *w,
                      struct loader *l,
                      struct agent_entry *entry,
                      const struct option *first)
{
    struct target t = { .loader = l, .option = first, .object = &entry->values };
    struct str group = option_group(first);

    for (size_t i = 0; i < agent_options.n; i++)
        if (entry->lines[i] != 0 && str_eq(option_group(&agent_options.options[i]), group))
            return was_set(w, quote(group).z, entry->lines[i]);
    size_t line = walk_line(w);
    name_target(&t, w, quote(group).z);
    int err = walk_next(w);
    if (err != 0)
        return err;
    if (walk_at(w, YAML_MAPPING_START_EVENT))
        return read_members(w, l, entry, group);
    *line_of(entry, first) = line;
    err = check_personal(w, entry, first);
    return err != 0 ? err : read_value(w, &t);
}

struct agent_reading {
    struct loader *loader;
    struct agent_entry *entry;
};

static int read_agent_key(struct walk *w, struct str key, void *arg)
{
    const struct agent_reading *r = arg;
    struct loader *l = r->loader;
    struct agent_entry *entry = r->entry;
    const struct option *option = options_find(&agent_options, STR(""), key);
    const struct option *first = options_first_of(&agent_options, key);
    size_t i = settings_find(key);

    if (i < SETTINGS_MAX)
        return settings_read(&entry->settings, i, w);
    if (first != NULL)
        return read_group(w, l, entry, first);
    if (option == NULL)
        return unknown_setting(w);
    return read_agent_option(w, l, entry, option);
}

/* Checks the name that is the current event, and begins the agent's entry. */
static int begin_entry(struct walk *w, struct loader *l, struct agent_entry **ret)
{
    struct str name = walk_scalar(w);

    if (str_empty(name) || walk_is_null(w) || str_has(name, '\0'))
        return walk_fail(w, ERR_TYPE, "there must be a name at line %zu", walk_line(w));
    if (name.n > NAMES_MAX_BYTES)
        return walk_fail(w, ERR_TOO_LARGE, "the name '%s' at line %zu has more than %d bytes",
                         quote(name).z, walk_line(w), NAMES_MAX_BYTES);
    for (size_t i = 0; i < l->n_entries; i++)
        if (str_eq(name, str_of(l->entries[i].name)))
            return walk_fail(w, ERR_REFUSED, "the agent '%s' at line %zu is there twice",
                             quote(name).z, walk_line(w));
    if (l->n_entries == LOADER_MAX_AGENTS)
        return walk_fail(w, ERR_TOO_LARGE, "more than %d agents at line %zu", LOADER_MAX_AGENTS,
                         walk_line(w));
    *ret = loader_add_entry(l, name);
    if (*ret == NULL)
        return walk_no_memory(w);
    (*ret)->line = walk_line(w);
    return 0;
}

static int read_agent(struct walk *w, struct str name, void *arg)
{
    struct agent_reading r = { .loader = arg };

    (void)name; /* begin_entry() reads it from the event */
    int err = begin_entry(w, r.loader, &r.entry);
    if (err == 0)
        err = walk_next(w);
    return err != 0 ? err
                    : walk_pairs(w, "an agent's settings", "name: value", read_agent_key, &r);
}

static int read_server_key(struct walk *w, struct loader *l, struct str key)
{
    const struct option *option = options_find(&server_options, STR(""), key);

    if (option == NULL)
        return unknown_key(w);
    loader_note(l, option, SOURCE_FILE);
    return read_option(w, l, option, l->config,
                       &l->config->lines[option - server_options.options]);
}

static int read_document(struct walk *w, void *arg)
{
    struct loader *l = arg;
    struct str key;

    if (walk_is_null(w))
        return 0;
    if (!walk_at(w, YAML_MAPPING_START_EVENT))
        return walk_fail(w, ERR_TYPE,
                         "the file must be 'name: value' pairs, not as at line %zu",
                         walk_line(w));
    for (;;) {
        int err = walk_next_key(w, &key);
        if (err != 0 || str_absent(key))
            return err;
        if (!str_is(key, "agents")) {
            err = read_server_key(w, l, key);
        } else if (l->agents_line != 0) {
            err = walk_fail(w, ERR_REFUSED, "'agents' at line %zu was already set at line %zu",
                            walk_line(w), l->agents_line);
        } else {
            l->agents_line = walk_line(w);
            err = walk_next(w);
            if (err == 0)
                err = walk_pairs(w, "'agents'", "agent: settings", read_agent, l);
        }
        if (err != 0)
            return err;
    }
}

int loader_read_file(struct loader *l, struct str text, const char *file_name)
{
    l->file_name = quote_file_name(file_name);
    return walk_text(text, file_name, read_document, l, l->err);
}
