/* `spoolwire config`: shows the effective settings, checks them, and lists all options.
 */
#define _GNU_SOURCE /* environ */
#include "base/buf.h"
#include "base/error.h"
#include "base/json_format.h"
#include "cli/commands.h"
#include "config/file/agent_file.h"
#include "config/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_OUT = 16 * 1024 * 1024 };

/* --- reading what serve would ------------------------------------------------------------- */

/* Takes --json out of the arguments; the rest are serve's. */
static bool take_json(int *argc, char **argv)
{
    bool found = false;
    int n = 1;

    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            found = true;
        else
            argv[n++] = argv[i];
    }
    *argc = n;
    return found;
}

static const struct command config_show, config_check; /* they show their own help */

static int show_help(const struct command *c, const char *path)
{
    struct buf out LOCAL_BUF(MAX_OUT);

    command_help(c, path, &out);
    return cli_write(path, buf_text(&out));
}

/* EXIT_OK with *@ret NULL: help was asked for and given. */
static int load(const struct command *c,
                const char *path,
                int argc,
                char **argv,
                struct server_config **ret)
{
    struct error err = { 0 };

    *ret = NULL;
    if (server_config_load(argc, argv, environ, ret, &err) != 0) {
        (void)cli_trouble(path, "%s", err.text);
        return EXIT_USAGE;
    }
    if (!(*ret)->help)
        return EXIT_OK;
    server_config_free(*ret);
    *ret = NULL;
    return show_help(c, path);
}

/* --- show --------------------------------------------------------------------------------- */

static int start_show(int argc, char **argv)
{
    struct server_config *config;
    bool json = take_json(&argc, argv);
    struct buf out LOCAL_BUF(MAX_OUT);

    int code = load(&config_show, "config show", argc, argv, &config);
    if (config == NULL)
        return code;
    if (json)
        server_config_show_json(config, &out);
    else
        server_config_show(config, &out);
    code = cli_write("config show", buf_text(&out));
    server_config_free(config);
    return code;
}

static const struct command config_show = {
    .name = "show",
    .about = "show the effective settings, and the source of each",
    .story = "Writes every setting as a valid file; secrets and the values of an agent's env "
             "are masked.  It takes the options and variables of serve.",
    .takes = COMMAND_JSON | COMMAND_SETTINGS,
    .start = start_show,
};

/* --- check -------------------------------------------------------------------------------- */

static bool is_program(const char *folder, size_t n, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%.*s/%s", (int)n, folder, name);

    return length > 0 && (size_t)length < sizeof(path) && access(path, X_OK) == 0;
}

/* As execvp looks for it. */
static bool can_run(const char *name)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/') != NULL)
        return access(name, X_OK) == 0;
    for (path = path != NULL ? path : "/bin:/usr/bin"; *path != '\0';) {
        size_t n = strcspn(path, ":");

        if (is_program(n > 0 ? path : ".", n > 0 ? n : 1, name))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* Finds settings that are valid but cannot work. */
static int check_agent(const struct config_agent *a)
{
    int code = EXIT_OK;

    if (a->cwd != NULL && access(a->cwd, X_OK) != 0) {
        (void)cli_trouble("config check", "the agent %.*s: there is no folder %s",
                          STR_ARG(a->name), a->cwd);
        code = EXIT_BAD_NEWS;
    } else if (a->argv != NULL && (a->cwd == NULL || a->argv[0][0] == '/') &&
               !can_run(a->argv[0])) {
        (void)cli_trouble("config check", "the agent %.*s: there is no program %s",
                          STR_ARG(a->name), a->argv[0]);
        code = EXIT_BAD_NEWS;
    }
    return code;
}

static int start_check(int argc, char **argv)
{
    struct server_config *config;
    bool json = take_json(&argc, argv);
    struct buf out LOCAL_BUF(256);

    int code = load(&config_check, "config check", argc, argv, &config);
    if (config == NULL)
        return code;
    for (size_t i = 0; i < config->n_agents; i++) {
        int one = check_agent(&config->agents[i]);

        code = one > code ? one : code;
    }
    if (json) {
        json_format(&out, "{'good':%b,'agents':%d}\n", code == EXIT_OK, config->n_agents);
        (void)fwrite(out.p, 1, out.n, stdout); /* main() checks for errors */
    } else if (code == EXIT_OK) {
        printf("good: %zu agent%s\n", config->n_agents, config->n_agents == 1 ? "" : "s");
    }
    server_config_free(config);
    return code;
}

static const struct command config_check = {
    .name = "check",
    .about = "check the settings",
    .story = "Reads the settings as serve would, and looks for the programs and folders of "
             "agents.  Nothing is started.  It takes the options and variables of serve.",
    .exits = "0 the server could start with it\n1 it can be read, but a program or folder is "
             "missing",
    .takes = COMMAND_JSON | COMMAND_SETTINGS,
    .start = start_check,
};

/* --- reference ---------------------------------------------------------------------------- */

static void put_all(struct buf *out)
{
    buf_lit(out, "## Options\n\n");
    server_config_reference(out);
    buf_lit(out, "\n## Agents\n\n");
    server_config_agent_reference(out);
    buf_lit(out, "\n## Their graphs\n\n");
    agent_file_reference(out);
}

static int run_reference(const struct args *args)
{
    struct str part = args_word(args, 0);
    struct buf out LOCAL_BUF(MAX_OUT);

    if (args_have(args, FLAG_JSON))
        server_config_reference_json(&out);
    else if (str_absent(part))
        put_all(&out);
    else if (str_is(part, "server"))
        server_config_reference(&out);
    else if (str_is(part, "agents"))
        server_config_agent_reference(&out);
    else if (str_is(part, "graphs"))
        agent_file_reference(&out);
    if (out.n == 0 && out.error == 0)
        return cli_usage_error(args->path, "it takes server, agents or graphs");
    return cli_write_buf(args->path, &out);
}

static const struct command config_reference = {
    .name = "reference",
    .arguments = "[server|agents|graphs]",
    .about = "list all settings",
    .story = "Writes the settings of the server, of agents and of their graphs as tables in "
             "Markdown, or one part of it; with --json those of server and agents, one a line.",
    .takes = COMMAND_JSON,
    .max_words = 1,
    .run = run_reference,
};

static const struct command *const parts[] = { &config_show, &config_check, &config_reference,
                                               NULL };

const struct command command_config = {
    .name = "config",
    .about = "show, check and explain the server's settings",
    .parts = parts,
};
