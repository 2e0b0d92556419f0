/* The nearest of the names that we know, for errors about a misspelt one. */
#ifndef CONFIG_OPTIONS_SUGGEST_H
#define CONFIG_OPTIONS_SUGGEST_H

#include "base/str.h"

struct suggestion {
    struct str key;      /* borrowed; what was written */
    const char *nearest; /* borrowed; NULL: none is like it */
    size_t changes;      /* from key to nearest */
};

struct suggestion suggest_for(struct str key);
/* Takes @name if it is like the key, and more so than those before it. */
void suggest_try(struct suggestion *s, const char *name);

#endif
