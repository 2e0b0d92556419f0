/* The leases of a loop whose signatures were found good, so that a worker's next request costs
 * a comparison instead of an HMAC.
 *
 * A lease has one place, by its job's key, and gives it up to the next good one that falls on
 * it; a forged lease displaces nothing.  The server's secret never changes while it runs.
 *
 * One thread only. */
#ifndef JOBS_LEASE_CACHE_H
#define JOBS_LEASE_CACHE_H

#include "jobs/job.h"
#include "jobs/lease.h"

enum { LEASE_CACHE_PLACES = 256 };

struct lease_cache {
    const unsigned char *secret; /* borrowed; MAC_KEY bytes */
    struct cached_lease {
        int64_t key, attempt;
        unsigned char job_n; /* 0: empty */
        char job[JOB_ID_MAX];
        char mac[MAC_CHARS];
        unsigned char executor_n;
        char executor[EXECUTOR_MAX];
    } leases[LEASE_CACHE_PLACES];
};

void lease_cache_init(struct lease_cache *c, const unsigned char secret[MAC_KEY]);
/* As lease_check(). */
int lease_cache_check(struct lease_cache *c, const struct lease_text *lease, struct str job);

#endif
