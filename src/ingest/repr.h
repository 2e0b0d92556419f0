/* Python's repr, as json.dumps(default=str) leaves it in JSON strings.
 *
 * A repr cannot be parsed back in general.  We read the few things that can: the literals of a
 * message, an exception's text, an interrupt's id. */
#ifndef INGEST_REPR_H
#define INGEST_REPR_H

#include "base/buf.h"
#include "base/str.h"

struct message;

/* Reads `content='…' additional_kwargs={} … id='…'` or `AIMessage(content='…', …)`.
 * False when @s is neither (@ret is untouched).  Text goes to the end of @scratch where
 * escapes must be undone; everything else is borrowed from @s. */
bool repr_message(struct str s, struct buf *scratch, struct message *ret);

/* The message of an exception: RuntimeError('no disk') gives `no disk`.  @s itself when it is
 * no call; the arguments as they stand when the first is no string. */
struct str repr_call_text(struct str s, struct buf *scratch);

/* The first Interrupt(value=…, id='…') in @s: its id and its value's repr, each absent
 * when it is not there.  False when there is no Interrupt in @s. */
bool repr_interrupt(struct str s, struct str *ret_id, struct str *ret_value);

/* The literal of the member @key of an object: HumanExchange(question='…', …), the same
 * as pydantic's str() writes it (question='…' context='…'), or {'question': '…'}.  Absent
 * when @s is none of them, or the member is not found before the text stops being a literal. */
struct str repr_member(struct str s, struct str key);

/* Appends a literal as JSON: a string, a number, None, True and False as what they are,
 * anything else as a string that holds its repr.  @scratch has room for @literal. */
void repr_put_json(struct buf *out, struct str literal, struct buf *scratch);

#endif
