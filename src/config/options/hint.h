/* Suggests a valid value for one that an option does not take: 10s for "10 sec". Pure. */
#ifndef CONFIG_OPTIONS_HINT_H
#define CONFIG_OPTIONS_HINT_H

#include "base/str.h"

struct buf;
struct option;

/* Appends a value that the option takes and that is like @text; nothing when there is none.
 * Never for an option that is secret. */
void hint_put(const struct option *o, struct str text, struct buf *out);

#endif
