/* What the hubs of all loops and the journal's thread share: who wants which job.
 *
 * Internal to hub/. */
#ifndef HUB_SHARED_H
#define HUB_SHARED_H

#include "hub/hub.h"

/* One publication on its way to one loop. */
struct job_change {
    struct loop_message message;
    struct hub *hub;
    struct str job; /* in this block */
    int64_t key;    /* 0: not told */
    enum job_state state;
    bool state_changed;
    bool gone;
    int64_t ts;
    uint64_t since_us;
    uint64_t last_seq;
    size_t n_records;
    struct record **records; /* refs, in this block */
};

int hub_shared_add(struct hub_shared *s,
                   struct hub *h,
                   struct mailbox *box,
                   unsigned *ret_index);
/* From a loop: its hub has (no longer) a topic for @job. */
int hub_shared_want(struct hub_shared *s, struct str job, unsigned index);
void hub_shared_unwant(struct hub_shared *s, struct str job, unsigned index);

/* From a loop: somebody there listens to the states of all jobs, or nobody does any more. */
void hub_shared_listen(struct hub_shared *s, unsigned index, bool listens);

/* On the hub's loop. */
void hub_tell(struct hub *h, const struct change *change);
void hub_take(struct hub *h, const struct job_change *news);
/* Something was lost on the way to it, nobody knows what: all readers look again. */
void hub_missed(struct hub *h);

#endif
