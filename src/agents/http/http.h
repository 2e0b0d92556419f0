/* A remote endpoint as the executor of a task: the job is the body of a POST, and what the
 * answer streams (server-sent events or JSON lines) are its events.
 *
 *     start ──POST──▶ head of the answer ──▶ its lines … ──▶ its end
 *        │ connect, first    │ not 2xx: refused    │ idle, cut    └ it went well; the journal
 *        ▼                   ▼                     ▼                says what that means
 *       lost                failed                lost
 *
 * Stopping it closes the connection.  While the journal is behind, nothing is read, and the
 * endpoint waits in its write. */
#ifndef AGENTS_HTTP_HTTP_H
#define AGENTS_HTTP_HTTP_H

struct executor;

/* Takes over what @common says, but for its ops.  NULL: out of memory. */
struct executor *http_new(const struct executor *common);

#endif
