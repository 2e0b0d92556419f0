/* A question of a job, as the server lists it, for people. */
#ifndef CLI_QUESTION_H
#define CLI_QUESTION_H

#include "base/json.h"

/* What they read: the question, or the whole value. */
const yyjson_val *question_words(const yyjson_val *q);
/* The same as a text, not yet made fit for a terminal. */
void question_put(struct buf *b, const yyjson_val *q);

#endif
