/* The exception that ended a worker's process, read from what it wrote to stderr.
 *
 * Python writes the frames, the exception, then its notes; LangGraph adds the note
 * "During task with name …", so that the last line is not the message.  Node writes the
 * exception, the frames, then its own version. */
#ifndef AGENTS_TRACEBACK_H
#define AGENTS_TRACEBACK_H

#include "base/str.h"

struct exception {
    struct str type;    /* its class without the module: ValueError; absent when unclear */
    struct str message; /* its own; the class when it has none */
};

/* False when @text has no traceback.  It may begin in the middle of one.  The texts are
 * borrowed from @text. */
bool traceback_read(struct str text, struct exception *ret);

#endif
