/* The machine that a pickle is a program for.
 *
 *     bytes ──▶ a step ──▶ stack [ … MARK a b c ]   APPENDS takes all above the mark
 *                          memo  [ … ]              PUT and GET share values
 *
 * Every step pushes at most one value, so that limits on values bound the stack as well.  The
 * first error ends it.
 *
 * Internal to pickle/.  The values, and all they point to, are in the arena or the input. */
#ifndef PICKLE_MACHINE_H
#define PICKLE_MACHINE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "pickle/read.h"
#include "pickle/value.h"

struct pile {
    struct value **p; /* owned */
    size_t n, cap;
};

struct machine {
    struct str in;                      /* what is left; borrowed */
    const struct pickle_limits *limits; /* borrowed */
    struct arena *mem;                  /* borrowed */
    struct pile stack;
    struct pile memo; /* with holes */
    size_t n_values;
    struct value mark; /* it is known by its address */
    struct error *err; /* borrowed */
};

/* The arena keeps the values. */
void machine_done(struct machine *m);

/* ERR_SYNTAX. */
int machine_bad(struct machine *m, const char *what);

int machine_take(struct machine *m, uint64_t n, struct str *ret);
/* A little-endian number of @width bytes. */
int machine_take_uint(struct machine *m, size_t width, uint64_t *ret);
/* Bytes behind their length. */
int machine_take_sized(struct machine *m, size_t width, struct str *ret);
int machine_take_line(struct machine *m, struct str *ret);

int machine_push(struct machine *m, struct value *v);
/* Never the mark. */
int machine_pop(struct machine *m, struct value **ret);

/* Stores the topmost value in the memo, and pushes one from there. */
int machine_remember(struct machine *m, uint64_t at);
int machine_recall(struct machine *m, uint64_t at);

int machine_make(struct machine *m, enum value_kind kind, struct value **ret);
int machine_push_text(struct machine *m, enum value_kind kind, struct str text);
/* A copy of what was written to @b, which ends here. */
int machine_push_written(struct machine *m, enum value_kind kind, struct buf *b);
int machine_add_items(struct machine *m,
                      struct value *to,
                      struct value *const *items,
                      size_t n);

#endif
