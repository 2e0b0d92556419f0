/* `spoolwire dask` and `spoolwire ticket`: start the Python kit, as `dev` does.
 *
 * The kit that is in this program is unpacked into the user's cache, so that it always fits the
 * program; Dask itself is a package of the Python that is found.  The process becomes Python:
 * signals and exit statuses are its own. */
#include "base/error.h"
#include "base/text_format.h"
#include "cli/commands.h"
#include "cli/interpreter.h"
#include "cli/parcel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_PYTHON_PATH = 1024 * 1024, MAX_HELP = 64 * 1024 };

/* Where the kit is unpacked: $XDG_CACHE_HOME/spoolwire/VERSION/python. */
static int unpack_kit(char *ret, size_t size, struct error *err)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_cache = cache != NULL && cache[0] == '/';
    int n = snprintf(ret, size, "%s%s/spoolwire/" SPOOLWIRE_VERSION "/python",
                     has_cache      ? cache
                     : home != NULL ? home
                                    : "/tmp",
                     has_cache ? "" : "/.cache");

    if (n < 0 || (size_t)n >= size)
        return error_set(err, ERR_TOO_LARGE, "the path of the cache is too long");
    return parcel_unpack("python", ret, false, err);
}

static int set_python_path(const char *kit)
{
    const char *before = getenv("PYTHONPATH");
    struct buf path LOCAL_BUF(MAX_PYTHON_PATH);

    text_format(&path, "%s", kit);
    if (before != NULL && before[0] != '\0') {
        text_format(&path, ":%s", before);
    }
    buf_char(&path, '\0');
    return path.error == 0 && setenv("PYTHONPATH", path.p, 1) == 0 ? 0 : ERR_NOMEM;
}

static int show_help(const struct command *c)
{
    struct buf out LOCAL_BUF(MAX_HELP);

    command_help(c, c->name, &out);
    (void)fwrite(out.p, 1, out.n, stdout); /* main() checks for errors */
    return out.error == 0 ? EXIT_OK : cli_trouble(c->name, "out of memory");
}

/* argv[0] is the command's name. */
static int start(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return show_help(strcmp(argv[0], "dask") == 0 ? &command_dask : &command_ticket);
    char python[PATH_MAX], kit[PATH_MAX];
    struct error err = { 0 };
    const char **words = calloc((size_t)argc + 4, sizeof(*words));

    if (words == NULL)
        return cli_trouble(argv[0], "out of memory");
    if (!interpreter_python(".", python, sizeof(python)))
        (void)cli_trouble(argv[0], "there is no 'python3' in PATH");
    else if (unpack_kit(kit, sizeof(kit), &err) != 0)
        (void)cli_trouble(argv[0], "%s", err.text);
    else if (set_python_path(kit) != 0)
        (void)cli_trouble(argv[0], "out of memory");
    else {
        words[0] = python;
        words[1] = "-m";
        words[2] = "spoolwire";
        for (int i = 0; i < argc; i++)
            words[3 + i] = argv[i];
        (void)execv(python, (char *const *)(uintptr_t)words);
        (void)cli_trouble(argv[0], "%s: %s", python, strerror(errno));
    }
    free(words);
    return EXIT_TROUBLE;
}

const struct command command_dask = {
    .name = "dask",
    .arguments = "--scheduler ADDRESS --agent NAME=MODULE:GRAPH…",
    .about = "run the jobs of agents on a Dask cluster",
    .story =
        "Submits a task to a Dask cluster for each job that waits; each leases one job, "
        "works on it and ends.  It is the command 'dask' of the Python package, which is in "
        "this program; 'distributed' must be installed for the Python of the active virtual "
        "environment, or the first in PATH.  'spoolwire dask -h' lists its options.",
    .exits = "1 the server refuses it, or an option is wrong",
    .start = start,
};

const struct command command_ticket = {
    .name = "ticket",
    .arguments = "--agent NAME=MODULE:GRAPH…",
    .about = "lease one job, work on it and exit",
    .story =
        "For engines that start processes, such as Kubernetes Jobs, Slurm arrays or cron.  "
        "Exits with 0 when a job was done, whatever its outcome; with 75 when there was "
        "none; with anything else when the agent cannot be imported or the server not be "
        "reached.  It is the command 'ticket' of the Python package, which is in this "
        "program.  'spoolwire ticket -h' lists its options.",
    .exits =
        "0 a job was done, whatever its outcome\n75 there was none\n1 the worker is broken",
    .start = start,
};
