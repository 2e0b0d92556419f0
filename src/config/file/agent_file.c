/* Reads what agents.yaml, or the server's file, says about one agent's graph.
 *
 *      listen: 127.0.0.1:8400        read_document, skips it
 *      agents:                       read_document
 *        triage:                     read_agent
 *          command: [python, a.py]   read_setting, skips it
 *          http: {headers: {A: b}}   the same: a group, a level deeper
 *          worker_nodes:             read_setting
 *            all_but: [supervisor]   settings_read
 *
 * What the server alone reads (config/server.h) is known by name and passed unread, so one
 * file serves both.  Values are gathered in drafts (one for "*", one for the agent itself,
 * one to check what is said about others), and the agent is touched only when the whole
 * file was good; from there on nothing can fail. */
#include "config/file/agent_file.h"

#include "base/buf.h"
#include "base/error.h"
#include "config/file/names.h"
#include "config/options/options.h"
#include "config/text/quote.h"
#include "config/file/settings.h"
#include "config/file/unknown.h"
#include "config/file/walk.h"

#include <stdlib.h>

struct agent_file_reader {
    struct names agents;   /* seen so far */
    struct settings every; /* agents."*" */
    struct settings own;   /* agents.<name> */
    struct settings other; /* any other agent's, for the check */
    struct agent *agent;   /* borrowed */
};

static int skip_value(struct walk *w, struct str key, void *arg)
{
    (void)key;
    (void)arg;
    int err = walk_next(w);
    return err != 0 ? err : walk_skip(w);
}

static int skip_group(struct walk *w)
{
    int err = walk_next(w);

    if (err != 0 || !walk_at(w, YAML_MAPPING_START_EVENT))
        return err != 0 ? err : walk_skip(w);
    return walk_pairs(w, "a group", "name: value", skip_value, NULL);
}

static int read_setting(struct walk *w, struct str key, void *arg)
{
    struct settings *draft = arg;
    size_t i = settings_find(key);

    if (i < SETTINGS_MAX)
        return settings_read(draft, i, w);
    if (options_first_of(&agent_options, key) != NULL)
        return skip_group(w);
    if (options_find(&agent_options, STR(""), key) == NULL)
        return unknown_setting(w);
    return skip_value(w, key, NULL);
}

static struct settings *draft_for(struct agent_file_reader *r, struct str agent_name)
{
    if (str_is(agent_name, "*"))
        return &r->every;
    if (str_eq(agent_name, r->agent->name))
        return &r->own;
    settings_clear(&r->other);
    return &r->other;
}

static int read_agent(struct walk *w, struct str name, void *arg)
{
    struct agent_file_reader *r = arg;

    if (names_have(&r->agents, name))
        return walk_fail(w, ERR_REFUSED, "the agent '%s' at line %zu is there twice",
                         quote(name).z, walk_line(w));
    int err = names_add(&r->agents, w, NAMES_MAX, "agents");
    struct settings *draft = draft_for(r, name);
    if (err == 0)
        err = walk_next(w);
    return err != 0 ? err
                    : walk_pairs(w, "an agent's settings", "name: value", read_setting, draft);
}

static int read_document(struct walk *w, void *arg)
{
    struct str key;
    bool given = false;

    if (walk_is_null(w))
        return 0;
    if (!walk_at(w, YAML_MAPPING_START_EVENT))
        return walk_fail(w, ERR_TYPE, "the file must begin with 'agents:', not as at line %zu",
                         walk_line(w));
    for (;;) {
        int err = walk_next_key(w, &key);
        if (err != 0 || str_absent(key))
            return err;
        bool agents = str_is(key, "agents");
        if (!agents && options_find(&server_options, STR(""), key) == NULL)
            return unknown_key(w);
        if (agents && given)
            return walk_fail(w, ERR_REFUSED, "'agents' at line %zu is there twice",
                             walk_line(w));
        given |= agents;
        err = walk_next(w);
        if (err == 0)
            err = agents ? walk_pairs(w, "'agents'", "agent: settings", read_agent, arg)
                         : walk_skip(w);
        if (err != 0)
            return err;
    }
}

int agent_file_apply(struct str text,
                     const char *file_name,
                     struct agent *agent,
                     struct error *err)
{
    /* On the heap for its size. */
    struct agent_file_reader *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return error_set(err, ERR_NOMEM, "%s: out of memory", quote_file_name(file_name));
    r->agent = agent;
    names_init(&r->agents);
    int result = walk_text(text, file_name, read_document, r, err);
    if (result == 0) {
        settings_move(&r->every, agent);
        settings_move(&r->own, agent);
    }
    names_done(&r->agents);
    settings_clear(&r->every);
    settings_clear(&r->own);
    settings_clear(&r->other);
    free(r);
    return result;
}

int agent_file_read(FILE *in, const char *file_name, struct agent *agent, struct error *err)
{
    const char *name = quote_file_name(file_name);
    char block[4096];
    struct buf text;
    size_t n;
    int result;

    /* One byte more than allowed, for agent_file_apply to complain about. */
    buf_init(&text, AGENT_FILE_MAX_BYTES + sizeof(block));
    do {
        n = fread(block, 1, sizeof(block), in);
        buf_put(&text, block, n);
    } while (n == sizeof(block) && text.error == 0 && text.n <= AGENT_FILE_MAX_BYTES);
    if (ferror(in))
        result = error_set(err, ERR_IO, "%s: cannot be read", name);
    else if (text.error != 0)
        result = error_set(err, text.error, "%s: out of memory", name);
    else
        result = agent_file_apply(buf_text(&text), file_name, agent, err);
    buf_done(&text);
    return result;
}

void agent_file_reference(struct buf *out)
{
    settings_reference(out);
}
