/* A topic: a job with readers on this loop, and its channels, one for each stream format.
 *
 * Internal to hub/; also has struct hub. */
#ifndef HUB_TOPIC_H
#define HUB_TOPIC_H

#include "base/histogram.h"
#include "base/table.h"
#include "base/thread_owner.h"
#include "dialect/frames.h"
#include "hub/hub.h"
#include "hub/window.h"

#include <stdatomic.h>

struct change_message;
struct recheck;

struct topic_channel {
    struct topic_channel *next; /* in the topic's list */
    struct topic *topic;
    struct stream_format format;
    struct window window;
    struct reader readers; /* list head */
    size_t n_readers;
    struct topic_channel *due_prev, *due_next; /* in the hub's ring, while readers are to be
                                                  woken */
    struct reader *at;                         /* the next reader to wake, or the head */
    size_t n_due;      /* all readers to be woken are among the next so many */
    size_t n_measured; /* wake-ups until all readers have the bytes of the commit that arrived
                          at... */
    uint64_t since_us; /* ...this time; 0: nothing is being measured */
};

struct topic {
    struct topic *prev, *next; /* in the hub's list */
    struct hub *hub;
    struct topic_channel *channels;
    int64_t key; /* of the newest known job with that id; 0: unknown */
    char job[80];
    size_t job_n;
    uint64_t told_seq; /* of the last change */
    int64_t attempt;   /* the highest of all changes; 0: none was told */
    uint8_t state;     /* enum job_state, if known */
    bool knows_state;
    bool has_news;  /* a change arrived since the last re-check */
    bool was_asked; /* the last re-check asked the store about it */
    bool looks;     /* it is re-checked in any case */
    uint32_t round; /* the last re-check that came to it */
    bool detached;  /* the job was deleted; its remaining readers will notice */
    bool watched;   /* hub_shared_watch() was told that readers wait */
    bool waking;    /* some of its readers are being woken */
    bool retries;   /* a page could not be read: a reader asks again with the next re-check */
};

struct hub {
    struct thread_owner owner;
    struct hub_shared *shared; /* borrowed */
    struct mailbox *box;       /* borrowed */
    unsigned index;            /* of the loop */
    struct table topics;       /* job id -> struct topic; without detached ones */
    struct topic all;          /* list head; the longest without a re-check first */
    struct recheck *recheck;   /* owned; NULL: not used yet */
    uint32_t round;            /* of re-checks */
    struct frames frames;      /* see hub_frames */
    struct buf scratch;        /* see hub_scratch */
    struct topic_channel due;  /* head of the ring of channels with readers to wake */
    struct loop_message turn;
    bool turn_posted;
    atomic_size_t n_readers; /* other threads only read it */
    struct histogram delivery;
    struct hub_listener listeners; /* list head */
};

/* NULL: the job has no readers here. */
struct topic *topic_find(const struct hub *h, struct str job);
/* NULL: out of memory. */
struct topic *topic_add(struct hub *h, struct str job);
/* The channel of that format, created if necessary; NULL: out of memory. */
struct topic_channel *topic_channel_get(struct topic *t, const struct stream_format *format);
/* Removes channels without readers, and the topic with its last channel. */
void topic_remove_empty(struct topic *t);
/* Removes the channel from the ring: it has no readers to wake. */
void topic_channel_rest(struct topic_channel *c);

/* An id may be reused; newer jobs have higher keys.  Drops what is kept of an older job and
 * disconnects its readers.  False when @key is of an older job. */
bool topic_take_key(struct topic *t, int64_t key);
/* A change or the store says that the job is in this attempt. */
void topic_take_attempt(struct topic *t, int64_t attempt);
/* The job was deleted; a new job with the same id gets another topic. */
void topic_detach(struct topic *t);
/* Moves it to the end of the list, as the last one to be re-checked. */
void topic_move_last(struct topic *t);
/* Moves it to the beginning, as the next one, also if it was in this round. */
void topic_move_first(struct topic *t);
/* Readers wait for its records. */
void topic_watch(struct topic *t);
/* Renders a change into the channel's window. */
void topic_channel_take(struct topic_channel *c, const struct change_message *news);

#endif
