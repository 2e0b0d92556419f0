/* A process as the hands of a work: the job is a line on its stdin, which ends there; its exit
 * decides.  Exit 0 went well, anything else is a failure with the end of stderr. */
#ifndef AGENTS_PROCESS_H
#define AGENTS_PROCESS_H

struct hands;

/* Takes over what @common says, but for its ops.  NULL: out of memory. */
struct hands *process_new(const struct hands *common);

#endif
