/* Publishes the records of jobs to Redis, each as the messages of one dialect on the job's own
 * channel.
 *
 * It is a reader like any other: a cursor in each job's log. Changes that it is told are only
 * hints.  What Redis has acknowledged is published; how far that is gets stored about once a
 * second.  So after a crash, or when the connection is lost, some messages may come again, in
 * order, beginning with one that was there before; and none is left out, but for what is
 * skipped because a job was too far behind.
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
    struct counter records;  /* that are published */
    struct counter messages; /* that they gave */
    struct counter skipped;  /* records that are not, and will not be */
    struct counter refused;  /* messages that Redis did not take */
    struct counter lag;      /* records that are still to be */
    struct redis_counts redis;
};

struct publisher_options {
    uv_loop_t *loop;
    struct mailbox *box;  /* borrowed; of the loop */
    struct mailbox *news; /* the same; for publisher_news() alone */
    struct store *reader; /* borrowed; for the loop's thread */
    struct journal *journal;
    const struct redis_url *url;
    const struct dialect *dialect;
    struct channel channel; /* texts borrowed */
    uint64_t max_backlog;   /* records of a job that are published late; 0: all */
    /* Once each time the connection comes or goes; see redis_options. */
    void (*state)(void *arg, bool connected, struct str why);
    void *arg;
    struct publisher_counts *counts; /* borrowed */
};

MUST_CHECK int publisher_open(const struct publisher_options *options, struct publisher **ret);
/* Publishes what it can within a second, stores the cursors, and ends. @closed is the last
 * callback. */
void publisher_close(struct publisher *p, void (*closed)(void *arg), void *arg);
/* After that, when the mailbox is closed and no more news come. */
void publisher_free(struct publisher *p);

/* From the journal's thread, after each commit. Does nothing when the mailbox is closed. */
void publisher_news(struct publisher *p, const struct publication *pubs, size_t n);

/* Do we publish on this job's channel, or did we a moment ago? */
bool publisher_owns(const struct publisher *p, struct str job);

#endif
