/* Hands: what does the job of a work.  A process (process.h), a remote endpoint (http.h), or a
 * worker of an ARQ queue (arq.h).
 *
 *     made ──▶ start ──▶ output … ──▶ over ──▶ close ──▶ closed
 *
 * Before they start they are one block of memory and nothing else, and so they are after
 * `closed`: free() ends them.
 *
 * Loop thread only. */
#ifndef AGENTS_HANDS_H
#define AGENTS_HANDS_H

#include "base/buf.h"

struct environment;
struct exec_agent;
struct hands;
struct host;
struct order;

/* What the hands tell their owner. */
struct hands_events {
    /* Bytes of lines; @more: another call follows in this turn, maybe with none. */
    void (*output)(void *owner, struct str bytes, bool more);
    /* Once, and no output after it.  @is_whole: the last line need not have a newline. */
    void (*over)(void *owner, bool is_whole);
    /* After `close`: nothing of them is left but their memory. */
    void (*closed)(void *owner);
};

enum outcome {
    OUTCOME_WELL,
    OUTCOME_FAILED,
    OUTCOME_RAISED,    /* failed: the worker's own exception, in its own words */
    OUTCOME_CANCELLED, /* by somebody else than us */
    OUTCOME_LOST       /* not by the job's own fault: another try may go better */
};

struct hands_ops {
    const char *source; /* of its lines, for people */
    /* False: there is nothing to wait for, `over` does not come; `judge` says why. */
    bool (*start)(struct hands *h, const struct order *order);
    /* No more output, and again. */
    void (*pause)(struct hands *h);
    void (*resume)(struct hands *h);
    /* Asks the worker to stop at its next step; NULL: it cannot hear that. */
    void (*rest)(struct hands *h);
    /* Ends the work in good order, at once, or without waiting for its output to end.  `over`
     * follows, and never from inside of these calls. */
    void (*stop)(struct hands *h);
    void (*kill)(struct hands *h);
    void (*abandon)(struct hands *h);
    /* Lets it go on without us: whoever leases the job again finds it.  `over` follows as
     * above.  NULL: it does not outlive the server, and is stopped. */
    void (*leave)(struct hands *h);
    /* It has ended by itself, though all that it said may not be read yet. */
    bool (*has_ended)(const struct hands *h);
    /* When that is so.  Puts why it did not go well. */
    enum outcome (*judge)(const struct hands *h, struct buf *error, struct str *ret_type);
    /* What else is known of that, as a JSON object or nothing.  NULL: nothing. */
    void (*details)(const struct hands *h, struct buf *out);
    /* When that went well: what the job has made, as JSON or absent.  NULL: the end is the end
     * of a stream, and the journal says what it means. */
    struct str (*output)(const struct hands *h);
    void (*close)(struct hands *h);
};

struct hands {
    const struct hands_ops *ops;
    const struct hands_events *events;
    void *owner;
    const struct host *host; /* borrowed, like all below; they outlive it */
    const struct exec_agent *agent;
    const struct environment *env;
    struct str job;
};

#endif
