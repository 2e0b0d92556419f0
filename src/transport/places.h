/* The jobs of a multiplexed stream, and the cursor in each:
 *
 *     a,b@57.1,c               the list, as the request has it
 *     1f0c9a3e:57,12.1,0       the id of an event: the list's mark, and the cursors after the
 * event
 *
 * One id has the cursors of all jobs, so that a browser's Last-Event-ID resumes them all.
 * Pure. */
#ifndef TRANSPORT_PLACES_H
#define TRANSPORT_PLACES_H

#include "base/must_check.h"
#include "framing/framing.h"

struct error;

struct places {
    size_t n;
    struct str *jobs;  /* owned; the texts point into the list */
    struct cursor *at; /* owned */
    uint32_t mark;     /* a hash of the list: ids of another list are recognised and refused */
};

/* At most @max jobs, without duplicates.  ERR_SYNTAX, ERR_LIMIT (the text is for the client),
 * ERR_NOMEM; places_done() is needed after an error too. */
MUST_CHECK int places_init(struct places *p, struct str list, size_t max, struct error *err);
void places_done(struct places *p);

void places_put_id(const struct places *p, struct buf *out);
/* Sets the cursors from an id.  ERR_SYNTAX when it is not an id of this list. */
MUST_CHECK int places_resume(struct places *p, struct str id);

#endif
