/* Kinds of agents: how the jobs of an agent reach their workers.
 *
 * An agent's kind is decided once, where its settings are read (file/server_agents.c);
 * all other code looks at the kind, never at the settings of one.  A new kind is one line here;
 * a kind whose jobs this server runs also has an `executor_<name>` in a file of src/agents/
 * (agents/executor.h). */
#ifndef CONFIG_AGENT_KIND_H
#define CONFIG_AGENT_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* X(constant, name, the option that chooses it, how an error names that option, traits) */
/* clang-format off */
/* This server runs their jobs.  A pool is a `command` (or the built-in agent) with a `pool`. */
#define AGENT_KINDS_HERE(X)                                                                    \
    X(PROCESS, process, "command",      "a 'command'",       .runs_here = true, .has_processes = true) \
    X(POOL,    pool,    NULL,           "a 'pool'",          .runs_here = true, .has_processes = true, \
                                                             .takes_calls = true, .hears_pause = true) \
    X(HTTP,    http,    "http.url",     "an 'http' url",     .runs_here = true)                \
    X(ARQ,     arq,     "arq.function", "an 'arq' function", .runs_here = true, .outlives_server = true, \
                                                             .has_channel = true)
/* Workers outside of this server fetch their jobs, or are fed from a channel.  For a kind with a
 * bridge, the server runs a process that starts these workers (agents/bridge.h). */
#define AGENT_KINDS_ELSEWHERE(X)                                                               \
    X(PULL,    pull,    "pull",         "'pull: true'",      .takes_calls = true, .hears_pause = true) \
    X(DASK,    dask,    "dask.scheduler", "a 'dask' scheduler", .hears_pause = true, .has_bridge = true) \
    X(CHANNEL, channel, "channel",      "'channel: true'",   .has_channel = true)

#define AGENT_KIND_CONSTANT(constant, ...) AGENT_##constant,
enum agent_kind {
    AGENT_KINDS_HERE(AGENT_KIND_CONSTANT)
    AGENT_KINDS_ELSEWHERE(AGENT_KIND_CONSTANT)
    AGENT_KIND_MAX
};
#undef AGENT_KIND_CONSTANT
/* clang-format on */

struct agent_kind_traits {
    const char *name;     /* also used in lease request ids in the journal: never change it */
    const char *option;   /* that chooses it; NULL: none does alone */
    const char *phrase;   /* that option in an error's text */
    bool runs_here;       /* this server leases its jobs and has an executor for them */
    bool has_processes;   /* on this machine: it needs a command */
    bool outlives_server; /* its jobs continue when the server ends */
    bool has_channel;     /* events of its jobs come over a channel in Redis */
    bool takes_calls;     /* its workers answer calls without a job */
    bool has_bridge;      /* this server runs the process that starts its workers */
    bool hears_pause;     /* its workers can be asked to pause; others only if `pausable` */
};

extern const struct agent_kind_traits agent_kinds[AGENT_KIND_MAX];

#endif
