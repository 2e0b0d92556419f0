/* The built-in settings of agents, and the sets of names that they are made of.
 *
 * The defaults are const tables of (member, names); agent_new copies the common table and
 * then the one that the agent's name chooses.  A YAML file that is read later replaces whole
 * sets with name_set_assign, so a set is always one block of its own: the array of names, and
 * behind it their bytes.
 *
 *      names ──▶ [ str 0 | str 1 | ... | str n-1 ][ bytes 0 bytes 1 ... ]
 *
 * The only error is ERR_NOMEM; then nothing has changed. */
#include "ingest/agent.h"

#include "base/error.h"

#include <stdint.h>
#include <stdlib.h>

struct default_set {
    size_t member; /* offset in struct agent */
    const struct str *names;
    size_t n;
    bool all_but;
};

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define NAME(literal) (literal), sizeof(literal) - 1
#define AT(name)      offsetof(struct agent, name)

enum { INPUT_PREVIEW = 60, RESULT_PREVIEW = 120, OUTPUT_CHARS = 200 };

/* clang-format off: tables */
/* The nodes of a triage graph: all that count, and those with a card. */
static const struct str triage_nodes[] = {
    { NAME("supervisor") }, { NAME("investigator") }, { NAME("codebase_search") },
    { NAME("web_search") }, { NAME("critic") },       { NAME("human_input") },
    { NAME("writer") },
};
static const struct str triage_workers[] = {
    { NAME("investigator") }, { NAME("codebase_search") }, { NAME("web_search") },
    { NAME("critic") },       { NAME("writer") },
};
static const struct str without_card[] = { { NAME("supervisor") }, { NAME("human_input") } };
static const struct str output_nodes[] = { { NAME("writer") } };
static const struct str sections[] = {
    { NAME("report") },
    { NAME("comment_draft") },
    { NAME("ticket_draft") },
};
/* The AI-Q blueprint's three kinds of tools. */
static const struct str search_tools[] = {
    { NAME("search") },
    { NAME("tavily") },
    { NAME("google") },
    { NAME("bing") },
};
static const struct str todo_tools[] = { { NAME("write_todos") } };
static const struct str file_tools[] = { { NAME("write_file") } };
static const struct str report_keys[] = {
    { NAME("final_report") }, { NAME("report") }, { NAME("answer") },
    { NAME("output") },       { NAME("result") }, { NAME("response") },
};

/* state_keys is not here: it starts empty. */
static const struct default_set common_sets[] = {
    { AT(output_nodes), output_nodes, COUNT(output_nodes), false },
    { AT(sections), sections, COUNT(sections), false },
    { AT(search_tools), search_tools, COUNT(search_tools), false },
    { AT(todo_tools), todo_tools, COUNT(todo_tools), false },
    { AT(file_tools), file_tools, COUNT(file_tools), false },
    { AT(report_keys), report_keys, COUNT(report_keys), false },
};
static const struct default_set document_sets[] = {
    { AT(card_nodes), triage_workers, COUNT(triage_workers), false },
    { AT(counted_nodes), triage_nodes, COUNT(triage_nodes), false },
};
static const struct default_set other_sets[] = {
    { AT(card_nodes), without_card, COUNT(without_card), true },
    { AT(counted_nodes), NULL, 0, true },
};
/* clang-format on */

static char lower(char c)
{
    /* ASCII only, whatever the locale: tool names are identifiers. */
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool part_at(struct str text, size_t at, struct str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (lower(text.p[at + i]) != lower(part.p[i]))
            return false;
    return true;
}

static bool part_of(struct str text, struct str part)
{
    for (size_t at = 0; part.n <= text.n && at <= text.n - part.n; at++)
        if (part_at(text, at, part))
            return true;
    return false;
}

/* The bytes of a set's block; 0 when there are too many to count. */
static size_t block_size(const struct str *names, size_t n)
{
    size_t size = n * sizeof(*names);

    if (n > SIZE_MAX / sizeof(*names))
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (names[i].n > SIZE_MAX - size)
            return 0;
        size += names[i].n;
    }
    return size;
}

static int copy_names(const struct str *names, size_t n, struct str **ret)
{
    size_t size = block_size(names, n);
    struct str *copy = size > 0 ? malloc(size) : NULL;

    if (copy == NULL)
        return ERR_NOMEM;
    char *bytes = (char *)(copy + n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = str_make(bytes, names[i].n);
        str_copy(bytes, names[i]);
        bytes += names[i].n;
    }
    *ret = copy;
    return 0;
}

int name_set_assign(struct name_set *set, const struct str *names, size_t n, bool all_but)
{
    struct str *copy = NULL;

    /* Copied before the old ones go: @names may be the set's own. */
    if (n > 0) {
        int err = copy_names(names, n, &copy);
        if (err != 0)
            return err;
    }
    free(set->names);
    *set = (struct name_set){ .names = copy, .n = n, .all_but = all_but };
    return 0;
}

bool name_set_has(const struct name_set *set, struct str name)
{
    /* An absent name is in no set, not even in an "all but" set. */
    if (str_absent(name))
        return false;
    for (size_t i = 0; i < set->n; i++)
        if (str_eq(set->names[i], name))
            return !set->all_but;
    return set->all_but;
}

bool name_set_part_of(const struct name_set *set, struct str text)
{
    if (str_absent(text))
        return false;
    for (size_t i = 0; i < set->n; i++)
        if (part_of(text, set->names[i]))
            return !set->all_but;
    return set->all_but;
}

static int assign_defaults(struct agent *a, const struct default_set *sets, size_t n)
{
    int err = 0;

    for (size_t i = 0; i < n && err == 0; i++) {
        void *set = (char *)a + sets[i].member;
        err = name_set_assign(set, sets[i].names, sets[i].n, sets[i].all_but);
    }
    return err;
}

static int copy_name(struct agent *a, struct str name)
{
    char *copy = malloc(name.n + 1);

    if (copy == NULL)
        return ERR_NOMEM;
    str_copy(copy, name);
    copy[name.n] = '\0';
    a->name = str_make(copy, name.n);
    return 0;
}

int agent_new(struct str name, struct agent **ret)
{
    bool is_document = str_is(name, "triage") || str_is(name, "demo");
    struct agent *a = calloc(1, sizeof(*a));
    int err;

    if (a == NULL)
        return ERR_NOMEM;
    a->input_preview = INPUT_PREVIEW;
    a->result_preview = RESULT_PREVIEW;
    a->output_chars = OUTPUT_CHARS;
    err = copy_name(a, name);
    if (err != 0)
        goto fail;
    err = assign_defaults(a, common_sets, COUNT(common_sets));
    if (err != 0)
        goto fail;
    err = is_document ? assign_defaults(a, document_sets, COUNT(document_sets))
                      : assign_defaults(a, other_sets, COUNT(other_sets));
    if (err != 0)
        goto fail;
    *ret = a;
    return 0;

fail:
    agent_free(a);
    return err;
}

void agent_free(struct agent *a)
{
    if (a == NULL)
        return;
    free(a->card_nodes.names);
    free(a->counted_nodes.names);
    free(a->output_nodes.names);
    free(a->sections.names);
    free(a->state_keys.names);
    free(a->search_tools.names);
    free(a->todo_tools.names);
    free(a->file_tools.names);
    free(a->report_keys.names);
    free((char *)a->name.p); /* owned; const only for those who read it */
    free(a);
}
