/* Requests of this gateway that another one has to answer.
 *
 * A request is here from unanswered_add() to unanswered_take().  Its number on the wire is its
 * place in an array and, in the upper half, how often that place was used; so an answer that
 * comes too late finds nothing.
 *
 * A request that is sent twice must not be done twice: each gets the name of an operation
 * (journal/operations.c), and a lease the name of a lease request.
 *
 * Of one thread. */
#ifndef CLUSTER_UNANSWERED_H
#define CLUSTER_UNANSWERED_H

#include "base/buf.h"
#include "journal/journal.h"

struct unanswered {
    struct journal_request *req; /* NULL: the place is free */
    uint64_t order;              /* of arrival */
    uint32_t uses;               /* of the place */
    bool is_sent;
    bool is_withdrawn; /* and the peer was told */
    int64_t since;     /* when it came, or lost a peer that had kept it */
    int64_t sent;      /* the last time */
    int64_t deadline;  /* of a lease or call, which waits; 0: of others */
    size_t next_free;
};

struct unanswered_table {
    const char *gateway; /* borrowed: this one's id, for names */
    int64_t shard;       /* the same */
    struct unanswered *entries;
    size_t cap, first_free, n_used;
    uint64_t n_orders;
};

void unanswered_init(struct unanswered_table *t, const char *gateway, int64_t shard);
/* It must be empty. */
void unanswered_done(struct unanswered_table *t);

/* NULL: out of memory. */
struct unanswered *unanswered_add(struct unanswered_table *t,
                                  struct journal_request *req,
                                  int64_t now);
/* Frees its place, and gives the request. */
struct journal_request *unanswered_take(struct unanswered_table *t, struct unanswered *e);
/* NULL: there is none any more. */
struct unanswered *unanswered_find(struct unanswered_table *t, uint64_t number);
/* All of them in the order in which they came, in an array that is to be freed.  NULL: out of
 * memory, or there are none. */
struct unanswered **unanswered_sorted(struct unanswered_table *t, size_t *ret_n);

/* Writes the frame of a request. */
void unanswered_put(struct unanswered_table *t, struct unanswered *e, struct buf *out);
/* Its caller has gone: writes the frame that says so, once. */
void unanswered_withdraw(struct unanswered_table *t, struct unanswered *e, struct buf *out);
/* The connection was lost: those that were sent are not.  A peer that has sent a request away
 * at once has not kept it. */
void unanswered_unsend(struct unanswered_table *t, int64_t now);
/* A lease or call whose caller has gone. */
bool unanswered_is_abandoned(const struct unanswered *e);

#endif
