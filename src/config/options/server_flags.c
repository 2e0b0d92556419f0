/* The environment and the command line.
 *
 * The option max_body is SPOOLWIRE_MAX_BODY and --max-body.  Flags are not abbreviated: an
 * option that is added later must not change what an old command line means. */
#include "base/error.h"
#include "config/file/loader.h"
#include "config/text/quote.h"
#include "config/file/resolve.h"
#include "config/options/suggest.h"

#include <stdio.h>

#define PREFIX "SPOOLWIRE_"

enum { MAX_OPTION_NAME = 32 };

/* An option's name in another spelling: --max-body, SPOOLWIRE_MAX_BODY. */
struct flag_spelling {
    char z[sizeof(PREFIX) + MAX_OPTION_NAME];
};

static struct flag_spelling as_flag(const char *name)
{
    struct flag_spelling s;

    (void)snprintf(s.z, sizeof(s.z), "--%s", name); /* fits: our own names */
    for (char *c = s.z; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
    return s;
}

static struct flag_spelling as_variable(const char *name)
{
    struct flag_spelling s;

    (void)snprintf(s.z, sizeof(s.z), PREFIX "%s", name); /* fits: our own names */
    for (char *c = s.z; *c != '\0'; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return s;
}

static int set_value(struct loader *l,
                     const struct option *option,
                     struct str text,
                     bool extend,
                     const char *subject,
                     enum config_source source)
{
    loader_note(l, option, source);
    buf_clear(&l->value);
    int err = resolve_value(text, RESOLVE_FILE, l->envp, subject, &l->value, l->err);
    if (err != 0)
        return err;
    if (extend && option->type == OPTION_NAMES)
        return option_extend(option, l->config, buf_text(&l->value), subject, l->err);
    return option_set(option, l->config, buf_text(&l->value), subject, l->err);
}

/* --- the environment --------------------------------------------------------- */

/* An empty variable counts as not set: an easy way to leave it to the file. */
static const char *variable(const struct loader *l, const char *name)
{
    const char *value = resolve_variable(l->envp, str_of(name));

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* PORT, which hosting platforms set, changes only the port. */
static int read_port(struct loader *l)
{
    const char *port = variable(l, "PORT");
    struct listen_address address;

    if (port == NULL || variable(l, PREFIX "LISTEN") != NULL ||
        !listen_parse(str_of(l->config->listen), &address) || address.host[0] == '\0')
        return 0;
    if (!listen_parse_port(str_of(port), &address.port))
        return error_set(l->err, ERR_TYPE, "PORT must be a whole number from 0 to 65535");
    buf_clear(&l->value);
    listen_print(&address, &l->value);
    if (l->value.error != 0)
        return error_set(l->err, l->value.error, "PORT: out of memory");
    const struct option *listen = options_find(&server_options, STR(""), STR("listen"));
    loader_note(l, listen, SOURCE_ENVIRONMENT);
    return option_set(listen, l->config, buf_text(&l->value), "PORT", l->err);
}

/* Other programs have variables with our prefix (Kubernetes makes SPOOLWIRE_PORT for a
 * service of our name), so only a name that looks misspelt is an error. */
static int check_variable(const struct loader *l, struct str name)
{
    char key[MAX_OPTION_NAME];
    struct str rest = str_skip(name, sizeof(PREFIX) - 1);

    if (!str_starts(name, STR(PREFIX)) || rest.n >= sizeof(key))
        return 0;
    for (size_t i = 0; i < rest.n; i++)
        key[i] =
            rest.p[i] >= 'A' && rest.p[i] <= 'Z' ? (char)(rest.p[i] - 'A' + 'a') : rest.p[i];
    struct suggestion suggestion = suggest_for(str_make(key, rest.n));
    options_suggest(&server_options, STR(""), &suggestion);
    suggest_try(&suggestion, "config");
    if (suggestion.nearest == NULL || str_eq(name, str_of(as_variable(suggestion.nearest).z)))
        return 0;
    return error_set(l->err, ERR_REFUSED, "unknown variable %s: did you mean %s?",
                     quote(name).z, as_variable(suggestion.nearest).z);
}

int loader_read_environment(struct loader *l)
{
    for (char *const *e = l->envp; e != NULL && *e != NULL; e++) {
        struct str line = str_of(*e);
        int err = check_variable(l, str_head(line, str_find(line, '=')));
        if (err != 0)
            return err;
    }
    for (size_t i = 0; i < server_options.n; i++) {
        const struct option *option = &server_options.options[i];
        struct flag_spelling name = as_variable(option->name);
        const char *value = variable(l, name.z);
        if (value == NULL || (option->flags & OPTION_NO_FILE) != 0)
            continue;
        int err = set_value(l, option, str_of(value), false, name.z, SOURCE_ENVIRONMENT);
        if (err != 0)
            return err;
    }
    return read_port(l);
}

/* --- flags ------------------------------------------------------------------- */

struct server_flag {
    const struct option *option; /* NULL at the end of the command line, and with help */
    struct str value;
    bool help;
    struct flag_spelling name;
};

static const struct option *find_flag(struct str flag)
{
    for (size_t i = 0; i < server_options.n; i++)
        if (str_eq(flag, str_of(as_flag(server_options.options[i].name).z)))
            return &server_options.options[i];
    return NULL;
}

static int unknown_flag(const struct loader *l, struct str flag)
{
    char key[MAX_OPTION_NAME];
    struct str rest = str_skip(flag, 2);
    struct suggestion suggestion = suggest_for(str_make(key, rest.n));

    for (size_t i = 0; i < rest.n && i < sizeof(key); i++)
        key[i] = rest.p[i] == '-' ? '_' : rest.p[i];
    if (rest.n <= sizeof(key)) {
        options_suggest(&server_options, STR(""), &suggestion);
        suggest_try(&suggestion, "config");
    }
    if (suggestion.nearest == NULL)
        return error_set(l->err, ERR_REFUSED, "there is no option %s", quote(flag).z);
    return error_set(l->err, ERR_REFUSED, "there is no option %s: did you mean %s?",
                     quote(flag).z, as_flag(suggestion.nearest).z);
}

/* --demo, --demo=false, --no-demo */
static int take_bool(const struct loader *l,
                     struct str flag,
                     bool has_value,
                     struct server_flag *f)
{
    bool negative = false;

    if (f->option == NULL && str_starts(flag, STR("--no-"))) {
        char positive[sizeof(f->name.z)];
        (void)snprintf(positive, sizeof(positive), "--%.*s", STR_ARG(str_skip(flag, 5)));
        f->option = find_flag(str_of(positive)); /* if truncated, it matches none */
        negative = true;
    }
    if (f->option == NULL || (negative && f->option->type != OPTION_BOOL))
        return unknown_flag(l, flag);
    f->name = as_flag(f->option->name);
    if (negative && has_value)
        return error_set(l->err, ERR_REFUSED, "%s takes no value", quote(flag).z);
    if (f->option->type == OPTION_BOOL && !has_value)
        f->value = negative ? STR("false") : STR("true");
    return 0;
}

/* Takes the flag at argv[*i], and goes behind it. */
static int next_flag(const struct loader *l,
                     int argc,
                     char **argv,
                     int *i,
                     struct server_flag *f)
{
    *f = (struct server_flag){ .option = NULL };
    if (*i >= argc)
        return 0;
    struct str arg = str_of(argv[(*i)++]);
    if (str_is(arg, "--help") || str_is(arg, "-h")) {
        f->help = true;
        return 0;
    }
    if (!str_starts(arg, STR("--")) || arg.n == 2)
        return error_set(l->err, ERR_REFUSED, "there is no place for '%s': options only",
                         quote(arg).z);
    struct str flag = str_head(arg, str_find(arg, '='));
    bool has_value = flag.n < arg.n;
    if (has_value)
        f->value = str_skip(arg, flag.n + 1);
    f->option = find_flag(flag);
    int err = take_bool(l, flag, has_value, f);
    if (err != 0 || !str_absent(f->value))
        return err;
    /* If the next word looks like a flag, the value was forgotten; after an = it may. */
    if (*i >= argc || str_starts(str_of(argv[*i]), STR("--")))
        return error_set(l->err, ERR_REFUSED, "%s needs a value", f->name.z);
    f->value = str_of(argv[(*i)++]);
    return 0;
}

int loader_find_file(struct loader *l, int argc, char **argv, const char **ret_file)
{
    const char *file = variable(l, PREFIX "CONFIG");
    struct server_flag f;

    if (file != NULL)
        loader_note(l, &server_options.options[0], SOURCE_ENVIRONMENT);
    for (int i = 1;;) {
        int err = next_flag(l, argc, argv, &i, &f);
        if (err != 0)
            return err;
        l->config->help = f.help;
        if (f.option == NULL)
            break;
        if (strcmp(f.option->name, "config") != 0)
            continue;
        file = f.value.p; /* the end of an argument, so it ends with a NUL */
        loader_note(l, f.option, SOURCE_FLAG);
    }
    *ret_file = file;
    return 0;
}

int loader_read_flags(struct loader *l, int argc, char **argv)
{
    bool given[SERVER_OPTIONS_MAX] = { false };
    struct server_flag f;

    for (int i = 1;;) {
        int err = next_flag(l, argc, argv, &i, &f);
        if (err != 0 || f.option == NULL)
            return err;
        bool *again = &given[f.option - server_options.options];
        if ((f.option->flags & OPTION_NO_FILE) == 0)
            err = set_value(l, f.option, f.value, *again, f.name.z, SOURCE_FLAG);
        if (err != 0)
            return err;
        *again = true;
    }
}
