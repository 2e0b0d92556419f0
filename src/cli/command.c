/* Running a command: its flags by getopt_long, its help out of its table. */
#include "cli/command.h"

#include "base/buf.h"
#include "base/text_format.h"
#include "config/text/columns.h"
#include "config/text/quote.h"
#include "config/options/suggest.h"
#include "dialect/dialect.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

/* --- flags ----------------------------------------------------------------------------------
 */

static const struct flag json_flag = { FLAG_JSON, "json", NULL, NULL, "JSON, for programs." };
static const struct flag remote_flags[] = {
    { FLAG_URL, "url", "URL", NULL, "The server (SPOOLWIRE_URL, else http://127.0.0.1:8400)." },
    { FLAG_TOKEN, "token", "TOKEN", NULL,
      "The token to show it (SPOOLWIRE_TOKEN, which other users do not see); @FILE: what the "
      "file holds." },
    { FLAG_TOKEN_FILE, "token-file", "FILE", NULL,
      "The file that the token is in; -: standard input." },
};
static const struct flag data_flags[] = {
    { FLAG_DATA, "data", "FILE", NULL, "The database; what the settings say, unless given." },
    { FLAG_STORE, "store", "URL", NULL,
      "The same as a URL, such as postgres://USER@HOST/NAME." },
    { FLAG_CONFIG, "config", "FILE", NULL, "The server's settings, to find the database." },
};
static const struct flag help_flag = { FLAG_HELP, "help", NULL, NULL, "This text." };

enum {
    N_REMOTE = sizeof(remote_flags) / sizeof(remote_flags[0]),
    N_DATA = sizeof(data_flags) / sizeof(data_flags[0]),
};

const struct flag *command_flag(const struct command *c, size_t i)
{
    size_t own = 0, json = (c->takes & COMMAND_JSON) != 0,
           data = (c->takes & COMMAND_DATA) != 0 ? N_DATA : 0,
           remote = (c->takes & COMMAND_REMOTE) != 0 ? N_REMOTE : 0;

    while (c->flags != NULL && c->flags[own].name != NULL)
        own++;
    if (i < own)
        return &c->flags[i];
    i -= own;
    if (i < json)
        return &json_flag;
    i -= json;
    if (i < data)
        return &data_flags[i];
    i -= data;
    if (i < remote)
        return &remote_flags[i];
    return i == remote ? &help_flag : NULL;
}

const char *args_get(const struct args *args, int id)
{
    const struct flag *f;

    for (size_t i = 0; i < ARGS_MAX_FLAGS && (f = command_flag(args->command, i)) != NULL; i++)
        if (f->id == id)
            return args->values[i];
    return NULL;
}

struct str args_word(const struct args *args, size_t i)
{
    return i < args->n_words ? str_of(args->words[i]) : STR_NONE;
}

/* --- parsing --------------------------------------------------------------------------------
 */

static int bad_flag(const struct args *args, const char *given)
{
    struct str name = str_of(given);
    const struct flag *f;

    while (str_starts(name, STR("-")))
        name = str_skip(name, 1);
    name = str_head(name, str_find(name, '='));
    struct suggestion suggestion = suggest_for(name);
    for (size_t i = 0; (f = command_flag(args->command, i)) != NULL; i++) {
        if (str_eq(name, str_of(f->name)))
            return cli_usage_error(args->path, "--%s takes no value", f->name);
        suggest_try(&suggestion, f->name);
    }
    if (suggestion.nearest == NULL)
        return cli_usage_error(args->path, "there is no option %s", quote(str_of(given)).z);
    return cli_usage_error(args->path, "there is no option %s: did you mean --%s?",
                           quote(str_of(given)).z, suggestion.nearest);
}

static int check_words(const struct args *args)
{
    const struct command *c = args->command;

    if (args->n_words >= c->min_words && args->n_words <= c->max_words)
        return EXIT_OK;
    if (c->max_words == 0)
        return cli_usage_error(args->path, "it takes no argument '%s'",
                               quote(str_of(args->words[0])).z);
    return cli_usage_error(args->path, "it takes %s", c->arguments);
}

/* *@ret_help: --help was given, and the rest is ignored. */
static int parse(struct args *args, int argc, char **argv, bool *ret_help)
{
    struct option options[ARGS_MAX_FLAGS + 1] = { 0 };
    const struct flag *f;
    int id;

    for (size_t i = 0; i < ARGS_MAX_FLAGS && (f = command_flag(args->command, i)) != NULL; i++)
        options[i] =
            (struct option){ f->name, f->value != NULL ? required_argument : no_argument, NULL,
                             256 + (int)i };
    opterr = 0;
    optind = 1;
    while ((id = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (id == ':')
            return cli_usage_error(args->path, "%s needs a value", argv[optind - 1]);
        if (id == '?')
            return bad_flag(args, argv[optind - 1]);
        *ret_help = id == 'h' || command_flag(args->command, (size_t)(id - 256)) == &help_flag;
        if (*ret_help)
            return EXIT_OK;
        args->values[id - 256] = optarg != NULL ? optarg : "";
    }
    args->words = argv + optind;
    args->n_words = (size_t)(argc - optind);
    return check_words(args);
}

/* --- help -----------------------------------------------------------------------------------
 */

static void help_usage(const struct command *c, const char *path, struct buf *out)
{
    text_format(out, "Usage: spoolwire %s", path);
    if (c->parts != NULL)
        buf_str(out, c->run != NULL ? STR(" [COMMAND]") : STR(" COMMAND"));
    buf_lit(out, " [OPTION…]");
    if (c->arguments != NULL) {
        text_format(out, " %s", c->arguments);
    }
    buf_lit(out, "\n\n");
}

static void help_parts(const struct command *c, struct buf *out)
{
    for (size_t i = 0; c->parts[i] != NULL; i++)
        columns_option(out, str_of(c->parts[i]->name), str_of(c->parts[i]->about));
    buf_char(out, '\n');
}

static void put_dialects(struct buf *out)
{
    const struct dialect *d;

    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
        buf_str(out, i == 0 ? STR("  One of ") : STR(", "));
        buf_str(out, str_of(d->name));
    }
    buf_char(out, '.');
}

/* "--dialect DIALECT" */
static void put_name(const struct flag *f, struct buf *out)
{
    text_format(out, "--%s", f->name);
    if (f->value != NULL) {
        text_format(out, " %s", f->value);
    }
}

void flag_put_help(const struct flag *f, struct buf *out)
{
    buf_str(out, str_of(f->help));
    if (f->value != NULL && strcmp(f->value, "DIALECT") == 0)
        put_dialects(out);
}

static void help_flags(const struct command *c, struct buf *out)
{
    const struct flag *f;
    struct buf left LOCAL_BUF(200);
    struct buf right LOCAL_BUF(4000);

    for (size_t i = 0; (f = command_flag(c, i)) != NULL; i++) {
        buf_clear(&left);
        buf_clear(&right);
        put_name(f, &left);
        flag_put_help(f, &right);
        columns_option(out, buf_text(&left), buf_text(&right));
    }
}

/* What its exit codes mean, in several parts of lines such as "0 all well"; NULL at the end. */
static const char *exits(const struct command *c, size_t part)
{
    if (part == 0)
        return c->exits != NULL ? c->exits : "0 all well";
    if (part == 1)
        return "2 usage";
    if (part == 2)
        return (c->takes & COMMAND_REMOTE) != 0
                   ? "3 trouble: the server refuses, or the output cannot be written\n"
                     "4 the server is not there"
                   : "3 trouble with a file, the output or memory";
    return NULL;
}

static void help_exits(const struct command *c, struct buf *out)
{
    const char *lines;

    buf_lit(out, "\nExit status:\n");
    for (size_t i = 0; (lines = exits(c, i)) != NULL; i++)
        columns_list(out, str_of(lines));
}

void command_help(const struct command *c, const char *path, struct buf *out)
{
    help_usage(c, path, out);
    if (c->story != NULL) {
        columns_text(out, str_of(c->story));
        buf_char(out, '\n');
    }
    if (c->parts != NULL)
        help_parts(c, out);
    help_flags(c, out);
    if (c->parts == NULL || c->run != NULL)
        help_exits(c, out);
}

static int show_help(const struct command *c, const char *path)
{
    struct buf out LOCAL_BUF(64 * 1024);

    command_help(c, path, &out);
    return cli_write(path, buf_text(&out));
}

/* --- running --------------------------------------------------------------------------------
 */

static int run_part(const struct command *c, const char *path, int argc, char **argv)
{
    struct suggestion suggestion;
    char longer[64];

    if (argc < 2)
        return cli_usage_error(path, "it takes a command");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return show_help(c, path);
    suggestion = suggest_for(str_of(argv[1]));
    for (size_t i = 0; c->parts[i] != NULL; i++) {
        suggest_try(&suggestion, c->parts[i]->name);
        if (strcmp(argv[1], c->parts[i]->name) != 0)
            continue;
        (void)snprintf(longer, sizeof(longer), "%s %s", path, argv[1]);
        return command_run(c->parts[i], longer, argc - 1, argv + 1);
    }
    if (suggestion.nearest == NULL)
        return cli_usage_error(path, "it has no command '%s'", quote(str_of(argv[1])).z);
    return cli_usage_error(path, "it has no command '%s': did you mean '%s'?",
                           quote(str_of(argv[1])).z, suggestion.nearest);
}

int command_run(const struct command *c, const char *path, int argc, char **argv)
{
    struct args args = { .command = c, .path = path };
    bool help = false;

    if (c->parts != NULL && (c->run == NULL || (argc > 1 && argv[1][0] != '-')))
        return run_part(c, path, argc, argv);
    if (c->start != NULL)
        return c->start(argc, argv);
    int code = parse(&args, argc, argv, &help);
    if (code != EXIT_OK)
        return code;
    return help ? show_help(c, path) : c->run(&args);
}

/* --- messages ------------------------------------------------------------------------------
 */

static void complain(const char *path, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void complain(const char *path, const char *format, va_list args)
{
    (void)fprintf(stderr, "spoolwire%s%s: ", path[0] != '\0' ? " " : "", path);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
}

int cli_usage_error(const char *path, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(path, format, args);
    va_end(args);
    (void)fprintf(stderr, "Try 'spoolwire%s%s --help'.\n", path[0] != '\0' ? " " : "", path);
    return EXIT_USAGE;
}

int cli_trouble(const char *path, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(path, format, args);
    va_end(args);
    return EXIT_TROUBLE;
}

int cli_write(const char *path, struct str text)
{
    if (fwrite(text.p, 1, text.n, stdout) != text.n || fflush(stdout) != 0)
        return cli_trouble(path, "the output cannot be written");
    return EXIT_OK;
}

int cli_write_buf(const char *path, const struct buf *b)
{
    return b->error != 0 ? cli_trouble(path, "out of memory") : cli_write(path, buf_text(b));
}
