/* A dialect: how one protocol says a record.
 *
 * A dialect is a table of pure functions indexed by record kind.  Each reads its
 * record (and the head it names) and writes frames; it knows no clock, socket,
 * store or other record, so the same record always gives the same bytes.  (One mode of
 * `messages` says a message whole again and again: see dialect/gathered.h.)
 *
 * To add an event type: one function, one line in the table.
 * To add a dialect: one file, one line in registry.c, its golden folder. */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H

#include "base/str.h"
#include "dialect/frames.h"
#include "record/record.h"

typedef void (*dialect_fn)(const struct record *rec, struct frames *out);

struct dialect {
    const char *name;
    const char *about;           /* one line for a person */
    bool names_itself;           /* the payload carries its own event name */
    dialect_fn on[REC_KIND_MAX]; /* NULL: this kind gives no frame */
};

extern const struct dialect dialect_agent;
extern const struct dialect dialect_envelope;
extern const struct dialect dialect_messages;
extern const struct dialect dialect_nodes;
extern const struct dialect dialect_aiq;
extern const struct dialect dialect_raw;

/* NULL when there is none of that name. */
const struct dialect *dialect_find(struct str name);
/* The @i-th of the registry, NULL after the last. */
const struct dialect *dialect_at(size_t i);

/* Renders @rec into @out, which is cleared first.  0 or the buffer's error.  Where messages are
 * gathered it must be the job's next record. */
int dialect_render(const struct dialect *d,
                   const struct record *rec,
                   const struct variant *variant,
                   struct frames *out);

#endif
