/* The cluster: this gateway among those that share its database.
 *
 *     journal_post ──▶ journal (this gateway writes the shard)
 *                 └──▶ link ══▶ the gateway that writes
 *
 * One gateway owns the jobs of a shard: it has the store that writes, and an open journal.  The
 * others forward their requests to it (cluster/link.h) and wait for its session with PostgreSQL
 * to end; whoever is first then opens its own journal.  A gateway that finds that another has
 * taken the jobs over closes its journal and goes on as one of the others.
 *
 * Two threads: the member says once a second that this gateway is there, hears hints of others
 * and sends ours; the standby waits for the lock, opens the journal and closes it. */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "hub/hub.h"
#include "journal/journal.h"
#include "store/gateways.h"

struct cluster;
struct http_request;

/* The schema of the database, while gateways are replaced by those of a newer version. */
struct cluster_schema {
    int64_t version;     /* of the database */
    int64_t newest;      /* that this gateway knows: it is brought to that when all know it */
    char waits_for[256]; /* URL of a gateway that does not; "": none */
    struct str why;      /* a migration has failed; absent: none */
};

struct cluster_events {
    /* From the member's thread: work may wait for @agent; absent: for any. */
    void (*queued)(void *arg, struct str agent);
    /* The same: a job that another gateway's request has cancelled, or paused. */
    void (*stopped)(void *arg, int64_t key, int64_t attempt, bool is_pause);
    /* From a standby's thread: this gateway writes the shard (-1: there is one) from now on, or
     * no longer; @why it failed to, or absent. */
    void (*moved)(void *arg, int64_t shard, bool is_writer, struct str why);
    /* From the member's thread or a standby's: what is to say of the schema. */
    void (*schema)(void *arg, const struct cluster_schema *now);
    /* From a link's thread: it is connected to the gateway that writes the shard (-1: there is
     * one), or @why it is not. */
    void (*linked)(void *arg, int64_t shard, struct str url, struct str why);
    void *arg;
};

struct cluster_options {
    struct store_options store;
    const char *version;    /* of the program; borrowed */
    int64_t started;        /* milliseconds since 1970 */
    const struct str *dead; /* borrowed: see journal_recover() */
    size_t n_dead;
    struct cluster_events events;
};

/* Tries to become the writer at once.  ERR_BUSY is none of its errors: another gateway writes.
 */
MUST_CHECK int cluster_new(const struct cluster_options *options,
                           struct cluster **ret,
                           struct error *err);
/* How many shards does the database have? */
int64_t cluster_shards(const struct cluster *c);
/* Makes a journal for each shard of the database, with @options.  *@ret takes all requests. */
MUST_CHECK int cluster_make_journals(struct cluster *c,
                                     const struct journal_options *options,
                                     struct journal **ret,
                                     struct error *err);
/* When everything else runs: @url is where other gateways reach this one.  If it is the writer,
 * the journal is open afterwards. */
MUST_CHECK int cluster_start(struct cluster *c,
                             struct hub_shared *hub,
                             struct notifier *notifier,
                             const char *url,
                             struct error *err);
/* Hands the jobs over: requests go to the next writer from now on.  If there is no other
 * gateway, nothing happens. */
void cluster_leave(struct cluster *c);
/* Ends the threads, also those of the journals. */
void cluster_stop(struct cluster *c);
/* Requests that are still forwarded are answered ERR_BUSY, and so is what the journals have
 * waiting.  Frees the journals: nothing may be posted afterwards. */
void cluster_close(struct cluster *c);
void cluster_free(struct cluster *c);

/* For journal_events: from the journal's thread. */
void cluster_published(struct cluster *c, const struct publication *pubs, size_t n);
/* For hub_shared_set_watch(): readers of this gateway wait for records of @job. */
void cluster_watch(void *cluster, struct str job, bool on);
/* Do readers of other gateways wait for @job? */
bool cluster_wanted(struct cluster *c, struct str job);
void cluster_queued(struct cluster *c, struct str agent);

/* Of another gateway; on the loop of @box. */
void cluster_serve(struct cluster *c, struct http_request *req, struct mailbox *box);

/* From any thread: what metrics and health say. */
struct cluster_state {
    bool is_writer; /* of the first shard */
    int64_t n_shards;
    uint64_t written;  /* shards that this gateway writes, as bits */
    bool is_reachable; /* the gateways that write */
    unsigned n_gateways;
    char id[GATEWAY_ID_BYTES];
    char writer[256]; /* URL of the first shard's writer; "": nobody */
    int64_t beat_ms;  /* since PostgreSQL has last heard of us */
    uint64_t hints;   /* that were heard */
    uint64_t pushed;  /* records that the gateways that write have sent */
    int64_t hint_ms;  /* from the commit to us, of the last hint; by the clocks of both */
    uint64_t forwarded, refused, waiting, connected; /* see link_counts() */
    struct cluster_schema schema;
};
void cluster_look(struct cluster *c, struct cluster_state *ret);
/* From any thread: the counts of all shards, as far as this gateway has written them. */
void cluster_counts(const struct cluster *c, struct journal_counts *ret);
void cluster_agent_count(const struct cluster *c, struct str agent, struct agent_count *ret);
/* From any thread: {"id", "writer", "reachable", "gateways": [{"id", "url", …}]}, for people.
 */
void cluster_put_gateways(struct cluster *c, struct buf *b);

#endif
