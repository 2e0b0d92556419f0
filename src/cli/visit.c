#include "cli/visit.h"

#include "base/buf.h"
#include "cli/commands.h"
#include "config/options/options.h"
#include "dialect/dialect.h"

#include <stdio.h>

void visit_commands(void (*each)(void *arg, const struct command *c, const char *path),
                    void *arg)
{
    char path[64];

    for (size_t i = 0; commands[i] != NULL; i++) {
        const struct command *c = commands[i];

        if ((c->takes & COMMAND_HIDDEN) != 0)
            continue;
        each(arg, c, c->name);
        for (size_t k = 0; c->parts != NULL && c->parts[k] != NULL; k++) {
            (void)snprintf(path, sizeof(path), "%s %s", c->name, c->parts[k]->name);
            each(arg, c->parts[k], path);
        }
    }
}

/* An option of the server, as a flag. */
static void take_option(const struct option *o, struct visit_flag *ret)
{
    bool on = o->type == OPTION_BOOL && strcmp(o->initial, "true") == 0;

    (void)snprintf(ret->name, sizeof(ret->name), "%s%s", on ? "no-" : "", o->name);
    for (char *c = ret->name; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
    ret->value = o->value[0] != '\0' ? o->value : NULL;
    ret->help = o->help;
    ret->words = o->type == OPTION_CHOICE ? str_of(o->value) : STR_NONE;
    ret->between = '|';
}

bool visit_flag(const struct command *c, size_t i, struct visit_flag *ret)
{
    const struct flag *f = command_flag(c, i);
    size_t n = 0;

    *ret = (struct visit_flag){ .between = ' ' };
    if (f != NULL) {
        (void)snprintf(ret->name, sizeof(ret->name), "%s", f->name);
        ret->value = f->value;
        ret->help = f->help;
        ret->words = str_of(f->words);
        return true;
    }
    while (command_flag(c, n) != NULL)
        n++;
    if ((c->takes & COMMAND_SETTINGS) == 0 || i - n >= server_options.n)
        return false;
    take_option(&server_options.options[i - n], ret);
    return true;
}

void visit_put_words(const struct visit_flag *f, struct buf *out)
{
    const struct dialect *d;

    for (size_t i = 0; i < f->words.n; i++)
        buf_char(out, f->words.p[i] == f->between ? ' ' : f->words.p[i]);
    if (f->value == NULL || strcmp(f->value, "DIALECT") != 0)
        return;
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
        if (i > 0)
            buf_char(out, ' ');
        buf_str(out, str_of(d->name));
    }
}
