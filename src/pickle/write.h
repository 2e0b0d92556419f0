/* Writing pickles: opcodes of protocol 3 and below, no memo, no frame, which every Python 3
 * reads.  Pure; an error sticks in the buffer (ERR_TOO_LARGE: a number of too many digits).
 *
 *     pickle_begin(b);
 *     pickle_dict_begin(b, 1);
 *     pickle_text(b, STR("f")), pickle_text(b, STR("run_triage"));
 *     pickle_dict_end(b, 1);
 *     pickle_end(b); */
#ifndef PICKLE_WRITE_H
#define PICKLE_WRITE_H

#include "base/json.h"

void pickle_begin(struct buf *b);
void pickle_end(struct buf *b);

void pickle_none(struct buf *b);
void pickle_bool(struct buf *b, bool value);
void pickle_int(struct buf *b, int64_t value);
void pickle_text(struct buf *b, struct str text);
/* Any JSON value, as Python's own reader of JSON would make it. */
void pickle_value(struct buf *b, const yyjson_val *v);

/* @n keys, each with its value, between. */
void pickle_dict_begin(struct buf *b, size_t n);
void pickle_dict_end(struct buf *b, size_t n);
/* @n values between. */
void pickle_tuple_begin(struct buf *b, size_t n);
void pickle_tuple_end(struct buf *b, size_t n);

/* An exception with one argument.  @module and @name are names of Python's. */
void pickle_exception(struct buf *b, struct str module, struct str name, struct str text);

#endif
