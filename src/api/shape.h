/* Writes a JSON object of which only selected members are wanted. */
#ifndef API_SHAPE_H
#define API_SHAPE_H

#include "base/buf.h"

#include <stdint.h>

/* A set of members, as bits by their index in a list.  0: all of them. */
struct selection {
    uint32_t bits;
};

/* The members of one object; the caller writes its braces. */
struct shape {
    struct buf *b;              /* borrowed */
    const char *const *members; /* NULL at the end; borrowed */
    struct selection select;
    size_t n;
};

/* Each writes a member, if it is selected. */
void shape_text(struct shape *s, const char *name, struct str value);
void shape_json(struct shape *s, const char *name, struct str value);
void shape_number(struct shape *s, const char *name, int64_t value);
/* Milliseconds since 1970; 0: null. */
void shape_time(struct shape *s, const char *name, int64_t ms);

#endif
