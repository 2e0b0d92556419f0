/* A question of a job, as the server lists it, for people. */
#ifndef TERMINAL_QUESTION_H
#define TERMINAL_QUESTION_H

#include "base/json.h"

/* What they read: the question, or the whole value. */
const yyjson_val *question_words(const yyjson_val *q);
/* The same as a text, not yet made fit for a terminal. */
void question_put(struct buf *b, const yyjson_val *q);

/* The answers to choose from, a list, or NULL: the enum of its schema. */
const yyjson_val *question_choices(const yyjson_val *q);
/* Its schema wants a text. */
bool question_wants_text(const yyjson_val *q);

/* The body of an answer to the question @id, or without one to the only one.  @text is JSON, or
 * else a text; with @as_text it is one in any case. */
void question_put_body(struct buf *b, struct str text, bool as_text, struct str id);

#endif
