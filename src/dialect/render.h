/* What several dialects write in the same way.  Members are written as base/json.h does. */
#ifndef DIALECT_RENDER_H
#define DIALECT_RENDER_H

#include "base/buf.h"
#include "base/json.h"
#include "dialect/frames.h"
#include "record/record.h"

#include <stdint.h>

/* "key":value, null when it is RECORD_NO_NUMBER. */
#define render_number(b, key, value) (json_key((b), key), render_number_value((b), (value)))

/* Starts a frame whose payload begins with its own name: `{"type":"job.done"`. */
#define render_begin_typed(out, type) \
    render_begin((out), STR(type), STR("{" JSON_LIT("type", type)))

/* Starts the frame @name with @head as its first bytes; NULL when the reader does not want it.
 */
struct buf *render_begin(struct frames *out, struct str name, struct str header);
/* Closes the payload's object and the frame. */
void render_end(struct frames *out);

void render_number_value(struct buf *b, int64_t value);

/* An absent text as an empty one. */
static inline struct str render_some(struct str s)
{
    return str_absent(s) ? STR("") : s;
}

/* The id of the record's job; empty when it is not set. */
struct str render_job_id(const struct record *rec);
/* Did the run that ends here end well?  Jobs have other names for it. */
bool render_is_ok(const struct record *rec);
/* The error's text, else the status; absent for a success. */
struct str render_error(const struct record *rec);

#endif
