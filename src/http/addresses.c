/* Open addressing with linear probing; a slot that becomes free pulls back those behind it
 * that would otherwise not be found (no tombstones).  At most half of the slots are used. */
#include "http/addresses.h"

#include <stdlib.h>
#include <string.h>

/* IPv6 addresses are counted by /64 network: one customer can use all 2^64 of its addresses. */
static struct in6_addr network_of(const struct in6_addr *address)
{
    struct in6_addr network = *address;

    if (!IN6_IS_ADDR_V4MAPPED(address))
        memset(network.s6_addr + 8, 0, 8);
    return network;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static size_t home_of(const struct addresses *a, const struct in6_addr *address)
{
    uint64_t half[2];

    memcpy(half, address, sizeof(half));
    return mix(mix(half[0] ^ a->seed) ^ half[1]) & (a->n_slots - 1);
}

static size_t find(const struct addresses *a, const struct in6_addr *address)
{
    size_t i = home_of(a, address);

    while (a->slots[i].n > 0 && memcmp(&a->slots[i].address, address, sizeof(*address)) != 0)
        i = (i + 1) & (a->n_slots - 1);
    return i;
}

/* After slot @hole became free. */
static void close_gap(struct addresses *a, size_t hole)
{
    size_t mask = a->n_slots - 1;

    for (size_t i = (hole + 1) & mask; a->slots[i].n > 0; i = (i + 1) & mask) {
        size_t home = home_of(a, &a->slots[i].address);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* its home slot is behind the hole: probing finds it */
        a->slots[hole] = a->slots[i];
        a->slots[i].n = 0;
        hole = i;
    }
}

int addresses_init(struct addresses *a, uint32_t limit, size_t max_connections, uint64_t seed)
{
    *a = (struct addresses){ .limit = limit, .seed = seed, .n_slots = 64 };
    if (limit == 0)
        return 0;
    while (a->n_slots < 2 * max_connections)
        a->n_slots *= 2;
    int err = uv_mutex_init(&a->lock);
    if (err != 0)
        return err;
    a->slots = calloc(a->n_slots, sizeof(a->slots[0]));
    if (a->slots == NULL) {
        uv_mutex_destroy(&a->lock);
        return UV_ENOMEM;
    }
    return 0;
}

void addresses_done(struct addresses *a)
{
    if (a->slots == NULL)
        return;
    free(a->slots);
    a->slots = NULL;
    uv_mutex_destroy(&a->lock);
}

bool addresses_enter(struct addresses *a, const struct in6_addr *address)
{
    struct in6_addr network = network_of(address);

    if (a->slots == NULL)
        return true;
    uv_mutex_lock(&a->lock);
    struct address_count *slot = &a->slots[find(a, &network)];
    bool allowed = slot->n < a->limit;
    if (allowed) {
        slot->address = network;
        slot->n++;
    }
    uv_mutex_unlock(&a->lock);
    return allowed;
}

void addresses_leave(struct addresses *a, const struct in6_addr *address)
{
    struct in6_addr network = network_of(address);

    if (a->slots == NULL)
        return;
    uv_mutex_lock(&a->lock);
    size_t i = find(a, &network);
    if (a->slots[i].n > 0 && --a->slots[i].n == 0)
        close_gap(a, i);
    uv_mutex_unlock(&a->lock);
}
