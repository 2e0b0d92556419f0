/* libspoolwire: any worker's events in, any reader's frames out.
 *
 *     struct spoolwire_options options = { .to = "messages", .write = on_write };
 *     struct spoolwire *s;
 *
 *     if (spoolwire_new(&options, &s) == 0) {
 *         spoolwire_begin(s, "job-1");
 *         spoolwire_feed(s, bytes, n);      as often as there are bytes, cut anywhere
 *         spoolwire_end(s);                 the worker's stream is over
 *         spoolwire_free(s);
 *     }
 *
 * No I/O, no threads, no globals: two objects know nothing of each other, and one object
 * belongs to one thread at a time.  What comes out is handed to `write`, inside the calls
 * above.  Link with -lspoolwire (pkg-config spoolwire). */
#ifndef SPOOLWIRE_H
#define SPOOLWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spoolwire;

/* All members may be zero, except `write`. */
struct spoolwire_options {
    const char *from;    /* auto, events, callbacks, envelope, modes, native */
    const char *to;      /* a dialect: agent and others, see docs/dialects.md */
    const char *framing; /* sse, ndjson */
    const char *agent;   /* whose settings apply */
    const char *after;   /* only the frames after this id */
    bool subgraphs;      /* messages: name the namespaces of subgraphs */
    bool strict;         /* the first bad line is an error */
    size_t max_line;     /* bytes; 0: 16 MiB */
    size_t max_depth;    /* 0: 64 */
    size_t max_field;    /* bytes; 0: 64 KiB */

    /* Takes frames; a negative return ends the stream with that error. */
    int (*write)(void *arg, const char *bytes, size_t n);
    /* Now, in milliseconds since 1970; NULL: a clock that stands still at 0. */
    int64_t (*clock)(void *arg);
    /* Told of each line that could not be understood; may be NULL. */
    void (*bad_line)(void *arg, uint64_t line, const char *why);
    void *arg;
};

/* 0, or a negative error; then *ret is not set. */
int spoolwire_new(const struct spoolwire_options *options, struct spoolwire **ret);
void spoolwire_free(struct spoolwire *s); /* accepts NULL */

/* Begins a job.  The id is copied. */
int spoolwire_begin(struct spoolwire *s, const char *job);
int spoolwire_feed(struct spoolwire *s, const char *bytes, size_t n);
int spoolwire_end(struct spoolwire *s);

/* One sentence on the last error. */
const char *spoolwire_error(const struct spoolwire *s);

#ifdef __cplusplus
}
#endif

#endif
