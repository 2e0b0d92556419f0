/* `spoolwire dev`: serves the graphs of a project, with one command.
 *
 *     langgraph.json ──project──▶ .spoolwire/dev.yaml ──▶ serve
 *                                 .spoolwire/kit/         what its processes run
 *                                 .spoolwire/spoolwire.db
 *
 * Each graph is an agent with a pool of one process, which is replaced when a file of the
 * project changes.  The kits are in this program, so that a project needs nothing but its own
 * packages. */
#include "base/error.h"
#include "base/text_format.h"
#include "base/json.h"
#include "cli/attendant.h"
#include "cli/commands.h"
#include "cli/defaults.h"
#include "cli/interpreter.h"
#include "cli/parcel.h"
#include "cli/project.h"
#include "server/serve.h"
#include "config/server.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SETTINGS = 1024 * 1024, MAX_ARGUMENTS = 16 };

#define HOME ".spoolwire"

enum { OPT_CONFIG = FLAG_OWN, OPT_LISTEN, OPT_DATA, OPT_JOBS, OPT_NO_RELOAD, OPT_IGNORE_AUTH };

static const struct flag flags[] = {
    { OPT_CONFIG, "config", "FILE", NULL,
      "The project's description; langgraph.json unless given." },
    { OPT_LISTEN, "listen", "ADDRESS", NULL,
      "Where the server listens; 127.0.0.1:8400 unless given." },
    { OPT_DATA, "data", "FILE", NULL,
      "The database; " HOME "/spoolwire.db in the project's folder unless given." },
    { OPT_JOBS, "jobs-per-worker", "N", NULL,
      "Runs at a time of each graph; 100 unless given." },
    { OPT_NO_RELOAD, "no-reload", NULL, NULL, "Files that change are not read again." },
    { OPT_IGNORE_AUTH, "ignore-auth", NULL, NULL,
      "The handlers of the project's 'auth' are not called: everybody who reaches the server "
      "may do everything." },
    { 0 },
};

struct dev {
    const struct args *args;
    struct project project;
    char home[PATH_MAX]; /* .spoolwire, absolute */
    struct buf settings;
    bool has_python_path;
};

/* --- what runs them ------------------------------------------------------------------------
 */

static int find_program(const struct dev *d, enum kit kit, char *ret, size_t size)
{
    const char *name = kit == KIT_PYTHON ? "python3" : "node";

    if (kit == KIT_PYTHON ? interpreter_python(d->project.folder, ret, size)
                          : interpreter_find(name, ret, size))
        return EXIT_OK;
    return cli_trouble(d->args->path, "a graph is %s, and there is no '%s' in PATH",
                       kit == KIT_PYTHON ? "Python" : "JavaScript", name);
}

/* --- settings ------------------------------------------------------------------------------
 */

/* A literal text in the file: JSON's strings are YAML's too. */
static void put_word(struct buf *out, const char *text)
{
    struct buf plain LOCAL_BUF(MAX_SETTINGS);

    for (struct str rest = str_of(text); rest.n > 0; rest = str_skip(rest, 1)) {
        if (str_starts(rest, STR("${")))
            buf_char(&plain, '$');
        buf_char(&plain, rest.p[0]);
    }
    json_put_str(out, buf_text(&plain));
}

static void put_command(struct dev *d, const struct project_graph *g, const char *program)
{
    struct buf *out = &d->settings;
    char kit[PATH_MAX + 64];

    buf_lit(out, "    command: [");
    put_word(out, program);
    if (g->kit == KIT_PYTHON) {
        buf_lit(out, ", -m, spoolwire, run, --fail-jobs, ");
    } else {
        (void)snprintf(kit, sizeof(kit), "%s/kit/javascript/bin/spoolwire-run.js", d->home);
        /* Keeps long-lived processes small: by default Node lets its heap double before it
         * collects garbage. */
        buf_lit(out, ", --max-semi-space-size=4, --heap-growing-percent=30, ");
        put_word(out, kit);
        buf_lit(out, ", --fail-jobs, ");
    }
    put_word(out, g->spec);
    buf_lit(out, "]\n");
}

/* What the environment says of the graph. */
static int put_defaults(struct dev *d, const struct project_graph *g, struct error *err)
{
    struct buf config LOCAL_BUF(MAX_SETTINGS);
    struct buf context LOCAL_BUF(MAX_SETTINGS);
    int code = defaults_of_graph(g->name, &config, &context, err);

    if (code != 0 || config.n == 0)
        return code;
    buf_char(&config, '\0');
    buf_lit(&d->settings, "    assistant:\n      config: ");
    put_word(&d->settings, config.p);
    if (context.n > 0) {
        buf_char(&context, '\0');
        buf_lit(&d->settings, "\n      context: ");
        put_word(&d->settings, context.p);
    }
    buf_lit(&d->settings, "\n");
    return 0;
}

static void put_agent(struct dev *d, const struct project_graph *g, const char *program)
{
    struct buf *out = &d->settings;
    const char *jobs = args_get(d->args, OPT_JOBS);

    buf_lit(out, "  ");
    put_word(out, g->name);
    buf_lit(out, ":\n");
    put_command(d, g, program);
    buf_lit(out, "    cwd: ");
    put_word(out, d->project.folder);
    buf_lit(out,
            "\n    attempts: 3\n    grace: 2s\n    pool:\n      size: 1\n      concurrency: ");
    put_word(out, jobs != NULL ? jobs : "100");
    buf_lit(out, "\n");
    if (args_have(d->args, OPT_NO_RELOAD))
        return;
    buf_lit(out, "      watch: [");
    put_word(out, d->project.folder);
    buf_lit(out, "]\n");
}

/* Where Python looks for modules: the kit, the project's folders, and what was there before. */
static void set_python_path(const struct dev *d)
{
    const char *before = getenv("PYTHONPATH");
    struct buf path LOCAL_BUF(MAX_SETTINGS);

    text_format(&path, "%s/kit/python:%s", d->home, d->project.folder);
    for (size_t i = 0; d->project.places != NULL && d->project.places[i] != NULL; i++) {
        text_format(&path, ":%s", d->project.places[i]);
    }
    if (before != NULL && before[0] != '\0') {
        text_format(&path, ":%s", before);
    }
    buf_char(&path, '\0');
    if (path.error == 0)
        (void)setenv("PYTHONPATH", path.p, 1); /* without memory nothing else will work either
                                                */
}

/* --- auth and http ---------------------------------------------------------------------------
 */

static void put_list(struct dev *d, const char *name, char *const *list)
{
    struct buf *out = &d->settings;

    if (list == NULL)
        return;
    text_format(out, "%s: [", name);
    for (size_t i = 0; list[i] != NULL; i++) {
        if (i > 0)
            buf_lit(out, ", ");
        put_word(out, list[i]);
    }
    buf_lit(out, "]\n");
}

static void put_line(struct dev *d, const char *name, const char *value)
{
    if (value == NULL)
        return;
    text_format(&d->settings, "%s: ", name);
    put_word(&d->settings, value);
    buf_lit(&d->settings, "\n");
}

/* The words of the companion's command; NULL-terminated. */
static size_t companion_words(const struct dev *d,
                              enum kit kit,
                              const char *program,
                              const char *kit_file,
                              const char *ret[MAX_ARGUMENTS])
{
    const struct project_server *s = &d->project.server;
    size_t n = 0;

    ret[n++] = program;
    if (kit == KIT_PYTHON) {
        ret[n++] = "-m";
        ret[n++] = "spoolwire";
        ret[n++] = "companion";
    } else {
        ret[n++] = kit_file;
        ret[n++] = "--companion";
    }
    if (s->auth != NULL) {
        ret[n++] = "--auth";
        ret[n++] = s->auth;
    }
    if (s->app != NULL) {
        ret[n++] = "--app";
        ret[n++] = s->app;
    }
    ret[n++] = "--settings";
    ret[n++] = s->settings;
    ret[n] = NULL;
    return n;
}

/* Loads the handlers and the app once: what cannot be loaded is said now, and not by every
 * request. */
static int try_companion(struct dev *d, const char *words[MAX_ARGUMENTS], size_t n)
{
    int status = 0;

    words[n] = "--check";
    words[n + 1] = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(d->project.folder) == 0)
            (void)execv(words[0], (char *const *)(uintptr_t)words);
        _exit(EXIT_TROUBLE);
    }
    words[n] = NULL;
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        return EXIT_OK;
    return cli_trouble(d->args->path, "the project's %s cannot be loaded: see above",
                       d->project.server.auth == NULL  ? "'http.app'"
                       : d->project.server.app == NULL ? "'auth'"
                                                       : "'auth' and 'http.app'");
}

static int put_companion(struct dev *d)
{
    const struct project_server *s = &d->project.server;
    enum kit kit = KIT_JAVASCRIPT, other;
    const char *words[MAX_ARGUMENTS];
    char program[PATH_MAX], file[PATH_MAX + 64];

    if (!project_kit_of(s->auth != NULL ? s->auth : s->app, &kit))
        return cli_trouble(d->args->path, "'%s' is neither Python nor JavaScript",
                           s->auth != NULL ? s->auth : s->app);
    if (s->app != NULL && (!project_kit_of(s->app, &other) || other != kit))
        return cli_trouble(d->args->path,
                           "'auth' and 'http.app' must be of one language: one process runs "
                           "both");
    if (find_program(d, kit, program, sizeof(program)) != EXIT_OK)
        return EXIT_TROUBLE;
    (void)snprintf(file, sizeof(file), "%s/kit/javascript/bin/spoolwire-run.js", d->home);
    size_t n = companion_words(d, kit, program, file, words);
    if (kit == KIT_PYTHON)
        set_python_path(d);
    d->has_python_path = kit == KIT_PYTHON;
    if (try_companion(d, words, n) != EXIT_OK)
        return EXIT_TROUBLE;
    put_list(d, "companion", (char *const *)(uintptr_t)words);
    put_line(d, "companion_cwd", d->project.folder);
    if (!args_have(d->args, OPT_NO_RELOAD))
        put_list(d, "companion_watch", (char *[]){ d->project.folder, NULL });
    if (s->auth != NULL)
        buf_lit(&d->settings, "companion_guards: true\nauth: required\n");
    return EXIT_OK;
}

static int put_server(struct dev *d)
{
    const struct project_server *s = &d->project.server;
    static char any[] = "*";

    put_list(d, "origins", s->origins != NULL ? s->origins : (char *[]){ any, NULL });
    put_list(d, "disabled_routes", s->disabled);
    put_list(d, "configurable_headers", s->headers);
    put_list(d, "configurable_headers_excluded", s->no_headers);
    put_line(d, "mount_prefix", s->prefix);
    put_list(d, "webhook_allow", s->webhook_allow);
    put_list(d, "webhook_private", s->webhook_private);
    put_list(d, "webhook_headers", s->webhook_headers);
    put_list(d, "webhook_fields", s->webhook_fields);
    if (s->no_webhooks)
        buf_lit(&d->settings, "webhooks: false\n");
    return s->auth != NULL || s->app != NULL ? put_companion(d) : EXIT_OK;
}

/* --- store
 * ------------------------------------------------------------------------------------
 */

static void put_minutes(struct buf *out, const char *option, double minutes)
{
    if (minutes <= 0)
        return;
    text_format(out, "%s: ", option);
    buf_i64(out, (int64_t)(minutes * 60000) > 0 ? (int64_t)(minutes * 60000) : 1);
    buf_lit(out, "ms\n");
}

/* The first graph in a language; its workers are asked for items, or their vectors. */
static bool put_first(struct dev *d, const char *option, enum kit kit)
{
    const struct project *p = &d->project;

    for (size_t i = 0; i < p->n_graphs; i++)
        if (p->graphs[i].kit == kit) {
            text_format(&d->settings, "%s: ", option);
            put_word(&d->settings, p->graphs[i].name);
            buf_lit(&d->settings, "\n");
            return true;
        }
    return false;
}

static void put_store(struct dev *d)
{
    const struct project *p = &d->project;
    struct buf *out = &d->settings;

    put_minutes(out, "item_ttl", p->item_minutes);
    put_minutes(out, "thread_ttl", p->thread_minutes);
    if (p->item_stays_short)
        buf_lit(out, "item_ttl_refresh: false\n");
    if (p->has_store)
        (void)put_first(d, "item_store", KIT_PYTHON); /* there is one */
    if (p->has_index && !put_first(d, "item_index", p->index_kit))
        (void)fprintf(
            stderr, "spoolwire dev: 'store.index' is ignored: its 'embed' is in a language in "
                    "which there is no graph\n");
}

static int write_settings(struct dev *d, const char *path, struct error *err)
{
    struct buf *out = &d->settings;
    char programs[2][PATH_MAX] = { "", "" };

    buf_lit(out, "# Written by 'spoolwire dev' whenever it starts.\n"
                 "demo: false\n"
                 "durability: relaxed\n"
                 "page_cache: 4M\n"
                 "store_cache: 4M\n"
                 "loops: 1\n"); /* what a page sends at once is taken in its order */
    if (put_server(d) != EXIT_OK)
        return EXIT_TROUBLE;
    if (d->project.has_ui) {
        char folder[PATH_MAX + 64];

        (void)snprintf(folder, sizeof(folder), "%s/ui/public", d->home);
        buf_lit(out, "ui: ");
        put_word(out, folder);
        buf_lit(out, "\n");
    }
    put_store(d);
    buf_lit(out, "agents:\n");
    for (size_t i = 0; i < d->project.n_graphs; i++) {
        const struct project_graph *g = &d->project.graphs[i];
        char *program = programs[g->kit];
        if (program[0] == '\0' && find_program(d, g->kit, program, PATH_MAX) != EXIT_OK)
            return EXIT_TROUBLE;
        put_agent(d, g, program);
        if (put_defaults(d, g, err) != 0)
            return cli_trouble(d->args->path, "%s", err->text);
    }
    if (out->error != 0)
        return cli_trouble(d->args->path, "out of memory");
    return parcel_write(path, buf_text(out), err) == 0
               ? EXIT_OK
               : cli_trouble(d->args->path, "%s", err->text);
}

/* Starts the process that bundles the components. */
static int start_bundler(const struct dev *d, struct error *err)
{
    char program[PATH_MAX], script[PATH_MAX + 64], folder[PATH_MAX + 64];
    char *argv[] = { program, script, folder, NULL, NULL };

    (void)snprintf(script, sizeof(script), "%s/kit/javascript/src/node/ui.js", d->home);
    (void)snprintf(folder, sizeof(folder), "%s/ui", d->home);
    if (args_have(d->args, OPT_NO_RELOAD))
        argv[3] = "--once";
    if (!interpreter_find("node", program, sizeof(program)))
        return error_set(err, ERR_NOT_FOUND,
                         "the project has 'ui', and there is no 'node' in PATH to bundle it");
    return attendant_start(d->project.folder, argv, err);
}

/* --- hello ---------------------------------------------------------------------------------
 */

static void on_hello(const void *arg, const struct server_config *config, const char *url)
{
    const struct dev *d = arg;
    const struct project *p = &d->project;

    printf("spoolwire %s serves %s (data in %s)\n\n", SPOOLWIRE_VERSION, url,
           server_config_database(config));
    for (size_t i = 0; i < p->n_graphs; i++)
        printf("    %-16s %s\n", p->graphs[i].name, p->graphs[i].spec);
    if (p->server.auth != NULL)
        printf("\nThe project's own 'auth' decides who may use LangGraph's routes; the console "
               "needs a token:\n    spoolwire token create --data %s --scope admin --name me\n",
               server_config_database(config));
    printf(
        "\nLangGraph clients:  new Client({ apiUrl: \"%s\" })\n"
        "Every route:        %s/docs\n"
        "Studio:             https://smith.langchain.com/studio/?baseUrl=%s\n\n"
        "Type in another terminal:\n\n"
        "    curl -N %s/runs/stream -H 'Content-Type: application/json' \\\n"
        "      -d '{\"assistant_id\":\"%s\",\"stream_mode\":[\"messages-tuple\"],\"input\":{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}}'\n\n"
        "Ctrl-C ends it; what was acknowledged is kept.\n",
        url, url, url, url, p->graphs[0].name);
    (void)fflush(stdout); /* also into a pipe */
}

/* --- the command ---------------------------------------------------------------------------
 */

static void warn(const struct dev *d, const char *sentence)
{
    (void)fprintf(stderr, "spoolwire %s: %s\n", d->args->path, sentence);
}

/* Warns about settings that are ignored. */
static void look_at_ignored(struct dev *d)
{
    struct project *p = &d->project;

    if (p->server.auth != NULL && args_have(d->args, OPT_IGNORE_AUTH)) {
        warn(d, "'auth' is ignored: everybody who reaches the server may do everything");
        free(p->server.auth);
        p->server.auth = NULL;
    }
    for (size_t i = 0; p->ignored[i] != NULL; i++)
        warn(d, p->ignored[i]);
    for (char *const *text = p->notes; text != NULL && *text != NULL; text++)
        warn(d, *text);
}

static int prepare(struct dev *d, struct error *err)
{
    const char *config = args_get(d->args, OPT_CONFIG);
    char path[PATH_MAX + 64];
    int code = project_open(config != NULL ? config : "langgraph.json", &d->project, err);

    if (code != 0)
        return code;
    look_at_ignored(d);
    int n = snprintf(d->home, sizeof(d->home), "%s/" HOME, d->project.folder);
    if (n < 0 || (size_t)n >= sizeof(d->home))
        return error_set(err, ERR_TOO_LARGE, "%s: too long", d->project.folder);
    code = parcel_make_folder(d->home, err);
    (void)snprintf(path, sizeof(path), "%s/.gitignore", d->home);
    if (code == 0)
        code = parcel_write(path, STR("*\n"), err);
    (void)snprintf(path, sizeof(path), "%s/kit/javascript", d->home);
    if (code == 0 && (project_has(&d->project, KIT_JAVASCRIPT) || d->project.has_ui))
        code = parcel_unpack("javascript", path, false, err);
    (void)snprintf(path, sizeof(path), "%s/kit/python", d->home);
    if (code == 0 && project_has(&d->project, KIT_PYTHON))
        code = parcel_unpack("python", path, false, err);
    return code;
}

static int serve(struct dev *d, char *settings)
{
    const char *listen = args_get(d->args, OPT_LISTEN), *given = args_get(d->args, OPT_DATA);
    char data[PATH_MAX + 64];
    const char *argv[MAX_ARGUMENTS] = { "dev", "--config", settings, "--data" };
    int argc = 4;

    (void)snprintf(data, sizeof(data), "%s/spoolwire.db", d->home);
    argv[argc++] = given != NULL ? given : data;
    if (listen != NULL) {
        argv[argc++] = "--listen";
        argv[argc++] = listen;
    }
    if (project_has(&d->project, KIT_PYTHON) && !d->has_python_path)
        set_python_path(d);
    /* Returns memory to the system after a burst of runs: a developer's machine runs other
     * programs, too. */
    (void)mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
    return serve_run(argc, (char **)(uintptr_t)argv, on_hello, d);
}

static int run(const struct args *args)
{
    struct dev *d = calloc(1, sizeof(*d));
    struct error err = { 0 };
    char settings[PATH_MAX + 64];
    int code;

    if (d == NULL)
        return cli_trouble(args->path, "out of memory");
    d->args = args;
    buf_init(&d->settings, MAX_SETTINGS);
    if (prepare(d, &err) != 0) {
        code = cli_trouble(args->path, "%s", err.text);
    } else {
        (void)snprintf(settings, sizeof(settings), "%s/dev.yaml", d->home);
        code = write_settings(d, settings, &err);
        if (code == EXIT_OK && d->project.has_ui && start_bundler(d, &err) != 0)
            code = cli_trouble(args->path, "%s", err.text);
        if (code == EXIT_OK)
            code = serve(d, settings);
    }
    project_close(&d->project);
    buf_done(&d->settings);
    free(d);
    return code;
}

const struct command command_dev = {
    .name = "dev",
    .about = "serve the graphs of a langgraph.json",
    .story =
        "Reads a project's langgraph.json, starts its graphs, Python and JavaScript, and serves "
        "LangGraph's API and everything else for them.  Processes are replaced when a file of the "
        "project changes; runs that are going on end with the old one.  Data and settings are in "
        "the folder " HOME " of the project: what was acknowledged is there after a restart.",
    .flags = flags,
    .run = run,
};
