/* The filter: a worker's bytes in, a reader's frames out.  The whole library in one object.
 *
 *     intake ─▶ fold ─▶ record ─▶ dialect ─▶ frames ─▶ framing ─▶ write
 *
 * One job after another; memory does not grow with the number of jobs. */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include "base/error.h"
#include "base/str.h"
#include "dialect/frames.h"
#include "framing/framing.h"
#include "ingest/fold.h"
#include "ingest/intake.h"

struct dialect;
struct filter;

/* Takes what is ready; 0, or an error that ends the filter. */
typedef int (*filter_write_cb)(void *arg, struct str bytes);
/* Now, in milliseconds since 1970. */
typedef int64_t (*filter_clock_cb)(void *arg);
/* Sees each record before it is rendered (may be NULL). */
typedef int (*filter_record_cb)(void *arg, const struct record *rec);

struct filter_options {
    struct intake_options intake;
    const struct agent *agent;     /* borrowed */
    const struct dialect *dialect; /* borrowed */
    const struct framing *framing; /* borrowed */
    struct variant variant;
    struct cursor after;
    bool wrap;          /* JSON lines: {"id","event","data"} */
    bool name_jobs;     /* JSON lines, wrapped: with "job" */
    size_t field_limit; /* bytes; 0: the default */
    filter_write_cb write;
    filter_clock_cb clock;
    filter_record_cb record;
    void *arg; /* of the three above; the intake has its own */
};

struct filter_stats {
    struct intake_stats in;
    struct fold_stats fold; /* all jobs together; what is open is the last one's */
    uint64_t jobs;
    uint64_t frames;
    uint64_t bytes_out;
};

int filter_new(const struct filter_options *options, struct filter **ret);
void filter_free(struct filter *f);

/* Begins job @id.  The one before must have ended. */
int filter_begin(struct filter *f, struct str id);
/* Takes bytes and writes what they gave. */
int filter_feed(struct filter *f, struct str bytes);
/* The worker's stream is over. */
int filter_end(struct filter *f);

/* Has the current job had its terminal record? */
bool filter_job_ended(const struct filter *f);

const struct error *filter_error(const struct filter *f);
void filter_stats(const struct filter *f, struct filter_stats *ret);

#endif
