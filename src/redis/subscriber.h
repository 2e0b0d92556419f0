/* Takes the events that workers publish on their jobs' channels into the journal.
 *
 * A job's messages are gathered while the journal stores the ones before, so that under load
 * more of them share a commit.  Above a limit we stop reading: Redis then buffers messages, and
 * disconnects us when its own limit is reached.
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
    struct counter messages;  /* received */
    struct counter own;       /* of these: published by ourselves, */
    struct counter refused;   /* of jobs that are unknown or not fed from a channel, */
    struct counter late;      /* of jobs that have ended, */
    struct counter repeated;  /* duplicates, by their number, */
    struct counter bad;       /* malformed, */
    struct counter elsewhere; /* of jobs that another gateway writes, */
    struct counter events;    /* or accepted */
    struct counter missing;   /* gaps in the numbers: never received */
    struct counter made;      /* jobs that were created */
    struct counter retried;   /* requests that the journal could not store at once */
    struct counter waiting;   /* bytes that wait for the journal now */
    struct counter holds;     /* how often reading was stopped, because too much waited */
    struct redis_counts redis;
};

struct subscriber_options {
    uv_loop_t *loop;
    struct mailbox *box; /* borrowed; of the loop; open until it is closed */
    struct journal *journal;
    const struct redis_url *url;
    struct channel channel;    /* texts borrowed */
    struct barriers *barriers; /* borrowed; of that channel */
    struct str agent; /* agent for unknown jobs, which are created; absent: they are refused */
    size_t max_bytes; /* limit of bytes that wait for the journal */
    size_t max_depth; /* of JSON */
    bool was_deaf; /* other gateways listen too, and shards move between them: jobs of one that
                      comes may have missed messages */
    int64_t n_shards; /* of the database */
    uint64_t written; /* shards that this gateway writes, as bits */
    /* Does this server publish on the job's channel itself?  May be NULL. */
    bool (*is_own)(void *arg, struct str job);
    /* Called each time the connection is made or lost; see redis_options. */
    void (*state)(void *arg, bool connected, struct str why);
    /* Messages of @job were refused; @n: how many since the last call. */
    void (*refused)(void *arg, struct str job, struct str why, uint64_t n);
    void *arg;
    struct subscriber_counts *counts; /* borrowed */
};

MUST_CHECK int subscriber_open(const struct subscriber_options *options,
                               struct subscriber **ret);
/* Unsubscribes, and stores received messages if it can.  @closed is the last callback; the
 * subscriber is freed before it. */
void subscriber_close(struct subscriber *s, void (*closed)(void *arg), void *arg);

/* Messages are taken for jobs of shards that this gateway writes: @written, as bits.  @lost:
 * those that another one has written since the last call. */
void subscriber_set_shards(struct subscriber *s, uint64_t written, uint64_t lost);

#endif
