/* Agents that this server runs: processes on this machine, one for each job, or a pool
 * that shares them; remote endpoints, which get each job by a POST (http/); and queues of ARQ
 * (arq/).
 *
 *     journal ──lease──▶ exec ──spawn, one line on stdin──▶ worker
 *        ▲                 │◀──stdout: events──────────────────┤
 *        └──append, finish─┘◀──stderr: the log─────────────────┘
 *
 * The manager has a thread with a loop of its own.  Each agent leases jobs while it has free
 * slots.  A worker reads its job from stdin, which is then closed.  It leads its own session
 * and process group; when it has exited, the rest of the group is killed.  Its exit status
 * decides the job unless its events did: exit 0 is the end of the stream (the journal decides
 * what that means), anything else a failure with the end of stderr.
 *
 * A process of a pool gets its jobs as lines on stdin; each line of its stdout names its job
 * (pool/report.h).
 *
 * The environment is the server's without SPOOLWIRE_* (it contains secrets), plus the agent's,
 * plus the server's address (SPOOLWIRE_URL, SPOOLWIRE_TOKEN), plus SPOOLWIRE_AGENT; plus
 * SPOOLWIRE_JOB and SPOOLWIRE_ATTEMPT, or in a pool SPOOLWIRE_CONCURRENCY. */
#ifndef AGENTS_EXEC_H
#define AGENTS_EXEC_H

#include "base/must_check.h"
#include "agents/arq/job.h"
#include "base/counter.h"
#include "base/str.h"
#include "config/agent_kind.h"

#include <stdint.h>

struct error;
struct exec;
struct journal;
struct barriers;

/* Long-lived processes that share the jobs of an agent. */
struct exec_pool {
    unsigned size;         /* processes at a time */
    unsigned concurrency;  /* jobs at a time in each; 0: 1 */
    unsigned warm;         /* processes that are kept without a job */
    uint64_t recycle_jobs; /* a process is replaced after so many; 0: never */
    size_t recycle_bytes;  /* or when it has so much resident memory; 0: never */
    char *const *watch; /* folders with its source files: a change replaces all processes; NULL:
                           none */
    int64_t start_ms;   /* time to become ready */
    int64_t drain_ms;   /* for the other jobs of a process that did not stop a cancelled one */
    int64_t backoff_ms; /* longest pause before a process is started again */
};

/* The format in which a remote endpoint gets a job (body.h). */
enum exec_body { EXEC_BODY_INPUT, EXEC_BODY_ORDER, EXEC_BODY_LANGSERVE, EXEC_BODY_LANGGRAPH };

/* A remote endpoint that gets the jobs of an agent. */
struct exec_http {
    const char *url;      /* "{job}" in it is replaced by the job's id */
    char *const *headers; /* NAME=value, or NULL: none to add */
    enum exec_body body;
    const char *assistant; /* only for LANGGRAPH, like the next */
    char *const *modes;    /* stream modes to ask for */
    const char *ca;        /* PEM file of trusted CAs; NULL: the system's */
    int64_t connect_ms;
    int64_t first_ms; /* timeout until the answer begins */
    int64_t idle_ms;  /* timeout between two pieces of the answer */
};

/* A queue of ARQ that gets the jobs of an agent. */
struct exec_arq {
    const char *function;
    const char *queue;
    char *const *args; /* argument words (config/values/arq_argument.h), like resume_args */
    const char *resume_function; /* NULL: the same function and arguments */
    char *const *resume_args;
    enum arq_form form;
    int64_t defer_ms;
    int64_t expires_ms;     /* 0: a day after it was due */
    bool keeps_result;      /* its workers keep results: a job without one is lost */
    const char *health_key; /* NULL: the queue's */
    int64_t poll_ms;
    int64_t settle_ms; /* longest wait after the result for events still on the channel */
};

/* The process that starts an agent's workers elsewhere (bridge.h). */
struct exec_bridge {
    const char *program; /* this program */
    const char *scheduler;
    const char *graph;
    char *const *args; /* or NULL */
};

struct exec_agent {
    struct str name;
    enum agent_kind kind; /* a kind that runs here, or has a bridge; members of other kinds are
                             ignored */
    char *const *argv;    /* only for kinds with processes */
    char *const *env;     /* KEY=VALUE; NULL: nothing to add */
    const char *cwd;      /* NULL: the server's */
    unsigned concurrency; /* 0: 10 */
    int64_t grace_ms;     /* from SIGTERM to SIGKILL; 0: EXEC_GRACE_MS */
    size_t max_rss;       /* bytes of address space (RLIMIT_AS); 0: no limit */
    unsigned max_cpu_seconds; /* 0: no limit */
    bool is_pausable;         /* SIGUSR1 asks a process to pause */
    struct exec_pool pool;
    struct exec_http http;
    struct exec_arq arq;
    struct exec_bridge bridge;
};

enum { EXEC_GRACE_MS = 5000 };

static inline int64_t exec_grace_ms(const struct exec_agent *a)
{
    return a->grace_ms > 0 ? a->grace_ms : EXEC_GRACE_MS;
}

struct exec_options {
    const struct exec_agent *agents; /* with all they point to: borrowed, outlive the manager */
    size_t n;
    struct journal *journal;          /* borrowed; stopped after the manager */
    const unsigned char *lease_key;   /* borrowed; signs leases (jobs/lease.h), */
    const unsigned char *process_key; /* and tokens of processes (jobs/process_token.h) */
    /* A line of stderr, as valid UTF-8; also the manager's own messages about the job's
     * process, as "spoolwire: ...".  On the manager's thread.  May be NULL. */
    void (*log)(void *arg, struct str job, struct str agent, struct str line);
    void *arg;
    int64_t heartbeat_ms; /* 0: a quarter of the lease */
    uint64_t poll_ms;     /* between two polls for jobs; 0: 2 s */
    const char *mark; /* in the environment of all processes (process/child_guard.h), or NULL */
    const struct redis_url *redis; /* needed by agents of the kind arq */
    struct barriers *barriers;     /* of their channels; borrowed; NULL: no subscriber */
    const char *gateway; /* the id of this one among several (at most 39 bytes), or NULL */
    int64_t n_shards;    /* of the database; 0: 1 */
};

/* Numbers of processes, in pools and outside of pools. */
struct exec_counts {
    struct counter works, pooled; /* running now */
    struct counter works_started, pooled_started;
    struct counter pooled_crashed; /* ended without being told to */
};

MUST_CHECK int exec_new(const struct exec_options *options,
                        struct exec **ret,
                        struct error *err);
/* @more: KEY=VALUE for all processes, NULL-terminated, or NULL; an agent's own `env` wins. */
MUST_CHECK int exec_start(struct exec *e, char *const *more, struct error *err);

/* From any thread, until exec_free: */

/* A job of @agent waits (journal_events.queued).  Other agents' names are ignored. */
void exec_queued(struct exec *e, struct str agent);
/* A cancel was requested of the job with that key.  Attempts other than ours are ignored. */
void exec_cancel(struct exec *e, int64_t key, int64_t attempt);
/* Of several gateways, the one that writes a shard runs its jobs that outlive a server (in
 * queues of ARQ): the next one repeats the leases of its slots, and so finds the calls again.
 * Others leave them.  @written: the shards of this one, as bits; all until it is told. */
void exec_set_shards(struct exec *e, uint64_t written);
/* The journal has other news for that job's worker: sends a heartbeat to get them. */
void exec_ask(struct exec *e, int64_t key, int64_t attempt);
/* No new jobs; those that run get SIGTERM (SIGKILL after the grace time) and are requeued
 * without using up an attempt.  Returns at once: see exec_running. */
void exec_drain(struct exec *e);
const struct exec_counts *exec_counts(const struct exec *e);
/* The number of jobs and pool processes here; falls to 0 after a drain. */
size_t exec_running(const struct exec *e);

/* By the thread that started it.  Kills all processes, requeues their jobs, and waits for the
 * thread.  What cannot be stored at the first try is left to the journal's recovery. */
void exec_stop(struct exec *e);
void exec_free(struct exec *e);

#endif
