/* The connection to Redis that all jobs of ARQ queues share. */
#ifndef AGENTS_ARQ_LINE_H
#define AGENTS_ARQ_LINE_H

#include "base/must_check.h"

#include <stdbool.h>

struct error;
struct exec_options;
struct host;
struct redis;

/* Only one job at a time may WATCH keys on it. */
struct arq_line {
    struct redis *redis;
    bool is_watching;
};

/* Opens and closes the connection of the host. */
MUST_CHECK int arq_line_open(struct host *host,
                             const struct exec_options *options,
                             struct error *err);
void arq_line_close(struct host *host);

#endif
