/* A process as the executor of a task: the job is a line on its stdin, which ends there; its
 * exit decides.  Exit 0 went well, anything else is a failure with the end of stderr. */
#ifndef AGENTS_PROCESS_PROCESS_H
#define AGENTS_PROCESS_PROCESS_H

struct executor;

/* Takes over what @common says, but for its ops.  NULL: out of memory. */
struct executor *process_new(const struct executor *common);

#endif
