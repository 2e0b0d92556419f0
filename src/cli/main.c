#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    { "serve", "run the gateway: jobs in, durable streams out", cli_serve },
    { "submit", "hand in a job, and follow it", cli_submit },
    { "tail", "follow a job's events", cli_tail },
    { "show", "show a job", cli_show },
    { "cancel", "stop a job", cli_cancel },
    { "translate", "turn a worker's events into a reader's frames", cli_translate },
    { "dialects", "list what readers can be spoken to in, with a sample frame each",
      cli_dialects },
    { "demo-agent", "the built-in agent that plays a triage run", cli_demo_agent },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

int cli_usage_error(const char *command, const char *format, ...)
{
    va_list args;

    (void)fprintf(stderr, "spoolwire%s%s: ", command != NULL ? " " : "",
                  command != NULL ? command : "");
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\nTry 'spoolwire%s%s --help'.\n", command != NULL ? " " : "",
                  command != NULL ? command : "");
    return EXIT_USAGE;
}

static int help(void)
{
    puts("spoolwire: events of LLM agent runs in, the protocol each reader speaks out\n"
         "\n"
         "Usage: spoolwire COMMAND [OPTION…]\n"
         "\n"
         "Commands:");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-11s %s\n", commands[i].name, commands[i].about);
    puts("\n"
         "  --help      this text; 'spoolwire COMMAND --help' says more\n"
         "  --version   the version\n"
         "\n"
         "Try:  python my_graph.py | spoolwire translate --to messages\n"
         "The manual page is spoolwire(1).");
    return EXIT_OK;
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
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return cli_usage_error(NULL, "there is no command '%s'", argv[1]);
}
