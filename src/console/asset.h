/* Files that are part of the program: pages and what they need.  scripts/embed makes C of
 * them when it is built. */
#ifndef CONSOLE_ASSET_H
#define CONSOLE_ASSET_H

#include "base/str.h"

struct asset {
    const char *name; /* "api.html" */
    const char *type; /* of its content */
    const char *etag; /* with its quotes */
    struct str bytes;
};

extern const struct asset assets[]; /* ends with a zeroed one */

/* NULL when there is none of that name. */
const struct asset *asset_find(struct str name);

#endif
