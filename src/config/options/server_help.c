/* --help and the reference, made of the tables of options. */
#include "base/buf.h"
#include "base/text_format.h"
#include "base/json.h"
#include "config/text/columns.h"
#include "config/options/options.h"
#include "config/text/roff.h"
#include "config/server.h"

/* "--max-body", "--[no-]demo" */
static void put_flag(struct buf *out, const struct option *o)
{
    bool on = o->type == OPTION_BOOL && strcmp(o->initial, "true") == 0;

    buf_str(out, on ? STR("--[no-]") : STR("--"));
    for (const char *c = o->name; *c != '\0'; c++)
        buf_char(out, *c == '_' ? '-' : *c);
}

/* What it means, and its default. */
static void put_help(struct buf *out, const struct option *o)
{
    buf_str(out, str_of(o->help));
    if (o->initial != NULL && o->type != OPTION_BOOL) {
        text_format(out, " (%s)", o->initial);
    }
}

static void help_option(struct buf *out, const struct option *o)
{
    struct buf flag LOCAL_BUF(200);
    struct buf text LOCAL_BUF(1000);

    put_flag(&flag, o);
    if (o->value[0] != '\0') {
        text_format(&flag, " %s", o->value);
    }
    put_help(&text, o);
    columns_option(out, buf_text(&flag), buf_text(&text));
    if (out->error == 0)
        out->error = flag.error != 0 ? flag.error : text.error;
}

void server_config_help(struct buf *out)
{
    buf_lit(out,
            "Usage: spoolwire serve [OPTION…]\n"
            "\n"
            "Runs the gateway: queues jobs, gives them to agents, stores their events, and\n"
            "streams them to any number of readers.\n"
            "\n");
    for (size_t i = 0; i < server_options.n; i++)
        help_option(out, &server_options.options[i]);
    buf_lit(out, "  --help                  This text.\n"
                 "\n"
                 "SIZE is like 64K or 16M; TIME like 500ms, 10s, 2m or 24h; LIST has commas.\n"
                 "A value @FILE is read from that file.\n"
                 "\n"
                 "Every option may also be a variable (--max-body: SPOOLWIRE_MAX_BODY; PORT\n"
                 "sets the port alone) or stand in the YAML file (max_body: 1M), where the\n"
                 "agents are.  Flags win over variables, and those over the file.  ${NAME} in\n"
                 "the file is the variable's value.\n"
                 "\n"
                 "SIGTERM and SIGINT end it within --shutdown-window, a second one at once;\n"
                 "SIGHUP reads the settings again, and says in the log what needs a restart.\n"
                 "\n"
                 "Exit status:\n"
                 "  0   it was stopped\n"
                 "  2   usage, or the settings\n"
                 "  3   an error of the database, the address, a file or memory\n");
}

void server_config_manual(struct buf *out)
{
    struct buf flag LOCAL_BUF(200);
    struct buf text LOCAL_BUF(1000);

    for (size_t i = 0; i < server_options.n; i++) {
        const struct option *o = &server_options.options[i];

        buf_clear(&flag);
        buf_clear(&text);
        put_flag(&flag, o);
        put_help(&text, o);
        roff_option(out, buf_text(&flag), o->value[0] != '\0' ? str_of(o->value) : STR_NONE);
        roff_text(out, buf_text(&text));
        buf_char(out, '\n');
    }
    if (out->error == 0)
        out->error = flag.error != 0 ? flag.error : text.error;
}

/* --- the reference ----------------------------------------------------------- */

/* In a table a | ends the cell. */
static void cell(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '|')
            buf_char(out, '\\');
        buf_char(out, text.p[i]);
    }
    buf_lit(out, " | ");
}

static void reference_line(struct buf *out, const struct option *o)
{
    bool has_default = o->initial != NULL && o->initial[0] != '\0';

    text_format(out, "| `%s` | ", o->name);
    option_describe(o, out);
    buf_lit(out, " | ");
    if (has_default) {
        text_format(out, "`%s` | ", o->initial);
    } else {
        buf_lit(out, "none | ");
    }
    buf_str(out, (o->flags & OPTION_RELOADS) != 0 ? STR("yes | ") : STR(" | "));
    cell(out, str_of(o->help));
    buf_cut(out, out->n > 0 ? out->n - 1 : 0); /* no space at the line's end */
    buf_char(out, '\n');
}

static void reference(struct buf *out, const struct option_table *table)
{
    buf_lit(out, "| option | value | default | reloads | meaning |\n"
                 "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < table->n; i++)
        reference_line(out, &table->options[i]);
}

void server_config_reference(struct buf *out)
{
    reference(out, &server_options);
}

void server_config_agent_reference(struct buf *out)
{
    reference(out, &agent_options);
}

/* --- the same for programs ---------------------------------------------------- */

static void json_option(struct buf *out, const struct option *o, const char *of)
{
    static const char *const types[] = {
        [OPTION_TEXT] = "text",     [OPTION_STR] = "text",         [OPTION_LISTEN] = "address",
        [OPTION_SIZE] = "size",     [OPTION_COUNT] = "number",     [OPTION_NUMBER] = "number",
        [OPTION_MS] = "duration",   [OPTION_SECONDS] = "duration", [OPTION_BOOL] = "bool",
        [OPTION_CHOICE] = "choice", [OPTION_NAMES] = "list",       [OPTION_WORDS] = "list",
        [OPTION_PAIRS] = "pairs",
    };

    json_begin(out);
    json_add_str(out, "of", str_of(of));
    json_add_str(out, "name", str_of(o->name));
    json_add_str(out, "type", str_of(types[o->type]));
    json_add_text(out, "default", str_of(o->initial));
    json_add_int(out, "min", o->min);
    json_add_int(out, "max", o->max);
    json_add_text(out, "choices", o->type == OPTION_CHOICE ? str_of(o->value) : STR_NONE);
    json_add_bool(out, "in_file", (o->flags & OPTION_NO_FILE) == 0);
    json_add_bool(out, "reloads", (o->flags & OPTION_RELOADS) != 0);
    json_add_bool(out, "secret", (o->flags & OPTION_SECRET) != 0);
    json_add_bool(out, "personal", (o->flags & OPTION_PERSONAL) != 0);
    json_add_str(out, "meaning", str_of(o->help));
    json_end(out);
    buf_char(out, '\n');
}

void server_config_reference_json(struct buf *out)
{
    for (size_t i = 0; i < server_options.n; i++)
        json_option(out, &server_options.options[i], "server");
    for (size_t i = 0; i < agent_options.n; i++)
        json_option(out, &agent_options.options[i], "agent");
}
