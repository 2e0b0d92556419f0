/* The program: finds the command that was asked for and runs it; each is a file of its own
 * (cli/commands.c has the list). */
#include "base/buf.h"
#include "cli/commands.h"
#include "config/text/columns.h"
#include "config/text/quote.h"
#include "config/options/suggest.h"

#include <stdio.h>
#include <string.h>

static int help(void)
{
    struct buf out LOCAL_BUF(64 * 1024);

    buf_lit(&out,
            "spoolwire: events of LLM agent runs in, the protocol each reader speaks out\n"
            "\n"
            "Usage: spoolwire COMMAND [OPTION…]\n"
            "\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        if ((commands[i]->takes & COMMAND_HIDDEN) == 0)
            columns_option(&out, str_of(commands[i]->name), str_of(commands[i]->about));
    buf_lit(&out, "\n");
    columns_option(&out, STR("--help"),
                   STR("This text; 'spoolwire COMMAND --help' says more."));
    columns_option(&out, STR("--version"), STR("The version."));
    buf_lit(&out,
            "\n"
            "Try:  spoolwire serve, and in another terminal: spoolwire submit demo --follow\n"
            "The manual page is spoolwire(1).\n");
    return cli_write("", buf_text(&out));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)help();
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help();
    if (strcmp(argv[1], "--version") == 0) {
        puts("spoolwire " SPOOLWIRE_VERSION);
        return EXIT_OK;
    }
    struct suggestion suggestion = suggest_for(str_of(argv[1]));
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(argv[1], commands[i]->name) == 0)
            return command_run(commands[i], commands[i]->name, argc - 1, argv + 1);
        suggest_try(&suggestion, commands[i]->name);
    }
    if (suggestion.nearest == NULL)
        return cli_usage_error("", "there is no command '%s'", quote(str_of(argv[1])).z);
    return cli_usage_error("", "there is no command '%s': did you mean '%s'?",
                           quote(str_of(argv[1])).z, suggestion.nearest);
}
