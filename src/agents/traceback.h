/* Parses the exception that ended a worker's process from its stderr.
 *
 * Python writes the frames, the exception, then its notes; LangGraph adds the note "During task
 * with name …", so that the last line is not the message.  Node writes the exception, the
 * frames, then the version of Node. */
#ifndef AGENTS_TRACEBACK_H
#define AGENTS_TRACEBACK_H

#include "base/str.h"

struct exception {
    struct str type;    /* its class without the module: ValueError; absent when unknown */
    struct str message; /* without the class; the class when there is no message */
};

/* False when @text has no traceback.  @text may begin in the middle of one.  The results borrow
 * from @text. */
bool traceback_read(struct str text, struct exception *ret);

#endif
