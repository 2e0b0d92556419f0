/* A list of texts as execve takes it: char **, ended by NULL.  An empty one may be NULL. */
#ifndef CONFIG_TEXT_STRINGS_H
#define CONFIG_TEXT_STRINGS_H

#include "base/str.h"

size_t strings_count(char *const *list);
/* Adds a copy of @s.  ERR_NOMEM leaves the list as it was. */
int strings_add(char ***list, struct str s);
int strings_copy(char *const *list, char ***ret);
void strings_free(char **list);

/* A copy of @s, with a NUL behind it; NULL when memory ran out. */
char *string_copy(struct str s);

#endif
