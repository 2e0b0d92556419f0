/* What the hubs of all loops and the journal's thread share: which loop has readers of which
 * job.
 *
 * Internal to hub/. */
#ifndef HUB_SHARED_H
#define HUB_SHARED_H

#include "base/must_check.h"
#include "hub/hub.h"

/* A change on its way to one loop. */
struct change_message {
    struct loop_message message;
    struct hub *hub;
    bool is_wanted;       /* the loop has readers of the job, */
    bool is_heard;        /* or listeners to all jobs */
    bool looks;           /* no change: the store is to be asked */
    struct change change; /* its texts are in this block */
    uint64_t since_us;
    size_t n_records;
    struct record **records; /* refs, in this block */
};

MUST_CHECK int hub_shared_add(struct hub_shared *s,
                              struct hub *h,
                              struct mailbox *box,
                              unsigned *ret_index);
/* From a loop: its hub has a topic for @job, or no longer has one. */
MUST_CHECK int hub_shared_want(struct hub_shared *s, struct str job, unsigned index);
void hub_shared_unwant(struct hub_shared *s, struct str job, unsigned index);

/* From a loop: it has listeners to all jobs, or no longer has any. */
void hub_shared_listen(struct hub_shared *s, unsigned index, bool listens);

/* From a loop: its readers wait for records of @job, or no longer do. */
void hub_shared_watch(struct hub_shared *s, struct str job, bool on);

bool hub_shared_may_lose(const struct hub_shared *s);

/* On the hub's loop. */
void hub_tell(struct hub *h, const struct change *change);
void hub_take(struct hub *h, const struct change_message *news);
/* A change was lost: all readers read the store. */
void hub_missed(struct hub *h);
/* A change of the job may be lost. */
void hub_look(struct hub *h, struct str job);

#endif
