/* A file of variables, as shells and dotenv write it:
 *
 *     # a comment
 *     export NAME=value
 *     OTHER="with \n escapes"   # and a comment
 *     THIRD='as it stands' */
#ifndef CLI_ENV_FILE_H
#define CLI_ENV_FILE_H

#include "base/str.h"

struct buf;

/* Takes the next variable off @rest: its name, and its value into @value (cleared first). False
 * at the end.  Lines that set nothing are passed over. */
bool env_file_next(struct str *rest, struct str *name, struct buf *value);

#endif
