#include "jobs/lease_cache.h"

#include "base/error.h"

void lease_cache_init(struct lease_cache *c, const unsigned char secret[MAC_KEY])
{
    *c = (struct lease_cache){ .secret = secret };
}

static bool is_of(const struct cached_lease *known,
                  const struct lease_text *lease,
                  struct str job)
{
    return known->job_n > 0 && known->key == lease->key && known->attempt == lease->attempt &&
           str_eq(str_make(known->job, known->job_n), job) &&
           str_eq(str_make(known->executor, known->executor_n), lease->executor);
}

static void keep(struct cached_lease *known, const struct lease_text *lease, struct str job)
{
    if (job.n == 0 || job.n > sizeof(known->job))
        return;
    known->key = lease->key;
    known->attempt = lease->attempt;
    known->job_n = (unsigned char)job.n;
    memcpy(known->job, job.p, job.n);
    memcpy(known->mac, lease->mac.p, MAC_CHARS);
    known->executor_n = (unsigned char)lease->executor.n;
    str_copy(known->executor, lease->executor);
}

int lease_cache_check(struct lease_cache *c, const struct lease_text *lease, struct str job)
{
    struct cached_lease *known = &c->leases[(uint64_t)lease->key % LEASE_CACHE_PLACES];

    if (is_of(known, lease, job))
        return mac_eq(known->mac, lease->mac) ? 0 : ERR_REFUSED;
    int code = lease_check(lease, c->secret, job);
    if (code == 0)
        keep(known, lease, job);
    return code;
}
