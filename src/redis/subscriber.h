/* Takes the events that workers publish on their jobs' channels into the journal.
 *
 * Messages of a job are gathered while the journal is busy with those before, so the busier it
 * is, the more share a commit.  What is gathered has a limit: above it nothing is read from
 * Redis, which buffers it and disconnects us when its own limit is reached.
 *
 * Loop thread only. */
#ifndef REDIS_SUBSCRIBER_H
#define REDIS_SUBSCRIBER_H

#include "base/must_check.h"
#include "config/values/channel.h"
#include "base/counter.h"
#include "redis/connection.h"

struct journal;
struct mailbox;
struct barriers;
struct subscriber;

struct subscriber_counts {
    struct counter messages; /* that came */
    struct counter own;      /* of these: our own, */
    struct counter refused;  /* of jobs that are unknown or not fed from a channel, */
    struct counter late;     /* of jobs that have ended, */
    struct counter repeated; /* by their number, */
    struct counter bad;      /* not understood, */
    struct counter events;   /* or taken */
    struct counter missing;  /* that never came, by their numbers */
    struct counter made;     /* jobs */
    struct counter retried;  /* requests that the journal could not store at once */
    struct counter waiting;  /* bytes, now */
    struct counter holds;    /* how often nothing was read, for there were too many */
    struct redis_counts redis;
};

struct subscriber_options {
    uv_loop_t *loop;
    struct mailbox *box; /* borrowed; of the loop; open until it is closed */
    struct journal *journal;
    const struct redis_url *url;
    struct channel channel;    /* texts borrowed */
    struct barriers *barriers; /* borrowed; of that channel */
    struct str agent;          /* whose unknown jobs become; absent: they are refused */
    size_t max_bytes;          /* that wait for the journal */
    size_t max_depth;          /* of JSON */
    /* Is it a job whose messages are our own?  May be NULL. */
    bool (*is_own)(void *arg, struct str job);
    /* Once each time the connection comes or goes; see redis_options. */
    void (*state)(void *arg, bool connected, struct str why);
    /* Messages of @job that were not taken, and how many since it was told last. */
    void (*refused)(void *arg, struct str job, struct str why, uint64_t n);
    void *arg;
    struct subscriber_counts *counts; /* borrowed */
};

MUST_CHECK int subscriber_open(const struct subscriber_options *options,
                               struct subscriber **ret);
/* Unsubscribes and stores what has come, if it can. @closed is the last callback; the
 * subscriber is freed before. */
void subscriber_close(struct subscriber *s, void (*closed)(void *arg), void *arg);

#endif
