/* The system's figures about this process, under Prometheus' usual names. */
#ifndef API_OPS_PROCESS_H
#define API_OPS_PROCESS_H

struct expose;

/* Reads /proc, which blocks: not on a loop. */
void process_expose(struct expose *e);

#endif
