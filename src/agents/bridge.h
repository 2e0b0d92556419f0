/* A bridge: the process that submits tickets to an engine (Dask) for the jobs of one agent.
 *
 * The tickets lease the jobs over HTTP, from the engine's workers; the bridge itself has none.
 * So it is started with the server, and started again when it exits, after a pause that grows
 * up to half a minute; nothing is lost meanwhile.
 *
 * Loop thread only. */
#ifndef AGENTS_BRIDGE_H
#define AGENTS_BRIDGE_H

#include "base/must_check.h"

#include <stdbool.h>

struct bridge;
struct environment;
struct exec_agent;
struct host;

struct bridge_options {
    const struct host *host; /* borrowed; outlives it, like the next two */
    const struct exec_agent *agent;
    const struct environment *env;
    void (*over)(void *arg); /* after bridge_stop: its process has ended */
    void *arg;
};

/* The process is started when the loop runs. */
MUST_CHECK int bridge_new(const struct bridge_options *options, struct bridge **ret);
/* Ends the process, and starts no other.  `over` may be called inside of it. */
void bridge_stop(struct bridge *b);
bool bridge_is_over(const struct bridge *b);
/* When it is over, or the loop never ran. */
void bridge_close(struct bridge *b);
/* After the loop has ended. */
void bridge_free(struct bridge *b);

#endif
