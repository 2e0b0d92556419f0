/* The id of the assistant that every graph has by itself: a UUID made of the graph's name, the
 * same on every server (version 5 in LangGraph's name space).  Pure. */
#ifndef JOBS_ASSISTANT_ID_H
#define JOBS_ASSISTANT_ID_H

#include "base/str.h"
#include "base/table.h"

/* False when the library that hashes fails. */
bool assistant_id_of(struct str graph, char out[KEY_UUID_CHARS]);

/* Does @id mean that assistant, by its id or by the graph's name? */
bool assistant_id_is(struct str id, struct str graph);

#endif
