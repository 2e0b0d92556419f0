/* The jobs that a multiplexed stream was asked for, and the place in each:
 *
 *     a,b@57.1,c               the list, as the request has it
 *     1f0c9a3e:57,12.1,0       the id of an event: the list's mark, and the places behind it
 *
 * One id for the places in all jobs, so that a browser's Last-Event-ID resumes them all.  Pure.
 */
#ifndef TRANSPORT_PLACES_H
#define TRANSPORT_PLACES_H

#include "base/must_check.h"
#include "framing/framing.h"

struct error;

struct places {
    size_t n;
    struct str *jobs;  /* owned; the texts are those of the list */
    struct cursor *at; /* owned */
    uint32_t mark;     /* another list has another one: its ids are not mistaken for these */
};

/* At most @max jobs, none of them twice.  ERR_SYNTAX, ERR_LIMIT (the text is for the client),
 * ERR_NOMEM; to be done with also then. */
MUST_CHECK int places_init(struct places *p, struct str list, size_t max, struct error *err);
void places_done(struct places *p);

void places_put_id(const struct places *p, struct buf *out);
/* Moves to the places of an id.  ERR_SYNTAX when it is not one that this list would have. */
MUST_CHECK int places_resume(struct places *p, struct str id);

#endif
