/* `spoolwire completion`: a script for the shell, made of the tables of commands and flags.
 *
 * The script has all fixed words; only jobs and agents are asked of the server, when the user
 * presses the key. */
#include "cli/commands.h"
#include "cli/visit.h"

#include "base/buf.h"
#include "base/text_format.h"

#include <stdio.h>

enum { MAX_SCRIPT = 1024 * 1024 };

/* The first word of what a command takes: "JOB…" is JOB. */
static struct str argument_of(const struct command *c)
{
    struct str s = str_of(c->arguments);
    size_t n = 0;

    if (str_starts(s, STR("[")))
        s = str_skip(s, 1);
    while (n < s.n && s.p[n] >= 'A' && s.p[n] <= 'Z')
        n++;
    return str_head(s, n);
}

/* "bash|zsh|fish" with blanks between; nothing for any other argument. */
static void put_choices(const struct command *c, struct buf *out)
{
    const char *text = c->arguments;

    if (text == NULL || strchr(text, '|') == NULL || argument_of(c).n > 0)
        return;
    for (; *text != '\0'; text++)
        if (*text != '[' && *text != ']')
            buf_char(out, *text == '|' ? ' ' : *text);
}

/* Where the words for JOB, AGENT and FILE come from, in each shell. */
struct source {
    const char *kind;
    const char *bash, *zsh, *fish;
};

static const struct source sources[] = {
    { "JOB", "$(spoolwire jobs --ids 2>/dev/null)", "($(spoolwire jobs --ids 2>/dev/null))",
      "(spoolwire jobs --ids 2>/dev/null)" },
    { "AGENT", "$(spoolwire agents --names 2>/dev/null)",
      "($(spoolwire agents --names 2>/dev/null))", "(spoolwire agents --names 2>/dev/null)" },
    { NULL, NULL, NULL, NULL },
};

static const struct source *source_of(struct str kind)
{
    for (const struct source *s = sources; s->kind != NULL; s++)
        if (str_eq(kind, str_of(s->kind)))
            return s;
    return NULL;
}

static void put(struct buf *out, const char *text)
{
    buf_str(out, str_of(text));
}

/* Appends @text for single quotes, without characters that a shell's description field cannot
 * have. */
static void put_quoted(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            buf_lit(out, "'\\''");
        else if (*text != '`' && strchr("[]:\\", *text) == NULL)
            buf_char(out, *text);
    }
}

/* --- bash -----------------------------------------------------------------------------------
 */

static void bash_value(struct buf *out, const char *path, const struct visit_flag *f)
{
    const struct source *from = source_of(str_of(f->value));
    struct buf words LOCAL_BUF(4096);

    visit_put_words(f, &words);
    if (from != NULL)
        put(&words, from->bash);
    text_format(out, "    '%s --%s') ", path, f->name);
    if (strcmp(f->value, "FILE") == 0) {
        put(out, "COMPREPLY=($(compgen -f -- \"$cur\")); ");
    } else if (words.n > 0) {
        text_format(out, "COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); ", buf_text(&words));
    }
    put(out, "return ;;\n");
}

static void bash_values(void *arg, const struct command *c, const char *path)
{
    struct visit_flag f;

    for (size_t i = 0; visit_flag(c, i, &f); i++)
        if (f.value != NULL)
            bash_value(arg, path, &f);
}

static void bash_words(void *arg, const struct command *c, const char *path)
{
    const struct source *from = source_of(argument_of(c));
    struct buf *out = arg;
    struct visit_flag f;

    text_format(out, "    '%s') flags='", path);
    for (size_t i = 0; visit_flag(c, i, &f); i++) {
        put(out, i > 0 ? " --" : "--");
        put(out, f.name);
    }
    put(out, "' words=\"");
    for (size_t i = 0; c->parts != NULL && c->parts[i] != NULL; i++) {
        put(out, i > 0 ? " " : "");
        put(out, c->parts[i]->name);
    }
    put(out, from != NULL ? from->bash : "");
    put_choices(c, out);
    put(out, str_is(argument_of(c), "FILE") ? "\" files=1 ;;\n" : "\" ;;\n");
}

static void bash_path(void *arg, const struct command *c, const char *path)
{
    (void)c;
    text_format(arg, "        '%s') path=$next ;;\n", path);
}

static void bash_first(void *arg, const struct command *c, const char *path)
{
    if (strchr(path, ' ') == NULL) {
        text_format(arg, "%s ", c->name);
    }
}

static void bash_script(struct buf *out)
{
    put(out, "# bash completion for spoolwire: eval \"$(spoolwire completion bash)\"\n"
             "_spoolwire()\n"
             "{\n"
             "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
             "    local path= next flags='--help --version' words='");
    visit_commands(bash_first, out);
    put(out, "' files= i\n"
             "    # --flag=value comes as three words\n"
             "    if [ \"$cur\" = = ]; then\n"
             "        cur=\n"
             "    elif [ \"$prev\" = = ]; then\n"
             "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
             "    fi\n"
             "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
             "        next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
             "        case $next in\n");
    visit_commands(bash_path, out);
    put(out, "        esac\n"
             "    done\n"
             "    case \"$path $prev\" in\n");
    visit_commands(bash_values, out);
    put(out, "    esac\n"
             "    case $path in\n");
    visit_commands(bash_words, out);
    put(out, "    esac\n"
             "    if [[ $cur == -* ]]; then\n"
             "        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
             "    else\n"
             "        COMPREPLY=($(compgen ${files:+-f} -W \"$words\" -- \"$cur\"))\n"
             "    fi\n"
             "}\n"
             "complete -F _spoolwire spoolwire\n");
}

/* --- zsh ------------------------------------------------------------------------------------
 */

static void zsh_action(struct buf *out, struct str kind, const struct visit_flag *f)
{
    const struct source *from = source_of(kind);

    if (from != NULL) {
        put(out, from->zsh);
    } else if (str_is(kind, "FILE")) {
        put(out, "_files");
    } else if (f != NULL) {
        size_t before = out->n;

        put(out, "(");
        visit_put_words(f, out);
        if (out->n == before + 1)
            buf_cut(out, before); /* anything */
        else
            put(out, ")");
    }
}

static void zsh_flags(struct buf *out, const struct command *c)
{
    struct visit_flag f;

    for (size_t i = 0; visit_flag(c, i, &f); i++) {
        text_format(out, " \\\n            '--%s%s", f.name, f.value != NULL ? "=[" : "[");
        put_quoted(out, f.help);
        put(out, "]");
        if (f.value != NULL) {
            put(out, ":");
            put_quoted(out, f.value);
            put(out, ":");
            zsh_action(out, str_of(f.value), &f);
        }
        put(out, "'");
    }
}

static void zsh_parts(struct buf *out, const struct command *c)
{
    put(out, " \\\n            '1:command:((");
    for (size_t i = 0; c->parts[i] != NULL; i++) {
        text_format(out, "%s%s\\:\"", i > 0 ? " " : "", c->parts[i]->name);
        put_quoted(out, c->parts[i]->about);
        put(out, "\"");
    }
    put(out, "))' '*::: :_spoolwire_parts'");
}

static void zsh_case(struct buf *out, const struct command *c, const char *name)
{
    struct str argument = argument_of(c);

    text_format(out, "        %s)\n            _arguments", name);
    zsh_flags(out, c);
    if (c->parts != NULL)
        zsh_parts(out, c);
    if (argument.n > 0) {
        text_format(out, " \\\n            '*:%s:", argument);
        zsh_action(out, argument, NULL);
        put(out, "'");
    }
    if (c->arguments != NULL && argument.n == 0) {
        put(out, " \\\n            '1:which:(");
        put_choices(c, out);
        put(out, ")'");
    }
    put(out, " ;;\n");
}

static void zsh_top(void *arg, const struct command *c, const char *path)
{
    if (strchr(path, ' ') == NULL)
        zsh_case(arg, c, path);
}

static void zsh_below(void *arg, const struct command *c, const char *path)
{
    char name[80];

    if (strchr(path, ' ') == NULL)
        return;
    (void)snprintf(name, sizeof(name), "'%s'", path);
    zsh_case(arg, c, name);
}

static void zsh_about(void *arg, const struct command *c, const char *path)
{
    if (strchr(path, ' ') != NULL)
        return;
    text_format(arg, "        '%s:", c->name);
    put_quoted(arg, c->about);
    put(arg, "'\n");
}

static void zsh_script(struct buf *out)
{
    put(out,
        "#compdef spoolwire\n"
        "# zsh completion for spoolwire: spoolwire completion zsh >\"${fpath[1]}/_spoolwire\"\n"
        "_spoolwire_parts()\n"
        "{\n"
        "    case \"$_spoolwire_command $words[1]\" in\n");
    visit_commands(zsh_below, out);
    put(out, "    esac\n"
             "}\n"
             "_spoolwire()\n"
             "{\n"
             "    local context state state_descr line _spoolwire_command\n"
             "    typeset -A opt_args\n"
             "    local -a commands=(\n");
    visit_commands(zsh_about, out);
    put(out, "    )\n"
             "    _arguments -C '(- *)--help[help]' '(- *)--version[the version]' \\\n"
             "        '1:command:->command' '*:: :->rest'\n"
             "    case $state in\n"
             "    command) _describe command commands ;;\n"
             "    rest)\n"
             "        _spoolwire_command=$words[1]\n"
             "        case $words[1] in\n");
    visit_commands(zsh_top, out);
    put(out, "        esac ;;\n"
             "    esac\n"
             "}\n"
             "if [ \"$funcstack[1]\" = _spoolwire ]; then\n"
             "    _spoolwire \"$@\"\n"
             "else\n"
             "    compdef _spoolwire spoolwire\n"
             "fi\n");
}

/* --- fish -----------------------------------------------------------------------------------
 */

/* A line that holds where the words so far begin with @path. */
static void fish_at(struct buf *out, const char *path)
{
    text_format(out, "complete -c spoolwire -n '__spoolwire_at %s'", path);
}

static void fish_about(struct buf *out, const char *text)
{
    put(out, " -d '");
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            buf_char(out, '\\');
        if (*text != '`')
            buf_char(out, *text);
    }
    put(out, "'\n");
}

static void fish_flag(struct buf *out, const char *path, const struct visit_flag *f)
{
    const struct source *from = source_of(str_of(f->value));
    struct buf words LOCAL_BUF(4096);

    visit_put_words(f, &words);
    fish_at(out, path);
    text_format(out, " -l %s", f->name);
    if (f->value != NULL)
        put(out, strcmp(f->value, "FILE") == 0 ? " -r -F" : " -x");
    if (from != NULL || words.n > 0) {
        text_format(out, " -a '%s'", from != NULL ? str_of(from->fish) : buf_text(&words));
    }
    fish_about(out, f->help);
}

static void fish_argument(struct buf *out, const char *path, const struct command *c)
{
    const struct source *from = source_of(argument_of(c));
    bool file = str_is(argument_of(c), "FILE");
    struct buf words LOCAL_BUF(4096);

    put_choices(c, &words);
    if (from != NULL)
        put(&words, from->fish);
    if (file || words.n > 0) {
        fish_at(out, path);
        text_format(out, "%s%s%s", file ? " -F" : " -a '", buf_text(&words),
                    file ? "\n" : "'\n");
    }
}

static void fish_command(void *arg, const struct command *c, const char *path)
{
    const char *blank = strchr(path, ' ');
    struct buf *out = arg;
    struct visit_flag f;

    text_format(out, "complete -c spoolwire -n '__spoolwire_after %s' -a %s",
                blank != NULL ? str_make(path, (size_t)(blank - path)) : STR(""), c->name);
    fish_about(out, c->about);
    for (size_t i = 0; visit_flag(c, i, &f); i++)
        fish_flag(out, path, &f);
    fish_argument(out, path, c);
}

static void fish_script(struct buf *out)
{
    put(out,
        "# fish completion for spoolwire: spoolwire completion fish | source\n"
        "function __spoolwire_at\n"
        "    set -l words (commandline -opc)\n"
        "    set -e words[1]\n"
        "    set -l n (count $argv)\n"
        "    test (count $words) -ge $n; or return 1\n"
        "    test $n -eq 0; or test \"$words[1..$n]\" = \"$argv\"\n"
        "end\n"
        "function __spoolwire_after\n"
        "    __spoolwire_at $argv; and test (count (commandline -opc)) -eq (math 1 + (count $argv))\n"
        "end\n"
        "complete -c spoolwire -f\n");
    visit_commands(fish_command, out);
}

/* --- the command ----------------------------------------------------------------------------
 */

static const struct shell {
    const char *name;
    void (*script)(struct buf *out);
} shells[] = { { "bash", bash_script }, { "zsh", zsh_script }, { "fish", fish_script } };

static int run(const struct args *args)
{
    struct buf out LOCAL_BUF(MAX_SCRIPT);

    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (str_eq(args_word(args, 0), str_of(shells[i].name)))
            shells[i].script(&out);
    if (out.n == 0 && out.error == 0)
        return cli_usage_error(args->path, "it takes bash, zsh or fish");
    return cli_write_buf(args->path, &out);
}

const struct command command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .about = "write a script that completes commands in the shell",
    .story = "Writes what the shell needs to complete commands, options, jobs and agents:\n"
             "\n"
             "  bash   eval \"$(spoolwire completion bash)\", in ~/.bashrc\n"
             "  zsh    spoolwire completion zsh >\"${fpath[1]}/_spoolwire\"\n"
             "  fish   spoolwire completion fish >~/.config/fish/completions/spoolwire.fish",
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
