/* An executor runs the job of a task.  Each kind of agent whose jobs this server runs has
 * one: a process, a remote endpoint, a worker of an ARQ queue.
 *
 *     made ──▶ start ──▶ output … ──▶ over ──▶ close ──▶ closed
 *
 * Before `start` and after `closed` it owns nothing but its block of memory: free() is enough.
 *
 * Loop thread only. */
#ifndef AGENTS_EXECUTOR_H
#define AGENTS_EXECUTOR_H

#include "base/buf.h"
#include "config/agent_kind.h"

struct environment;
struct error;
struct exec_agent;
struct exec_options;
struct executor;
struct host;
struct assignment;

/* What the executor tells its owner. */
struct executor_events {
    /* Bytes of output lines; @more: another call follows in this turn, maybe with no bytes. */
    void (*output)(void *owner, struct str bytes, bool more);
    /* Called once; no output follows.  @is_whole: the last line is complete even without a
     * newline. */
    void (*over)(void *owner, bool is_whole);
    /* After `close`: only the memory is left. */
    void (*closed)(void *owner);
};

enum outcome {
    OUTCOME_WELL,
    OUTCOME_FAILED,
    OUTCOME_RAISED,    /* failed: an exception of the worker, with its own message */
    OUTCOME_CANCELLED, /* by somebody other than us */
    OUTCOME_LOST       /* not the job's fault: another attempt may succeed */
};

struct executor_ops {
    const char *source; /* the name of its output, for log messages */
    /* False: it did not start, and `over` is not called; `judge` says why. */
    bool (*start)(struct executor *h, const struct assignment *assignment);
    /* Stops reading its output, and reads it again. */
    void (*pause)(struct executor *h);
    void (*resume)(struct executor *h);
    /* Asks the worker to pause at its next step; NULL: it cannot. */
    void (*rest)(struct executor *h);
    /* Ends the work: in good order, at once, or without waiting for the end of its output.
     * `over` follows, but never from inside of these calls. */
    void (*stop)(struct executor *h);
    void (*kill)(struct executor *h);
    void (*abandon)(struct executor *h);
    /* Lets it continue without this server: the next server that leases the job finds it.
     * `over` follows as above.  NULL: it does not outlive the server, and is stopped. */
    void (*leave)(struct executor *h);
    /* It has ended by itself; some of its output may not have been read. */
    bool (*has_ended)(const struct executor *h);
    /* Only if it has ended.  Writes why it failed. */
    enum outcome (*judge)(const struct executor *h, struct buf *error, struct str *ret_type);
    /* Writes more about the failure, as a JSON object or nothing.  NULL: nothing. */
    void (*details)(const struct executor *h, struct buf *out);
    /* After a success: the job's output, as JSON or absent.  NULL: the end is treated as the
     * end of a stream, and the journal decides what it means. */
    struct str (*output)(const struct executor *h);
    void (*close)(struct executor *h);
};

struct executor {
    const struct executor_ops *ops;
    const struct executor_events *events;
    void *owner;
    const struct host *host; /* borrowed, like all below; they outlive it */
    const struct exec_agent *agent;
    const struct environment *env;
    struct str job;
};

/* What the manager needs to know of a kind to run its jobs. */
struct executor_kind {
    /* Makes the executor of one job; copies @common except for its ops.  Returns NULL when out
     * of memory.  NULL here: the jobs go to a pool. */
    struct executor *(*make)(const struct executor *common);
    /* Opens and closes what all executors of this kind share, in @host: before the first job if
     * there is an agent of this kind, and after the last.  `close` is always called.  Both
     * NULL: there is nothing to share. */
    int (*open)(struct host *host, const struct exec_options *options, struct error *err);
    void (*close)(struct host *host);
};

/* executor_process, executor_pool, … */
#define EXECUTOR_KIND(constant, name, ...) extern const struct executor_kind executor_##name;
AGENT_KINDS_HERE(EXECUTOR_KIND)
#undef EXECUTOR_KIND

/* NULL for kinds whose jobs are not run here. */
const struct executor_kind *executor_kind(enum agent_kind kind);

#endif
