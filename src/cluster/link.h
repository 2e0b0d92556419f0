/* The link: requests to the journal of another gateway.
 *
 *     loops, agents ──link_post──▶ link's thread ══ one connection ══▶ the gateway that writes
 *                     done ◀──────
 *
 * A request stays with the link until it is answered.  When the connection is lost, or the
 * other gateway says that it does not own the jobs, what is not answered is sent again, in
 * order, to whoever link_set_writer() names next.  A request that could not be sent for
 * `hold_ms` is answered ERR_BUSY.
 *
 * A request may be sent again although it was done: journal/operations.c sees to that. */
#ifndef CLUSTER_LINK_H
#define CLUSTER_LINK_H

#include "cluster/follow.h"
#include "cluster/served.h"
#include "journal/journal.h"

struct journal_link;

struct link_options {
    struct journal *journal; /* borrowed */
    unsigned char secret[CLUSTER_SECRET_BYTES];
    char gateway[40]; /* this one's id: names requests for leases that have no name */
    int64_t shard;    /* whose requests these are */
    int64_t hold_ms;
    struct follow_options follow; /* its events come from the link's thread */
    /* From the link's thread: see link_report.h. */
    void (*tell)(void *arg, struct str url, struct str why);
    void *arg;
};

MUST_CHECK int link_new(const struct link_options *options,
                        struct journal_link **ret,
                        struct error *err);
/* Answers what is left with ERR_BUSY. */
void link_free(struct journal_link *l);

/* From any thread: a chain of requests. */
void link_post(struct journal_link *l, struct journal_request *chain);
/* From any thread: where requests go from now on.  "": nobody is known; NULL: to the journal of
 * this gateway, which is open; nothing is heard of the writer before when this has returned. */
void link_set_writer(struct journal_link *l, const char *url);
/* From any thread: another gateway writes than the one that it may be connected to.  Nothing is
 * heard of that one when this has returned; link_set_writer() follows. */
void link_doubt(struct journal_link *l);
/* From any thread: is it connected? */
bool link_is_up(struct journal_link *l);

struct link_counts {
    _Atomic uint64_t forwarded; /* requests that were sent, repeats too */
    _Atomic uint64_t refused;   /* that found no writer in time */
    _Atomic uint64_t waiting;   /* that have no answer now */
    _Atomic uint64_t connected; /* how often it was connected */
};
const struct link_counts *link_counts(const struct journal_link *l);

#endif
