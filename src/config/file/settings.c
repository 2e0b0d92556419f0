#include "config/file/settings.h"

#include "base/buf.h"
#include "base/text_format.h"
#include "base/error.h"
#include "base/json.h"
#include "config/file/names.h"
#include "config/options/suggest.h"
#include "config/file/walk.h"

#include <stdint.h>

enum { MAX_REFERENCE_CELL = 4096 };

enum setting_type {
    SETTING_NODES, /* a list of names, or {all_but: list} */
    SETTING_NAMES, /* a list of names */
    SETTING_COUNT, /* a whole number */
};

struct setting {
    const char *name;
    enum setting_type type;
    size_t member; /* offset in struct agent: of a name_set, or of a size_t */
    size_t min;    /* of the number */
    size_t max;    /* of the number, or of how many names */
    const char *help;
};

#define AT(name) offsetof(struct agent, name)

/* clang-format off: a table */
static const struct setting table[] = {
    { "worker_nodes", SETTING_NODES, AT(card_nodes), 0, NAMES_MAX,
      "Nodes with a card: the `agent.*` events." },
    { "all_nodes", SETTING_NODES, AT(counted_nodes), 0, NAMES_MAX,
      "Nodes that give `graph.node_complete`." },
    { "output_nodes", SETTING_NODES, AT(output_nodes), 0, NAMES_MAX,
      "Nodes whose tokens are the answer: the `output.*` events." },
    { "sections", SETTING_NAMES, AT(sections), 0, NAMES_MAX,
      "The sections that an answer may have." },
    { "state_keys", SETTING_NAMES, AT(state_keys), 0, NAMES_MAX,
      "Members that the input of a node's execution must have, all of them, to be taken for "
      "one; an empty list: no such test." },
    { "search_tools", SETTING_NAMES, AT(search_tools), 0, NAMES_MAX,
      "A tool whose name contains one of these, in upper or lower case, finds sources." },
    { "todo_tools", SETTING_NAMES, AT(todo_tools), 0, NAMES_MAX,
      "Tools that write the list of things to do." },
    { "file_tools", SETTING_NAMES, AT(file_tools), 0, NAMES_MAX, "Tools that write a file." },
    { "report_keys", SETTING_NAMES, AT(report_keys), 0, NAMES_MAX,
      "Members of the final state that may hold the report, best first." },
    { "input_preview", SETTING_COUNT, AT(input_preview), 1, 10000,
      "Code points shown of a tool's input." },
    { "result_preview", SETTING_COUNT, AT(result_preview), 1, 10000,
      "Code points shown of a tool's result." },
    { "output_chars", SETTING_COUNT, AT(output_chars), 1, 1000000,
      "A model's answer of at least this many characters is an output artifact." },
};
/* clang-format on */

_Static_assert(sizeof(table) / sizeof(table[0]) == SETTINGS_MAX, "as many as there are");

/* --- drafts ------------------------------------------------------------------ */

static void *member_of(struct agent *agent, const struct setting *setting)
{
    return (char *)agent + setting->member;
}

void settings_clear(struct settings *s)
{
    for (size_t i = 0; i < SETTINGS_MAX; i++)
        if (table[i].type != SETTING_COUNT)
            /* Emptying cannot fail. */
            (void)name_set_assign(member_of(&s->values, &table[i]), NULL, 0, false);
    *s = (struct settings){ 0 };
}

void settings_move(struct settings *s, struct agent *agent)
{
    for (size_t i = 0; i < SETTINGS_MAX; i++) {
        void *from = member_of(&s->values, &table[i]);
        void *to = member_of(agent, &table[i]);
        if (s->line[i] == 0)
            continue;
        if (table[i].type == SETTING_COUNT) {
            memcpy(to, from, sizeof(size_t));
        } else {
            struct name_set old = *(struct name_set *)to;
            memcpy(to, from, sizeof(old));
            memcpy(from, &old, sizeof(old));
        }
    }
}

int settings_copy(const struct settings *s, struct agent *agent)
{
    for (size_t i = 0; i < SETTINGS_MAX; i++) {
        const void *from = (const char *)&s->values + table[i].member;
        const struct name_set *set = from;
        void *to = member_of(agent, &table[i]);
        int err = 0;
        if (s->line[i] == 0)
            continue;
        if (table[i].type == SETTING_COUNT)
            memcpy(to, from, sizeof(size_t));
        else
            err = name_set_assign(to, set->names, set->n, set->all_but);
        if (err != 0)
            return err;
    }
    return 0;
}

/* --- reading ----------------------------------------------------------------- */

size_t settings_find(struct str name)
{
    size_t i = 0;

    while (i < SETTINGS_MAX && !str_eq(str_of(table[i].name), name))
        i++;
    return i;
}

void settings_suggest(struct suggestion *suggestion)
{
    for (size_t i = 0; i < SETTINGS_MAX; i++)
        suggest_try(suggestion, table[i].name);
}

static int wrong_type(struct walk *w, const struct setting *setting)
{
    static const char *const expected[] = {
        [SETTING_NODES] = "a list of names, or {all_but: [names]}",
        [SETTING_NAMES] = "a list of names",
        [SETTING_COUNT] = "a whole number",
    };

    return walk_fail(w, ERR_TYPE, "'%s' at line %zu must be %s", setting->name, walk_line(w),
                     expected[setting->type]);
}

static int gather(struct walk *w, const struct setting *setting, struct names *list)
{
    for (;;) {
        int err = walk_next(w);
        if (err != 0 || walk_at(w, YAML_SEQUENCE_END_EVENT))
            return err;
        err = names_add(list, w, setting->max, "names in a list");
        if (err != 0)
            return err;
    }
}

static int read_names(struct walk *w,
                      const struct setting *setting,
                      bool all_but,
                      struct name_set *set)
{
    struct str names[NAMES_MAX];
    struct names list;

    if (!walk_at(w, YAML_SEQUENCE_START_EVENT))
        return wrong_type(w, setting);
    names_init(&list);
    int err = gather(w, setting, &list);
    for (size_t i = 0; i < list.n; i++)
        names[i] = names_at(&list, i);
    if (err == 0 && name_set_assign(set, names, list.n, all_but) != 0)
        err = walk_no_memory(w);
    names_done(&list);
    return err;
}

static int read_nodes(struct walk *w, const struct setting *setting, struct name_set *set)
{
    struct str key;
    bool given = false;

    if (!walk_at(w, YAML_MAPPING_START_EVENT))
        return read_names(w, setting, false, set);
    for (;;) {
        int err = walk_next_key(w, &key);
        if (err != 0)
            return err;
        if (str_absent(key))
            return given ? 0 : wrong_type(w, setting);
        if (!str_is(key, "all_but")) {
            struct suggestion suggestion = suggest_for(key);
            suggest_try(&suggestion, "all_but");
            return walk_unknown(w, "key", suggestion.nearest);
        }
        if (given)
            return walk_fail(w, ERR_REFUSED, "'all_but' at line %zu is there twice",
                             walk_line(w));
        given = true;
        err = walk_next(w);
        if (err == 0)
            err = read_names(w, setting, true, set);
        if (err != 0)
            return err;
    }
}

/* Decimal digits and nothing else: YAML's other ways (0x, 0o, 1_000, 010) mean different
 * things to different readers. */
static bool parse_count(struct str s, size_t *ret)
{
    size_t value = 0;

    if (str_empty(s) || (s.n > 1 && s.p[0] == '0'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        size_t digit = (size_t)(s.p[i] - '0');
        value = value > (SIZE_MAX - digit) / 10 ? SIZE_MAX : value * 10 + digit;
    }
    *ret = value;
    return true;
}

static int read_count(struct walk *w, const struct setting *setting, size_t *ret)
{
    size_t value;

    if (!walk_is_plain(w) || !parse_count(walk_scalar(w), &value))
        return wrong_type(w, setting);
    if (value < setting->min || value > setting->max)
        return walk_fail(w, ERR_REFUSED, "'%s' at line %zu must be from %zu to %zu",
                         setting->name, walk_line(w), setting->min, setting->max);
    *ret = value;
    return 0;
}

static int read_value(struct walk *w, const struct setting *setting, void *member)
{
    switch (setting->type) {
    case SETTING_NODES:
        return read_nodes(w, setting, member);
    case SETTING_NAMES:
        return read_names(w, setting, false, member);
    case SETTING_COUNT:
        return read_count(w, setting, member);
    }
    return ERR_TYPE; /* not reached: the table has no other type */
}

int settings_read(struct settings *s, size_t i, struct walk *w)
{
    if (s->line[i] != 0)
        return walk_fail(w, ERR_REFUSED, "'%s' at line %zu was already set at line %zu",
                         table[i].name, walk_line(w), s->line[i]);
    s->line[i] = walk_line(w);
    int err = walk_next(w);
    return err != 0 ? err : read_value(w, &table[i], member_of(&s->values, &table[i]));
}

/* --- the reference ----------------------------------------------------------- */

/* @quoted: as JSON has it, which is YAML too. */
static void print_names(struct buf *out, const struct name_set *set, bool quoted)
{
    if (set->all_but)
        buf_str(out, quoted ? STR("{\"all_but\": ") : STR("{all_but: "));
    buf_char(out, '[');
    for (size_t i = 0; i < set->n; i++) {
        if (i > 0)
            buf_lit(out, ", ");
        if (quoted)
            json_put_str(out, set->names[i]);
        else
            buf_str(out, set->names[i]);
    }
    buf_char(out, ']');
    if (set->all_but)
        buf_char(out, '}');
}

static void print_member(struct buf *out,
                         const struct setting *setting,
                         const struct agent *agent,
                         bool quoted)
{
    const void *member = (const char *)agent + setting->member;

    if (setting->type == SETTING_COUNT)
        buf_u64(out, *(const size_t *)member);
    else
        print_names(out, member, quoted);
}

const char *settings_name(size_t i)
{
    return table[i].name;
}

void settings_print(size_t i, const struct agent *agent, struct buf *out)
{
    print_member(out, &table[i], agent, true);
}

static void print_default(struct buf *out, const struct setting *setting, struct agent *agent)
{
    buf_char(out, '`');
    print_member(out, setting, agent, false);
    buf_char(out, '`');
}

static void print_value(struct buf *out, const struct setting *setting)
{
    if (setting->type == SETTING_COUNT) {
        text_format(out, "%d to %d", setting->min, setting->max);
        return;
    }
    buf_lit(out, "list of names");
    if (setting->type == SETTING_NODES)
        buf_lit(out, ", or `all_but`");
}

/* Prints the default, and that of the agents `triage` and `demo` if it is another one. */
static void print_defaults(struct buf *out,
                           const struct setting *setting,
                           struct agent *any,
                           struct agent *triage)
{
    size_t begin = out->n;
    struct buf special LOCAL_BUF(MAX_REFERENCE_CELL);

    print_default(out, setting, any);
    print_default(&special, setting, triage);
    if (special.error != 0 && out->error == 0)
        out->error = special.error;
    if (!str_eq(buf_since(out, begin), buf_text(&special))) {
        text_format(out, "; for `triage` and `demo` %s", buf_text(&special));
    }
}

void settings_reference(struct buf *out)
{
    struct agent *any = NULL;
    struct agent *triage = NULL;

    if (agent_new(STR("any"), &any) != 0 || agent_new(STR("triage"), &triage) != 0) {
        out->error = ERR_NOMEM;
        goto done;
    }
    buf_lit(out, "| setting | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < SETTINGS_MAX; i++) {
        text_format(out, "| `%s` | ", table[i].name);
        print_value(out, &table[i]);
        buf_lit(out, " | ");
        print_defaults(out, &table[i], any, triage);
        text_format(out, " | %s |\n", table[i].help);
    }

done:
    agent_free(triage);
    agent_free(any);
}
