/* A sequence: the events of one job, in all source formats mixed, made of bytes that choose.
 *
 * Ids, nodes and names come from small alphabets, so that they collide; now and then a member
 * is missing or has a wrong type.  Every line is JSON, and nearly every one an event of its
 * format. */
#ifndef SUPPORT_SEQUENCE_H
#define SUPPORT_SEQUENCE_H

#include "base/buf.h"
#include "base/str.h"

enum { SEQUENCE_EVENT = 12 }; /* bytes that choose one event */

/* Appends a line for each whole event in @choices. */
void sequence_put(struct buf *out, struct str choices);

#endif
