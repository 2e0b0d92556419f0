/* Python's dates and times, from the bytes in which it pickles them.  Pure. */
#ifndef PICKLE_MOMENT_H
#define PICKLE_MOMENT_H

#include "base/buf.h"
#include "pickle/value.h"

/* True when @object is one of datetime's, and has been written as JSON. */
bool moment_put(struct buf *out, const struct value *object);

#endif
