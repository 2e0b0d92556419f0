#define _GNU_SOURCE /* realpath */
#include "cli/project.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text_format.h"
#include "cli/env_file.h"
#include "cli/project_members.h"
#include "config/text/quote.h"
#include "config/file/resolve.h"
#include "config/text/strings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FILE = 1024 * 1024, MAX_DEPTH = 32 };

/* --- variables -----------------------------------------------------------------------------
 */

static int set_variable(struct str name, struct str value, struct error *err)
{
    char *n = string_copy(name), *v = string_copy(value);
    int code = n != NULL && v != NULL && setenv(n, v, 1) == 0
                   ? 0
                   : error_set(err, ERR_NOMEM, "out of memory");

    free(n);
    free(v);
    return code;
}

static int read_env_file(const struct project *p, struct str name, struct error *err)
{
    char path[PATH_MAX];
    struct buf text LOCAL_BUF(MAX_FILE);
    struct buf value LOCAL_BUF(MAX_FILE);
    struct str key;

    (void)snprintf(path, sizeof(path), "%s/%.*s", p->folder, STR_ARG(str_head(name, 1000)));
    int code = resolve_read_file(path, NULL, &text, err);
    struct str rest = buf_text(&text);
    while (code == 0 && env_file_next(&rest, &key, &value))
        code = value.error != 0 ? error_set(err, value.error, "%s: out of memory", path)
                                : set_variable(key, buf_text(&value), err);
    return code;
}

static int read_env(const struct project *p, yyjson_val *env, struct error *err)
{
    if (json_is_null(env))
        return 0;
    if (yyjson_is_str(env))
        return read_env_file(p, json_text(env), err);
    if (!yyjson_is_obj(env))
        return error_set(err, ERR_TYPE, "'env' is neither a file nor an object");
    json_each_member(key, value, env) {
        struct str name = json_text(key);
        if (!yyjson_is_str(value) || str_empty(name) || str_has(name, '='))
            return error_set(err, ERR_TYPE, "'env.%s' is no text", quote(name).z);
        int code = set_variable(name, json_text(value), err);
        if (code != 0)
            return code;
    }
    return 0;
}

/* --- graphs --------------------------------------------------------------------------------
 */

static bool kit_of(struct str file, enum kit *ret)
{
    static const char *const javascript[] = { ".js",  ".mjs", ".cjs", ".ts",
                                              ".mts", ".cts", ".tsx", ".jsx" };

    *ret = KIT_PYTHON;
    if (str_ends(file, STR(".py")))
        return true;
    *ret = KIT_JAVASCRIPT;
    for (size_t i = 0; i < sizeof(javascript) / sizeof(javascript[0]); i++)
        if (str_ends(file, str_of(javascript[i])))
            return true;
    return false;
}

/* The last colon parts the file from what it exports. */
static struct str file_of(struct str spec)
{
    size_t n = spec.n;

    while (n > 0 && spec.p[n - 1] != ':')
        n--;
    return str_head(spec, n > 0 ? n - 1 : 0);
}

static int add_graph(struct project *p, struct str name, yyjson_val *value, struct error *err)
{
    struct str spec = json_text(yyjson_is_obj(value) ? json_at(value, "path") : value);
    struct project_graph g = { 0 };

    if (str_empty(spec) || str_empty(file_of(spec)))
        return error_set(err, ERR_TYPE,
                         "the graph '%s' must be a text such as './src/agent.py:graph'",
                         quote(name).z);
    if (!kit_of(file_of(spec), &g.kit))
        return error_set(err, ERR_REFUSED,
                         "the graph '%s' is in '%s', which is neither Python nor JavaScript",
                         quote(name).z, quote(file_of(spec)).z);
    g.name = string_copy(name);
    g.spec = string_copy(spec);
    p->graphs[p->n_graphs++] = g;
    return g.name != NULL && g.spec != NULL ? 0 : error_set(err, ERR_NOMEM, "out of memory");
}

static int read_graphs(struct project *p, yyjson_val *graphs, struct error *err)
{
    if (!yyjson_is_obj(graphs) || yyjson_obj_size(graphs) == 0)
        return error_set(err, ERR_TYPE,
                         "there are no 'graphs', such as {\"agent\": \"./agent.py:graph\"}");
    p->graphs = calloc(yyjson_obj_size(graphs), sizeof(*p->graphs));
    if (p->graphs == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    json_each_member(key, value, graphs) {
        int code = add_graph(p, json_text(key), value, err);
        if (code != 0)
            return code;
    }
    return 0;
}

/* Those that are folders; packages must be installed by the user. */
static int read_dependencies(struct project *p, yyjson_val *list, struct error *err)
{
    char path[PATH_MAX], real[PATH_MAX];

    json_each(value, list) {
        struct str place = json_text(value);
        if (str_empty(place) || (place.p[0] != '.' && place.p[0] != '/'))
            continue;
        (void)snprintf(path, sizeof(path), "%s%s%.*s", place.p[0] == '/' ? "" : p->folder,
                       place.p[0] == '/' ? "" : "/", STR_ARG(str_head(place, 1000)));
        if (realpath(path, real) == NULL)
            return error_set(err, ERR_IO, "'dependencies': %s: %s", path, strerror(errno));
        if (strings_add(&p->places, str_of(real)) != 0)
            return error_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

/* Puts the member @name as JSON into the environment, where the kits look for it. */
static int hand_over(const yyjson_val *root,
                     const char *name,
                     struct str variable,
                     struct error *err)
{
    yyjson_val *value = json_get(root, str_of(name));
    struct buf text LOCAL_BUF(MAX_FILE);

    if (!project_is_set(value))
        return 0;
    if (!yyjson_is_obj(value))
        return error_set(err, ERR_TYPE, "'%s' is no object", name);
    json_put_value(&text, value);
    return text.error != 0 ? error_set(err, text.error, "out of memory")
                           : set_variable(variable, buf_text(&text), err);
}

static int read_ui(struct project *p, const yyjson_val *root, struct error *err)
{
    int code = hand_over(root, "ui", STR("LANGGRAPH_UI"), err);

    p->has_ui = project_is_set(json_at(root, "ui"));
    return code != 0 ? code : hand_over(root, "ui_config", STR("LANGGRAPH_UI_CONFIG"), err);
}

/* Minutes, as LangGraph writes times to live; null: none. */
static int read_minutes(const yyjson_val *value,
                        const char *name,
                        double *ret,
                        struct error *err)
{
    if (json_is_null(value))
        return 0;
    if (json_number(value, ret) && *ret > 0 && *ret < 60.0 * 24 * 36500)
        return 0;
    return error_set(err, ERR_TYPE, "'%s' must be a number of minutes above 0", name);
}

static void add_ignored(void *arg, const char *sentence)
{
    struct project *p = arg;
    size_t n = 0;

    while (p->ignored[n] != NULL)
        n++;
    if (n < PROJECT_MAX_IGNORED)
        p->ignored[n] = sentence;
}

static bool has_kit(const struct project *p, enum kit kit)
{
    for (size_t i = 0; i < p->n_graphs; i++)
        if (p->graphs[i].kit == kit)
            return true;
    return false;
}

/* A store or a checkpointer of the project's own, which Python's graphs use. */
static int read_own(struct project *p,
                    const yyjson_val *path,
                    const char *name,
                    bool *ret,
                    struct error *err)
{
    struct str text = json_text(path);
    enum kit kit;

    if (json_is_null(path))
        return 0;
    if (str_empty(text))
        return error_set(err, ERR_TYPE, "'%s' is no text", name);
    if (kit_of(file_of(text), &kit) && kit != KIT_PYTHON)
        return error_set(err, ERR_REFUSED,
                         "'%s': %s is no Python, and only Python's graphs can have one", name,
                         quote(text).z);
    if (!has_kit(p, KIT_PYTHON))
        return error_set(err, ERR_REFUSED,
                         "'%s': there is no graph in Python, and only these can have one",
                         name);
    *ret = true;
    return 0;
}

static int read_store(struct project *p, const yyjson_val *root, struct error *err)
{
    const yyjson_val *store = json_at(root, "store");
    const yyjson_val *index = json_at(store, "index"), *ttl = json_at(store, "ttl");
    struct str embed = json_text(json_at(index, "embed"));
    int code = hand_over(root, "store", STR("LANGGRAPH_STORE"), err);

    p->has_index = !json_is_null(index);
    if (code == 0 && p->has_index && str_empty(embed))
        return error_set(err, ERR_TYPE, "'store.index' needs an 'embed'");
    if (p->has_index && !kit_of(file_of(embed), &p->index_kit))
        p->index_kit = KIT_PYTHON; /* a module, or a model of LangChain */
    p->item_stays_short = yyjson_is_false(json_at(ttl, "refresh_on_read"));
    if (code == 0)
        code = read_own(p, json_at(store, "path"), "store.path", &p->has_store, err);
    if (p->has_store && p->has_index)
        add_ignored(p, "'store.index' is ignored: the project has a store of its own");
    p->has_index = p->has_index && !p->has_store;
    if (!json_is_null(json_at(ttl, "sweep_interval_minutes")))
        add_ignored(p,
                    "'store.ttl.sweep_interval_minutes' is ignored: expired items are gone at "
                    "once");
    return code != 0 ? code
                     : read_minutes(json_at(ttl, "default_ttl"), "store.ttl.default_ttl",
                                    &p->item_minutes, err);
}

static int read_checkpointer(struct project *p, const yyjson_val *root, struct error *err)
{
    const yyjson_val *given = json_at(root, "checkpointer"), *ttl = json_at(given, "ttl");
    struct str strategy = json_text(json_at(ttl, "strategy"));
    struct str backend = json_text(json_at(given, "backend"));
    int code = hand_over(root, "checkpointer", STR("LANGGRAPH_CHECKPOINTER"), err);

    if (code == 0)
        code = read_own(p, json_at(given, "path"), "checkpointer.path", &p->has_saver, err);
    if (code != 0)
        return code;
    if (!str_absent(backend) && !str_is(backend, "default") && !str_is(backend, "custom"))
        return error_set(err, ERR_REFUSED,
                         "'checkpointer.backend': %s is not supported: name a checkpointer of "
                         "your own in 'checkpointer.path'",
                         quote(backend).z);
    if (!json_is_null(json_at(given, "serde")))
        add_ignored(p, "'checkpointer.serde' is ignored: the serializer of each graph's "
                       "langgraph is used");
    if (p->has_saver && has_kit(p, KIT_JAVASCRIPT))
        add_ignored(p, "'checkpointer.path' is for the graphs in Python: those in JavaScript "
                       "have checkpoints in spoolwire's database only");
    if (!json_is_null(json_at(ttl, "sweep_interval_minutes")))
        add_ignored(p, "'checkpointer.ttl.sweep_interval_minutes' is ignored: expired threads "
                       "are deleted within seconds");
    if (!json_is_null(json_at(ttl, "sweep_limit")))
        add_ignored(p, "'checkpointer.ttl.sweep_limit' is ignored: the server chooses how many "
                       "threads it deletes at a time");
    if (!str_absent(strategy) && !str_is(strategy, "delete"))
        return error_set(err, ERR_REFUSED,
                         "'checkpointer.ttl.strategy': only 'delete' is supported");
    return read_minutes(json_at(ttl, "default_ttl"), "checkpointer.ttl.default_ttl",
                        &p->thread_minutes, err);
}

/* --- what is not honoured ------------------------------------------------------------------
 */

static void note_ignored(struct project *p, const yyjson_val *root)
{
    static const struct {
        const char *name, *sentence;
    } members[] = {
        { "encryption", "'encryption' is ignored: what is stored is not encrypted" },
        { "priority", "'priority' is ignored: runs are done in the order in which they came" },
    };

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (project_is_set(json_get(root, str_of(members[i].name))))
            add_ignored(p, members[i].sentence);
}

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (str_eq(name, str_of(*names)))
            return true;
    return false;
}

/* One sentence about all @names, if there are any. */
static int note(struct project *p, struct buf *names, const char *sentence, struct error *err)
{
    struct buf text LOCAL_BUF(MAX_FILE);

    if (names->n == 0 && names->error == 0)
        return 0;
    buf_str(&text, buf_text(names));
    text_format(&text, ": %s", sentence);
    return names->error != 0 || text.error != 0 || strings_add(&p->notes, buf_text(&text)) != 0
               ? error_set(err, ERR_NOMEM, "out of memory")
               : 0;
}

static void name_member(struct buf *names, struct str name)
{
    text_format(names, "%s'%s'", names->n > 0 ? ", " : "", quote(name).z);
}

struct others {
    struct buf images, unknown; /* names */
};

static void sort_other(void *arg, struct str path)
{
    static const char *const images[] = { "python_version",      "node_version",
                                          "image_distro",        "dockerfile_lines",
                                          "base_image",          "pip_config_file",
                                          "pip_installer",       "api_version",
                                          "keep_pkg_tools",      "_INTERNAL_docker_tag",
                                          "internal_docker_tag", "source",
                                          "docker_compose_file", NULL };
    struct others *others = arg;

    name_member(is_one_of(path, images) ? &others->images : &others->unknown, path);
}

/* Members that are about images, and those that nobody knows. */
static int note_others(struct project *p, yyjson_val *root, struct error *err)
{
    struct others others;

    buf_init(&others.images, MAX_FILE);
    buf_init(&others.unknown, MAX_FILE);
    project_members_unknown(root, sort_other, &others);
    int code = note(p, &others.images,
                    "about building images, not used here: graphs run in the project's own "
                    "Python and Node",
                    err);
    if (code == 0)
        code = note(p, &others.unknown, "not known here, and ignored", err);
    buf_done(&others.images);
    buf_done(&others.unknown);
    return code;
}

/* Packages among the dependencies are the user's to install. */
static int note_packages(struct project *p, yyjson_val *list, struct error *err)
{
    struct buf names LOCAL_BUF(MAX_FILE);

    json_each(value, list) {
        struct str name = json_text(value);

        if (!str_empty(name) && name.p[0] != '.' && name.p[0] != '/')
            name_member(&names, name);
    }
    return note(
        p, &names,
        "packages of 'dependencies', which are not installed by this command: they must "
        "be in the project's Python",
        err);
}

static int read_all(struct project *p, struct str text, struct error *err)
{
    struct json_reader reader LOCAL_READER(MAX_FILE, MAX_DEPTH);
    struct json json;

    int code = json_read(&reader, text, &json, err);
    if (code == 0)
        code = read_graphs(p, json_at(json.root, "graphs"), err);
    if (code == 0)
        code = read_dependencies(p, json_at(json.root, "dependencies"), err);
    if (code == 0)
        code = read_env(p, json_at(json.root, "env"), err);
    if (code == 0)
        code = read_ui(p, json.root, err);
    if (code == 0)
        code = project_server_read(&p->server, json.root, add_ignored, p, err);
    if (code == 0)
        code = read_store(p, json.root, err);
    if (code == 0)
        code = read_checkpointer(p, json.root, err);
    if (code == 0)
        note_ignored(p, json.root);
    if (code == 0)
        code = note_others(p, json.root, err);
    if (code == 0)
        code = note_packages(p, json_at(json.root, "dependencies"), err);
    return code;
}

int project_open(const char *file, struct project *ret, struct error *err)
{
    struct project p = { 0 };
    struct buf text LOCAL_BUF(MAX_FILE);
    char real[PATH_MAX];

    if (realpath(file, real) == NULL)
        return error_set(err, ERR_IO, "%s: %s", file, strerror(errno));
    *strrchr(real, '/') = '\0'; /* an absolute path has one */
    p.folder = string_copy(str_of(real[0] != '\0' ? real : "/"));
    int code = p.folder != NULL ? resolve_read_file(file, NULL, &text, err)
                                : error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        code = read_all(&p, buf_text(&text), err);
    if (code != 0)
        project_close(&p);
    else
        *ret = p;
    return code;
}

void project_close(struct project *p)
{
    for (size_t i = 0; i < p->n_graphs; i++) {
        free(p->graphs[i].name);
        free(p->graphs[i].spec);
    }
    free(p->graphs);
    free(p->folder);
    strings_free(p->places);
    strings_free(p->notes);
    project_server_done(&p->server);
    *p = (struct project){ 0 };
}

bool project_kit_of(const char *spec, enum kit *ret)
{
    return kit_of(file_of(str_of(spec)), ret);
}

bool project_has(const struct project *p, enum kit kit)
{
    enum kit own;

    if ((p->server.auth != NULL && project_kit_of(p->server.auth, &own) && own == kit) ||
        (p->server.app != NULL && project_kit_of(p->server.app, &own) && own == kit))
        return true;
    for (size_t i = 0; i < p->n_graphs; i++)
        if (p->graphs[i].kit == kit)
            return true;
    return false;
}
