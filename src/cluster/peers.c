#include "cluster/peers.h"

#include "base/clock.h"

#include <stdio.h>

enum { LATE_MS = 1500 }; /* between two of our own beats: then nobody can be judged */

static struct cluster_peer *find_or_add(struct peers *p, struct str id)
{
    for (size_t i = 0; i < p->n; i++)
        if (str_eq(id, str_of(p->list[i].id)))
            return &p->list[i];
    if (p->n == MAX_PEERS)
        return NULL;
    struct cluster_peer *added = &p->list[p->n++];
    *added = (struct cluster_peer){ .beat = -1, .number = ++p->n_numbers };
    (void)snprintf(added->id, sizeof(added->id), "%.*s", STR_ARG(id));
    return added;
}

static void on_gateway(void *arg, const struct gateway_row *row)
{
    struct cluster_peer *p = row->is_self ? NULL : find_or_add(arg, row->id);

    if (p == NULL)
        return;
    if (p->beat != row->beat)
        p->changed = clock_monotonic_ms();
    p->was_writer = p->shards != 0 || (p->was_writer && p->beat == row->beat);
    p->beat = row->beat;
    p->is_listed = true;
    p->shards = row->shards;
    p->newest_schema = row->newest_schema;
    p->is_connected = row->is_connected;
    p->started = row->started;
    (void)snprintf(p->url, sizeof(p->url), "%.*s", STR_ARG(row->url));
    (void)snprintf(p->version, sizeof(p->version), "%.*s", STR_ARG(row->version));
}

static void forget_unlisted(struct peers *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].is_listed)
            p->list[n++] = p->list[i];
    p->n = n;
}

int peers_beat(struct peers *p, struct gateways *g, struct error *err)
{
    for (size_t i = 0; i < p->n; i++)
        p->list[i].is_listed = false;
    int code = gateways_beat(g, on_gateway, p, err);
    if (code != 0) {
        p->beaten = 0;
        return code;
    }
    int64_t now = clock_monotonic_ms();
    forget_unlisted(p);
    if (p->beaten == 0 || now - p->beaten > LATE_MS)
        for (size_t i = 0; i < p->n; i++)
            p->list[i].changed = now;
    p->beaten = now;
    return 0;
}

const struct cluster_peer *peers_writer(const struct peers *p, int64_t shard)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].shards >> shard & 1)
            return &p->list[i];
    return NULL;
}

bool peer_is_stale(const struct cluster_peer *p, int64_t now)
{
    return now - p->changed >= PEER_STALE_MS;
}

/* A gateway without a session is gone if it had the lock, which the end of its session has
 * freed.  Another one may be about to connect again. */
bool peer_is_gone(const struct cluster_peer *p, int64_t now)
{
    return !p->is_connected && (p->was_writer || p->shards != 0 || peer_is_stale(p, now));
}

bool peer_is_dead(const struct cluster_peer *p, int64_t now)
{
    return !p->is_connected && now - p->changed >= PEER_DEAD_MS;
}

const struct cluster_peer *peers_older(const struct peers *p, int64_t newest)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].newest_schema < newest)
            return &p->list[i];
    return NULL;
}

enum { SETTLED_BEATS = 2 }; /* then a gateway waits for the locks */

static unsigned count(uint64_t shards)
{
    return (unsigned)__builtin_popcountll(shards);
}

bool peers_want(const struct peers *p, const char *id, uint64_t written, int64_t now)
{
    unsigned fewest = count(written);

    for (size_t i = 0; i < p->n; i++) {
        const struct cluster_peer *o = &p->list[i];
        unsigned n = count(o->shards);

        if (peer_is_stale(o, now) || peer_is_gone(o, now) || o->beat < SETTLED_BEATS)
            continue;
        if (n > count(written) || (n == count(written) && strcmp(o->id, id) < 0))
            return false;
        fewest = n < fewest ? n : fewest;
    }
    return count(written) >= fewest + 2;
}
