/* The value of a pickle, as JSON.
 *
 *     tuple, set, deque             a list; bytes: base64
 *     datetime, date, time          ISO 8601; timedelta: seconds
 *     UUID, Decimal, Path           text
 *     an object with attributes     an object of them (dataclasses, pydantic's models)
 *     any other object              {"type":"module.Name","args":[…],"state":…}; exceptions too
 *     a class                       its name
 *
 * Keys become text as Python's json makes them.  NaN and infinities are null.  Pure. */
#ifndef PICKLE_JSON_H
#define PICKLE_JSON_H

#include "base/buf.h"
#include "pickle/value.h"

struct error;

/* ERR_TOO_LARGE: deeper than that (a value that contains itself is), keys within keys within
 * keys, or more than the buffer takes.  ERR_NOMEM. */
int pickle_put_json(struct buf *out,
                    const struct value *v,
                    size_t max_depth,
                    struct error *err);

#endif
