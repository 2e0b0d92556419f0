/* The command line: one file per subcommand. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* Exit codes, documented in spoolwire(1). */
enum {
    EXIT_OK = 0,
    EXIT_BAD_LINES = 1, /* done, but some lines could not be understood */
    EXIT_USAGE = 2,
    EXIT_TROUBLE = 3, /* a file, the output, or memory */
};

struct command {
    const char *name;
    const char *about;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

int cli_translate(int argc, char **argv);
int cli_dialects(int argc, char **argv);
int cli_serve(int argc, char **argv);
int cli_submit(int argc, char **argv);
int cli_tail(int argc, char **argv);
int cli_cancel(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_demo_agent(int argc, char **argv);

/* "spoolwire translate: …" on stderr, then how to get help; returns EXIT_USAGE. */
int cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
