/* Metrics in Prometheus' text format (version 0.0.4).
 *
 *     # HELP spoolwire_jobs Jobs that are not final.
 *     # TYPE spoolwire_jobs gauge
 *     spoolwire_jobs{state="queued"} 3
 *
 * Names and labels are ours and need no escaping. */
#ifndef API_OPS_EXPOSE_H
#define API_OPS_EXPOSE_H

#include "base/buf.h"

struct histogram;

#define EXPOSE_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct expose {
    struct buf *out;
    const char *name; /* of the current family */
};

/* Begins a family; @type is counter, gauge or histogram. */
void expose_family(struct expose *e, const char *name, const char *type, const char *help);
/* A value of it; @labels is `state="queued"`, or empty. */
void expose_value(struct expose *e, const char *labels, uint64_t value);
/* The same of microseconds, in seconds. */
void expose_seconds(struct expose *e, const char *labels, uint64_t us);
void expose_histogram(struct expose *e, const char *labels, const struct histogram *h);

/* A family of one value. */
void expose_counter(struct expose *e, const char *name, uint64_t value, const char *help);
void expose_gauge(struct expose *e, const char *name, uint64_t value, const char *help);

#endif
