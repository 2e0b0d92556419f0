/* Peers: the other gateways, as our beats see them.
 *
 * Stale: the beat of a gateway did not change for PEER_STALE_MS, while our own beats were
 * stored.  So a PostgreSQL that stands still makes nobody stale.
 *
 * Of one thread. */
#ifndef CLUSTER_PEERS_H
#define CLUSTER_PEERS_H

#include "store/gateways.h"

enum { PEER_STALE_MS = 3000, PEER_DEAD_MS = 10000, PEER_URL_BYTES = 256, MAX_PEERS = 64 };

struct cluster_peer {
    char id[GATEWAY_ID_BYTES];
    char url[PEER_URL_BYTES];
    char version[40];
    int64_t started;
    int64_t number; /* of all that we have ever seen */
    int64_t beat;
    int64_t changed; /* when the beat was last seen to change */
    uint64_t shards; /* that it writes, as bits */
    int64_t newest_schema;
    bool was_writer, is_connected, is_listed;
};

struct peers {
    struct cluster_peer list[MAX_PEERS];
    size_t n;
    int64_t n_numbers;
    int64_t beaten; /* when our last beat was stored; 0: the last one failed */
};

/* Beats: stores ours, and reads those of the others.  After an error they are as before. */
MUST_CHECK int peers_beat(struct peers *p, struct gateways *g, struct error *err);

/* The one that writes @shard; NULL: none of them. */
const struct cluster_peer *peers_writer(const struct peers *p, int64_t shard);
bool peer_is_stale(const struct cluster_peer *p, int64_t now);
/* Should a gateway that writes these shards give one to another?  Of those that write the most,
 * the one with the smallest id, if somebody has two less. */
bool peers_want(const struct peers *p, const char *id, uint64_t written, int64_t now);
/* One that does not know the schema @newest; NULL: none. */
const struct cluster_peer *peers_older(const struct peers *p, int64_t newest);
/* It will not come back: it has had no session and no beat for PEER_DEAD_MS. */
bool peer_is_dead(const struct cluster_peer *p, int64_t now);
/* Its processes, and the jobs that they did, are lost. */
bool peer_is_gone(const struct cluster_peer *p, int64_t now);

#endif
