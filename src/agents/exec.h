/* Exec agents: one process on this machine for each job.
 *
 *     journal ──lease──▶ exec ──spawn, one line on stdin──▶ worker
 *        ▲                 │◀──stdout: events──────────────────┤
 *        └──append, finish─┘◀──stderr: the log─────────────────┘
 *
 * The manager has a thread with a loop of its own.  Each agent leases jobs while it has
 * free places.  A worker finds its job on stdin, which ends there.  It leads its own session
 * and process group; when it has ended, what is left of the group is killed.  Its exit
 * decides the job unless its own words did: exit 0 is the end of the stream (the journal
 * says what that means), anything else a failure with the end of stderr.
 *
 * The environment is the server's without SPOOLWIRE_* (there are secrets in it), plus the
 * agent's, plus SPOOLWIRE_JOB, SPOOLWIRE_ATTEMPT and SPOOLWIRE_AGENT. */
#ifndef AGENTS_EXEC_H
#define AGENTS_EXEC_H

#include "base/str.h"

#include <stdint.h>

struct error;
struct exec;
struct journal;

struct exec_agent {
    struct str name;
    char *const *argv;
    char *const *env;         /* KEY=VALUE, or NULL: nothing to add */
    const char *cwd;          /* NULL: the server's */
    unsigned concurrency;     /* 0: 10 */
    int64_t grace_ms;         /* from SIGTERM to SIGKILL; 0: 5000 */
    size_t max_rss;           /* bytes of address space (RLIMIT_AS); 0: no limit */
    unsigned max_cpu_seconds; /* 0: no limit */
};

struct exec_options {
    const struct exec_agent *agents; /* with all they point to: borrowed, outlive the manager */
    size_t n;
    struct journal *journal; /* borrowed; stopped after the manager */
    /* A line of stderr, as valid UTF-8; also what the manager has to say of the job's
     * process, as "spoolwire: ...".  On the manager's thread.  May be NULL. */
    void (*log)(void *arg, struct str job, struct str agent, struct str line);
    void *arg;
    int64_t heartbeat_ms; /* 0: a quarter of the lease */
};

int exec_new(const struct exec_options *options, struct exec **ret, struct error *err);
int exec_start(struct exec *e, struct error *err);

/* From any thread, until exec_free: */

/* A job of @agent waits (journal_events.queued).  Other agents' names are ignored. */
void exec_queued(struct exec *e, struct str agent);
/* A cancel was requested.  Another attempt than ours is somebody else's. */
void exec_cancel(struct exec *e, struct str job, int64_t attempt);
/* No new jobs; those that run get SIGTERM (SIGKILL after the grace time) and are handed
 * back at no cost.  Returns at once: see exec_running. */
void exec_drain(struct exec *e);
/* How many jobs are here; after a drain this falls to 0. */
size_t exec_running(const struct exec *e);

/* By the thread that started it.  Kills what is left, hands it back, and waits for the
 * thread.  What cannot be stored at the first try is left to the journal's recovery. */
void exec_stop(struct exec *e);
void exec_free(struct exec *e);

#endif
