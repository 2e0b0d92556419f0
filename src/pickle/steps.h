/* The steps of the machine: what the opcodes do, each by taking input and moving values.
 *
 * @width is of the number or the length that comes first in the input, in bytes.
 *
 * Internal to pickle/. */
#ifndef PICKLE_STEPS_H
#define PICKLE_STEPS_H

#include <stddef.h>

struct machine;

/* --- scalars.c --------------------------------------------------------------- */

int step_bool(struct machine *m, size_t truth);
/* Only that of four bytes has a sign. */
int step_int(struct machine *m, size_t width);
int step_int_line(struct machine *m);
int step_long(struct machine *m, size_t width);
int step_long_line(struct machine *m);
int step_float(struct machine *m);
int step_float_line(struct machine *m);
int step_text(struct machine *m, size_t width);
int step_text_line(struct machine *m);
int step_bytes(struct machine *m, size_t width);
/* Python 2's, which are texts or bytes. */
int step_string(struct machine *m, size_t width);
int step_string_line(struct machine *m);

/* --- containers.c ------------------------------------------------------------ */

/* An empty one of @kind (enum value_kind). */
int step_new(struct machine *m, size_t kind);
int step_mark(struct machine *m);
/* All above the mark, as one value of @kind. */
int step_gather(struct machine *m, size_t kind);
/* The last @n, at most 3, as a tuple. */
int step_tuple(struct machine *m, size_t n);
/* An entry of @n values (1: an item; 2: a key and its value) to the one below it. */
int step_add(struct machine *m, size_t n);
/* All above the mark, entries of @n values, to the one below the mark. */
int step_add_marked(struct machine *m, size_t n);
int step_pop(struct machine *m);
int step_pop_marked(struct machine *m);
int step_duplicate(struct machine *m);
int step_put(struct machine *m, size_t width);
int step_put_line(struct machine *m);
int step_put_next(struct machine *m);
int step_get(struct machine *m, size_t width);
int step_get_line(struct machine *m);

/* --- objects.c --------------------------------------------------------------- */

int step_global(struct machine *m);
int step_stack_global(struct machine *m);
int step_call(struct machine *m);
/* With keyword arguments, which become its state. */
int step_call_with_names(struct machine *m);
/* The arguments lie above the mark, the class first among them. */
int step_call_marked(struct machine *m);
/* The same, with the class in the input. */
int step_call_inst(struct machine *m);
int step_build(struct machine *m);

#endif
