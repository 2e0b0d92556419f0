/* Reading pickles of protocols 0 to 5 without executing anything.
 *
 * A pickle is a program for a stack machine, and Python's machine calls whatever it names. This
 * one cannot call: a class or a function is a name, and a call of it an object with that name
 * and its arguments.  Names that only attacks use (os.system, builtins.eval) are refused,
 * as is every opcode that needs the embedding program (persistent ids, extensions, buffers).
 *
 * Pure. */
#ifndef PICKLE_READ_H
#define PICKLE_READ_H

#include "base/buf.h"

struct error;

struct pickle_limits {
    size_t max_bytes;  /* of the pickle */
    size_t max_values; /* of the tree, the stack and the memo */
    size_t max_depth;  /* of the JSON */
};

/* As JSON (pickle/json.h).  ERR_SYNTAX, ERR_REFUSED, ERR_TOO_LARGE, ERR_NOMEM. */
int pickle_to_json(struct str bytes,
                   const struct pickle_limits *limits,
                   struct buf *out,
                   struct error *err);

#endif
