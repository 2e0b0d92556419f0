/* The errors of workers that cannot work for an agent, as they have reported them.
 *
 * In memory only, and bounded.  A report counts for two minutes: a worker that is still there
 * repeats it. */
#ifndef JOURNAL_WORKER_ERRORS_H
#define JOURNAL_WORKER_ERRORS_H

#include "base/str.h"

#include <stdint.h>

enum { WORKER_ERRORS_MAX = 1000, WORKER_ERROR_MS = 120 * 1000 };

struct worker_error;

struct worker_errors {
    struct worker_error *first; /* owned; the newest */
    size_t n;
};

/* Replaces the report of @worker about @agent; an absent @error, or no memory, only removes the
 * old one. */
void worker_errors_put(struct worker_errors *list,
                       struct str agent,
                       struct str worker,
                       struct str error,
                       int64_t now);
/* How many workers cannot work for @agent; @ret: the newest error, absent if there is none,
 * valid until the next change. */
size_t worker_errors_of(const struct worker_errors *list,
                        struct str agent,
                        int64_t now,
                        struct str *ret);
void worker_errors_clear(struct worker_errors *list);

#endif
