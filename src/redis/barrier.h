/* A barrier tells its owner when everything that was published on a job's channel until now is
 * stored.
 *
 *     owner: barriers_add, PUBLISH barriers_channel() b->text ──▶ Redis
 *                                                                   │ in order
 *     owner: came ◀──message── barriers_job_stored ◀── barriers_received
 *
 * Redis delivers messages to a subscriber in the order of publication, whatever the channel:
 * messages that were published before the barrier arrive before it.  The channel matches the
 * pattern that we subscribe to, with the id of a job that cannot exist, so that no event is
 * taken for a barrier.
 *
 * From any thread. */
#ifndef REDIS_BARRIER_H
#define REDIS_BARRIER_H

#include "base/must_check.h"
#include "config/values/channel.h"
#include "base/table.h"
#include "loop/mailbox.h"

struct barriers;

enum { BARRIER_JOB_MAX = 64 };

/* The owner's memory; it sets the first two members. */
struct barrier {
    struct mailbox *home;            /* borrowed; where `came` is called */
    void (*came)(struct barrier *b); /* on the thread of that loop */
    struct loop_message message;
    struct barrier *next;
    bool is_read;
    size_t job_n;
    char job[BARRIER_JOB_MAX];
    char text[KEY_UUID_CHARS];
};

MUST_CHECK int barriers_new(const struct channel *c, struct barriers **ret);
void barriers_free(struct barriers *all);

/* The channel on which barriers are published. */
struct str barriers_channel(const struct barriers *all);
/* False: no random number could be made; `came` will not be called. */
bool barriers_add(struct barriers *all, struct barrier *b, struct str job);
/* True: `came` will not be called.  False: its message is posted already. */
bool barriers_cancel(struct barriers *all, struct barrier *b);

/* For the subscriber: */

/* Is @job, from a channel's name, the id that barriers use? */
bool barriers_own_job(struct str job);
/* A message with this text has arrived.  Writes the job of its barrier and returns the length;
 * 0: not a barrier of ours. */
size_t barriers_received(struct barriers *all, struct str text, char job[BARRIER_JOB_MAX]);
/* Everything that has arrived for @job is stored. */
void barriers_job_stored(struct barriers *all, struct str job);

#endif
