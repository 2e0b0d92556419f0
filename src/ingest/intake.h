/* The intake: a worker's bytes in, events to its fold.
 *
 *     bytes ─▶ lines ─▶ SSE or JSON lines ─▶ JSON ─▶ event ─▶ fold
 *
 * A bad line is reported with its number and reason, counted, and forgotten; it
 * never stops the stream or harms another event, unless `strict` is asked for. */
#ifndef INGEST_INTAKE_H
#define INGEST_INTAKE_H

#include "base/error.h"
#include "base/must_check.h"
#include "base/str.h"
#include "ingest/event.h"

#include <stdint.h>

struct fold;
struct intake;

enum {
    INTAKE_MAX_LINE = 16 * 1024 * 1024, /* bytes */
    INTAKE_MAX_DEPTH = 64,
};

typedef void (*intake_bad_cb)(void *arg, uint64_t line, const struct error *why);

struct intake_options {
    enum event_source from;
    size_t max_line;   /* bytes; 0: the default */
    size_t max_depth;  /* 0: the default; at most 256 */
    bool strict;       /* the first bad line is an error */
    intake_bad_cb bad; /* or NULL */
    void *arg;
};

struct intake_stats {
    uint64_t lines;
    uint64_t events; /* understood, also those with nothing to store */
    uint64_t bad;
    uint64_t bytes;
};

MUST_CHECK int intake_new(const struct intake_options *options, struct intake **ret);
void intake_free(struct intake *in);

/* Begins a new job: what follows goes to @fold (borrowed). */
void intake_begin(struct intake *in, struct fold *fold);

/* Takes bytes, cut anywhere.  An error is the fold's, or a bad line when strict. */
MUST_CHECK int intake_feed(struct intake *in, struct str bytes, int64_t ts);
/* The last line need not have an end. */
MUST_CHECK int intake_end(struct intake *in, int64_t ts);

/* The last reason: of a bad line, or of the error that was returned. */
const struct error *intake_error(const struct intake *in);
void intake_stats(const struct intake *in, struct intake_stats *ret);

#endif
