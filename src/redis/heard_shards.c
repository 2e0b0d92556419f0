#include "redis/heard_shards.h"

void heard_shards_init(struct heard_shards *h, uint64_t written)
{
    *h = (struct heard_shards){ .written = written, .first = written };
}

bool heard_shards_set(struct heard_shards *h, uint64_t written, uint64_t lost)
{
    uint64_t gone = lost | ~written;

    h->taken &= ~gone;
    h->first &= ~gone;
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        if (gone >> i & 1)
            h->asked_in[i] = 0;
    h->written = written;
    return heard_shards_want(h);
}

bool heard_shards_want(const struct heard_shards *h)
{
    uint64_t waits = h->written & ~h->taken & ~h->first;

    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        if ((waits >> i & 1) != 0 && h->asked_in[i] == 0)
            return true;
    return false;
}

void heard_shards_asked(struct heard_shards *h)
{
    uint64_t waits = h->written & ~h->taken & ~h->first;

    h->n_asked++;
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        if ((waits >> i & 1) != 0 && h->asked_in[i] == 0)
            h->asked_in[i] = h->n_asked;
}

static uint64_t take(struct heard_shards *h, uint64_t shards)
{
    if (shards == 0)
        return 0;
    h->moment++;
    h->taken |= shards;
    h->first &= ~shards;
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        if (shards >> i & 1)
            h->since[i] = h->moment;
    return shards;
}

uint64_t heard_shards_connected(struct heard_shards *h)
{
    return take(h, h->first);
}

uint64_t heard_shards_confirmed(struct heard_shards *h)
{
    uint64_t come = 0, waits = h->written & ~h->taken;

    h->n_confirmed++;
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        if ((waits >> i & 1) != 0 && h->asked_in[i] != 0 && h->asked_in[i] <= h->n_confirmed)
            come |= UINT64_C(1) << i;
    return take(h, come);
}

void heard_shards_disconnected(struct heard_shards *h)
{
    h->n_asked = h->n_confirmed = 0;
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        h->asked_in[i] = 0;
}

int64_t heard_shards_try(const struct heard_shards *h, int64_t home, uint64_t moment)
{
    if (heard_shards_take(h, home, moment))
        return home;
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        if (heard_shards_take(h, i, moment))
            return i;
    return -1;
}
