/* Assistants that were created by clients: who may see them.  From any thread. */
#ifndef JOURNAL_ASSISTANTS_H
#define JOURNAL_ASSISTANTS_H

#include "base/arena.h"
#include "store/assistants.h"

struct job_scope;

bool assistant_is_visible(const struct job_scope *scope, const struct assistant_row *row);
/* The current version of the assistant with that id, if @scope includes it, with texts in @mem.
 * ERR_NOT_FOUND, with the reason. */
int assistant_find(struct store *store,
                   struct str id,
                   const struct job_scope *scope,
                   struct arena *mem,
                   struct assistant_row *ret,
                   struct error *why);

#endif
