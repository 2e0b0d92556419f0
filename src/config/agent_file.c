/* Reads agents.yaml: one option table, and a reader that walks libyaml's events.
 *
 * The file has a fixed shape, and there is one function per level of it:
 *
 *      agents:                       read_document
 *        triage:                     read_agents
 *          worker_nodes:             read_settings
 *            all_but: [supervisor]   read_nodes, read_names
 *
 * Each is called with the first event of its node as the current one, and returns with
 * the last.  Nothing is skipped: what has no place in the shape ends the reading where it
 * begins, so neither nesting nor length can cost more than what the shape allows, however
 * deep or long the file is.  Anchors, aliases and tags are refused wherever they stand.
 *
 * Values are gathered in drafts (one for "*", one for the agent itself, one to check what
 * is said about others), and the agent is touched only when the whole file was good; from
 * there on nothing can fail. */
#include "config/agent_file.h"

#include "base/buf.h"
#include "base/error.h"
#include "ingest/agent.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <yaml.h>

enum {
    MAX_NAMES = 256, /* in a list; also agents in a file */
    MAX_NAME_BYTES = 200,
    MAX_QUOTED = 40, /* bytes of the file's text in an error's text */
    MAX_FILE_NAME = 80,
    MAX_KEY = 32,    /* longer ones are like none of ours */
    MAX_CHANGES = 3, /* between a misspelt key and what we take it for */
    MAX_REFERENCE_CELL = 4096
};

enum option_type {
    OPTION_NODES, /* a list of names, or {all_but: list} */
    OPTION_NAMES, /* a list of names */
    OPTION_COUNT, /* a whole number */
};

struct option {
    const char *name;
    enum option_type type;
    size_t member; /* offset in struct agent: of a name_set, or of a size_t */
    size_t min;    /* of the number */
    size_t max;    /* of the number, or of how many names */
    const char *help;
};

#define AT(name) offsetof(struct agent, name)

/* clang-format off: a table */
static const struct option options[] = {
    { "worker_nodes", OPTION_NODES, AT(card_nodes), 0, MAX_NAMES,
      "Nodes with a card: the `agent.*` events." },
    { "all_nodes", OPTION_NODES, AT(counted_nodes), 0, MAX_NAMES,
      "Nodes that give `graph.node_complete`." },
    { "output_nodes", OPTION_NODES, AT(output_nodes), 0, MAX_NAMES,
      "Nodes whose tokens are the answer: the `output.*` events." },
    { "sections", OPTION_NAMES, AT(sections), 0, MAX_NAMES,
      "The sections that an answer may have." },
    { "state_keys", OPTION_NAMES, AT(state_keys), 0, MAX_NAMES,
      "Members that the input of a node's execution must have, all of them, to be taken for "
      "one; an empty list: no such test." },
    { "search_tools", OPTION_NAMES, AT(search_tools), 0, MAX_NAMES,
      "A tool whose name contains one of these, in upper or lower case, finds sources." },
    { "todo_tools", OPTION_NAMES, AT(todo_tools), 0, MAX_NAMES,
      "Tools that write the list of things to do." },
    { "file_tools", OPTION_NAMES, AT(file_tools), 0, MAX_NAMES, "Tools that write a file." },
    { "report_keys", OPTION_NAMES, AT(report_keys), 0, MAX_NAMES,
      "Members of the final state that may hold the report, best first." },
    { "input_preview", OPTION_COUNT, AT(input_preview), 1, 10000,
      "Code points shown of a tool's input." },
    { "result_preview", OPTION_COUNT, AT(result_preview), 1, 10000,
      "Code points shown of a tool's result." },
    { "output_chars", OPTION_COUNT, AT(output_chars), 1, 1000000,
      "A model's answer of at least this many characters is an output artifact." },
};
/* clang-format on */

enum { N_OPTIONS = sizeof(options) / sizeof(options[0]) };

/* Names, gathered one by one: the bytes of all, and where each ends. */
struct names {
    struct buf bytes;
    size_t ends[MAX_NAMES];
    size_t n;
};

struct draft {
    struct agent values;    /* only the members of options, and of those only what was given */
    size_t line[N_OPTIONS]; /* where it was given; 0: it was not */
};

struct reader {
    yaml_parser_t parser;
    yaml_event_t event;  /* the current one; owned */
    struct names list;   /* the list that is being read */
    struct names agents; /* seen so far */
    struct draft every;  /* agents."*" */
    struct draft own;    /* agents.<name> */
    struct draft other;  /* any other agent's, for the check */
    struct str text;     /* borrowed, like the next three */
    const char *file_name;
    const struct agent *agent;
    struct error *err;
};

static struct str name_at(const struct names *names, size_t i)
{
    size_t begin = i > 0 ? names->ends[i - 1] : 0;

    return str_make(buf_text(&names->bytes).p + begin, names->ends[i] - begin);
}

static bool names_have(const struct names *names, struct str name)
{
    for (size_t i = 0; i < names->n; i++)
        if (str_eq(name_at(names, i), name))
            return true;
    return false;
}

static void *member_of(struct agent *agent, const struct option *option)
{
    return (char *)agent + option->member;
}

static void draft_clear(struct draft *draft)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (options[i].type != OPTION_COUNT)
            /* Emptying cannot fail. */
            (void)name_set_assign(member_of(&draft->values, &options[i]), NULL, 0, false);
    *draft = (struct draft){ 0 };
}

/* Hands over what was given; what it replaces is left in the draft. */
static void draft_commit(struct draft *draft, struct agent *agent)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        void *from = member_of(&draft->values, &options[i]);
        void *to = member_of(agent, &options[i]);
        if (draft->line[i] == 0)
            continue;
        if (options[i].type == OPTION_COUNT) {
            memcpy(to, from, sizeof(size_t));
        } else {
            struct name_set old = *(struct name_set *)to;
            memcpy(to, from, sizeof(old));
            memcpy(from, &old, sizeof(old));
        }
    }
}

/* A piece of the file for an error's text: short, and nothing that a terminal obeys. */
struct quoted {
    char z[MAX_QUOTED + 4];
};

static struct quoted quote(struct str s)
{
    struct quoted q;
    size_t n = s.n;

    if (n > MAX_QUOTED) {
        n = MAX_QUOTED;
        while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80)
            n--; /* not inside a code point */
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        /* C1 controls are C2 80 .. C2 9F. */
        bool c1 = c >= 0x80 && c < 0xA0 && i > 0 && (unsigned char)s.p[i - 1] == 0xC2;
        q.z[i] = c < 0x20 || c == 0x7F || c1 ? '?' : s.p[i];
        if (c1)
            q.z[i - 1] = '?';
    }
    memcpy(q.z + n, "...", 4);
    if (n == s.n)
        q.z[n] = '\0';
    return q;
}

static size_t line_of(const struct reader *r)
{
    return r->event.start_mark.line + 1;
}

/* Fills the error: the file's name, then what @format says. */
static int fail(struct reader *r, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct reader *r, int code, const char *format, ...)
{
    char text[sizeof(((struct error *)0)->text)];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* cutting is fine */
    va_end(args);
    return error_set(r->err, code, "%s: %s", r->file_name, text);
}

static int no_memory(struct reader *r)
{
    return fail(r, ERR_NOMEM, "out of memory");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with swaps of neighbours; both at most MAX_KEY bytes. */
static size_t distance(struct str a, struct str b)
{
    size_t rows[3][MAX_KEY + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b.n; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t change = last[j - 1] + (a.p[i - 1] != b.p[j - 1]);
            row[j] = least(change, 1 + least(last[j], row[j - 1]));
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b.n];
}

/* Is @name nearer to @key than *best changes?  Then that is the new *best. */
static bool is_nearer(struct str key, struct str name, size_t *best)
{
    if (key.n > MAX_KEY || name.n > MAX_KEY)
        return false;
    size_t d = distance(key, name);
    /* Half of a word changed is another word. */
    if (d >= *best || 2 * d >= name.n)
        return false;
    *best = d;
    return true;
}

/* Complains about @key where @expected should be, or a setting's name if that is NULL. */
static int unknown(struct reader *r, struct str key, const char *expected)
{
    const char *what = expected != NULL ? "key" : "setting";
    const char *nearest = NULL;
    size_t best = MAX_CHANGES + 1;

    if (expected != NULL && is_nearer(key, str_of(expected), &best))
        nearest = expected;
    for (size_t i = 0; i < N_OPTIONS && expected == NULL; i++)
        if (is_nearer(key, str_of(options[i].name), &best))
            nearest = options[i].name;
    if (nearest == NULL)
        return fail(r, ERR_REFUSED, "unknown %s '%s' at line %zu", what, quote(key).z,
                    line_of(r));
    return fail(r, ERR_REFUSED, "unknown %s '%s' at line %zu: did you mean '%s'?", what,
                quote(key).z, line_of(r), nearest);
}

static size_t line_at(struct str text, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset && i < text.n; i++)
        line += text.p[i] == '\n';
    return line;
}

/* libyaml stopped: says why in its words. */
static int yaml_failed(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *hint = "";

    /* Some of libyaml's functions that run out of memory set no error at all. */
    if (p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR || p->problem == NULL)
        return no_memory(r);
    if (p->error == YAML_READER_ERROR)
        return fail(r, ERR_SYNTAX, "not YAML at line %zu: %s",
                    line_at(r->text, p->problem_offset), p->problem);
    if (p->context != NULL && strcmp(p->context, "while scanning an alias") == 0)
        hint = " (the agent \"*\" is written in quotes)";
    return fail(r, ERR_SYNTAX, "not YAML at line %zu: %s%s", p->problem_mark.line + 1,
                p->problem, hint);
}

static bool is(const struct reader *r, yaml_event_type_t type)
{
    return r->event.type == type;
}

/* Does the current event have an anchor or a tag, or is it an alias? */
static bool is_fancy(const yaml_event_t *e)
{
    if (e->type == YAML_SCALAR_EVENT)
        return e->data.scalar.anchor != NULL || e->data.scalar.tag != NULL;
    if (e->type == YAML_SEQUENCE_START_EVENT)
        return e->data.sequence_start.anchor != NULL || e->data.sequence_start.tag != NULL;
    if (e->type == YAML_MAPPING_START_EVENT)
        return e->data.mapping_start.anchor != NULL || e->data.mapping_start.tag != NULL;
    return e->type == YAML_ALIAS_EVENT;
}

static int next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        memset(&r->event, 0, sizeof(r->event)); /* nothing of it is ours */
        return yaml_failed(r);
    }
    if (is_fancy(&r->event))
        return fail(r, ERR_REFUSED, "anchors, aliases and tags have no place here (line %zu)",
                    line_of(r));
    return 0;
}

/* The current scalar's text; valid until next(). */
static struct str scalar(const struct reader *r)
{
    return str_make((const char *)r->event.data.scalar.value, r->event.data.scalar.length);
}

static bool is_plain(const struct reader *r)
{
    return is(r, YAML_SCALAR_EVENT) && r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool is_null(const struct reader *r)
{
    if (!is_plain(r))
        return false;
    struct str s = scalar(r);
    return str_empty(s) || str_is(s, "~") || str_is(s, "null") || str_is(s, "Null") ||
           str_is(s, "NULL");
}

/* Goes to the next key of a mapping.  *ret_key is absent at the mapping's end, and
 * valid until next(). */
static int next_key(struct reader *r, struct str *ret_key)
{
    int err = next(r);

    if (err != 0)
        return err;
    if (is(r, YAML_MAPPING_END_EVENT)) {
        *ret_key = STR_NONE;
        return 0;
    }
    if (!is(r, YAML_SCALAR_EVENT))
        return fail(r, ERR_TYPE, "the key at line %zu must be a name", line_of(r));
    *ret_key = scalar(r);
    return 0;
}

/* Adds the current event, which must be a name.  @what says what is too many. */
static int add_name(struct reader *r, struct names *names, size_t max, const char *what)
{
    if (!is(r, YAML_SCALAR_EVENT) || is_null(r) || str_empty(scalar(r)))
        return fail(r, ERR_TYPE, "there must be a name at line %zu", line_of(r));
    if (scalar(r).n > MAX_NAME_BYTES)
        return fail(r, ERR_TOO_LARGE, "the name '%s' at line %zu has more than %d bytes",
                    quote(scalar(r)).z, line_of(r), MAX_NAME_BYTES);
    if (names->n == max)
        return fail(r, ERR_TOO_LARGE, "more than %zu %s at line %zu", max, what, line_of(r));
    buf_str(&names->bytes, scalar(r));
    if (names->bytes.error != 0)
        return no_memory(r);
    names->ends[names->n++] = names->bytes.n;
    return 0;
}

static int wrong_type(struct reader *r, const struct option *option)
{
    static const char *const expected[] = {
        [OPTION_NODES] = "a list of names, or {all_but: [names]}",
        [OPTION_NAMES] = "a list of names",
        [OPTION_COUNT] = "a whole number",
    };

    return fail(r, ERR_TYPE, "'%s' at line %zu must be %s", option->name, line_of(r),
                expected[option->type]);
}

static int read_names(struct reader *r,
                      const struct option *option,
                      bool all_but,
                      struct name_set *set)
{
    struct str names[MAX_NAMES];
    struct names *list = &r->list;

    if (!is(r, YAML_SEQUENCE_START_EVENT))
        return wrong_type(r, option);
    buf_clear(&list->bytes);
    list->n = 0;
    for (;;) {
        int err = next(r);
        if (err != 0)
            return err;
        if (is(r, YAML_SEQUENCE_END_EVENT))
            break;
        err = add_name(r, list, option->max, "names in a list");
        if (err != 0)
            return err;
    }
    for (size_t i = 0; i < list->n; i++)
        names[i] = name_at(list, i);
    return name_set_assign(set, names, list->n, all_but) == 0 ? 0 : no_memory(r);
}

static int read_nodes(struct reader *r, const struct option *option, struct name_set *set)
{
    struct str key;
    bool given = false;

    if (!is(r, YAML_MAPPING_START_EVENT))
        return read_names(r, option, false, set);
    for (;;) {
        int err = next_key(r, &key);
        if (err != 0)
            return err;
        if (str_absent(key))
            return given ? 0 : wrong_type(r, option);
        if (!str_is(key, "all_but"))
            return unknown(r, key, "all_but");
        if (given)
            return fail(r, ERR_REFUSED, "'all_but' at line %zu is there twice", line_of(r));
        given = true;
        err = next(r);
        if (err == 0)
            err = read_names(r, option, true, set);
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

static int read_count(struct reader *r, const struct option *option, size_t *ret)
{
    size_t value;

    if (!is_plain(r) || !parse_count(scalar(r), &value))
        return wrong_type(r, option);
    if (value < option->min || value > option->max)
        return fail(r, ERR_REFUSED, "'%s' at line %zu must be from %zu to %zu", option->name,
                    line_of(r), option->min, option->max);
    *ret = value;
    return 0;
}

static int read_value(struct reader *r, const struct option *option, void *member)
{
    switch (option->type) {
    case OPTION_NODES:
        return read_nodes(r, option, member);
    case OPTION_NAMES:
        return read_names(r, option, false, member);
    case OPTION_COUNT:
        return read_count(r, option, member);
    }
    return ERR_TYPE; /* not reached: the table has no other type */
}

static size_t find_option(struct str name)
{
    size_t i = 0;

    while (i < N_OPTIONS && !str_eq(str_of(options[i].name), name))
        i++;
    return i;
}

static int read_settings(struct reader *r, struct draft *draft)
{
    struct str key;

    if (is_null(r)) /* all of them commented out */
        return 0;
    if (!is(r, YAML_MAPPING_START_EVENT))
        return fail(r, ERR_TYPE, "an agent's settings at line %zu must be 'name: value' pairs",
                    line_of(r));
    for (;;) {
        int err = next_key(r, &key);
        if (err != 0 || str_absent(key))
            return err;
        size_t i = find_option(key);
        if (i == N_OPTIONS)
            return unknown(r, key, NULL);
        if (draft->line[i] != 0)
            return fail(r, ERR_REFUSED, "'%s' at line %zu was already set at line %zu",
                        options[i].name, line_of(r), draft->line[i]);
        draft->line[i] = line_of(r);
        err = next(r);
        if (err == 0)
            err = read_value(r, &options[i], member_of(&draft->values, &options[i]));
        if (err != 0)
            return err;
    }
}

static struct draft *draft_for(struct reader *r, struct str agent_name)
{
    if (str_is(agent_name, "*"))
        return &r->every;
    if (str_eq(agent_name, r->agent->name))
        return &r->own;
    draft_clear(&r->other);
    return &r->other;
}

static int read_agents(struct reader *r)
{
    struct str name;

    if (is_null(r))
        return 0;
    if (!is(r, YAML_MAPPING_START_EVENT))
        return fail(r, ERR_TYPE, "'agents' at line %zu must be 'agent: settings' pairs",
                    line_of(r));
    for (;;) {
        int err = next_key(r, &name);
        if (err != 0 || str_absent(name))
            return err;
        if (names_have(&r->agents, name))
            return fail(r, ERR_REFUSED, "the agent '%s' at line %zu is there twice",
                        quote(name).z, line_of(r));
        err = add_name(r, &r->agents, MAX_NAMES, "agents");
        if (err != 0)
            return err;
        struct draft *draft = draft_for(r, name);
        err = next(r);
        if (err == 0)
            err = read_settings(r, draft);
        if (err != 0)
            return err;
    }
}

static int read_document(struct reader *r)
{
    struct str key;
    bool given = false;

    if (is_null(r))
        return 0;
    if (!is(r, YAML_MAPPING_START_EVENT))
        return fail(r, ERR_TYPE, "the file must begin with 'agents:', not as at line %zu",
                    line_of(r));
    for (;;) {
        int err = next_key(r, &key);
        if (err != 0 || str_absent(key))
            return err;
        if (!str_is(key, "agents"))
            return unknown(r, key, "agents");
        if (given)
            return fail(r, ERR_REFUSED, "'agents' at line %zu is there twice", line_of(r));
        given = true;
        err = next(r);
        if (err == 0)
            err = read_agents(r);
        if (err != 0)
            return err;
    }
}

/* The whole stream: no document or one. */
static int read_stream(struct reader *r)
{
    int err = next(r); /* the stream's start */

    if (err == 0)
        err = next(r);
    if (err != 0 || is(r, YAML_STREAM_END_EVENT))
        return err;
    err = next(r);
    if (err == 0)
        err = read_document(r);
    if (err == 0)
        err = next(r); /* the document's end */
    if (err == 0)
        err = next(r);
    if (err == 0 && !is(r, YAML_STREAM_END_EVENT))
        return fail(r, ERR_REFUSED, "a second document begins at line %zu", line_of(r));
    return err;
}

static void reader_free(struct reader *r)
{
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    buf_done(&r->list.bytes);
    buf_done(&r->agents.bytes);
    draft_clear(&r->every);
    draft_clear(&r->own);
    draft_clear(&r->other);
    free(r);
}

/* The end of a long path says more than its beginning. */
static const char *short_file_name(const char *file_name)
{
    size_t n = strlen(file_name);

    if (n <= MAX_FILE_NAME)
        return file_name;
    file_name += n - MAX_FILE_NAME;
    while (((unsigned char)*file_name & 0xC0) == 0x80)
        file_name++; /* not inside a code point */
    return file_name;
}

int agent_file_apply(struct str text,
                     const char *file_name,
                     struct agent *agent,
                     struct error *err)
{
    const char *name = short_file_name(file_name);

    if (text.n > AGENT_FILE_MAX_BYTES)
        return error_set(err, ERR_TOO_LARGE, "%s: larger than %d bytes", name,
                         AGENT_FILE_MAX_BYTES);
    /* On the heap for its size (libyaml's parser, and the tables of names). */
    struct reader *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return error_set(err, ERR_NOMEM, "%s: out of memory", name);
    r->text = text;
    r->file_name = name;
    r->agent = agent;
    r->err = err;
    buf_init(&r->list.bytes, AGENT_FILE_MAX_BYTES);
    buf_init(&r->agents.bytes, AGENT_FILE_MAX_BYTES);
    int result = yaml_parser_initialize(&r->parser) ? 0 : no_memory(r);
    if (result == 0) {
        yaml_parser_set_input_string(&r->parser,
                                     (const unsigned char *)(text.n > 0 ? text.p : ""), text.n);
        result = read_stream(r);
    }
    if (result == 0) {
        draft_commit(&r->every, agent);
        draft_commit(&r->own, agent);
    }
    reader_free(r);
    return result;
}

int agent_file_read(FILE *in, const char *file_name, struct agent *agent, struct error *err)
{
    char block[4096];
    struct buf text;
    size_t n;
    int result;

    /* One byte more than allowed, for agent_file_apply to complain about. */
    buf_init(&text, AGENT_FILE_MAX_BYTES + sizeof(block));
    do {
        n = fread(block, 1, sizeof(block), in);
        buf_put(&text, block, n);
    } while (n == sizeof(block) && text.error == 0 && text.n <= AGENT_FILE_MAX_BYTES);
    if (ferror(in))
        result = error_set(err, ERR_IO, "%s: cannot be read", short_file_name(file_name));
    else if (text.error != 0)
        result = error_set(err, text.error, "%s: out of memory", short_file_name(file_name));
    else
        result = agent_file_apply(buf_text(&text), file_name, agent, err);
    buf_done(&text);
    return result;
}

static void print_names(struct buf *out, const struct name_set *set)
{
    if (set->all_but)
        buf_lit(out, "{all_but: ");
    buf_char(out, '[');
    for (size_t i = 0; i < set->n; i++) {
        if (i > 0)
            buf_lit(out, ", ");
        buf_str(out, set->names[i]);
    }
    buf_char(out, ']');
    if (set->all_but)
        buf_char(out, '}');
}

static void print_default(struct buf *out, const struct option *option, struct agent *agent)
{
    const void *member = member_of(agent, option);

    buf_char(out, '`');
    if (option->type == OPTION_COUNT)
        buf_u64(out, *(const size_t *)member);
    else
        print_names(out, member);
    buf_char(out, '`');
}

static void print_value(struct buf *out, const struct option *option)
{
    if (option->type == OPTION_COUNT) {
        buf_u64(out, option->min);
        buf_lit(out, " to ");
        buf_u64(out, option->max);
        return;
    }
    buf_lit(out, "list of names");
    if (option->type == OPTION_NODES)
        buf_lit(out, ", or `all_but`");
}

/* A default twice if the agents of document 000 have another one. */
static void print_defaults(struct buf *out,
                           const struct option *option,
                           struct agent *any,
                           struct agent *triage)
{
    size_t begin = out->n;
    struct buf special;

    print_default(out, option, any);
    buf_init(&special, MAX_REFERENCE_CELL);
    print_default(&special, option, triage);
    if (special.error != 0 && out->error == 0)
        out->error = special.error;
    if (!str_eq(buf_since(out, begin), buf_text(&special))) {
        buf_lit(out, "; for `triage` and `demo` ");
        buf_str(out, buf_text(&special));
    }
    buf_done(&special);
}

void agent_file_reference(struct buf *out)
{
    struct agent *any = NULL;
    struct agent *triage = NULL;

    if (agent_new(STR("any"), &any) != 0 || agent_new(STR("triage"), &triage) != 0) {
        out->error = ERR_NOMEM;
        goto done;
    }
    buf_lit(out, "| setting | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < N_OPTIONS; i++) {
        buf_lit(out, "| `");
        buf_str(out, str_of(options[i].name));
        buf_lit(out, "` | ");
        print_value(out, &options[i]);
        buf_lit(out, " | ");
        print_defaults(out, &options[i], any, triage);
        buf_lit(out, " | ");
        buf_str(out, str_of(options[i].help));
        buf_lit(out, " |\n");
    }

done:
    agent_free(triage);
    agent_free(any);
}
