/* A topic: a job that is read on a loop; and its channels, the job in one stream format each.
 *
 * Internal to hub/, with the inside of the hub that has the topics. */
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
    struct topic_channel *next; /* of the topic */
    struct topic *topic;
    struct stream_format format;
    struct window window;
    struct reader readers; /* list head */
    size_t n_readers;
    struct topic_channel *due_prev, *due_next; /* in the hub's ring, while readers are to be
                                                  woken */
    struct reader *at;                         /* the one whose turn it is, or the head */
    size_t n_due;      /* all that are to be woken are among so many from there */
    size_t n_measured; /* to be woken until all have what came at... */
    uint64_t since_us; /* ...this time; 0: nothing is measured */
};

struct topic {
    struct topic *prev, *next; /* of the hub */
    struct hub *hub;
    struct topic_channel *channels;
    int64_t key; /* of the newest job of that id that is known of; 0: none */
    char job[80];
    size_t job_n;
    uint64_t told_seq; /* of the last news */
    uint8_t state;     /* enum job_state, where it is known */
    bool knows_state;
    bool has_news;  /* since the last re-check */
    uint32_t round; /* of the re-check in which it was asked for */
    bool detached;  /* the job is gone, and the readers that are left will notice */
    bool waking;    /* some of its readers are being woken */
};

struct hub {
    struct thread_owner owner;
    struct hub_shared *shared; /* borrowed */
    struct mailbox *box;       /* borrowed */
    unsigned index;            /* among the loops */
    struct table topics;       /* job id -> struct topic; without those that are detached */
    struct topic all;          /* list head; those that wait longest for a re-check first */
    struct recheck *recheck;   /* owned; NULL: there was none yet */
    uint32_t round;            /* of re-checks */
    struct frames frames;      /* see hub_frames */
    struct buf scratch;        /* see hub_scratch */
    struct topic_channel due;  /* head of the ring of channels with readers to wake */
    struct loop_message turn;
    bool turn_posted;
    atomic_size_t n_readers; /* others only look */
    struct histogram delivery;
    struct hub_listener listeners; /* list head */
};

/* NULL: the job is not read here. */
struct topic *topic_find(const struct hub *h, struct str job);
/* NULL: no memory. */
struct topic *topic_add(struct hub *h, struct str job);
/* The channel of that format, which is made if there is none; NULL: no memory. */
struct topic_channel *topic_channel_get(struct topic *t, const struct stream_format *format);
/* Removes channels without readers, and the topic with its last channel. */
void topic_remove_empty(struct topic *t);
/* The channel has no readers to wake any more. */
void topic_channel_rest(struct topic_channel *c);

/* An id may be used again: keys rise.  What is kept of an earlier job is dropped, and its
 * readers are disconnected.  False when @key is an earlier job's. */
bool topic_take_key(struct topic *t, int64_t key);
/* The job is gone; a new one of the same id is another topic. */
void topic_detach(struct topic *t);
/* Puts it behind all others, which wait longer for a re-check. */
void topic_move_last(struct topic *t);
/* Renders news into the channel's window. */
void topic_channel_take(struct topic_channel *c, const struct change_message *news);

#endif
