/* Walks over all commands and flags, for the shells' completion and the manual. */
#ifndef CLI_VISIT_H
#define CLI_VISIT_H

#include "cli/command.h"

/* Calls @each for every command that people may use, those with parts before their parts.
 * @path is how it is called: "config show". */
void visit_commands(void (*each)(void *arg, const struct command *c, const char *path),
                    void *arg);

/* One thing that begins with --. */
struct visit_flag {
    char name[64];     /* without the -- */
    const char *value; /* as in struct flag */
    const char *help;
    struct str words; /* all that the value can be, with @between between; absent: anything */
    char between;
};

/* The command's @i-th, also of those that are the server's options; false at the end. */
bool visit_flag(const struct command *c, size_t i, struct visit_flag *ret);

/* Appends the words that its value can be, with blanks between; nothing when that is not
 * known. */
void visit_put_words(const struct visit_flag *f, struct buf *out);

#endif
