/* The member: this gateway's row among those that share the database, and who writes.
 *
 * Once a second it beats: says that this gateway is there, and sees who else is.  It tells the
 * link where the writer is, the journal (if it is open here) which gateways live, and has
 * PostgreSQL end the sessions of a writer that is stale; the lock is then free for whoever
 * waits for it.  Between beats it sends and hears hints.
 *
 * One connection to PostgreSQL, one thread. */
#ifndef CLUSTER_MEMBER_H
#define CLUSTER_MEMBER_H

#include "cluster/cluster.h"
#include "cluster/link.h"

struct cluster_member;

struct member_options {
    const struct cluster_options *cluster; /* borrowed */
    const char *id, *url;                  /* of this gateway; borrowed */
    int64_t n_shards;
    struct journal *const *journals;   /* borrowed; one for each shard, as the next */
    struct journal_link *const *links; /* borrowed */
    struct hub_shared *hub;            /* borrowed */
    struct notifier *notifier;         /* borrowed */
    /* From the thread, after a beat: this gateway writes more shards than it should; NULL:
     * nobody wants to know. */
    void (*has_more)(void *arg, uint64_t written);
    /* From the thread, after a beat: this gateway writes the first shard, and all gateways know
     * a newer schema than the database has; NULL: the same. */
    void (*may_migrate)(void *arg);
    void *arg;
};

/* Enters this gateway, and beats once. */
MUST_CHECK int member_new(const struct member_options *options,
                          struct cluster_member **ret,
                          struct error *err);
MUST_CHECK int member_start(struct cluster_member *m, struct error *err);
/* What the thread does again and again: beats when it is time, sends hints, and waits for those
 * of others.  For a simulator, which has no thread. */
void member_step(struct cluster_member *m);
/* Ends the thread, and removes this gateway from the list. */
void member_stop(struct cluster_member *m);
void member_free(struct cluster_member *m);

/* From any thread: this gateway writes the shard from now on, or no longer. */
void member_set_writer(struct cluster_member *m, int64_t shard, bool is_writer);
/* From any thread: how many others are there? */
unsigned member_others(struct cluster_member *m);
/* From the journal's thread.  @n_followers: so many of the others have got new records already,
 * if their readers wait for them; when all have, only other changes become hints. */
void member_published(struct cluster_member *m,
                      const struct publication *pubs,
                      size_t n,
                      size_t n_followers);
/* From any thread: the writer has pushed this. */
void member_heard(struct cluster_member *m, const struct record_push *push);
void member_queued(struct cluster_member *m, struct str agent);

/* From any thread. */
void member_look(struct cluster_member *m, struct cluster_state *ret);
void member_put_gateways(struct cluster_member *m, struct buf *b);

#endif
