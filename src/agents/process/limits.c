#define _GNU_SOURCE /* prlimit */
#include "agents/process/limits.h"

#include <errno.h>
#include <sys/resource.h>

enum { CPU_GRACE_SECONDS = 5 }; /* from SIGXCPU to SIGKILL */

/* Keeps a hard limit that is lower already. */
static int set(pid_t pid, __rlimit_resource_t what, rlim_t soft, rlim_t hard)
{
    struct rlimit limit;

    if (prlimit(pid, what, NULL, &limit) != 0)
        return -errno;
    if (limit.rlim_max == RLIM_INFINITY || hard < limit.rlim_max)
        limit.rlim_max = hard;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    return prlimit(pid, what, &limit, NULL) == 0 ? 0 : -errno;
}

int limits_set(pid_t pid, size_t max_bytes, unsigned max_cpu_seconds)
{
    int err = max_bytes > 0 ? set(pid, RLIMIT_AS, max_bytes, max_bytes) : 0;

    if (err == 0 && max_cpu_seconds > 0)
        err =
            set(pid, RLIMIT_CPU, max_cpu_seconds, (rlim_t)max_cpu_seconds + CPU_GRACE_SECONDS);
    return err;
}
