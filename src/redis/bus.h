/* Redis beside the gateway: what goes out to it, and what comes in.
 *
 *     journal's news ──▶ publisher ──PUBLISH──▶ Redis ──PSUBSCRIBE──▶ subscriber ──▶ journal
 *
 * A thread and a loop of its own: whatever Redis does, nothing else waits for it.  The journal
 * is right without it (law 6). */
#ifndef REDIS_BUS_H
#define REDIS_BUS_H

#include "redis/publisher.h"
#include "redis/subscriber.h"
#include "store/store.h"

struct bus;
struct error;
struct stored_marks;

/* What there is to say to whoever looks after the machine. */
struct bus_notice {
    const char *part; /* "publish", "subscribe" */
    bool connected;   /* it is, or no longer is; unless it is about a job */
    struct str job;   /* absent: none */
    uint64_t refused; /* messages of jobs since the last notice */
    struct str why;   /* absent: all is well */
};

struct bus_options {
    const char *url; /* checked */
    struct store_options store;
    struct journal *journal;       /* borrowed; is stopped later */
    const struct dialect *dialect; /* NULL: nothing is published */
    const char *publish_channel;   /* checked; this and the next: borrowed */
    uint64_t max_backlog;
    const char *subscribe_channel; /* NULL: nothing is listened to */
    struct str agent;              /* absent: unknown jobs are refused */
    size_t max_bytes, max_depth;   /* see subscriber.h */
    /* On the bus's thread. */
    void (*notice)(void *arg, const struct bus_notice *notice);
    void *arg;
};

/* Before the journal is started: no news may be missed. */
int bus_new(const struct bus_options *options, struct bus **ret, struct error *err);
int bus_start(struct bus *b, struct error *err);
/* From the journal's thread, until bus_free. */
void bus_published(struct bus *b, const struct publication *pubs, size_t n);
/* Ends the thread; what was heard is stored, and how far things are published. */
void bus_stop(struct bus *b);
void bus_free(struct bus *b);

/* From any thread, until bus_free; NULL: there is no such part. */
struct stored_marks *bus_marks(const struct bus *b);
const struct publisher_counts *bus_published_counts(const struct bus *b);
const struct subscriber_counts *bus_heard_counts(const struct bus *b);

#endif
