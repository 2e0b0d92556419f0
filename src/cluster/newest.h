/* The newest connection of each gateway that is served here.
 *
 * A gateway that connects again sends again what was not answered.  The bytes of its former
 * connection may still wait to be read, by another thread: then a request would come after its
 * own repeat, and be done a second time.  So requests of a connection are posted only while
 * there is no newer one.
 *
 * From any thread. */
#ifndef CLUSTER_NEWEST_H
#define CLUSTER_NEWEST_H

#include "journal/journal.h"
#include "store/gateways.h"

struct newest;

MUST_CHECK int newest_new(struct newest **ret);
void newest_free(struct newest *n);

/* A connection: whose it is, to which journal, and the how many'th. */
struct newest_place {
    char gateway[GATEWAY_ID_BYTES];
    struct journal *journal; /* borrowed */
    uint64_t number;
};

/* Reads "GATEWAY NUMBER", as a connection's head has it. */
bool newest_read_place(struct str text, struct newest_place *ret);
/* The connection begins.  False: it is not the newest. */
bool newest_begin(struct newest *n, const struct newest_place *place);
/* Posts the requests that have come over it.  False: there is a newer one, and they are the
 * caller's. */
bool newest_post(struct newest *n,
                 const struct newest_place *place,
                 struct journal_request *chain);

#endif
