/* A command of the program: what it is called, what it takes, and what it does.
 *
 * From these lines come its parser, its --help, its part of the manual page, and what the
 * shells complete.  The table of all commands is in commands.c. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/str.h"

struct args;
struct buf;

/* Exit codes, documented in spoolwire(1). */
enum {
    EXIT_OK = 0,
    EXIT_BAD_NEWS = 1, /* done, with a negative result: a failed job, bad lines, a fault found
                        */
    EXIT_USAGE = 2,    /* the command line, or the settings */
    EXIT_TROUBLE = 3,  /* a file, the output, memory, or the server refuses */
    EXIT_NO_SERVER = 4,
    EXIT_TIME_OVER = 5,
};

struct flag {
    int id; /* positive; one of the shared ones below, or from FLAG_OWN on */
    const char *name;
    const char *value; /* what stands behind it; NULL: nothing.  FILE, JOB, AGENT and DIALECT
                          are known to the shells' completion */
    const char *words; /* all that the value can be, with blanks between; NULL: anything */
    const char *help;
};

/* Flags that several commands have. */
enum {
    FLAG_HELP = 1,
    FLAG_JSON,
    FLAG_URL,
    FLAG_TOKEN,
    FLAG_TOKEN_FILE,
    FLAG_DATA,
    FLAG_STORE,
    FLAG_CONFIG,
    FLAG_OWN
};

enum {
    COMMAND_JSON = 1 << 0,     /* has --json */
    COMMAND_REMOTE = 1 << 1,   /* talks to a server: --url, --token, --token-file */
    COMMAND_SETTINGS = 1 << 2, /* takes the server's options, and reads them itself */
    COMMAND_HIDDEN = 1 << 3,   /* internal: in no list */
    COMMAND_DATA = 1 << 4,     /* opens the database: --data, --store, --config */
};

struct command {
    const char *name;
    const char *arguments;    /* "JOB", "[FILE…]"; NULL: none */
    const char *about;        /* a line in the list of commands */
    const char *story;        /* lines for --help, as columns_text takes them */
    const struct flag *flags; /* its own, up to one without a name; NULL: none */
    const char *exits; /* lines such as "1 the job failed", for what is not common to all */
    unsigned takes;    /* COMMAND_… */
    unsigned min_words, max_words;
    const struct command *const *parts; /* "config" has "show"; up to NULL.  NULL: none */
    /* One of these, or parts; with `run` and parts, `run` is called when no part is named. */
    int (*run)(const struct args *args);
    int (*start)(int argc, char **argv); /* reads its arguments itself */
};

enum { COMMAND_MANY = 1000000 }; /* words, for max_words */

/* What was given on the command line. */
enum { ARGS_MAX_FLAGS = 32 };

struct args {
    const struct command *command;
    const char *path;                   /* "config show", for messages */
    const char *values[ARGS_MAX_FLAGS]; /* by the flag's place; NULL: not given */
    char *const *words;                 /* all that are not flags */
    size_t n_words;
};

/* Parses, answers --help, and runs.  @path is how the command is called: "config show". */
int command_run(const struct command *c, const char *path, int argc, char **argv);

/* The flag's value ("" for one without); NULL when it was not given.  The last one counts. */
const char *args_get(const struct args *args, int id);
static inline bool args_have(const struct args *args, int id)
{
    return args_get(args, id) != NULL;
}
struct str args_word(const struct args *args, size_t i);

/* The command's @i-th flag, its own first, then those that it shares; NULL at the end. */
const struct flag *command_flag(const struct command *c, size_t i);

/* What it means. */
void flag_put_help(const struct flag *f, struct buf *out);
/* The text of --help. */
void command_help(const struct command *c, const char *path, struct buf *out);

/* --- messages ------------------------------------------------------------------------------
 */

/* "spoolwire PATH: …" on stderr, then how to get help; returns EXIT_USAGE. */
int cli_usage_error(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "spoolwire PATH: …" on stderr; returns EXIT_TROUBLE. */
int cli_trouble(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes all of it to standard output; reports an error if that fails. */
int cli_write(const char *path, struct str text);
/* The same for a buffer; reports an error if its memory ran out. */
int cli_write_buf(const char *path, const struct buf *b);

#endif
