/* Errors about unknown keys, for both readers of the file. */
#ifndef CONFIG_FILE_UNKNOWN_H
#define CONFIG_FILE_UNKNOWN_H

#include "base/str.h"

struct walk;

/* The current event is the key.  ERR_REFUSED. */
int unknown_key(struct walk *w);                        /* at the top */
int unknown_setting(struct walk *w);                    /* of an agent */
int unknown_in_group(struct walk *w, struct str group); /* of an agent's settings */

#endif
