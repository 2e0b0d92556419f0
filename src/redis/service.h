/* The Redis service: a publisher and a subscriber on a thread of their own.
 *
 *     journal's changes ──▶ publisher ──PUBLISH──▶ Redis ──PSUBSCRIBE──▶ subscriber ──▶ journal
 *
 * Nothing else waits for Redis, and the journal does not depend on it (law 6). */
#ifndef REDIS_SERVICE_H
#define REDIS_SERVICE_H

#include "base/must_check.h"
#include "redis/publisher.h"
#include "redis/subscriber.h"
#include "store/store.h"

struct redis_service;
struct error;
struct barriers;

/* An event for the operator's log. */
struct redis_service_notice {
    const char *part; /* "publish", "subscribe" */
    bool connected;   /* the new state; meaningless if it is about a job */
    struct str job;   /* absent: none */
    uint64_t refused; /* messages of the job that were refused since the last notice */
    struct str why;   /* absent: no error */
};

struct redis_service_options {
    const char *url; /* checked */
    struct store_options store;
    struct journal *journal;       /* borrowed; stopped after the service */
    const struct dialect *dialect; /* NULL: nothing is published */
    const char *publish_channel;   /* checked; this and the next: borrowed */
    uint64_t max_backlog;
    const char *subscribe_channel; /* NULL: no subscription */
    struct str agent;              /* absent: unknown jobs are refused */
    bool is_shared;   /* several gateways use the store: it rests until it is told to work */
    int64_t n_shards; /* of the store */
    size_t max_bytes, max_depth; /* see subscriber.h */
    /* On the service's thread. */
    void (*notice)(void *arg, const struct redis_service_notice *notice);
    void *arg;
};

/* Before the journal is started, so that no change is missed. */
MUST_CHECK int redis_service_new(const struct redis_service_options *options,
                                 struct redis_service **ret,
                                 struct error *err);
MUST_CHECK int redis_service_start(struct redis_service *s, struct error *err);
/* From the journal's thread, until redis_service_free. */
void redis_service_published(struct redis_service *s, const struct publication *pubs, size_t n);
/* With is_shared, until redis_service_free, from one thread at a time: the shards that this
 * gateway writes from now on, as bits.  It publishes their jobs and listens for them. */
void redis_service_set_shards(struct redis_service *s, uint64_t written);
/* Ends the thread; received events and publish cursors are stored first. */
void redis_service_stop(struct redis_service *s);
void redis_service_free(struct redis_service *s);

/* From any thread, until redis_service_free; NULL: there is no subscriber. */
struct barriers *redis_service_barriers(const struct redis_service *s);
const struct publisher_counts *redis_service_published_counts(const struct redis_service *s);
const struct subscriber_counts *redis_service_heard_counts(const struct redis_service *s);

#endif
