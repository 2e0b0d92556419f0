/* Seekers: lease requests that look for work in all shards.
 *
 *     LEASE ──▶ look at all shards ──▶ ask the one with the oldest job, then the next ──▶
 * answered ▲                       │ nothing └── a hint, or a second ┴──▶ waits here
 *
 * Looking changes nothing: a shard says whether the request id holds a job there, which the
 * request then gets again, and how old its next job is.  Only one shard at a time is asked for
 * a job, so that no job is leased and given back.
 *
 * A hint sends one seeker looking; the one that finds something sends the next.  A lost hint
 * costs a second.
 *
 * For the router; from any thread.  A thread of its own keeps time. */
#ifndef CLUSTER_SEEKERS_H
#define CLUSTER_SEEKERS_H

#include "journal/journal.h"

struct shard_router;
struct seekers;

/* @gateway: the id of this one; borrowed. */
MUST_CHECK int seekers_new(struct shard_router *router,
                           struct str gateway,
                           struct seekers **ret);
MUST_CHECK int seekers_start(struct seekers *all, struct error *err);
/* Answers those that wait; nothing is posted from now on. */
void seekers_stop(struct seekers *all);
void seekers_free(struct seekers *all);

void seekers_add(struct seekers *all, struct journal_request *lease);
/* Work may wait for @agent; absent: for any. */
void seekers_queued(struct seekers *all, struct str agent);

#endif
