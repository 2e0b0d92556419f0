/* Watchers: the gateways whose readers wait for jobs of a shard that this gateway writes.
 *
 *     a gateway ══ FRAME_WATCH ══▶ served ──▶ watchers_set
 *     journal's thread ── watchers_push ──▶ a follower's buffer ──message──▶ served
 *
 * A follower is the connection of another gateway that tells which jobs its readers wait for.
 * After a commit it gets the new records of these jobs, and nothing of others.  So commits
 * whose jobs have no readers elsewhere cost nothing, and need no hint by NOTIFY either, as long
 * as all other gateways follow.
 *
 * A job is watched from the moment watchers_set() returns: every later commit is pushed.
 * What was committed before is in the store, where the follower looks when it has heard that
 * the job is watched.
 *
 * One for each shard.  From any thread. */
#ifndef CLUSTER_WATCHERS_H
#define CLUSTER_WATCHERS_H

#include "base/buf.h"
#include "journal/journal.h"
#include "loop/mailbox.h"

#include <stdatomic.h>

struct watchers;

MUST_CHECK int watchers_new(struct watchers **ret);
void watchers_free(struct watchers *w);

/* A connection of another gateway.  Its owner embeds it, and sets the first four. */
struct follower {
    const char *gateway;         /* its id; borrowed */
    uint64_t number;             /* the how many'th connection of that gateway */
    struct mailbox *box;         /* borrowed */
    struct loop_message message; /* posted when there is something for watchers_take() */
    struct follower *prev, *next;
    atomic_llong heard; /* clock_monotonic_ms() of its last bytes; set by its owner */
    /* Under the lock of watchers: */
    struct buf out;
    bool is_posted;
    bool is_lost; /* pushes did not fit */
    bool is_over; /* the connection is to be cut */
};

/* On the loop of the connection.  It follows from now on, in place of an older connection of
 * that gateway.  If there is a newer one, whose bytes were read first, it is itself to be cut.
 */
void watchers_begin(struct watchers *w, struct follower *f);
/* It is not used by others any more.  True: its message will still be delivered. */
bool watchers_end(struct watchers *w, struct follower *f);
/* @jobs: ids, each with a newline. */
void watchers_set(struct watchers *w, struct follower *f, struct str jobs, bool on);
/* Moves its pushes, as frames, to @out.  False: the connection is to be cut. */
bool watchers_take(struct watchers *w, struct follower *f, struct buf *out);
/* Its message was delivered. */
void watchers_delivered(struct watchers *w, struct follower *f);

/* This gateway writes the shard from now on, or no longer: then all connections are cut, so
 * that what comes over one connection is of one writer. */
void watchers_open(struct watchers *w, bool is_open);

/* Is @job watched? */
bool watchers_want(struct watchers *w, struct str job);
/* From the journal's thread, after the commit.  Returns how many gateways follow. */
size_t watchers_push(struct watchers *w, const struct publication *pubs, size_t n);

#endif
