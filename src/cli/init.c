/* `spoolwire init`: a small project to begin with, which needs no key of any provider. */
#include "base/error.h"
#include "cli/commands.h"
#include "cli/parcel.h"

#include <stdio.h>

enum { OPT_JS = FLAG_OWN, OPT_PYTHON };

static const struct flag flags[] = {
    { OPT_JS, "js", NULL, NULL, "A graph in JavaScript." },
    { OPT_PYTHON, "python", NULL, NULL,
      "A graph in Python; so it is unless something is said." },
    { 0 },
};

static int run(const struct args *args)
{
    bool is_js = args_have(args, OPT_JS);
    char *folder = args->words[0];
    struct error err = { 0 };

    if (is_js && args_have(args, OPT_PYTHON))
        return cli_usage_error(args->path, "either --js or --python");
    if (parcel_unpack(is_js ? "init/javascript" : "init/python", folder, true, &err) != 0)
        return cli_trouble(args->path, "%s", err.text);
    printf("%s has a graph, and what runs it.  Now type:\n\n"
           "    cd %s\n"
           "    %s\n"
           "    spoolwire dev\n",
           folder, folder,
           is_js ? "npm install"
                 : "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt");
    return EXIT_OK;
}

const struct command command_init = {
    .name = "init",
    .arguments = "DIR",
    .about = "write a small example project with a graph",
    .story =
        "Writes a langgraph.json and a graph that chats and asks for approval, with a fake "
        "model: it needs no key and no network.  Existing files are not replaced.",
    .flags = flags,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
