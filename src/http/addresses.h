/* How many connections each address has.
 *
 * Made with room for all connections that can exist, so counting never allocates.  Shared
 * by the loops and guarded by its own lock, which is held for some dozen instructions when
 * a connection comes or goes. */
#ifndef HTTP_ADDRESSES_H
#define HTTP_ADDRESSES_H

#include "base/must_check.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct address_count {
    struct in6_addr address;
    uint32_t n; /* 0: free */
};

struct addresses {
    struct address_count *slots; /* owned; NULL: not counting */
    size_t n_slots;              /* a power of two */
    uint32_t limit;              /* per address */
    uint64_t seed;
    uv_mutex_t lock;
};

/* @limit 0: nothing is counted.  UV_ENOMEM and the like. */
MUST_CHECK int addresses_init(struct addresses *a,
                              uint32_t limit,
                              size_t max_connections,
                              uint64_t seed);
void addresses_done(struct addresses *a);

/* Counts one more; false, without counting, when the address has its limit. */
bool addresses_enter(struct addresses *a, const struct in6_addr *address);
void addresses_leave(struct addresses *a, const struct in6_addr *address);

#endif
