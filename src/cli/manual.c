/* `spoolwire manual`: the parts of the manual page that are made of the tables.
 *
 * scripts/docs puts them into docs/spoolwire.1, and a test checks that they are up to date. */
#include "base/buf.h"
#include "base/text_format.h"
#include "cli/commands.h"
#include "cli/visit.h"
#include "config/text/roff.h"
#include "config/server.h"

#include <string.h>

enum { MAX_PAGE = 1024 * 1024 };

static void put_flag(struct buf *out, const struct flag *f)
{
    struct buf name LOCAL_BUF(200);
    struct buf help LOCAL_BUF(4096);

    text_format(&name, "--%s", f->name);
    roff_option(out, buf_text(&name), str_of(f->value));
    flag_put_help(f, &help);
    roff_text(out, buf_text(&help));
    buf_char(out, '\n');
}

/* Its own flags, or those that it shares with others. */
static void put_flags(struct buf *out, const struct command *c, bool own)
{
    const struct flag *f;

    for (size_t i = 0; (f = command_flag(c, i)) != NULL; i++)
        if ((f->id >= FLAG_OWN) == own)
            put_flag(out, f);
}

static void put_exits(struct buf *out, const struct command *c)
{
    struct str lines = str_of(c->exits);

    if (lines.n > 0)
        buf_lit(out, ".PP\nExit status:\n");
    while (lines.n > 0) {
        struct str line = str_head(lines, str_find(lines, '\n'));

        buf_str(out, lines.p == c->exits ? STR("") : STR(";\n"));
        roff_text(out, line);
        lines = str_skip(lines, line.n + 1);
    }
    if (c->exits != NULL)
        buf_lit(out, ".\n");
}

static void put_command(void *arg, const struct command *c, const char *path)
{
    struct buf *out = arg;

    if (c->parts != NULL && c->run == NULL)
        return; /* its parts are listed instead */
    text_format(out, ".SS spoolwire %s", path);
    if (c->arguments != NULL) {
        buf_char(out, ' ');
        roff_text(out, str_of(c->arguments));
    }
    buf_char(out, '\n');
    roff_lines(out, str_of(c->story));
    put_flags(out, c, true);
    put_exits(out, c);
}

static int run(const struct args *args)
{
    struct str part = args_word(args, 0);
    struct buf out LOCAL_BUF(MAX_PAGE);

    if (str_is(part, "commands"))
        visit_commands(put_command, &out);
    else if (str_is(part, "shared"))
        put_flags(&out, &command_verify, false); /* it has all of them */
    else if (str_is(part, "settings"))
        server_config_manual(&out);
    if (out.n == 0 && out.error == 0)
        return cli_usage_error(args->path, "it takes commands, shared or settings");
    return cli_write_buf(args->path, &out);
}

const struct command command_manual = {
    .name = "manual",
    .arguments = "commands|shared|settings",
    .about = "write parts of the manual page",
    .story = "Writes the parts of the manual page that are made of the program's own tables.",
    .takes = COMMAND_HIDDEN,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
