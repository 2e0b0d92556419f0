/* What a file says about an agent's graph: one table of settings, and drafts of them.
 *
 * A draft holds what was given and where.  The agent itself is touched only when the whole
 * file was good. */
#ifndef CONFIG_FILE_SETTINGS_H
#define CONFIG_FILE_SETTINGS_H

#include "ingest/agent.h"

struct buf;
struct suggestion;
struct walk;

enum { SETTINGS_MAX = 12 };

struct settings {
    struct agent values; /* only the members of settings, and of those only what was given */
    size_t line[SETTINGS_MAX]; /* where it was given; 0: it was not */
};

/* Frees what it holds; an empty draft (zeroed) again. */
void settings_clear(struct settings *s);

/* The index of a setting; SETTINGS_MAX when there is none of that name. */
size_t settings_find(struct str name);
void settings_suggest(struct suggestion *suggestion);

/* Reads one setting; the current event is its key. */
int settings_read(struct settings *s, size_t i, struct walk *w);

/* Hands over what was given, and cannot fail; what it replaces is left in the draft. */
void settings_move(struct settings *s, struct agent *agent);
/* Gives copies.  ERR_NOMEM leaves the agent with some of them. */
int settings_copy(const struct settings *s, struct agent *agent);

/* The @i-th setting's name, and appends its value of an agent as a file would have it. */
const char *settings_name(size_t i);
void settings_print(size_t i, const struct agent *agent, struct buf *out);

/* Appends all settings, with their defaults, as a Markdown table. */
void settings_reference(struct buf *out);

#endif
