/* Publishes the records of jobs to Redis, each as the messages of one dialect on the job's own
 * channel.
 *
 * It reads each job's log from a cursor, like any other reader; the changes that it is told are
 * only hints.  A record is published when Redis has acknowledged its messages; the cursor is
 * stored about once a second.  So after a crash or a lost connection, some messages are
 * repeated, in order.  None is missing, except when a job is too far behind and records are
 * skipped.
 *
 * Loop thread only, but for publisher_news. */
#ifndef REDIS_PUBLISHER_H
#define REDIS_PUBLISHER_H

#include "base/must_check.h"
#include "config/values/channel.h"
#include "base/counter.h"
#include "redis/connection.h"

struct dialect;
struct journal;
struct mailbox;
struct publication;
struct publisher;
struct store;

struct publisher_counts {
    struct counter records;  /* published */
    struct counter messages; /* published messages of these records */
    struct counter skipped;  /* records that will not be published */
    struct counter refused;  /* messages that Redis refused */
    struct counter lag;      /* records that are still to be published */
    struct redis_counts redis;
};

struct publisher_options {
    uv_loop_t *loop;
    struct mailbox *box;  /* borrowed; of the loop */
    struct mailbox *news; /* the same; for publisher_news() alone */
    struct store *reader; /* borrowed; for the loop's thread */
    struct journal *journal;
    uint64_t written; /* shards whose jobs are published at first, as bits */
    const struct redis_url *url;
    const struct dialect *dialect;
    struct channel channel; /* texts borrowed */
    uint64_t max_backlog;   /* publish at most so many old records of a job; 0: all */
    /* Called each time the connection is made or lost; see redis_options. */
    void (*state)(void *arg, bool connected, struct str why);
    void *arg;
    struct publisher_counts *counts; /* borrowed */
};

MUST_CHECK int publisher_open(const struct publisher_options *options, struct publisher **ret);
/* Publishes what it can within a second, stores the cursors, and closes.  @closed is the last
 * callback. */
void publisher_close(struct publisher *p, void (*closed)(void *arg), void *arg);
/* After @closed was called, and when the mailbox is closed and no more changes come. */
void publisher_free(struct publisher *p);

/* Of several gateways the one that writes a shard publishes its jobs: @written are those of
 * this one, as bits.  Jobs of others are not published, and their cursors not stored; those of
 * a shard that comes are taken from the store.  @lost: shards that another gateway has written
 * since the last call. */
void publisher_set_shards(struct publisher *p, uint64_t written, uint64_t lost);

/* From the journal's thread, after each commit. Does nothing when the mailbox is closed. */
void publisher_news(struct publisher *p, const struct publication *pubs, size_t n);

/* Does this server publish on the job's channel, or did it until a moment ago? */
bool publisher_owns(const struct publisher *p, struct str job);

#endif
