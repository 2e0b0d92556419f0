/* An executor runs the job of a task.  Each kind of agent whose jobs this server runs has
 * one: a process, a remote endpoint, a worker of an ARQ queue.
 *
 *     made ──▶ start ──▶ output … ──▶ over ──▶ close ──▶ closed
 *
 * Before it starts it is one block of memory and nothing else, and so it is after `closed`:
 * free() ends it.
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
    OUTCOME_LOST       /* not the job's fault: another attempt may succeed */
};

struct executor_ops {
    const char *source; /* of its lines, for people */
    /* False: there is nothing to wait for, `over` does not come; `judge` says why. */
    bool (*start)(struct executor *h, const struct assignment *assignment);
    /* No more output, and again. */
    void (*pause)(struct executor *h);
    void (*resume)(struct executor *h);
    /* Asks the worker to stop at its next step; NULL: it cannot. */
    void (*rest)(struct executor *h);
    /* Ends the work in good order, at once, or without waiting for its output to end.  `over`
     * follows, and never from inside of these calls. */
    void (*stop)(struct executor *h);
    void (*kill)(struct executor *h);
    void (*abandon)(struct executor *h);
    /* Lets it continue without this server: the next server that leases the job finds it.
     * `over` follows as above.  NULL: it does not outlive the server, and is stopped. */
    void (*leave)(struct executor *h);
    /* It has ended by itself; some of its output may not be read yet. */
    bool (*has_ended)(const struct executor *h);
    /* Only then.  Writes why it failed. */
    enum outcome (*judge)(const struct executor *h, struct buf *error, struct str *ret_type);
    /* What else is known of that, as a JSON object or nothing.  NULL: nothing. */
    void (*details)(const struct executor *h, struct buf *out);
    /* After a success: the job's output, as JSON or absent.  NULL: the end is the end of a
     * stream, and the journal decides what it means. */
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

/* What the manager must know of a kind to run its jobs. */
struct executor_kind {
    /* The executor of one job: takes over what @common says, but for its ops.  Returns NULL
     * when out of memory.  NULL here: the jobs go to a pool. */
    struct executor *(*make)(const struct executor *common);
    /* What all executors of this kind share, in @host: made before the first job when there is
     * an agent of this kind, and closed after the last.  `close` is called in any case.  Both
     * NULL: there is nothing. */
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
